// sim/cost/price.cpp -- one operator family a file; this one only names them.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/price.h"

#include "sim/cost/attention.h"
#include "sim/cost/convolution.h"
#include "sim/cost/matmul.h"
#include "sim/cost/memory_bound.h"

namespace sim {

Price price(const plan::Matmul& work, const Device& device) { return price_matmul(work, device); }
Price price(const plan::Attention& work, const Device& device) { return price_attention(work, device); }
Price price(const plan::MemoryBound& work, const Device& device) { return price_memory_bound(work, device); }
Price price(const plan::Convolution& work, const Device& device) { return price_convolution(work, device); }

}  // namespace sim
