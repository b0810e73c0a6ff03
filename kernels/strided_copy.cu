// kernels/strided_copy.cu -- see strided_copy.h. Moves raw units: one element, or 16 bytes of them where all runs allow
// it. SPDX-License-Identifier: Apache-2.0
#include "kernels/device.cuh"
#include "kernels/strided_copy.h"

namespace kernels::gpu {
namespace {

struct Box {
  std::int64_t size[4], from[4], to[4];
};

/// threadIdx.x runs along the innermost dimension, rows are shared out over threadIdx.y and the grid.
template <class Unit>
__global__ void copy_rows(Box b, const Unit* from, Unit* to) {
  const std::int64_t rows = b.size[0] * b.size[1] * b.size[2];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  for (std::int64_t row = first; row < rows; row += static_cast<std::int64_t>(gridDim.x) * blockDim.y) {
    const std::int64_t k = row % b.size[2], j = row / b.size[2] % b.size[1], i = row / b.size[2] / b.size[1];
    const Unit* source = from + i * b.from[0] + j * b.from[1] + k * b.from[2];
    Unit* target = to + i * b.to[0] + j * b.to[1] + k * b.to[2];
    for (std::int64_t l = threadIdx.x; l < b.size[3]; l += blockDim.x) target[l * b.to[3]] = source[l * b.from[3]];
  }
}

template <class Unit>
void copy_box(const Box& box, const void* from, void* to, Stream stream) {
  unsigned along = 1;
  while (along < kBlock && along < box.size[3]) along *= 2;
  const dim3 threads(along, kBlock / along);
  launch(copy_rows<Unit>, {blocks_for(box.size[0] * box.size[1] * box.size[2], threads.y), threads}, stream, box,
         as<Unit>(from), as<Unit>(to));
}

/// The box in units of V elements.
Box in_units(const StridedCopy& c, std::int64_t units) {
  Box box;
  for (int d = 0; d < 4; ++d) {
    const std::int64_t divisor = d == 3 ? 1 : units;
    box.size[d] = d == 3 ? c.size[d] / units : c.size[d];
    box.from[d] = c.from_stride[d] / divisor;
    box.to[d] = c.to_stride[d] / divisor;
  }
  return box;
}

bool in_packs(const StridedCopy& c, Element element, const void* from, const void* to) {
  bool all = packs(element, c.size[3], from, to) && c.from_stride[3] == 1 && c.to_stride[3] == 1;
  for (int d = 0; d < 3; ++d) all = all && packs(element, c.from_stride[d]) && packs(element, c.to_stride[d]);
  return all;
}

}  // namespace

void strided_copy(const StridedCopy& c, Element element, const void* from, void* to, Stream stream) {
  if (c.size[0] * c.size[1] * c.size[2] * c.size[3] == 0) return;
  if (in_packs(c, element, from, to)) {
    copy_box<uint4>(in_units(c, element == Element::bf16 ? 8 : 4), from, to, stream);
  } else if (element == Element::bf16) {
    copy_box<std::uint16_t>(in_units(c, 1), from, to, stream);
  } else {
    copy_box<std::uint32_t>(in_units(c, 1), from, to, stream);
  }
  check_launch("strided copy");
}

}  // namespace kernels::gpu
