// real/executor/rank_state.h -- everything one rank has while it runs a Plan. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/context.h"
#include "core/plan/plan.h"
#include "core/spec/job.h"
#include "kernels/adamw.h"
#include "kernels/sgd.h"
#include "real/executor/backend.h"
#include "real/executor/parameters.h"
#include "real/executor/place.h"
#include "real/executor/routing.h"
#include "real/executor/stash.h"
#include "real/executor/tokens.h"
#include "real/executor/values.h"

namespace real {

struct Settings {
  kernels::AdamW optimizer = {};    // its step is counted by the executor
  kernels::Sgd sgd = {};            // where the job's optimizer is sgd
  double clip = 1;                  // largest norm of all gradients
  double multi_token_weight = 0.3;  // of the mean loss of the modules of multi-token prediction
  std::uint64_t seed = 1;           // of the starting parameters and of dropout
  bool keeps_gradients = false;     // as they were before they were clipped, for comparison
};

/// How far the gradients, or the parameters, of a call's chunks have been sent off: collectives of the Plan carry so
/// many of the next ones.
struct Cursor {
  std::vector<Parameter*> order;
  std::int64_t carried = 0, behind = 0;  // elements of gradients, bytes of weights sent off; those of order[0 .. next)
  std::size_t next = 0;
};

/// Zero 3: what was gathered together and is let go together.
struct GatheredUnit {
  std::int64_t bytes = 0;  // by the Plan
  std::vector<Parameter*> parameters;
};

/// HSDP: what the latest reduce-scatter of gradients has brought, on its way to `reduced`.
struct Scattered {
  std::vector<Parameter*> parameters;
  Value shards;  // one behind the other
};

/// The largest magnitudes of an operand that is scaled by them: of this step's microbatches, of the step before.
struct Magnitudes {
  Value now, before;
  bool agreed = false;  // in this step, by the ranks that have a shard each
};

struct RankState {
  RankState(const spec::Job& j, const plan::Plan& p, int rank, Backend& b, const Tokens& t, const Settings& s)
      : job(j),
        plan(p),
        c(job),
        place(c, plan, rank),
        backend(b),
        tokens(t),
        settings(s),
        chunks(plan::chunks_of(c)[place.stage()]),
        parameters(c, place, chunks) {}
  RankState(const RankState&) = delete;

  bool has_flush() const { return c.strategy.traits().flushes; }
  const plan::Role& role() const { return plan.roles[place.stage()]; }
  /// Whether a parameter is whole on the device only around its use: zero 3, of others or from the host.
  bool comes_and_goes(const Parameter& p) const {
    return c.fully_sharded && (p.sharded || c.strategy.offload.fetches_parameters());
  }

  const spec::Job& job;
  const plan::Plan& plan;
  const plan::Context c;
  const Place place;
  Backend& backend;
  const Tokens& tokens;
  const Settings settings;
  const std::vector<plan::Chunk> chunks;

  ParameterTable parameters;
  Values values;
  Values on_host;  // of microbatches under way, by the names that they had
  Order order;

  std::set<std::pair<std::int16_t, std::int32_t>> remade;  // layer and name of what is computed again
  std::map<Site, Routing> routings;                        // of the layers of experts under way
  Named narrow_weights;                                    // codes and scales, by layer and operand
  std::map<std::string, Magnitudes> magnitudes;            // by layer and operand, under delayed scaling

  std::int64_t step = 0;  // from 0
  Stash stash;            // without a flush
  /// What operators that cover a tensor piece by piece have covered, by site and operator.
  std::map<std::pair<Site, std::string>, std::int64_t> covered;
  /// Of the call under way, by what they order: gradients or parameters of an axis.
  std::map<std::string, Cursor> cursors;
  Scattered scattered;
  std::optional<std::vector<Parameter*>> summed;  // by the latest collective of gradients, until they go to the host
  std::vector<Parameter*> left;                   // for the host, by the latest copy of gradients
  std::map<std::pair<std::int16_t, std::int16_t>, GatheredUnit> gathered;  // by chunk and first layer

  Value norm, factor;  // one number each: squared norm of all gradients, what they are multiplied by
  Value loss;          // sum over this rank's tokens, over the tokens of the step
  std::map<std::pair<std::int16_t, std::string>, std::vector<double>> kept_gradients;  // of the owned ranges
};

}  // namespace real
