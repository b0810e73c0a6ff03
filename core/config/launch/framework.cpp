// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/framework.h"

#include <algorithm>
#include <array>

namespace config::launch {
namespace {

/// The words of a command, an option together with its value. Blanks between double quotes end no word.
std::vector<std::string> pieces(std::string_view command) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : command) {
    if (c == '"') quoted = !quoted;
    if (c == ' ' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  for (std::size_t i = 0; i + 1 < out.size(); ++i) {
    if (!out[i].starts_with('-') || out[i + 1].starts_with('-')) continue;
    out[i] += ' ' + out[i + 1];
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return out;
}

}  // namespace

std::span<const Framework* const> frameworks() {
  static constexpr std::array kAll{&kMegatron,   &kMegatronBridge, &kTorchtitan, &kDeepspeed,
                                   &kAccelerate, &kMaxtext,        &kNemo};
  return kAll;
}

std::vector<std::string> framework_names(bool imported_alone) {
  std::vector<std::string> out;
  for (const Framework* one : frameworks()) {
    if (one->read != nullptr || !imported_alone) out.emplace_back(one->name);
  }
  return out;
}

const Framework* framework_named(std::string_view name) {
  const auto all = frameworks();
  const auto it = std::find_if(all.begin(), all.end(), [&](const Framework* one) { return one->name == name; });
  return it == all.end() ? nullptr : *it;
}

std::string torchrun(const spec::Job& job) {
  const std::string gpus = std::to_string(job.cluster.node.gpus), nodes = std::to_string(job.cluster.nodes);
  if (job.cluster.nodes == 1) return "torchrun --standalone --nproc-per-node " + gpus;
  return "torchrun --nnodes " + nodes + " --nproc-per-node " + gpus +
         " --rdzv-backend c10d --rdzv-id \"${SLURM_JOB_ID:-forerun}\" --rdzv-endpoint \"${HEAD_NODE:?is the first "
         "node}:29500\"";
}

std::string as_shell_script(const spec::Job&, const std::string& file) { return "bash " + file + " \"$@\""; }

std::string folded(std::string_view command, std::string_view indent) {
  constexpr std::size_t kWidth = 58;  // with " \\" behind it: a narrow terminal shows the script as it is
  std::string out, line;
  for (const std::string& piece : pieces(command)) {
    if (!line.empty() && line.size() + 1 + piece.size() > kWidth) {
      out += line + " \\\n";
      line = std::string(indent) + piece;
    } else {
      line += (line.empty() ? "" : " ") + piece;
    }
  }
  return out + line;
}

std::string heading(const Export& e, std::string_view comment) {
  const std::string mark(comment);
  return mark + "Written by forerun export for " + e.table.title + ":\n" + mark + e.job.model.name + " on " +
         spec::nodes_text(e.job.cluster) + ", " + spec::gpus_text(e.job.cluster) + ".\n";
}

}  // namespace config::launch
