// kernels/convert.cu -- see convert.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/convert.h"
#include "kernels/device.cuh"

namespace kernels::gpu {
namespace {

template <class From, class To, int V>
__global__ void convert_scaled(std::int64_t count, float alpha, const From* x, float beta, To* y) {
  for (std::int64_t i = grid_index() * V; i < count; i += grid_stride() * V) {
    const Pack<From, V> in = load<V>(x + i);
    Pack<To, V> out{};
    if (beta != 0) out = load<V>(y + i);
    for (int j = 0; j < V; ++j) out.set(j, alpha * in[j] + (beta != 0 ? beta * out[j] : 0));
    store(y + i, out);
  }
}

template <class T, int V>
__global__ void add_two(std::int64_t count, const T* x, const T* y, T* to) {
  for (std::int64_t i = grid_index() * V; i < count; i += grid_stride() * V) {
    const Pack<T, V> a = load<V>(x + i), b = load<V>(y + i);
    Pack<T, V> out;
    for (int j = 0; j < V; ++j) out.set(j, a[j] + b[j]);
    store(to + i, out);
  }
}

}  // namespace

void scale_add(std::int64_t count, double alpha, Element from, const void* x, double beta, Element to, void* y,
               Stream stream) {
  const bool wide = packs(Element::bf16, count, x, y);  // by eights, whatever the types
  with_element(from, [&]<class From>() {
    with_element(to, [&]<class To>() {
      const auto run = [&]<int V>() {
        launch(convert_scaled<From, To, V>, {blocks_for(count / V), kBlock}, stream, count, static_cast<float>(alpha),
               as<From>(x), static_cast<float>(beta), as<To>(y));
      };
      wide ? run.template operator()<8>() : run.template operator()<1>();
    });
  });
  check_launch("scale add");
}

void sum(std::int64_t count, Element element, const void* x, const void* y, void* to, Stream stream) {
  with_packs(element, packs(element, count, x, y, to), [&]<class T, int V>() {
    launch(add_two<T, V>, {blocks_for(count / V), kBlock}, stream, count, as<T>(x), as<T>(y), as<T>(to));
  });
  check_launch("sum");
}

}  // namespace kernels::gpu
