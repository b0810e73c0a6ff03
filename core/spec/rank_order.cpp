// SPDX-License-Identifier: Apache-2.0
#include "core/spec/rank_order.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/spec/job.h"

namespace spec {
namespace {

constexpr std::array<std::string_view, 5> kNames{"tp", "cp", "ep", "dp", "pp"};

}  // namespace

std::optional<RankOrder> parse_rank_order(std::string_view text) {
  std::array<int, 5> place{-1, -1, -1, -1, -1};
  std::vector<int> axes;
  while (true) {
    const std::size_t dash = text.find('-');
    const std::string_view word = text.substr(0, dash);
    int axis = 0;
    while (axis < 5 && kNames[axis] != word) ++axis;
    if (axis == 5 || place[axis] >= 0) return std::nullopt;
    place[axis] = 0;
    axes.push_back(axis);
    if (dash == std::string_view::npos) break;
    text.remove_prefix(dash + 1);
  }
  if (place[2] < 0) {
    std::size_t dp = 0;
    while (dp < axes.size() && axes[dp] != 3) ++dp;
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(dp), 2);
  }
  if (axes.size() != 5) return std::nullopt;
  for (int i = 0; i < 5; ++i) place[axes[i]] = i;
  return RankOrder{place[0], place[1], place[2], place[3], place[4]};
}

int usual_etp(const Job& job, std::int64_t dp) {
  const Strategy& s = job.strategy;
  if (!job.framework.experts_follow_tp || !job.model.moe || s.etp_given || s.tp == 1) return s.etp;
  const std::int64_t ranks = std::int64_t{s.tp} * s.cp * dp, folded = std::int64_t{s.ep} * s.tp;
  return folded > 0 && job.model.moe->ffn % s.tp == 0 && ranks % folded == 0 ? s.tp : s.etp;
}

std::vector<base::Fault> rank_order_faults(const Job& job) {
  const Strategy& s = job.strategy;
  const char* field = "strategy.rank_order";
  const std::optional<RankOrder> parsed = parse_rank_order(s.rank_order);
  if (!parsed) {
    return {{field, "'" + s.rank_order + "' is no order of the axes",
             "join tp, cp, dp, pp and maybe ep by dashes, the fastest first: tp-cp-ep-dp-pp"}};
  }
  const RankOrder& o = *parsed;
  std::vector<base::Fault> faults;
  const auto between = [](int a, int x, int b) { return (a < x && x < b) || (b < x && x < a); };
  const std::int64_t others = std::int64_t{s.tp} * s.cp * s.pp;
  const std::int64_t dp = s.dp ? *s.dp : job.cluster.gpus() % others == 0 ? job.cluster.gpus() / others : 1;
  if (s.cp > 1 && dp > 1) {
    const bool tp_between = s.tp > 1 && between(o.cp, o.tp, o.dp), pp_between = s.pp > 1 && between(o.cp, o.pp, o.dp);
    if (tp_between || pp_between) {
      faults.push_back({field,
                        std::string(tp_between ? "tp" : "pp") + " between cp and dp, whose ranks hold the same "
                                                                "parameters, is not supported by this version",
                        "put cp and dp side by side"});
    }
  }
  const int etp = usual_etp(job, dp);
  if (job.model.moe && s.ep * etp > 1) {
    if (o.tp > o.ep && etp > 1 && s.ep > 1) {
      faults.push_back({field, "ep in front of tp is not supported by this version", "put tp in front of ep"});
    }
    // Experts are laid over the same ranks: the stages must cut both layouts at the same place.
    std::int64_t dense = 1, expert = 1;
    if (o.tp < o.pp) dense *= s.tp, expert *= etp;
    if (o.cp < o.pp) dense *= s.cp;
    if (o.dp < o.pp) dense *= dp, expert *= s.tp * s.cp * dp / (std::int64_t{etp} * s.ep);
    if (o.ep < o.pp) expert *= s.ep;
    const bool folds = s.tp * s.cp * dp % (std::int64_t{etp} * s.ep) == 0;  // told with ep otherwise
    if (s.pp > 1 && folds && dense != expert) {
      faults.push_back(
          {field, "the experts' ranks and the dense ones would form different pipeline stages", "put pp last"});
    }
  }
  return faults;
}

}  // namespace spec
