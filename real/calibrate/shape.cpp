// real/calibrate/shape.cpp -- shapes to JSON and back; a family of them is a function each way.
// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "core/base/text.h"

namespace real {
namespace {

using config::AttentionRow;
using config::MatmulRow;
using Json = nlohmann::json;

constexpr std::array<std::string_view, 2> kPasses{"forward", "backward"};
constexpr std::array<std::string_view, 3> kDirections{"to_device", "to_host", "both"};
constexpr std::array<std::string_view, 4> kLaunches{"issue", "gap", "graph_gap", "events"};
constexpr std::array<std::string_view, 3> kSubjects{"matmul", "attention", "copy"};

template <class Enum, std::size_t n>
std::string name_in(const std::array<std::string_view, n>& names, Enum value) {
  return std::string(names.at(static_cast<std::size_t>(value)));
}

template <class Enum, std::size_t n>
Enum value_in(const std::array<std::string_view, n>& names, const Json& name) {
  const auto at = std::find(names.begin(), names.end(), name.get<std::string>());
  if (at == names.end()) throw std::invalid_argument(name.dump() + " is not known");
  return static_cast<Enum>(at - names.begin());
}

template <class Number>
Number positive(const Json& map, const char* key) {
  const auto value = map.at(key).get<Number>();
  if (value <= 0) throw std::invalid_argument(std::string(key) + " is not above 0");
  return value;
}
std::int64_t size(const Json& map, const char* key) { return positive<std::int64_t>(map, key); }

struct Writer {
  Json operator()(const MatmulRow& s) const {
    Json out{{"kind", "matmul"},
             {"m", s.m},
             {"n", s.n},
             {"k", s.k},
             {"dtype", spec::name(s.dtype)},
             {"out", spec::name(s.out)},
             {"accumulates", s.accumulates}};
    if (s.grouped) out["experts"] = s.batch;
    if (s.input_gradient) out["input_gradient"] = true;
    if (s.weight_gradient) out["weight_gradient"] = true;
    return out;
  }
  Json operator()(const AttentionRow& s) const {
    return {{"kind", "attention"},    {"pass", name_in(kPasses, s.passes)},
            {"batch", s.batch},       {"length", s.q_len},
            {"heads", s.heads},       {"kv_heads", s.kv_heads},
            {"head_dim", s.head_dim}, {"causal", s.causal}};
  }
  Json operator()(const MemoryOperator& s) const {
    return {{"kind", "memory"}, {"op", kind_of(s).name}, {"rows", s.rows}, {"width", s.width}};
  }
  Json operator()(const HostCopy& s) const {
    return {{"kind", "host_copy"},
            {"direction", name_in(kDirections, s.direction)},
            {"pinned", s.pinned},
            {"beside_matmul", s.beside_matmul},
            {"bytes", s.bytes}};
  }
  Json operator()(const Launch& s) const { return {{"kind", "launch"}, {"what", name_in(kLaunches, s.what)}}; }
  Json operator()(const Beside& s) const {
    return {{"kind", "beside"}, {"subject", name_in(kSubjects, s.subject)}, {"sms", s.sms}, {"crowded", s.crowded}};
  }
  Json operator()(const Sustained& s) const { return {{"kind", "sustained"}, {"seconds", s.seconds}}; }
  Json operator()(const CollectiveShape& s) const {
    Json out{{"kind", "collective"}, {"op", name(s.op)}, {"bytes", s.bytes}, {"ranks", s.ranks}};
    if (s.nodes > 1) out["nodes"] = s.nodes;
    return out;
  }
};

Shape matmul_from(const Json& map) {
  const bool grouped = map.contains("experts");
  return MatmulRow{.m = size(map, "m"),
                   .n = size(map, "n"),
                   .k = size(map, "k"),
                   .batch = grouped ? size(map, "experts") : 1,
                   .dtype = value_in<spec::Dtype>(spec::kNamesOf<spec::Dtype>, map.at("dtype")),
                   .out = value_in<spec::Dtype>(spec::kNamesOf<spec::Dtype>, map.at("out")),
                   .accumulates = map.at("accumulates").get<bool>(),
                   .grouped = grouped,
                   .input_gradient = map.value("input_gradient", false),
                   .weight_gradient = map.value("weight_gradient", false)};
}

Shape attention_from(const Json& map) {
  const std::int64_t length = size(map, "length");
  const int head_dim = positive<int>(map, "head_dim");
  return AttentionRow{.passes = value_in<AttentionRow::Passes>(kPasses, map.at("pass")),
                      .kernel = spec::AttentionKernel::cudnn,
                      .batch = size(map, "batch"),
                      .q_len = length,
                      .kv_len = length,
                      .heads = positive<int>(map, "heads"),
                      .kv_heads = positive<int>(map, "kv_heads"),
                      .head_dim = head_dim,
                      .value_head_dim = head_dim,
                      .causal = map.at("causal").get<bool>()};
}

constexpr std::array kRetired{"cross_entropy", "quantize"};

Shape memory_from(const Json& map) {
  const auto name = map.at("op").get<std::string>();
  for (std::size_t i = 0; i < kMemoryOperators.size(); ++i) {
    if (kMemoryOperators[i].name != name) continue;
    return MemoryOperator{static_cast<MemoryOperator::What>(i), size(map, "rows"), size(map, "width")};
  }
  throw std::invalid_argument("'" + name + "' is not known");
}

Shape host_copy_from(const Json& map) {
  return HostCopy{value_in<HostCopy::Direction>(kDirections, map.at("direction")), map.at("pinned").get<bool>(),
                  map.at("beside_matmul").get<bool>(), size(map, "bytes")};
}

struct Words {
  std::string operator()(const MatmulRow& s) const {
    const char* pass = s.accumulates       ? ", added to fp32"
                       : s.weight_gradient ? ", weight gradient"
                       : s.input_gradient  ? ", input gradient"
                                           : "";
    return fmt::format("matmul {} {} x {} x {}{}{}", spec::name(s.dtype), s.m, s.n, s.k, pass,
                       s.grouped ? fmt::format(", {} experts", s.batch) : "");
  }
  std::string operator()(const AttentionRow& s) const {
    return fmt::format("attention {} {} x {} tokens, {} heads over {}, {} wide{}", name_in(kPasses, s.passes), s.batch,
                       s.q_len, s.heads, s.kv_heads, s.head_dim, s.causal ? ", causal" : "");
  }
  std::string operator()(const MemoryOperator& s) const {
    return fmt::format("{} {} x {}", kind_of(s).name, s.rows, s.width);
  }
  std::string operator()(const HostCopy& s) const {
    constexpr std::array<const char*, 3> ways{"to the device", "to the host", "both ways"};
    return fmt::format("host copy {} {} from {} memory{}", base::human(base::Bytes(static_cast<double>(s.bytes))),
                       ways.at(static_cast<std::size_t>(s.direction)), s.pinned ? "pinned" : "pageable",
                       s.beside_matmul ? ", beside matmuls" : "");
  }
  std::string operator()(const Launch& s) const { return "launch: " + name_in(kLaunches, s.what); }
  std::string operator()(const Beside& s) const {
    if (s.subject == Beside::Subject::copy) {
      return fmt::format("copy on {} SMs{}", s.sms, s.crowded ? " beside matmuls" : "");
    }
    return fmt::format("{} beside a copy on {} SMs", name_in(kSubjects, s.subject), s.sms);
  }
  std::string operator()(const Sustained& s) const { return fmt::format("matmuls for {} s", s.seconds); }
  std::string operator()(const CollectiveShape& s) const {
    return fmt::format("{} of {} over {} GPUs{}", name(s.op), base::human(base::Bytes(static_cast<double>(s.bytes))),
                       s.ranks, s.nodes > 1 ? fmt::format(" of {} nodes", s.nodes) : "");
  }
};

}  // namespace

AttentionRow reference_attention(AttentionRow::Passes passes) {
  return {.passes = passes,
          .kernel = spec::AttentionKernel::cudnn,
          .batch = 1,
          .q_len = 4096,
          .kv_len = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .value_head_dim = 128,
          .causal = true};
}

Json to_json(const Shape& shape) { return std::visit(Writer{}, shape); }

bool is_retired(const Json& map) {
  const auto op = map.find("op");
  return op != map.end() && std::ranges::find(kRetired, *op) != kRetired.end();
}

Shape shape_from(const Json& map) {
  const auto kind = map.at("kind").get<std::string>();
  if (kind == "matmul") return matmul_from(map);
  if (kind == "attention") return attention_from(map);
  if (kind == "memory") return memory_from(map);
  if (kind == "host_copy") return host_copy_from(map);
  if (kind == "launch") return Launch{value_in<Launch::What>(kLaunches, map.at("what"))};
  if (kind == "beside") {
    return Beside{value_in<Beside::Subject>(kSubjects, map.at("subject")), positive<int>(map, "sms"),
                  map.at("crowded").get<bool>()};
  }
  if (kind == "sustained") return Sustained{positive<int>(map, "seconds")};
  if (kind == "collective") {
    return CollectiveShape{value_in<CollectiveShape::Op>(kCollectiveOps, map.at("op")), size(map, "bytes"),
                           positive<int>(map, "ranks"), map.contains("nodes") ? positive<int>(map, "nodes") : 1};
  }
  throw std::invalid_argument("'" + kind + "' is no kind of point");
}

std::string key(const Shape& shape) { return to_json(shape).dump(); }

std::string words(const Shape& shape) { return std::visit(Words{}, shape); }

}  // namespace real
