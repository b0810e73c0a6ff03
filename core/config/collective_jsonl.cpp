// SPDX-License-Identifier: Apache-2.0
#include "core/config/collective_jsonl.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/config/json_keys.h"
#include "core/config/row_source.h"

namespace config {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kUnstatedSize = 8LL << 30;  // of a peak that tells no size

const std::vector<std::string> kKeys{"id",
                                     "op",
                                     "size_bytes",
                                     "ranks",
                                     "nodes",
                                     "gpus_per_node",
                                     "gpu",
                                     "intra",
                                     "inter",
                                     "time_us",
                                     "algbw_gbps",
                                     "busbw_gbps",
                                     "busbw_inplace",
                                     "busbw_p5",
                                     "busbw_p95",
                                     "busbw_ratio_of_nominal",
                                     "algo",
                                     "dtype",
                                     "tool",
                                     "statistic",
                                     "convention",
                                     "quality",
                                     "assumed",
                                     "note",
                                     "size_note",
                                     "from_memory",
                                     "source"};

/// Operations by the tables' names and by ours.
constexpr std::pair<const char*, const char*> kOps[] = {
    {"all_reduce", "all_reduce"}, {"all_gather", "all_gather"}, {"reduce_scatter", "reduce_scatter"},
    {"alltoall", "all_to_all"},   {"broadcast", "broadcast"},   {"p2p", "send"}};

/// "Ring (NVLS off)" and "NVLSTree forced" begin with the name of NCCL_ALGO; a note may quote the variable.
spec::Algorithm algorithm_of(const std::string& told) {
  constexpr std::pair<const char*, spec::Algorithm> names[] = {{"Ring", spec::Algorithm::ring},
                                                               {"Tree", spec::Algorithm::tree},
                                                               {"NVLSTree", spec::Algorithm::nvls_tree},
                                                               {"NVLS", spec::Algorithm::nvls}};
  for (const auto& [name, algorithm] : names) {
    if (told.starts_with(name)) return algorithm;
  }
  return spec::Algorithm::automatic;
}

class CollectiveRowReader {
 public:
  CollectiveRowReader(const TextLines& lines, const Json& row) : lines_(lines), row_(row) {
    refuse_unknown(lines, row, kKeys);
  }

  std::string text(const char* key) const {
    const auto at = row_.find(key);
    return at != row_.end() && at->is_string() ? at->get<std::string>() : "";
  }
  std::optional<double> number(const char* key) const {
    const auto at = row_.find(key);
    if (at == row_.end() || at->is_null()) return std::nullopt;
    if (!at->is_number() || !(at->get<double>() > 0 && at->get<double>() < 1e15)) {
      lines_.fault(1, key, at->dump() + " is no number above 0", "write a number above 0, or null");
    }
    return at->get<double>();
  }
  int count(const char* key) const {
    const auto value = number(key);
    if (!value || *value > 1e6) lines_.fault(1, key, "is missing, or above a million", "write it in every row");
    return static_cast<int>(*value);
  }
  /// A slow one may be printed as 0: then it tells nothing.
  base::ByteRate rate(const char* key) const {
    const auto at = row_.find(key);
    if (at != row_.end() && at->is_number() && at->get<double>() == 0) return {};
    return base::GBps(number(key).value_or(0));
  }

  MeasuredCollective read(const char* op) const {
    MeasuredCollective out{
        .op = op,
        .gpu = text("gpu"),
        .intra = text("intra"),
        .inter = text("inter"),
        .quality = text("quality"),
        .bytes = static_cast<std::int64_t>(number("size_bytes").value_or(static_cast<double>(kUnstatedSize))),
        .ranks = count("ranks"),
        .nodes = count("nodes"),
        .gpus_per_node = count("gpus_per_node"),
        .time = base::us(number("time_us").value_or(0)),
        .bus = rate("busbw_gbps"),
        .bus_p95 = rate("busbw_p95")};
    const std::string note = text("note");
    const std::size_t quoted = note.find("NCCL_ALGO=");
    out.algorithm = algorithm_of(quoted == std::string::npos ? text("algo") : note.substr(quoted + 10));
    return out;
  }

 private:
  const TextLines& lines_;
  const Json& row_;
};

}  // namespace

void read_collective(const TextLines& lines, const Json& row, KernelTables& tables) {
  const CollectiveRowReader in(lines, row);
  const std::string told = in.text("op");
  const auto* op = std::find_if(std::begin(kOps), std::end(kOps), [&](const auto& one) { return one.first == told; });
  const std::string source = source_of(lines, row);
  MeasuredCollective one = in.read(op == std::end(kOps) ? "" : op->second);
  if (op == std::end(kOps)) return void(++tables.left_out[told + ": no price has it"]);
  if (one.time.si() <= 0 && one.bus.si() <= 0) {
    if (in.number("busbw_ratio_of_nominal")) {
      return void(++tables.left_out["collectives told as a share of a nominal rate, whose origin is not stated"]);
    }
    lines.fault(1, "time_us", "is missing, and no bandwidth tells it", "write time_us or busbw_gbps");
  }
  one.source = tables.source(source);
  tables.collectives.push_back(std::move(one));
}

}  // namespace config
