// SPDX-License-Identifier: Apache-2.0
#include "real/worker/intentions.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include "core/base/fault.h"
#include "core/plan/facts.h"
#include "core/plan/family.h"
#include "core/plan/moved_bytes.h"
#include "real/worker/library_versions.h"

namespace worker {
namespace {

/// Of everything that decides which rank meets which, when and with how much.
std::string fingerprint(const plan::Plan& plan) {
  real::Fingerprint all;
  for (const plan::Work& work : plan.works) {
    all.add(plan::family_of(work)).add(plan::members_of(work)).add(plan::moved_bytes(work));
  }
  for (const plan::Segment& segment : plan.segments) {
    all.add(segment.name);
    for (const plan::Operator& op : segment.operators) {
      all.add(plan.names[static_cast<std::size_t>(op.name)]).add(op.work).add(static_cast<int>(op.stream));
      all.add(op.layer).add(op.channel).add(op.records).add(op.padding);
      for (const plan::EventId event : op.waits) all.add(event);
    }
  }
  for (const plan::Role& role : plan.roles) {
    all.add(role.stage).add(role.first_rank).add(role.ranks);
    for (const plan::Call& call : role.calls) {
      all.add(call.segment).add(call.microbatch).add(call.chunk).add(call.other).add(call.other_chunk);
    }
  }
  return all.text();
}

/// Its size, and a fingerprint of its first 64 MiB.
std::string fingerprint_of_file(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in) throw base::InputError({{"--tokens", "cannot read " + path, "name a file of token ids", {}}});
  std::string head(std::size_t{64} << 20, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  return std::to_string(bytes) + " bytes, " + real::Fingerprint().add(head).text();
}

}  // namespace

real::Intentions intentions_of(const spec::Job& job, const plan::Plan& plan, const RunOptions& options) {
  real::Intentions out{{"--steps", std::to_string(options.steps)},
                       {"--warmup", std::to_string(options.warmup)},
                       {"--trace", options.trace.empty() ? "" : "given"},
                       {"--tokens", options.tokens.empty() ? "" : fingerprint_of_file(options.tokens)},
                       {"the set of libraries", library_versions()}};
  for (const auto& [key, value] : plan::facts_of(job)) out.emplace_back("the job's " + key, value);
  out.emplace_back("the Plan", fingerprint(plan));
  return out;
}

}  // namespace worker
