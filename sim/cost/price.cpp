// sim/cost/price.cpp -- one operator family a file; this one only names them, on the slowest board of the step.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/price.h"

#include "sim/cost/attention.h"
#include "sim/cost/convolution.h"
#include "sim/cost/index_scores.h"
#include "sim/cost/matmul.h"
#include "sim/cost/memory_bound.h"
#include "sim/cost/recurrence.h"

namespace sim {
namespace {

Price on_slowest_board(Price price, const Device& device) {
  price.time = price.time * device.slowest;
  return price;
}

}  // namespace

Price price(const plan::Matmul& w, const Device& device) { return on_slowest_board(price_matmul(w, device), device); }
Price price(const plan::Attention& w, const Device& device) {
  return on_slowest_board(price_attention(w, device), device);
}
Price price(const plan::MemoryBound& w, const Device& device) {
  return on_slowest_board(price_memory_bound(w, device), device);
}
Price price(const plan::Convolution& w, const Device& device) {
  return on_slowest_board(price_convolution(w, device), device);
}

Price price(const plan::Recurrence& w, const Device& device) {
  return on_slowest_board(price_recurrence(w, device), device);
}

Price price(const plan::IndexScores& w, const Device& device) {
  return on_slowest_board(price_index_scores(w, device), device);
}

}  // namespace sim
