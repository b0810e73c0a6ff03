// core/spec/purchase.h -- what a purchaser asks: so many tokens of a model until a day and within a budget, on which of
// these clusters? Plain values; every price and failure rate with who said it and when.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/money.h"
#include "core/base/units.h"
#include "core/spec/job.h"
#include "core/spec/search_space.h"

namespace spec {

/// A number that its reader can check.
template <class T>
struct Figure {
  T value{};
  std::string date, source;  // no date: the plan itself says it
  std::string seller = {};   // of a rent: whose offer it is; empty: not told
};

/// A GPU now and then runs slow for a while, and all wait for it.
struct Stragglers {
  base::Seconds mtbf;   // of one GPU, between two slow spells
  base::Seconds lasts;  // a spell
  double slowdown = 1;  // a step takes this many times as long meanwhile
};

/// Interruptions of a synchronous run: any of its GPUs or nodes ends it. Independent, at constant rates.
struct Failures {
  Figure<base::Seconds> gpu_mtbf, node_mtbf;  // between interruptions by one GPU; by the rest of one node, its share of
                                              // the network and of the software included
  Figure<double> hardware;                    // share of interruptions that take a node out until it is repaired
  Figure<base::Seconds> detect, restart;      // until it is noticed; scheduling and setting up, without the checkpoint
  Figure<base::Seconds> repair;               // until a node that was taken out can be used again
  std::optional<Stragglers> stragglers;
};

/// Weights and optimizer states, to shared storage.
struct Checkpointing {
  Figure<base::ByteRate> bandwidth;       // of one node; writing and reading
  bool async = false;                     // training waits for the copy to the host alone
  std::optional<base::Seconds> interval;  // nothing: the best one
};

/// What owning costs beside the purchase.
struct Ownership {
  Figure<double> pue;                     // power of the building over that of the nodes
  Figure<base::EnergyPrice> electricity;  // of a kilowatt-hour
  Figure<base::Seconds> life;             // until the nodes are worth nothing
  Figure<double> use;                     // share of its life in which it earns: the rest is paid for as well
};

/// A cluster on terms. Candidates that differ in terms alone are searched once (`cluster` tells them).
struct Candidate {
  std::string name;                             // "32 x dgx-h100, rail-400g"
  int cluster = 0;                              // the same number: the same nodes, count and fabric
  Job job;                                      // neither checked nor resolved
  SearchSpace space;                            // what the strategy fixes
  bool bought = false;                          // else rented
  std::string rent_of, price_of;                // whose: a GPU or node of the price list
  std::optional<Figure<base::TimePrice>> rent;  // of one GPU
  std::optional<Figure<base::Money>> price;     // of one node
  std::optional<int> spares;                    // nodes beside those that train; nothing: as many as pay
};

struct Purchase {
  Model model;
  double tokens = 0;
  std::optional<base::Seconds> deadline;
  std::optional<base::Money> budget;
  std::optional<base::Money> outlay;  // for nodes that are bought, all at once
  std::vector<Candidate> candidates;
  Failures failures;
  Checkpointing checkpoint;
  Ownership ownership;
  int runs = 2000;  // simulated ones of each candidate
  std::uint64_t seed = 1;
  std::vector<std::string> assumptions;  // what the plan left out and how it was filled in
};

}  // namespace spec
