// tests/emulated_gpu/libraries/cudnn_program.cpp -- see cudnn_program.h. SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/libraries/cudnn_program.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/libraries/number.h"
#include "tests/emulated_gpu/memory.h"

namespace emulated_gpu {
namespace {

using Sizes = std::array<std::int64_t, 4>;

/// Elements in the order of indices, the last one fastest.
using Elements = std::vector<float>;

std::int64_t count(const Sizes& size) { return size[0] * size[1] * size[2] * size[3]; }

Sizes index_of(std::int64_t element, const Sizes& size) {
  Sizes index{};
  for (std::size_t d = 4; d-- > 0; element /= size[d]) index[d] = element % size[d];
  return index;
}

/// Where a tensor's element lies that belongs to an index of a larger one: a side of 1 is repeated, one that divides
/// the larger side belongs to as many neighbours (heads that share keys and values).
std::int64_t element_of(const Sizes& index, const Sizes& of, const Sizes& size) {
  std::int64_t element = 0;
  for (std::size_t d = 0; d < 4; ++d) element = element * size[d] + index[d] * size[d] / of[d];
  return element;
}

std::int64_t offset_of(const Sizes& index, const Sizes& stride) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < 4; ++d) offset += index[d] * stride[d];
  return offset;
}

std::int64_t elements_in_memory(const GraphTensor& t) {
  Sizes last = t.size;
  for (std::int64_t& side : last) --side;
  return offset_of(last, t.stride) + 1;
}

cudaDataType type_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT: return CUDA_R_32F;
    case CUDNN_DATA_BFLOAT16: return CUDA_R_16BF;
    default: throw Fault("a tensor of cuDNN in memory of a type that is not emulated");
  }
}

float rounded(float value, cudnnDataType_t type) {
  if (type != CUDNN_DATA_BFLOAT16) return value;
  std::uint16_t bits = 0;
  store(value, &bits, 0, CUDA_R_16BF);
  return load(&bits, 0, CUDA_R_16BF);
}

Elements matmul(const GraphTensor& a, const Elements& x, const GraphTensor& b, const Elements& y, const Sizes& size) {
  Elements out(static_cast<std::size_t>(count(size)));
  const std::int64_t inner = a.size[3];
  const Sizes of_a{size[0], size[1], a.size[2], inner}, of_b{size[0], size[1], inner, b.size[3]};
  for (std::int64_t e = 0; e < count(size); ++e) {
    const Sizes i = index_of(e, size);
    const std::int64_t row = element_of({i[0], i[1], i[2], 0}, of_a, a.size);
    const std::int64_t column = element_of({i[0], i[1], 0, i[3]}, of_b, b.size);
    float sum = 0;
    for (std::int64_t k = 0; k < inner; ++k) sum += x[row + k] * y[column + k * b.size[3]];
    out[static_cast<std::size_t>(e)] = sum;
  }
  return out;
}

Elements reduced(int how, const GraphTensor& from, const Elements& x, const Sizes& size) {
  if (how != CUDNN_REDUCE_TENSOR_ADD && how != CUDNN_REDUCE_TENSOR_MAX) throw Fault("a reduction that is not emulated");
  const bool adds = how == CUDNN_REDUCE_TENSOR_ADD;
  Elements out(static_cast<std::size_t>(count(size)), adds ? 0 : -std::numeric_limits<float>::infinity());
  for (std::int64_t e = 0; e < count(from.size); ++e) {
    float& to = out[static_cast<std::size_t>(element_of(index_of(e, from.size), from.size, size))];
    to = adds ? to + x[static_cast<std::size_t>(e)] : std::max(to, x[static_cast<std::size_t>(e)]);
  }
  return out;
}

/// The same places of memory under other sizes and strides.
Elements reshaped(const GraphTensor& from, const Elements& x, const GraphTensor& to) {
  Elements places(static_cast<std::size_t>(std::max(elements_in_memory(from), elements_in_memory(to))), NAN);
  for (std::int64_t e = 0; e < count(from.size); ++e) {
    places[static_cast<std::size_t>(offset_of(index_of(e, from.size), from.stride))] = x[static_cast<std::size_t>(e)];
  }
  Elements out(static_cast<std::size_t>(count(to.size)));
  for (std::int64_t e = 0; e < count(to.size); ++e) {
    out[static_cast<std::size_t>(e)] = places[static_cast<std::size_t>(offset_of(index_of(e, to.size), to.stride))];
  }
  return out;
}

float point(int mode, const std::array<float, 3>& in, float index) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD: return in[0] + in[1];
    case CUDNN_POINTWISE_SUB: return in[0] - in[1];
    case CUDNN_POINTWISE_MUL: return in[0] * in[1];
    case CUDNN_POINTWISE_DIV: return in[0] / in[1];
    case CUDNN_POINTWISE_EXP: return std::exp(in[0]);
    case CUDNN_POINTWISE_LOG: return std::log(in[0]);
    case CUDNN_POINTWISE_IDENTITY: return in[0];
    case CUDNN_POINTWISE_CMP_GE: return in[0] >= in[1] ? 1 : 0;
    case CUDNN_POINTWISE_GEN_INDEX: return index;
    case CUDNN_POINTWISE_BINARY_SELECT: return in[2] != 0 ? in[0] : in[1];
    default: throw Fault("an operation of cuDNN that is not emulated");
  }
}

}  // namespace

