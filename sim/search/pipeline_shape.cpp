// SPDX-License-Identifier: Apache-2.0
#include "sim/search/pipeline_shape.h"

#include <algorithm>
#include <cstddef>

#include "core/spec/placement.h"

namespace sim {
namespace {

using plan::Pass;

/// Passes kept before the book is begun anew: some 200 MB.
constexpr std::size_t kMostPasses = 4'000'000;

bool is_return(Pass pass) { return pass == Pass::backward || pass == Pass::input_gradient; }

class Builder {
 public:
  explicit Builder(const ShapeKey& key)
      : key_(key), placement_(spec::traits_of(key.schedule).shape, key.stages, key.chunks) {}

  PipelineShape build() {
    list_passes();
    join_passes();
    for (int stage = 0; stage < key_.stages; ++stage) {
      out_.fullest.push_back(fullest_of(stage));
      out_.like_before.push_back(stage > 0 && covers(out_.fullest[stage - 1], out_.fullest[stage]));
    }
    return std::move(out_);
  }

 private:
  void list_passes() {
    const auto orders =
        plan::orders(key_.schedule, {.stages = key_.stages, .chunks = key_.chunks, .microbatches = key_.microbatches});
    forward_at_.assign(static_cast<std::size_t>(placement_.places()) * key_.microbatches, -1);
    return_at_ = forward_at_;
    for (int stage = 0; stage < key_.stages; ++stage) {
      out_.first_of.push_back(static_cast<std::int32_t>(out_.passes.size()));
      std::vector<int> forwards(key_.chunks), completed(key_.chunks);
      for (const plan::Slot& slot : orders[stage]) add(stage, slot, forwards, completed);
    }
    out_.first_of.push_back(static_cast<std::int32_t>(out_.passes.size()));
  }

  void add(int stage, const plan::Slot& slot, std::vector<int>& forwards, std::vector<int>& completed) {
    ShapePass pass{
        .stage = static_cast<std::int16_t>(stage), .chunk = static_cast<std::int16_t>(slot.chunk), .pass = slot.pass};
    const bool completes = slot.pass == Pass::backward || slot.pass == Pass::weight_gradient;
    pass.first = slot.pass == Pass::forward && forwards[slot.chunk]++ == 0;
    pass.last = completes && ++completed[slot.chunk] == key_.microbatches;
    const auto number = static_cast<std::int32_t>(out_.passes.size());
    const std::size_t at = place_of(stage, slot.chunk, slot.microbatch);
    if (slot.pass == Pass::forward) forward_at_[at] = number;
    if (is_return(slot.pass)) return_at_[at] = number;
    microbatch_.push_back(slot.microbatch);
    out_.passes.push_back(pass);
  }

  std::size_t place_of(int stage, int chunk, int microbatch) const {
    return static_cast<std::size_t>(placement_.place(stage, chunk)) * key_.microbatches + microbatch;
  }

  void join_passes() {
    const auto row = static_cast<std::size_t>(key_.microbatches);
    for (std::size_t i = 0; i < out_.passes.size(); ++i) {
      ShapePass& pass = out_.passes[i];
      const std::size_t at = place_of(pass.stage, pass.chunk, microbatch_[i]);
      if (pass.pass == Pass::forward && at >= row) pass.input = forward_at_[at - row];
      if (is_return(pass.pass) && at + row < return_at_.size()) pass.input = return_at_[at + row];
      if (pass.input < 0) continue;
      ShapePass& from = out_.passes[pass.input];
      from.next = static_cast<std::int32_t>(i);
      pass.crosses = from.stage != pass.stage;
      // Round a ring of chunks the last stage sends forward to the first.
      pass.downward = placement_.crossing() ? from.stage < pass.stage : pass.pass == Pass::forward;
    }
  }

  std::vector<Fullness> fullest_of(int stage) const {
    std::vector<Fullness> out;
    Fullness now;
    now.forwards.assign(key_.chunks, 0);
    now.gradients.assign(key_.chunks, 0);
    for (std::int32_t i = out_.first_of[stage]; i < out_.first_of[stage + 1]; ++i) {
      const ShapePass& pass = out_.passes[i];
      now.pass = pass.pass;
      now.chunk = pass.chunk;
      note(now, out);
      if (pass.pass == Pass::forward) ++now.forwards[pass.chunk];
      if (is_return(pass.pass)) --now.forwards[pass.chunk];
      if (pass.pass == Pass::input_gradient) ++now.gradients[pass.chunk];
      if (pass.pass == Pass::weight_gradient) --now.gradients[pass.chunk];
    }
    return out;
  }

  static bool below(const Fullness& a, const Fullness& b) {
    if (a.pass != b.pass || a.chunk != b.chunk) return false;
    for (std::size_t c = 0; c < a.forwards.size(); ++c) {
      if (a.forwards[c] > b.forwards[c] || a.gradients[c] > b.gradients[c]) return false;
    }
    return true;
  }

  static bool covers(const std::vector<Fullness>& more, const std::vector<Fullness>& less) {
    return std::all_of(less.begin(), less.end(), [&](const Fullness& one) {
      return std::any_of(more.begin(), more.end(), [&](const Fullness& other) { return below(one, other); });
    });
  }

  static void note(const Fullness& now, std::vector<Fullness>& known) {
    for (const Fullness& one : known) {
      if (below(now, one)) return;
    }
    std::erase_if(known, [&](const Fullness& one) { return below(one, now); });
    known.push_back(now);
  }

  const ShapeKey key_;
  const spec::Placement placement_;
  PipelineShape out_;
  std::vector<std::int32_t> forward_at_, return_at_;  // [place x microbatches + microbatch]
  std::vector<std::int32_t> microbatch_;              // of each pass
};

}  // namespace

PipelineShape pipeline_shape(const ShapeKey& key) { return Builder(key).build(); }

std::shared_ptr<const PipelineShape> ShapeBook::of(const ShapeKey& key) {
  {
    const std::lock_guard lock(guard_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  auto made = std::make_shared<const PipelineShape>(pipeline_shape(key));
  const std::lock_guard lock(guard_);
  if (passes_ + made->passes.size() > kMostPasses) {
    known_.clear();
    passes_ = 0;
  }
  passes_ += made->passes.size();
  return known_.try_emplace(key, std::move(made)).first->second;
}

}  // namespace sim
