// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/held_back.h"

#include <algorithm>
#include <variant>
#include <vector>

namespace sim {
namespace {

std::int64_t gathered_forward(const plan::Plan& plan, const plan::Segment& segment) {
  std::int64_t bytes = 0;
  for (const plan::Operator& op : segment.operators) {
    if (op.stream != plan::Stream::tp || op.phase != plan::Phase::forward) continue;
    const auto* work = std::get_if<plan::Collective>(&plan.works[op.work]);
    if (work && work->kind == plan::CollectiveKind::all_gather) bytes += work->bytes;
  }
  return bytes;
}

const plan::Operator* peak_operator(const plan::Plan& plan, const plan::Role& role, const MemoryPeak& peak) {
  if (peak.call < 0 || peak.op < 0) return nullptr;
  return &plan.segments[role.calls[peak.call].segment].operators[peak.op];
}

/// What a role runs, each segment once.
std::vector<const plan::Segment*> segments_of(const plan::Plan& plan, const plan::Role& role) {
  std::vector<const plan::Segment*> out;
  std::vector<bool> seen(plan.segments.size());
  for (const plan::Call& call : role.calls) {
    if (!seen[call.segment]) out.push_back(&plan.segments[call.segment]);
    seen[call.segment] = true;
  }
  return out;
}

template <typename Of>
std::int64_t most_of(const std::vector<const plan::Segment*>& segments, const Of& of) {
  std::int64_t most = 0;
  for (const plan::Segment* segment : segments) most = std::max(most, of(*segment));
  return most;
}

/// Of what a segment takes at operators of `phase`, one change of memory each; layers of the model, or what is none.
std::vector<std::int64_t> taken(const plan::Segment& segment, plan::Phase phase, plan::Category category,
                                bool of_layers) {
  std::vector<std::int64_t> out;
  for (const plan::MemoryChange& change : segment.memory) {
    const plan::Operator& op = segment.operators[change.at];
    const bool wanted = op.phase == phase && (op.layer >= 0) == of_layers && change.category == category;
    if (wanted && change.bytes > 0) out.push_back(change.bytes);
  }
  return out;
}

std::int64_t most(const std::vector<std::int64_t>& bytes) { return bytes.empty() ? 0 : std::ranges::max(bytes); }

/// The largest tensor of a layer's forward pass: what a matmul writes.
std::int64_t widest_of_layers(const plan::Plan& plan, const plan::Segment& segment) {
  std::int64_t widest = 0;
  for (const plan::Operator& op : segment.operators) {
    const auto* work = std::get_if<plan::Matmul>(&plan.works[op.work]);
    if (!work || op.layer < 0 || op.phase != plan::Phase::forward) continue;
    const auto bytes = static_cast<std::int64_t>(spec::bytes_of(work->out));
    widest = std::max(widest, work->batch * work->m * work->n * bytes);
  }
  return widest;
}

/// Segments that the device gave for a tensor each. Free ones serve what is not larger.
class Segments {
 public:
  void take(std::int64_t bytes) {
    if (bytes == 0) return;
    const auto fits = std::ranges::lower_bound(free_, bytes);
    const std::int64_t segment = fits == free_.end() ? bytes : *fits;
    if (fits != free_.end()) {
      free_.erase(fits);
    } else {
      total_ += bytes;
    }
    taken_.push_back(segment);
  }
  void give_all() {
    free_.insert(free_.end(), taken_.begin(), taken_.end());
    taken_.clear();
    std::ranges::sort(free_);
  }
  std::int64_t total() const { return total_; }

 private:
  std::vector<std::int64_t> free_, taken_;  // free ones in ascending order
  std::int64_t total_ = 0;
};

bool has_allocator(const spec::Job& job) { return job.framework.fragmentation > 0; }

std::int64_t bucket_of(const plan::Plan& plan, const plan::Role& role, const spec::Job& job) {
  if (job.strategy.zero >= 2 || plan.dp == 1) return 0;  // from zero 2 on buckets are counted as communication
  const auto bucket = static_cast<std::int64_t>(job.framework.gradient_bucket.si());
  return std::min(bucket, role.resident[static_cast<int>(plan::Category::gradients)]);
}

}  // namespace

std::int64_t awaiting_device(const plan::Plan& plan, const plan::Role& role, const spec::Job& job) {
  const bool waits = (plan.pp > 1 && job.framework.synchronizes_p2p) || job.strategy.zero == 3;
  const bool beside = job.strategy.overlap.tp == spec::TpOverlap::chunked;
  if (!job.framework.records_streams || waits || !beside) return 0;
  return most_of(segments_of(plan, role), [&](const plan::Segment& s) { return gathered_forward(plan, s); });
}

std::int64_t behind_activations(const plan::Plan& plan, const plan::Role& role, const spec::Job& job,
                                const MemoryPeak& peak) {
  using plan::Category, plan::Phase;
  const plan::Operator* at = peak_operator(plan, role, peak);
  if (!has_allocator(job) || (at && at->phase == Phase::optimizer)) return 0;
  const auto all = segments_of(plan, role);
  const std::int64_t table =
      most_of(all, [](const plan::Segment& s) { return most(taken(s, Phase::backward, Category::workspace, false)); });
  const std::int64_t served = most_of(all, [&](const plan::Segment& s) {  // by what the layers or the loss left
    return std::max(widest_of_layers(plan, s), most(taken(s, Phase::forward, Category::logits, false)));
  });
  const bool is_peak = at && at->phase == Phase::backward && at->layer < 0;
  Segments segments;
  if (!is_peak && table > served) segments.take(table);
  segments.give_all();
  if (!job.framework.flat_workspace) return segments.total();
  segments.take(bucket_of(plan, role, job));
  segments.give_all();
  for (const plan::Segment* segment : all) {
    for (const std::int64_t piece : taken(*segment, Phase::optimizer, Category::workspace, false)) segments.take(piece);
    segments.give_all();
  }
  return segments.total();
}

std::int64_t too_narrow_for_logits(const plan::Plan& plan, const plan::Role& role, const spec::Job& job,
                                   const MemoryPeak& peak) {
  using plan::Category, plan::Phase;
  const plan::Operator* at = peak_operator(plan, role, peak);
  if (!has_allocator(job) || !at || at->layer >= 0 || peak.bytes[static_cast<int>(Category::logits)] == 0) return 0;
  const auto all = segments_of(plan, role);
  const std::int64_t narrowest = most_of(all, [](const plan::Segment& s) {
    const auto pieces = taken(s, Phase::forward, Category::logits, false);
    return pieces.empty() ? 0 : pieces.front();  // the matmul's own output
  });
  const std::int64_t widest = most_of(all, [&](const plan::Segment& s) { return widest_of_layers(plan, s); });
  if (narrowest <= widest) return 0;
  return most_of(all, [](const plan::Segment& s) { return most(taken(s, Phase::forward, Category::workspace, true)); });
}

}  // namespace sim
