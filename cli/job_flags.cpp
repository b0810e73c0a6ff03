// SPDX-License-Identifier: Apache-2.0
#include "cli/job_flags.h"

#include <algorithm>
#include <array>

#include "core/config/job_file.h"
#include "core/config/job_reader.h"

namespace cli {
namespace {

struct JobFlag {
  const char *name, *path, *value, *help;  // an empty value: the flag alone means true
  const char* offers = "";
};

constexpr char kDtypes[] = "fp32 tf32 fp16 bf16 fp8 mxfp8 nvfp4";
constexpr char kSchedules[] = "gpipe 1f1b interleaved zb-h1 zb-h2 zb-v dualpipe pipedream";
constexpr char kAttentionKernels[] = "unfused fused_softmax flash1 flash2 flash3 cudnn";

constexpr std::array kJobFlags{
    JobFlag{"--model", "model", "NAME", "a catalogue name, a file, or a Hugging Face config.json", "<models> <files>"},
    JobFlag{"--node", "cluster.node", "NAME", "the machine: dgx-h100", "<nodes> <files>"},
    JobFlag{"--nodes", "cluster.nodes", "N", "how many of them"},
    JobFlag{"--gpus-per-node", "cluster.node.gpus", "N", "when not all of a node's GPUs are used"},
    JobFlag{"--calibration", "cluster.node.gpu.calibration", "FILE",
            "curves of its GPU, as forerun calibrate writes them", "<calibrations> <files>"},
    JobFlag{"--fabric", "cluster.fabric", "NAME", "what joins the nodes: rail-400g", "<fabrics> <files>"},
    JobFlag{"--sequence", "training.sequence", "TOKENS", "length of a sequence"},
    JobFlag{"--global-batch", "training.global_batch", "N", "sequences in a step"},
    JobFlag{"--micro-batch", "training.micro_batch", "N", "sequences in one forward of one replica"},
    JobFlag{"--precision", "training.precision", "DTYPE", kDtypes, kDtypes},
    JobFlag{"--optimizer", "training.optimizer", "NAME", "adamw adamw8bit sgd", "adamw adamw8bit sgd"},
    JobFlag{"--tp", "strategy.tp", "N", "tensor parallel"},
    JobFlag{"--sp", "strategy.sp", "", "Megatron sequence parallel"},
    JobFlag{"--cp", "strategy.cp", "N", "context parallel"},
    JobFlag{"--pp", "strategy.pp", "N", "pipeline stages"},
    JobFlag{"--vpp", "strategy.vpp", "N", "model chunks a stage (virtual pipeline)"},
    JobFlag{"--schedule", "strategy.schedule", "NAME", kSchedules, kSchedules},
    JobFlag{"--dp", "strategy.dp", "N", "data parallel; what is left of the GPUs by default"},
    JobFlag{"--ep", "strategy.ep", "N", "expert parallel"},
    JobFlag{"--zero", "strategy.zero", "STAGE", "0 DDP, 1, 2, 3 = FSDP", "0 1 2 3"},
    JobFlag{"--recompute", "strategy.recompute", "KIND",
            "none selective full selective_ops, or {kind: full, layers: N}", "none selective full selective_ops"},
    JobFlag{"--attention-kernel", "strategy.attention_kernel", "NAME", kAttentionKernels, kAttentionKernels},
    JobFlag{"--framework", "strategy.framework", "NAME", "megatron deepspeed torch torchtitan none", "<frameworks>"},
    JobFlag{"--unfold", "simulation.unfold", "", "simulate every rank instead of one for each role"},
};

const char kSet[] = "--set";

void lay_over(config::Value& job, const Arguments& args) {
  std::vector<base::Fault> faults;
  const auto set = [&](const std::string& path, const std::string& value, const std::string& origin) {
    try {
      config::set_path(job, path, value, origin);
    } catch (const base::InputError& error) {
      faults.insert(faults.end(), error.faults.begin(), error.faults.end());
    }
  };
  for (const JobFlag& flag : kJobFlags) {
    if (!args.has(flag.name)) continue;
    const bool switches = *flag.value == '\0';
    set(flag.path, switches ? "true" : args.get(flag.name), flag.name + (switches ? "" : ' ' + args.get(flag.name)));
  }
  for (const std::string& entry : args.all(kSet)) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      faults.push_back({kSet, "'" + entry + "' has no value", "write path=value, such as strategy.tp=8", {}});
    } else if (const auto fault = without_its_map(kSet, entry.substr(0, equals))) {
      faults.push_back(*fault);
    } else {
      set(entry.substr(0, equals), entry.substr(equals + 1), std::string(kSet) + ' ' + entry);
    }
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

}  // namespace

Operand job_operand() { return {"JOB", "a Job file, or a name of `forerun list jobs`", false, "<jobs> <files>"}; }

std::string job_notes() {
  return "Flags override the file, and --set overrides both. Without JOB the flags alone make the Job.\n";
}

std::vector<Option> with_job_flags(std::vector<Option> own) {
  for (const JobFlag& flag : kJobFlags) own.push_back({flag.name, flag.value, flag.help, false, flag.offers});
  own.push_back({kSet, "PATH=VALUE", "any field of the Job: strategy.overlap.tp=wgrad", true});
  return own;
}

/// Who builds the Job from flags alone is helped by the flag's name, not by the file's key.
base::InputError told_as_flags(const base::InputError& error, const std::string& otherwise) {
  std::vector<base::Fault> faults = error.faults;
  for (base::Fault& fault : faults) {
    if (fault.what != "is missing") continue;
    const auto flag =
        std::find_if(kJobFlags.begin(), kJobFlags.end(), [&](const JobFlag& f) { return f.path == fault.field; });
    if (flag != kJobFlags.end()) fault.mend = std::string("add ") + flag->name + ' ' + flag->value + otherwise;
  }
  return base::InputError(std::move(faults));
}

std::optional<base::Fault> without_its_map(const std::string& option, const std::string& path) {
  for (const JobFlag& flag : kJobFlags) {
    const std::string whole = flag.path;
    if (whole.ends_with('.' + path)) return base::Fault{option, "there is no field '" + path + "'", "did you mean " + whole + "?", {}};
  }
  return {};
}

std::vector<std::string> job_settings(const Arguments& args) {
  std::vector<std::string> out;
  for (const JobFlag& flag : kJobFlags) {
    if (args.has(flag.name)) out.push_back(flag.path + ('=' + (*flag.value == '\0' ? "true" : args.get(flag.name))));
  }
  const std::vector<std::string> set = args.all(kSet);
  out.insert(out.end(), set.begin(), set.end());
  return out;
}

config::Value job_tree(const Arguments& args, const config::Catalogue& catalogue, std::size_t operand) {
  config::Value tree;
  tree.kind = config::Value::Kind::map;
  if (operand < args.operands().size()) tree = config::load_job(args.operands()[operand], catalogue);
  lay_over(tree, args);
  return tree;
}

spec::Job job_of(const config::Value& tree, const Arguments& args, const config::Catalogue& catalogue) {
  if (!args.operands().empty()) return config::read_job(tree, catalogue);
  try {
    return config::read_job(tree, catalogue);
  } catch (const base::InputError& error) {
    throw told_as_flags(error);
  }
}

spec::Job job_from(const Arguments& args, const config::Catalogue& catalogue) {
  return job_of(job_tree(args, catalogue, 0), args, catalogue);
}

}  // namespace cli
