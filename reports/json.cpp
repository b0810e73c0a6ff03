// SPDX-License-Identifier: Apache-2.0
#include "reports/json.h"

#include "reports/json_object.h"

namespace reports {
namespace {

using result::Prediction;

Json memory_json(const Prediction& p) {
  Json stages = Json::array();
  for (const result::StageMemory& stage : p.stages) {
    Json entry{{"stage", stage.stage}, {"peak_bytes", stage.peak_bytes}};
    entry.update(object_of(stage.categories));
    entry["capacity_bytes"] = stage.capacity_bytes;
    entry["peak_operator"] = stage.peak_operator;
    entry["peak_time_s"] = stage.peak_time_s;
    stages.push_back(std::move(entry));
  }
  Json out{{"peak_bytes", p.peak_bytes},
           {"capacity_bytes", p.capacity_bytes},
           {"allocated_bytes", p.allocated_bytes},
           {"reserved_bytes", p.reserved_bytes},
           {"smi_bytes", p.smi_bytes},
           {"stages", std::move(stages)}};
  if (p.host_capacity_bytes > 0) {  // something is offloaded
    out["host_bytes"] = p.host_bytes;
    out["host_capacity_bytes"] = p.host_capacity_bytes;
    out["nvme_bytes"] = p.nvme_bytes;
    out["nvme_capacity_bytes"] = p.nvme_capacity_bytes;
  }
  return out;
}

Json communication(const Prediction& p) {
  Json out = Json::object();
  for (const result::Communication& axis : p.communication) {
    out[axis.axis] = {
        {"bytes", axis.bytes}, {"calls", axis.calls}, {"time_s", axis.time_s}, {"bus_bandwidth", axis.bus_bandwidth}};
  }
  return out;
}

Json provenance(const Prediction& p) {
  Json out = Json::array();
  for (const result::Provenance& number : p.provenance) {
    out.push_back({{"what", number.what}, {"kind", number.kind}, {"source", number.source}});
  }
  return out;
}

}  // namespace

std::string json(const Prediction& p) {
  Json out;
  out["schema"] = kSchema;
  out["job"] = p.job;
  out["gpus"] = p.gpus;
  out["step_time_s"] = p.step_time_s;
  out["step_time_low_s"] = p.step_time_low_s;
  out["step_time_high_s"] = p.step_time_high_s;
  out["interval_contributions"] = interval_contributions(p.interval_contributions);
  if (p.mode != "train") out["mode"] = p.mode;
  if (p.time_to_first_token_s) out["time_to_first_token_s"] = *p.time_to_first_token_s;
  if (p.time_per_output_token_s) out["time_per_output_token_s"] = *p.time_per_output_token_s;
  if (p.samples_per_s) out["samples_per_s"] = *p.samples_per_s;
  out["tokens_per_s"] = p.tokens_per_s;
  out["tokens_per_s_per_gpu"] = p.tokens_per_s_per_gpu;
  out["model_tflops_per_gpu"] = p.model_tflops_per_gpu;
  out["hardware_tflops_per_gpu"] = p.hardware_tflops_per_gpu;
  out["mfu"] = p.mfu;
  out["hfu"] = p.hfu;
  out["mfu_of_precision"] = p.mfu_of_precision;
  out["bubble_fraction"] = p.bubble_fraction;
  out["breakdown_stage"] = p.breakdown_stage;
  out["breakdown_s"] = object_of(p.breakdown_s);
  out["fits"] = p.fits;
  out["attack"] = p.attack;
  out["mends"] = p.mends;
  out["mend_step_times_s"] = p.mend_step_times_s;
  out["memory"] = memory_json(p);
  out["communication"] = communication(p);
  out["operators"] = p.operators;
  out["provenance"] = provenance(p);
  out["warnings"] = p.warnings;
  out["settings"] = Json::object();
  for (const auto& [key, value] : p.settings) out["settings"][key] = value;
  out["assumptions"] = p.assumptions;
  return text_of(out);
}

}  // namespace reports