std::map<std::int64_t, GraphTensor> Program::given() const {
  std::map<std::int64_t, GraphTensor> out;
  for (const Step& step : steps_) {
    for (const GraphTensor& t : step.inputs) out[t.id] = t;
    out[step.output.id] = step.output;
  }
  std::erase_if(out, [](const auto& one) { return one.second.is_virtual; });
  return out;
}

bool Program::is_taken() const {
  return std::ranges::all_of(given(), [](const auto& one) {
    const GraphTensor& t = one.second;
    if (t.type != CUDNN_DATA_BFLOAT16) return true;
    return std::ranges::all_of(t.stride, [](std::int64_t stride) { return stride == 1 || stride % 8 == 0; });
  });
}

bool Program::fits(const Addresses& addresses) const {
  const auto tensors = given();
  return tensors.size() == addresses.size() && std::ranges::all_of(tensors, [&](const auto& one) {
           const auto found = addresses.find(one.first);
           if (found == addresses.end()) return false;
           return one.second.by_value || reinterpret_cast<std::uintptr_t>(found->second) % 16 == 0;
         });
}

std::map<std::int64_t, float> Program::values(const Addresses& addresses) const {
  std::map<std::int64_t, float> out;
  for (const auto& [id, t] : given()) {
    if (t.by_value) out[id] = *static_cast<const float*>(addresses.at(id));
  }
  return out;
}

void Program::run(const Addresses& addresses, const std::map<std::int64_t, float>& by_value, int gpu) const {
  std::map<std::int64_t, Elements> known;
  const auto read = [&](const GraphTensor& t) -> const Elements& {
    const auto [found, fresh] = known.try_emplace(t.id);
    if (!fresh) return found->second;
    if (t.is_virtual) throw Fault("an operation of cuDNN reads what none has written");
    if (t.by_value) return found->second = {by_value.at(t.id)};
    const cudaDataType type = type_of(t.type);
    expect_within(addresses.at(t.id), static_cast<std::size_t>(elements_in_memory(t)) * bytes_of(type), gpu,
                  "what cuDNN reads");
    for (std::int64_t e = 0; e < count(t.size); ++e) {
      found->second.push_back(load(addresses.at(t.id), offset_of(index_of(e, t.size), t.stride), type));
    }
    return found->second;
  };
  /// Blocks of a kernel add up in memory what other operations of the graph read. From 9.6 on they zero it themselves;
  /// before, it had to begin with zeros.
  const auto is_read = [&](const GraphTensor& t) {
    return std::ranges::any_of(steps_, [&](const Step& step) {
      return std::ranges::any_of(step.inputs, [&](const GraphTensor& input) { return input.id == t.id; });
    });
  };
  const auto write = [&](const GraphTensor& t, Elements values, bool adds) {
    if (!t.is_virtual) {
      const cudaDataType type = type_of(t.type);
      expect_within(addresses.at(t.id), static_cast<std::size_t>(elements_in_memory(t)) * bytes_of(type), gpu,
                    "what cuDNN writes");
      for (std::int64_t e = 0; e < count(t.size); ++e) {
        const std::int64_t at = offset_of(index_of(e, t.size), t.stride);
        float& value = values[static_cast<std::size_t>(e)];
        if (adds) value += load(addresses.at(t.id), at, type);
        store(value, addresses.at(t.id), at, type);
      }
    }
    for (float& value : values) value = rounded(value, t.type);
    known[t.id] = std::move(values);
  };
  for (const Step& step : steps_) {
    const GraphTensor& out = step.output;
    const auto& in = step.inputs;
    switch (step.operation) {
      case Operation::matmul:
        write(out, matmul(in[0], read(in[0]), in[1], read(in[1]), out.size),
              CUDNN_VERSION < 90600 && !out.is_virtual && is_read(out));
        break;
      case Operation::reduction: write(out, reduced(step.mode, in[0], read(in[0]), out.size), false); break;
      case Operation::reshape: write(out, reshaped(in[0], read(in[0]), out), false); break;
      case Operation::pointwise: {
        Elements values;
        for (std::int64_t e = 0; e < count(out.size); ++e) {
          const Sizes index = index_of(e, out.size);
          std::array<float, 3> from{};
          for (std::size_t i = 0; i < in.size() && step.mode != CUDNN_POINTWISE_GEN_INDEX; ++i) {
            from[i] = read(in[i])[static_cast<std::size_t>(element_of(index, out.size, in[i].size))];
          }
          values.push_back(point(step.mode, from, static_cast<float>(index[static_cast<std::size_t>(step.axis)])));
        }
        write(out, std::move(values), false);
      }
    }
  }
}

}  // namespace emulated_gpu
