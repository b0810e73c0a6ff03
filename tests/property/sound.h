// tests/property/sound.h -- what must hold of every answer and of every refusal, whatever the job was.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>

#include "core/base/fault.h"
#include "core/result/prediction.h"
#include "core/spec/job.h"

namespace sound {

/// Appends what is wrong; nothing when all is well.
class Complaints {
 public:
  void number(const std::string& what, double value) {
    if (!(std::isfinite(value) && value >= 0)) text_ += what + " is " + std::to_string(value) + "; ";
  }
  void positive(const std::string& what, double value) {
    number(what, value);
    require(value > 0, what + " is not above zero");
  }
  void require(bool holds, const std::string& what) {
    if (!holds) text_ += what + "; ";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

inline void check_times(const result::Prediction& p, Complaints& c) {
  c.positive("step_time_s", p.step_time_s);
  c.require(p.step_time_low_s > 0 && p.step_time_low_s <= p.step_time_s && p.step_time_s <= p.step_time_high_s,
            "the interval does not hold the step time");
  c.positive("tokens_per_s", p.tokens_per_s);
  c.positive("tokens_per_s_per_gpu", p.tokens_per_s_per_gpu);
  c.positive("model_tflops_per_gpu", p.model_tflops_per_gpu);
  c.positive("hardware_tflops_per_gpu", p.hardware_tflops_per_gpu);
  for (const double share : {p.mfu, p.hfu, p.mfu_of_precision, p.bubble_fraction}) {
    c.number("a utilization or bubble", share);
    c.require(share <= 1, "a utilization or bubble is above 1: " + std::to_string(share));
  }
  double sum = 0;
  for (const auto& [name, seconds] : p.breakdown_s) {
    c.number("breakdown_s." + name, seconds);
    sum += seconds;
  }
  c.require(sum == p.step_time_s, "the breakdown adds up to " + std::to_string(sum));
  if (p.time_to_first_token_s) c.positive("time_to_first_token_s", *p.time_to_first_token_s);
  if (p.time_per_output_token_s) c.positive("time_per_output_token_s", *p.time_per_output_token_s);
  if (p.samples_per_s) c.positive("samples_per_s", *p.samples_per_s);
  c.require(p.mode != "decode" || p.time_per_output_token_s, "decoding without a time per token");
}

inline void check_memory(const result::Prediction& p, Complaints& c) {
  bool of_a_stage = false;
  for (const result::StageMemory& stage : p.stages) {
    std::int64_t sum = 0;
    for (const auto& [name, bytes] : stage.categories) {
      c.number("memory " + name, static_cast<double>(bytes));
      sum += bytes;
    }
    c.require(sum == stage.peak_bytes, "memory categories add up to " + std::to_string(sum));
    c.number("peak_time_s", stage.peak_time_s);
    c.require(stage.peak_time_s <= p.step_time_s * 1.0001, "the memory's peak is behind the step");
    of_a_stage |= stage.peak_bytes == p.peak_bytes;
  }
  c.positive("peak_bytes", static_cast<double>(p.peak_bytes));
  c.require(of_a_stage, "the peak is of no stage");
  c.require(p.fits == (p.peak_bytes <= p.capacity_bytes), "fits does not follow from peak and capacity");
}

inline std::string complaints(const result::Prediction& p) {
  Complaints c;
  check_times(p, c);
  check_memory(p, c);
  for (const result::Communication& axis : p.communication) {
    c.require(!axis.axis.empty(), "communication of no axis");
    c.positive(axis.axis + " bytes", static_cast<double>(axis.bytes));
    c.positive(axis.axis + " calls", static_cast<double>(axis.calls));
    c.number(axis.axis + " time", axis.time_s);
    c.number(axis.axis + " bus bandwidth", axis.bus_bandwidth);
  }
  for (const std::string& told : p.warnings) c.require(!told.empty(), "an empty warning");
  for (const std::string& told : p.assumptions) c.require(!told.empty(), "an empty assumption");
  return c.text();
}

/// What the job says besides: the peak is the fullest stage's where all GPUs have as much memory, and nothing is
/// exposed along an axis of one rank.
inline std::string complaints(const spec::Job& job, const result::Prediction& p) {
  const spec::Strategy& s = job.strategy;
  const bool replicas = s.dp.value_or(1) * s.cp > 1 || s.tp > s.etp ||  // of dense parameters, or of experts
                        s.traits().two_copies();
  Complaints c;
  for (const auto& [name, seconds] : p.breakdown_s) {
    const bool lone = (name == "exposed_tp" && s.tp == 1 && s.etp == 1) || (name == "exposed_cp" && s.cp == 1) ||
                      (name == "exposed_ep" && s.ep == 1 && !job.model.is_list()) ||
                      (name == "exposed_pp" && s.pp == 1) || (name == "exposed_dp" && !replicas);
    c.require(!lone || seconds == 0, name + " of one rank is " + std::to_string(seconds));
  }
  for (const result::StageMemory& stage : p.stages) {
    c.require(job.cluster.mixed() || stage.peak_bytes <= p.peak_bytes, "a stage is fuller than the peak");
  }
  return complaints(p) + c.text();
}

/// A refusal names a field that the user can write, what is wrong with it and how to mend it.
inline std::string complaints(const base::InputError& error) {
  Complaints c;
  c.require(!error.faults.empty(), "an input error without a fault");
  for (const base::Fault& fault : error.faults) {
    bool known = false;
    for (const char* section : {"model", "cluster", "training", "strategy", "network", "simulation"}) {
      known |= fault.field.starts_with(section);
    }
    c.require(known, "no field of a Job: '" + fault.field + "'");
    c.require(!fault.what.empty() && !fault.mend.empty(), "a fault that does not say how to mend it: " + fault.field);
  }
  return c.text();
}

}  // namespace sound
