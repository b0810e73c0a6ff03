// core/result/prediction.h -- the answer of `forerun predict`; text and JSON print this one struct.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace result {

/// Seconds and bytes are SI; the names are the JSON keys (docs/output.md).
struct StageMemory {
  int stage = 0;
  std::int64_t peak_bytes = 0;                                   // all below, at the moment of the peak
  std::int64_t capacity_bytes = 0;                               // of the smallest of its GPUs; 0: unknown
  std::vector<std::pair<std::string, std::int64_t>> categories;  // parameters gradients ... reserved
  std::string peak_operator;                                     // "forward layer 19 microbatch 7: attention"
  double peak_time_s = 0;
  std::int64_t allocated_bytes = 0;  // of peak_bytes, live tensors (torch.cuda.max_memory_allocated); not in JSON
  std::int64_t reserved_bytes = 0;   // what the caching allocator took (max_memory_reserved); not in JSON
};

struct Communication {
  std::string axis;        // tp dp pp embedding
  std::int64_t bytes = 0;  // one rank's payload in a step, as nccl-tests counts sizes
  std::int64_t calls = 0;
  double time_s = 0;         // kernels' time, hidden or not
  double bus_bandwidth = 0;  // bytes/s, as nccl-tests defines it; 0 without traffic
};

/// Where a calibrated number came from.
struct Provenance {
  std::string what;  // "matmul bf16 on h100-sxm"
  std::string kind;  // measured, datasheet, assumed
  std::string source;
};

/// One reason for the width of the 80 % interval: standard deviations of log(measured / predicted) of the whole step
/// that come of it, where the measured step is faster and where it is slower.
struct IntervalContribution {
  std::string cause;  // "matmul bf16", "software stack", "steps with experts"
  double share = 0;   // of the step's time that it acts on
  double faster = 0, slower = 0;
};

struct Prediction {
  std::string job;  // one line: model, GPUs, strategy
  double step_time_s = 0, step_time_low_s = 0, step_time_high_s = 0;
  std::vector<IntervalContribution> interval_contributions;  // the largest first; their squares add up
  double tokens_per_s = 0, tokens_per_s_per_gpu = 0;
  double model_tflops_per_gpu = 0, hardware_tflops_per_gpu = 0;
  double mfu = 0, hfu = 0;      // over the dense bf16 peak
  double mfu_of_precision = 0;  // over the dense peak of the precision used
  double bubble_fraction = 0;
  int breakdown_stage = 0;                                  // the slowest stage
  std::vector<std::pair<std::string, double>> breakdown_s;  // adds up to step_time_s exactly, summed in this order
  bool fits = true;
  std::int64_t capacity_bytes = 0;
  std::int64_t peak_bytes = 0;  // of the fullest stage
  std::int64_t allocated_bytes = 0, reserved_bytes = 0,
               smi_bytes = 0;  // as three tools count it, each its fullest stage
  std::vector<StageMemory> stages;
  std::int64_t host_bytes = 0, host_capacity_bytes = 0;  // of the fullest node, where something is offloaded
  std::int64_t nvme_bytes = 0, nvme_capacity_bytes = 0;  // likewise; capacity 0: unknown
  std::string attack;                                    // does not fit: the category to attack
  std::vector<std::string> mends;                        // does not fit: flags that would make it fit
  std::vector<double> mend_step_times_s;                 // with each of them, ascending; empty: not priced
  std::vector<Communication> communication;
  std::vector<Provenance> provenance;
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>>
      settings;                                   // as resolved, by the Job file's keys: {"strategy.tp", "4"}
  std::vector<std::string> assumptions;           // what was left out and filled in: "attention_kernel: flash3"
  std::string mode = "train";                     // train prefill decode
  std::optional<double> time_to_first_token_s;    // prefill: of the whole batch
  std::optional<double> time_per_output_token_s;  // decode: of each sequence, in the steady state
  std::optional<double> samples_per_s;            // of a network without tokens; tokens_per_s then counts them, too
  int gpus = 0;
  std::int64_t operators = 0;  // simulated
};

/// Seconds between steps that follow one another, which throughput and cost are of: in decoding between two tokens of a
/// sequence, with the pipeline full.
inline double pace_s(const Prediction& p) { return p.time_per_output_token_s.value_or(p.step_time_s); }
/// The same of the ends of the 80 % interval: its factors hold for every time.
inline double pace_low_s(const Prediction& p) { return pace_s(p) * p.step_time_low_s / p.step_time_s; }
inline double pace_high_s(const Prediction& p) { return pace_s(p) * p.step_time_high_s / p.step_time_s; }
inline const char* pace_key(const Prediction& p) {  // in JSON
  return p.time_per_output_token_s ? "time_per_output_token_s" : "step_time_s";
}
inline const char* pace_name(const Prediction& p) { return p.time_per_output_token_s ? "each token" : "step time"; }

/// What its throughput counts: "tokens", or "samples" of a network without them.
inline const char* counted(const Prediction& p) { return p.samples_per_s ? "samples" : "tokens"; }

}  // namespace result
