// real/executor/dropout.h -- which random words drop an element: a function of the seed, the layer and the site, and of
// the element's place in the whole job. Which rank holds it, in which microbatch, and whether it is computed again,
// makes no difference, so masks are not kept but drawn again. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "real/executor/task.h"

namespace real {

/// Where a model of GPT-2's recipe drops.
enum class DropoutSite : std::uint8_t { embedding, probabilities, attention_output, feed_forward_output };

/// The stream of random words of a site: the first two words of the counter 4 (layer + 1) + site under `seed`. Layer
/// -1: the embedding.
std::uint64_t dropout_stream(std::uint64_t seed, int layer, DropoutSite site);

/// y = x, of the tokens and widths that norms see, dropped. Hidden element h of token t of sequence s, counted over all
/// steps, has the place (s x sequence + t) x hidden + h. y may be x.
void drop_hidden(Task&, DropoutSite site, const Tensor& x, const Tensor& y);

/// The same of [batch, heads of the rank, queries, keys]: key k of query q of head h of the model has the place
/// ((s x heads + h) x sequence + q) x sequence + k.
void drop_probabilities(Task&, const Tensor& x, const Tensor& y);

/// Where a kernel's scores begin: the sequence of the microbatch, the head of the rank, places in the sequence.
struct Corner {
  std::int64_t sequence = 0, head = 0, query = 0, key = 0;
};

/// Has a fused kernel drop the same probabilities.
void drop_in_kernel(const Task&, const Corner&, kernels::Attention&);

}  // namespace real
