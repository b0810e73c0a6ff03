// SPDX-License-Identifier: Apache-2.0
#include "cli/job_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "cli/joined_names.h"
#include "cli/path_flags.h"
#include "cli/stated_dp.h"
#include "core/base/fault.h"
#include "core/config/job_file.h"
#include "core/config/job_reader.h"

namespace cli {
namespace {

/// A flag that takes one of the names of an enumeration's values.
template <spec::Named E>
constexpr PathFlag choice(const char* flag, const char* path, const char* value) {
  return {flag, path, value, joined_names<E>(), joined_names<E>()};
}

constexpr std::array kJobFlags{
    PathFlag{"--model", "model", "NAME", "a catalogue name, a file, or a Hugging Face config.json", "<models> <files>"},
    PathFlag{"--node", "cluster.node", "NAME", "the machine: dgx-h100", "<nodes> <files>"},
    PathFlag{"--nodes", "cluster.nodes", "N", "how many of them"},
    PathFlag{"--gpus-per-node", "cluster.node.gpus", "N", "when not all of a node's GPUs are used"},
    PathFlag{"--calibration", "cluster.node.gpu.calibration", "FILE",
             "curves of its GPU, as forerun calibrate writes them", "<calibrations> <files>"},
    PathFlag{"--fabric", "cluster.fabric", "NAME", "what joins the nodes: rail-400g", "<fabrics> <files>"},
    PathFlag{"--sequence", "training.sequence", "TOKENS", "length of a sequence"},
    PathFlag{"--global-batch", "training.global_batch", "N", "sequences in a step"},
    PathFlag{"--micro-batch", "training.micro_batch", "N", "sequences in one forward of one replica"},
    choice<spec::Dtype>("--precision", "training.precision", "DTYPE"),
    choice<spec::Optimizer>("--optimizer", "training.optimizer", "NAME"),
    PathFlag{"--tp", "strategy.tp", "N", "tensor parallel"},
    PathFlag{"--sp", "strategy.sp", "", "Megatron sequence parallel"},
    PathFlag{"--cp", "strategy.cp", "N", "context parallel"},
    PathFlag{"--pp", "strategy.pp", "N", "pipeline stages"},
    PathFlag{"--vpp", "strategy.vpp", "N", "model chunks a stage (virtual pipeline)"},
    choice<spec::Schedule>("--schedule", "strategy.schedule", "NAME"),
    PathFlag{"--dp", "strategy.dp", "N", "data parallel; what is left of the GPUs by default"},
    PathFlag{"--ep", "strategy.ep", "N", "expert parallel"},
    PathFlag{"--zero", "strategy.zero", "STAGE", "0 DDP, 1, 2, 3 = FSDP", "0 1 2 3"},
    PathFlag{"--recompute", "strategy.recompute", "KIND",
             "none selective full selective_ops, or {kind: full, layers: N}", joined_names<spec::Recompute::Kind>()},
    choice<spec::AttentionKernel>("--attention-kernel", "strategy.attention_kernel", "NAME"),
    PathFlag{"--framework", "strategy.framework", "NAME", "whose software: one of `forerun list frameworks`",
             "<frameworks>"},
    PathFlag{"--unfold", "simulation.unfold", "", "simulate every rank instead of one for each role"},
};

const char kGpusPerNode[] = "--gpus-per-node";

/// A node without some of its GPUs is one that exists; one with more is a slip of the pen. `file`: the Job before
/// flags.
void refuse_more_gpus(config::Value file, const Arguments& args, const config::Catalogue& catalogue) {
  if (!args.has(kGpusPerNode)) return;
  const long asked = std::strtol(args.get(kGpusPerNode).c_str(), nullptr, 10);  // no number: the reader tells
  long there = asked;
  try {
    for (const Setting& setting : settings_of(args, kJobFlags)) {
      const bool own = setting.path == "cluster.node.gpus" && setting.origin.starts_with(kGpusPerNode);
      if (!own && !setting.path.empty()) config::set_path(file, setting.path, setting.value, setting.origin);
    }
    there = config::read_unchecked_job(file, catalogue).cluster.node.gpus;
  } catch (const base::InputError&) {  // told with all that is wrong
  }
  if (asked <= there) return;
  throw base::InputError({{"cluster.node.gpus",
                           fmt::format("the node has {} GPUs", there),
                           fmt::format("choose fewer, or invent a larger node: --set cluster.node.gpus={}", asked),
                           {fmt::format("{} {}", kGpusPerNode, asked), 0, 0}}});
}

Arguments parsed(const std::string& flags) {
  std::istringstream words(flags);
  return parse({std::istream_iterator<std::string>(words), {}}, {}, with_job_flags({}));
}

}  // namespace

Operand job_operand() { return {"JOB", "a Job file, or a name of `forerun list jobs`", false, "<jobs> <files>"}; }

std::string job_notes() {
  return "Flags override the file, and --set overrides both; a map as a whole (strategy={}) comes before what lies in "
         "it. Of a flag that is given again the last counts. Without JOB the flags alone make the Job. A dp of the "
         "file gives way to other degrees, or GPUs, of the command line.\n";
}

std::vector<Option> with_job_flags(std::vector<Option> own) {
  for (const PathFlag& flag : kJobFlags) own.push_back({flag.name, flag.value, flag.help, false, flag.offers, true});
  own.push_back({kSet, "PATH=VALUE", "any field of the Job: strategy.overlap.tp=wgrad", true});
  return own;
}

/// Who builds the Job from flags alone is helped by the flag's name, not by the file's key.
base::InputError told_as_flags(const base::InputError& error, const std::string& otherwise) {
  return told_as_flags(error, kJobFlags, otherwise);
}

std::optional<base::Fault> without_its_map(const std::string& option, const std::string& path) {
  return without_its_map(kJobFlags, option, path);
}

std::vector<std::string> job_settings(const Arguments& args) {
  std::vector<std::string> out;
  for (const Setting& s : settings_of(args, kJobFlags))
    out.push_back(s.path.empty() ? s.value : s.path + '=' + s.value);
  return out;
}

config::Value job_tree(const Arguments& args, const config::Catalogue& catalogue, std::size_t operand) {
  config::Value tree;
  tree.kind = config::Value::Kind::map;
  if (operand < args.operands().size()) tree = config::load_job(args.operands()[operand], catalogue);
  refuse_more_gpus(tree, args, catalogue);
  lay_over(tree, args, kJobFlags);
  check_overridden(tree, args, kJobFlags,
                   [&](const config::Value& its) { config::read_unchecked_job(its, catalogue); });
  let_dp_follow(tree, catalogue);
  return tree;
}

config::Value with_flags(config::Value tree, const std::string& flags, const config::Catalogue& catalogue) {
  lay_over(tree, parsed(flags), kJobFlags);
  let_dp_follow(tree, catalogue);
  return tree;
}

std::vector<std::string> behind(const Arguments& args, std::vector<std::string> lines,
                                const std::vector<std::string>& paths) {
  std::vector<std::string> set = args.all(kSet);
  for (const std::string& path : paths) set.push_back(path + '=');
  const auto by_set = [&](const std::string& begin) {
    return std::ranges::any_of(set, [&](const std::string& entry) { return entry.starts_with(begin); });
  };
  for (std::string& line : lines) {
    const std::vector<Setting> settings = settings_of(parsed(line), kJobFlags);
    line.clear();
    for (const Setting& setting : settings) {
      std::string path = setting.path;
      if (by_set(path + '.')) path += ".kind";  // a word is that of the map (recompute), and lies in front of its keys
      const bool over = path != setting.path || by_set(path + '=');
      line += (line.empty() ? "" : " ") + (over ? kSet + (' ' + path) + '=' + setting.value : setting.origin);
    }
  }
  return lines;
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
