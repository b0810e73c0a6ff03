// SPDX-License-Identifier: Apache-2.0
#include "core/plan/context_parallel.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/plan/low_precision.h"
#include "core/spec/context_rules.h"

namespace plan {
namespace {

/// The events of hops take turns: K and V are on their way while the ones before are attended to.
EventId hopped(int hop) { return static_cast<EventId>(kHopped + hop % 2); }

}  // namespace

std::int64_t keys_and_values(const Context& c) {
  return c.tokens * c.attention_kv_heads * (c.head_dim + c.value_head_dim);
}

TradedWidths traded_widths(const Context& c) {
  const spec::UlyssesShare share = spec::ulysses_share(c.job);
  const std::int64_t queries = std::int64_t{share.queries} * c.cp, keys = std::int64_t{share.keys} * c.cp;
  return {queries * c.head_dim, keys * c.head_dim, keys * c.value_head_dim, queries * c.value_head_dim};
}

std::int64_t kept_for_context_parallel(const Context& c) {
  if (!c.strategy.trades_heads()) return 0;
  const TradedWidths w = traded_widths(c);
  const std::int64_t copies = w.keys + w.values - c.kv_width - std::int64_t{c.kv_heads} * c.value_head_dim;
  return c.tokens * (w.queries - c.q_width + w.outputs + copies) * c.element;
}

void ContextParallel::forward() {
  switch (c_.strategy.cp_kind) {
    case spec::CpKind::ring: return c_.job.framework.ring_gathers ? ring_at_once_forward() : ring_forward();
    case spec::CpKind::all_gather: return gathered_forward();
    case spec::CpKind::ulysses: return ulysses_forward();
  }
}

void ContextParallel::backward() {
  switch (c_.strategy.cp_kind) {
    case spec::CpKind::ring: return c_.job.framework.ring_gathers ? ring_at_once_backward() : ring_backward();
    case spec::CpKind::all_gather: return gathered_backward();
    case spec::CpKind::ulysses: return ulysses_backward();
  }
}

std::int64_t ContextParallel::operand(std::int64_t elements) const {
  return attention_dtype(c_, out_.layer) == spec::Dtype::fp8 ? elements / c_.element : elements;
}

std::vector<RingStep> ContextParallel::steps() const {
  return ring_steps_in_documents(c_.cp, c_.sequence, c_.zigzag, mask_, piece_);
}

void ContextParallel::attention(std::int64_t queries, std::int64_t keys, bool causal, std::int64_t window,
                                bool backward, std::int64_t document) {
  out_.compute(
      Attention{c_.attention, c_.batch, queries, keys, c_.heads, c_.attention_kv_heads, c_.head_dim, causal, window,
                backward, c_.dropout, attention_dtype(c_, out_.layer), c_.model.mla ? c_.value_head_dim : 0, document},
      backward ? "attention gradient" : "attention", backward ? 3 : 1);
}

/// A rank's own block has the mask's shape; the others are rectangles, of which a window leaves so many keys a query.
void ContextParallel::attention(const RingStep& step, bool own, bool backward) {
  if (own && mask_.causal) {
    return attention(step.queries, step.keys, true, mask_.window, backward, document_share(c_.cp, piece_, c_.zigzag));
  }
  const double mean = step.pairs / static_cast<double>(step.queries);
  const bool whole = mean >= static_cast<double>(step.keys);
  attention(step.queries, step.keys, false, whole ? 0 : static_cast<std::int64_t>(std::ceil(mean)), backward);
}

void ContextParallel::communicate(CollectiveKind kind, std::int64_t elements, std::string_view name) {
  const std::int16_t channel = out_.pool().channel({Channel::Kind::group, Axis::cp});
  out_.communicate(Collective{kind, elements * c_.element, c_.group(Axis::cp)}, name, Stream::cp, channel,
                   {Stream::compute});
}

/// It waits for the attention issued last, which read the buffer that it overwrites.
void ContextParallel::hop(std::int64_t elements, int number, std::string_view name) {
  communicate(CollectiveKind::shift, elements, name);
  out_.record(hopped(number));
}

/// An elementwise kernel; bytes are of one element.
void ContextParallel::pass(std::int64_t elements, double read, double written, std::string_view name) {
  MemoryBound work{MemoryBound::Kind::elementwise, 0, 0, 1};
  work.read = static_cast<std::int64_t>(read * static_cast<double>(elements));
  work.written = static_cast<std::int64_t>(written * static_cast<double>(elements));
  out_.compute(work, name);
}

void ContextParallel::ring_forward() {
  const std::vector<RingStep> steps = this->steps();
  const int count = static_cast<int>(steps.size());
  const double e = static_cast<double>(c_.element);
  const std::int64_t travelling = operand(keys_and_values(c_));
  // What has arrived and the output of each step are held until all is joined at the end.
  std::int64_t held = count * travelling;
  for (const RingStep& step : steps) held += c_.batch * step.queries * c_.context_width;
  out_.take(Category::workspace, held * c_.element);
  if (count > 1) pass(travelling, e, e, "keys and values joined");
  for (int i = 0; i < count; ++i) {
    if (i + 1 < count) hop(travelling, i + 1, "keys and values shift");
    if (steps[i].pairs == 0) continue;
    if (i > 0) out_.join(hopped(i));
    attention(steps[i], i == 0, false);
    if (i > 0) pass(c_.batch * steps[i].queries * c_.heads, 8, 4, "attention log-sum-exp correction");
  }
  for (int i = 0; i < count && count > 1; ++i) {
    const std::int64_t outputs = c_.batch * steps[i].queries * c_.context_width;
    if (outputs > 0) pass(outputs, i == 0 ? e : 2 * e, e, "attention output correction");
  }
  out_.give(Category::workspace, held * c_.element);
}

/// The ring goes the other way round, from the K and V that arrived last (which the forward keeps) back to the rank's
/// own. The gradients of a block of keys follow one step behind it: the first hop carries K and V alone, the last one
/// gradients alone.
void ContextParallel::ring_backward() {
  const std::vector<RingStep> steps = this->steps();
  const int count = static_cast<int>(steps.size());
  const double e = static_cast<double>(c_.element);
  const std::int64_t gradients = keys_and_values(c_), travelling = operand(gradients);
  const std::int64_t held = 2 * (travelling + gradients) * c_.element;  // two buffers for K, V and their gradients
  out_.take(Category::workspace, held);
  for (int i = 0; i < count; ++i) {
    const RingStep& step = steps[count - 1 - i];
    const bool first = i == 0, last = i + 1 == count;
    if (count > 1) {
      hop((last ? 0 : travelling) + (first ? 0 : gradients), i,
          first  ? "keys and values shift"
          : last ? "key and value gradients shift"
                 : "keys, values and gradients shift");
    }
    if (step.pairs == 0) continue;
    if (!first) out_.join(hopped(i - 1));
    attention(step, last, true);
    if (first) continue;
    out_.join(hopped(i));
    const std::int64_t added = c_.batch * step.keys * c_.attention_kv_heads * (c_.head_dim + c_.value_head_dim) +
                               c_.batch * step.queries * c_.q_width;
    pass(added, 2 * e, e, "attention gradients added");
  }
  out_.give(Category::workspace, held);
}

/// Of the rank whose chunks see most (see ring_steps()): each of its chunks against the keys up to its own end.
/// Documents begin and end anywhere in a chunk, so a query sees what one in a document does on average.
void ContextParallel::chunks_of_gathered(bool backward) {
  if (piece_ > 0 && piece_ < c_.sequence) {
    const std::int64_t queries = c_.sequence / c_.cp;
    const std::int64_t seen = std::min(c_.sequence, queries + piece_);
    return attention(queries, seen, false, mean_keys(piece_, mask_), backward);
  }
  if (!mask_.causal) return attention(c_.sequence / c_.cp, c_.sequence, false, mask_.window, backward);
  for (const Stretch& chunk : stretches_of(c_.cp - 1, c_.cp, c_.sequence, c_.zigzag)) {
    const std::int64_t end = chunk.begin + chunk.length;
    const std::int64_t seen = mask_.window > 0 ? std::min(end, chunk.length + mask_.window) : end;
    attention(chunk.length, seen, true, mask_.window, backward);
  }
}

void ContextParallel::gather_in_order(std::int64_t gathered) {
  const double e = static_cast<double>(c_.element);
  communicate(CollectiveKind::all_gather, gathered, "keys and values all-gather");
  out_.join(Stream::cp);
  if (c_.zigzag) pass(gathered, e, e, "keys and values in order");
}

void ContextParallel::gathered_forward() {
  const std::int64_t gathered = operand(keys_and_values(c_)) * c_.cp;
  const std::int64_t held = (c_.zigzag ? 2 : 1) * gathered * c_.element;
  out_.take(Category::workspace, held);
  gather_in_order(gathered);
  chunks_of_gathered(false);
  out_.give(Category::workspace, held);
}

void ContextParallel::gathered_backward() {
  const std::int64_t gradients = keys_and_values(c_) * c_.cp, gathered = operand(gradients);
  const double e = static_cast<double>(c_.element);
  const std::int64_t held = ((c_.zigzag ? 2 : 1) * gathered + gradients) * c_.element;
  out_.take(Category::workspace, held);
  gather_in_order(gathered);
  chunks_of_gathered(true);
  if (c_.zigzag) {
    pass(gradients, 2 * e, e, "attention gradients added");  // of the second chunk to the first one's
    pass(gradients, e, e, "key and value gradients in order");
  }
  communicate(CollectiveKind::reduce_scatter, gradients, "key and value gradients reduce-scatter");
  out_.join(Stream::cp);
  out_.give(Category::workspace, held);
}

/// One tensor of all tokens of the rank to its heads' owners, or back. Heads lie together on the side where tokens are
/// cut, so that side copies; zigzag chunks are put in order on the other side.
void ContextParallel::trade(std::int64_t elements, std::string_view name, bool to_heads) {
  const double e = static_cast<double>(c_.element);
  if (to_heads || c_.zigzag) pass(elements, e, e, std::string(name) + " packed");
  communicate(CollectiveKind::all_to_all, elements, std::string(name) + " all-to-all");
}

void ContextParallel::whole_sequence(bool backward) {
  const spec::UlyssesShare share = spec::ulysses_share(c_.job);
  out_.compute(Attention{c_.attention, c_.batch, c_.sequence, c_.sequence, share.queries, share.keys, c_.head_dim,
                         mask_.causal, mask_.window, backward, c_.dropout, attention_dtype(c_, out_.layer),
                         c_.model.mla ? c_.value_head_dim : 0, piece_},
               backward ? "attention gradient" : "attention", backward ? 3 : 1);
}

void ContextParallel::ulysses_forward() {
  const double e = static_cast<double>(c_.element);
  const TradedWidths w = traded_widths(c_);
  const std::int64_t queries = operand(c_.tokens * w.queries), keys = operand(c_.tokens * w.keys),
                     values = operand(c_.tokens * w.values);
  const std::int64_t outputs = c_.tokens * w.outputs;
  const std::int64_t held = (queries + keys + values) * c_.element;  // packed, while the traded ones arrive
  out_.take(Category::workspace, held);
  trade(queries, "queries", true);
  trade(keys, "keys", true);
  trade(values, "values", true);
  out_.join(Stream::cp);
  if (c_.zigzag) pass(queries + keys + values, e, e, "sequence in order");
  whole_sequence(false);
  trade(outputs, "attention output", false);
  out_.join(Stream::cp);
  pass(outputs, e, e, "attention output unpacked");
  out_.give(Category::workspace, held);
}

void ContextParallel::ulysses_backward() {
  const double e = static_cast<double>(c_.element);
  const TradedWidths w = traded_widths(c_);
  const std::int64_t queries = c_.tokens * w.queries, keys = c_.tokens * w.keys, values = c_.tokens * w.values;
  const std::int64_t outputs = c_.tokens * w.outputs;
  const std::int64_t held =
      (queries + outputs + 2 * keys + 2 * values) * c_.element;  // gradients before and behind their trade
  out_.take(Category::workspace, held);
  trade(operand(outputs), "attention output gradient", true);
  out_.join(Stream::cp);
  if (c_.zigzag) pass(operand(outputs), e, e, "sequence in order");
  whole_sequence(true);
  trade(queries, "query gradient", false);
  trade(keys, "key gradient", false);
  trade(values, "value gradient", false);
  out_.join(Stream::cp);
  pass(queries + keys + values, e, e, "attention gradients unpacked");  // copies of a head are summed on the way
  out_.give(Category::workspace, held);
}

}  // namespace plan
