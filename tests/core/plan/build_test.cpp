// tests/core/plan/build_test.cpp -- whole Plans: resident bytes, order, events, messages, memory, gradients.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/plan/block.h"
#include "core/plan/schedule/schedule.h"
#include "core/plan/shares.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Call;
using plan::Category;
using plan::Channel;
using plan::Operator;
using plan::Plan;
using plan::Role;
using plan::Stream;
using Kind = spec::Recompute::Kind;

std::int64_t parameters(const spec::Job& j, const Role& role) {
  const plan::Context c(j);
  std::int64_t sum = 0;
  const std::vector<std::vector<plan::Chunk>> stages = plan::chunks_of(c);
  for (const plan::Chunk& chunk : stages[role.stage]) sum += plan::chunk_parameters(c, chunk);
  return sum;
}

std::int64_t resident(const Role& role, Category category) { return role.resident[static_cast<int>(category)]; }

/// Bytes that each rank of a toy with `fused` accumulation holds for one parameter.
double bytes_a_parameter(spec::Dtype gradients, bool fused) {
  const spec::Job j = toy::job({}, [=](spec::Job& job) {
    job.training.gradient_dtype = gradients;
    job.strategy.fused_kernels.grad_accumulation = fused;
  });
  const Role role = plan::build(j).roles[0];
  std::int64_t sum = 0;
  for (const std::int64_t bytes : role.resident) sum += bytes;
  return static_cast<double>(sum) / static_cast<double>(parameters(j, role));
}

TEST(Resident, AParameterUnderAdamHoldsSixteenBytesWithBf16Gradients) {
  // 2 weight + 2 gradient + 12 (fp32 weight, two moments): Rajbhandari et al., arXiv 1910.02054, section 3.1.
  EXPECT_EQ(bytes_a_parameter(spec::Dtype::bf16, true), 16);
  EXPECT_EQ(bytes_a_parameter(spec::Dtype::bf16, false), 16);
}

TEST(Resident, AParameterUnderAdamHoldsEighteenBytesWithFp32Gradients) {
  EXPECT_EQ(bytes_a_parameter(spec::Dtype::fp32, true), 2 + 4 + 12);
}

TEST(Resident, AParameterUnderAdamHoldsTwentyBytesWithBothGradients) {
  // Korthikanti et al.'s Megatron: a bf16 gradient leaves the matmul and is added to the fp32 one.
  EXPECT_EQ(bytes_a_parameter(spec::Dtype::fp32, false), 2 + 2 + 4 + 12);
}

TEST(Resident, ZeroOneDividesOnlyTheOptimizersPart) {
  const spec::Job all = toy::job({.tp = 2, .pp = 2, .dp = 4}), cut = toy::job({.tp = 2, .pp = 2, .dp = 4, .zero = 1});
  const Plan whole = plan::build(all), shared = plan::build(cut);
  for (int stage = 0; stage < 2; ++stage) {
    const Role &a = whole.roles[stage], &b = shared.roles[stage];
    const std::int64_t count = parameters(all, a);
    EXPECT_EQ(resident(a, Category::optimizer), 12 * count);
    EXPECT_EQ(resident(b, Category::optimizer), 12 * ((count + 3) / 4));
    for (int category = 0; category < plan::kCategories; ++category) {
      if (category == static_cast<int>(Category::optimizer)) continue;
      EXPECT_EQ(a.resident[category], b.resident[category]);
    }
  }
}

TEST(Build, RolesStandForAllRanksOfTheirStage) {
  const Plan p = plan::build(toy::job({.tp = 2, .pp = 4, .dp = 3, .microbatches = 2}));
  ASSERT_EQ(p.roles.size(), 4u);
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(p.roles[stage].stage, stage);
    EXPECT_EQ(p.roles[stage].ranks, 6);
    EXPECT_EQ(p.roles[stage].first_rank, 6 * stage);
  }
  EXPECT_EQ(p.tokens, 2 * 3 * 128);
}

TEST(Build, StagesRunTheirSlotsBetweenBeginAndEnd) {
  walk::Dice dice(60);
  for (int i = 0; i < 100; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      const std::vector<plan::Slot> slots =
          plan::order(j.strategy.schedule, {role.stage, p.pp, j.strategy.vpp, static_cast<int>(spec::microbatches(j))});
      ASSERT_EQ(role.calls.size(), slots.size() + 2);
      EXPECT_EQ(p.segments[role.calls.front().segment].name, "begin");
      EXPECT_EQ(p.segments[role.calls.back().segment].name, "end");
      for (std::size_t at = 0; at < slots.size(); ++at) {
        const Call& call = role.calls[at + 1];
        EXPECT_EQ(call.microbatch, slots[at].microbatch);
        EXPECT_EQ(call.chunk, slots[at].chunk);
        const bool backward = p.segments[call.segment].name.find("backward") != std::string::npos;
        EXPECT_EQ(backward, slots[at].backward);
      }
    }
  }
}

TEST(Build, EachLayerIsForwardedByTheStageThatHoldsIt) {
  const spec::Job j = toy::job({.pp = 3, .microbatches = 2}, [](spec::Job& job) {
    job.strategy.stage_layers = {0, 3, 1};
  });
  const Plan p = plan::build(j);
  const std::vector<std::set<int>> expected{{}, {0, 1, 2}, {3}};
  for (const Role& role : p.roles) {
    std::set<int> layers;
    walk::operators(p, role, [&](const Call&, const Operator& op) {
      if (op.layer >= 0) layers.insert(op.layer);
    });
    EXPECT_EQ(layers, expected[role.stage]);
    EXPECT_EQ(walk::count(p, role, "embedding gradient"), role.stage == 0 ? 2 : 0);
    EXPECT_EQ(walk::count(p, role, "loss gradient"), role.stage == 2 ? 2 : 0);
  }
}

TEST(Build, RecomputesOneMoreForwardOfEveryBlockUnderFullRecompute) {
  walk::Dice dice(61);
  for (int i = 0; i < 100; ++i) {
    spec::Job j = walk::random_job(dice);
    j.strategy.recompute = {Kind::full, 0};
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      double forward = 0, again = 0;
      walk::operators(p, role, [&](const Call&, const Operator& op) {
        if (op.layer < 0) return;  // embedding and head are not recomputed
        if (op.phase == plan::Phase::forward) forward += plan::hardware_flops(p.works[op.work]);
        if (op.phase == plan::Phase::recompute) again += plan::hardware_flops(p.works[op.work]);
      });
      EXPECT_EQ(forward, again) << walk::told(j);
    }
  }
}

TEST(Build, EveryTakeIsGivenBackWithinTheStepAndNothingBeforeItWasTaken) {
  walk::Dice dice(62);
  for (int i = 0; i < 200; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      std::map<std::pair<int, int>, std::array<std::int64_t, plan::kCategories>> held;  // by microbatch and chunk
      for (const Call& call : role.calls) {
        const plan::Segment& segment = p.segments[call.segment];
        std::pair<int, bool> last{0, false};
        for (const plan::MemoryChange& change : segment.memory) {
          ASSERT_LT(change.at, static_cast<int>(segment.operators.size())) << walk::told(j);
          ASSERT_LE(last, (std::pair{static_cast<int>(change.at), change.after})) << "not in order, " << walk::told(j);
          last = {change.at, change.after};
          std::int64_t& now = held[{call.microbatch, call.chunk}][static_cast<int>(change.category)];
          now += change.bytes;
          ASSERT_GE(now, 0) << walk::told(j);
        }
      }
      for (const auto& [where, bytes] : held) {
        for (const std::int64_t left : bytes) EXPECT_EQ(left, 0) << walk::told(j);
      }
    }
  }
}

TEST(Build, AStageHoldsTheActivationsOfTheMicrobatchesInFlight) {
  // 1F1B, 4 stages of one layer, 6 microbatches: stage s holds 4 - s of them between forward and backward, GPipe all 6.
  // The middle stages have no embedding and no head.
  for (const spec::Schedule schedule : {spec::Schedule::one_f_one_b, spec::Schedule::gpipe}) {
    const spec::Job j = toy::job({.pp = 4, .microbatches = 6, .schedule = schedule});
    const plan::Context c(j);
    const std::int64_t one = plan::kept_activations(c, Kind::none).total();
    const Plan p = plan::build(j);
    for (const int stage : {1, 2}) {
      std::int64_t now = 0, most = 0;
      for (const Call& call : p.roles[stage].calls) {
        for (const plan::MemoryChange& change : p.segments[call.segment].memory) {
          if (change.category == Category::activations) most = std::max(most, now += change.bytes);
        }
      }
      EXPECT_EQ(most, one * (schedule == spec::Schedule::gpipe ? 6 : 4 - stage));
    }
  }
}

TEST(Build, WaitsReferToEventsThatAnEarlierOperatorRecorded) {
  // But for a blocking exchange before which nothing was sent: as in CUDA, nothing recorded is nothing to wait for.
  walk::Dice dice(63);
  int blocking = 0;
  for (int i = 0; i < 200; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      walk::HappensBefore order(p);
      walk::operators(p, role, [&](const Call&, const Operator& op) { order.issue(op); });
      for (const walk::HappensBefore::Unrecorded& wait : order.unrecorded) {
        const bool of_a_send =
            wait.event == plan::event_of(Stream::send_next) || wait.event == plan::event_of(Stream::send_prev);
        EXPECT_TRUE(of_a_send && !*j.strategy.overlap.p2p) << "event " << int{wait.event} << ", " << walk::told(j);
        ++blocking;
      }
    }
  }
  EXPECT_GT(blocking, 0);  // the exception was met
}

/// One role's step with what is known to have ended when.
struct Ordered {
  walk::HappensBefore order;
  std::vector<const Operator*> ops;
  std::vector<std::size_t> call;  // of each operator

  Ordered(const Plan& p, const Role& role) : order(p) {
    for (std::size_t at = 0; at < role.calls.size(); ++at) {
      for (const Operator& op : p.segments[role.calls[at].segment].operators) {
        order.issue(op);
        ops.push_back(&op);
        call.push_back(at);
      }
    }
  }
};

TEST(Build, WhatIsSentIsWholeAndWhatIsReceivedHasArrived) {
  walk::Dice dice(64);
  for (int i = 0; i < 100; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      const Ordered o(p, role);
      for (int b = 0; b < static_cast<int>(o.ops.size()); ++b) {
        const Stream stream = o.ops[b]->stream;
        const bool sends = stream == Stream::send_next || stream == Stream::send_prev;
        for (int a = b - 1; a >= 0 && o.call[a] == o.call[b]; --a) {
          const Stream other = o.ops[a]->stream;
          // A send goes behind all of its call's compute and tensor-parallel work.
          if (sends && (other == Stream::compute || other == Stream::tp)) {
            ASSERT_TRUE(o.order.before(a, b))
                << p.names[o.ops[a]->name] << " then " << p.names[o.ops[b]->name] << ", " << walk::told(j);
          }
          // All compute goes behind what its call receives.
          if (stream == Stream::compute && (other == Stream::recv_prev || other == Stream::recv_next)) {
            ASSERT_TRUE(o.order.before(a, b)) << p.names[o.ops[b]->name] << ", " << walk::told(j);
          }
        }
      }
    }
  }
}

TEST(Build, AChunkWithoutLayersSendsTheEmbeddingBehindItsReduction) {
  const spec::Job j = toy::job({.tp = 2, .pp = 6}, [](spec::Job& job) {
    job.strategy.embedding_in_split = true;     // 4 + 2 over 6 stages
    job.model.position = spec::Position::rope;  // nothing computes behind the embedding
  });
  const Plan p = plan::build(j);
  const Ordered o(p, p.roles[0]);
  int reduction = -1, send = -1;
  for (int at = 0; at < static_cast<int>(o.ops.size()); ++at) {
    if (p.names[o.ops[at]->name] == "embedding all-reduce") reduction = at;
    if (p.names[o.ops[at]->name] == "send activations") send = at;
  }
  ASSERT_GE(reduction, 0);
  ASSERT_GT(send, reduction);
  EXPECT_TRUE(o.order.before(reduction, send));
}

TEST(Build, NoTensorParallelResultIsLeftUnawaited) {
  // Every collective of a call has ended before the call's microbatch goes on: in the next compute of this microbatch
  // and chunk, or in the optimizer.
  walk::Dice dice(65);
  for (int i = 0; i < 100; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      const Ordered o(p, role);
      std::map<std::pair<int, int>, std::vector<int>> open;  // collectives whose call is over
      std::map<std::pair<int, int>, std::vector<int>> here;
      std::size_t call = 0;
      for (int at = 0; at < static_cast<int>(o.ops.size()); ++at) {
        if (o.call[at] != call) {
          for (auto& [key, list] : here) open[key] = list;
          here.clear();
          call = o.call[at];
        }
        const std::pair<int, int> key{role.calls[call].microbatch, role.calls[call].chunk};
        if (o.ops[at]->stream == Stream::tp) here[key].push_back(at);
        if (o.ops[at]->stream != Stream::compute) continue;
        for (const int collective : open[key]) {
          ASSERT_TRUE(o.order.before(collective, at))
              << p.names[o.ops[collective]->name] << " then " << p.names[o.ops[at]->name] << ", " << walk::told(j);
        }
        open[key].clear();
      }
    }
  }
}

TEST(Build, TheOptimizerRunsBehindEveryReductionAndEveryGradient) {
  walk::Dice dice(66);
  for (int i = 0; i < 100; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      const Ordered o(p, role);
      int norm = -1;
      for (int at = 0; at < static_cast<int>(o.ops.size()); ++at) {
        if (norm < 0 && p.names[o.ops[at]->name] == "gradient norm") norm = at;
      }
      ASSERT_GE(norm, 0);
      for (int at = 0; at < norm; ++at) {
        if (o.ops[at]->stream == Stream::compute || o.ops[at]->stream == Stream::dp) {
          ASSERT_TRUE(o.order.before(at, norm)) << p.names[o.ops[at]->name] << ", " << walk::told(j);
        }
      }
    }
  }
}

TEST(Build, WithoutAnAxisThereIsNoCommunicationOnIt) {
  walk::Dice dice(67);
  for (int i = 0; i < 200; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    std::set<Stream> used;
    bool reduces = false;
    for (const Role& role : p.roles) {
      walk::operators(p, role, [&](const Call&, const Operator& op) {
        used.insert(op.stream);
        EXPECT_EQ(op.channel >= 0, op.stream != Stream::compute);
        if (op.channel >= 0 && p.channels[op.channel].kind == Channel::Kind::group &&
            p.channels[op.channel].axis == Stream::dp)
          reduces = true;
      });
    }
    EXPECT_EQ(used.count(Stream::tp) > 0, p.tp > 1) << walk::told(j);
    EXPECT_EQ(reduces, p.dp > 1) << walk::told(j);
    for (const Stream s : {Stream::send_next, Stream::send_prev, Stream::recv_next, Stream::recv_prev}) {
      EXPECT_EQ(used.count(s) > 0, p.pp > 1) << walk::told(j);
    }
    EXPECT_EQ(used.count(Stream::cp) + used.count(Stream::ep), 0u);
    EXPECT_EQ(used.size() == 1, p.tp * p.pp * p.dp == 1) << walk::told(j);  // one rank: no norm to sum up either
  }
}

TEST(Build, SendsAndReceivesMatchInNumberOrderAndBytes) {
  walk::Dice dice(68);
  for (int i = 0; i < 200; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    using Message = std::tuple<int, int, std::int64_t>;  // microbatch, place of the chunk that reads it, bytes
    std::map<std::int16_t, std::vector<Message>> sent, received;
    for (const Role& role : p.roles) {
      walk::operators(p, role, [&](const Call& call, const Operator& op) {
        const auto* work = std::get_if<plan::Transfer>(&p.works[op.work]);
        if (!work) return;
        const Channel& channel = p.channels[op.channel];
        const bool backward = channel.kind == Channel::Kind::backward_edge;
        const bool sends = op.stream == Stream::send_next || op.stream == Stream::send_prev;
        EXPECT_EQ(backward, op.stream == Stream::send_prev || op.stream == Stream::recv_next);
        EXPECT_EQ(sends ? channel.from : channel.to, role.stage);
        EXPECT_EQ((channel.from + (backward ? p.pp - 1 : 1)) % p.pp, channel.to);
        const int place = call.chunk * p.pp + role.stage;
        const int reader = !sends ? place : backward ? place - 1 : place + 1;
        (sends ? sent : received)[op.channel].push_back({call.microbatch, reader, work->bytes});
      });
    }
    EXPECT_EQ(sent, received) << walk::told(j);
    std::size_t messages = 0;
    for (const auto& [channel, list] : sent) messages += list.size();
    EXPECT_EQ(messages, 2u * spec::microbatches(j) * (p.pp * j.strategy.vpp - 1)) << walk::told(j);
  }
}

TEST(Build, AStageSendsItsActivationsAndUnderSequenceParallelItsShare) {
  const auto bytes = [](const spec::Job& j) {
    const Plan p = plan::build(j);
    for (const plan::Work& work : p.works) {
      if (const auto* transfer = std::get_if<plan::Transfer>(&work)) return transfer->bytes;
    }
    return std::int64_t{-1};
  };
  EXPECT_EQ(bytes(toy::job({.tp = 2, .pp = 2})), 2 * 128 * 256);
  EXPECT_EQ(bytes(toy::job({.tp = 2, .sp = true, .pp = 2})), 2 * 128 * 256 / 2);
  // Narayanan et al., SC'21, section 4.1: each rank sends its 1/t, an all-gather inside the node restores them.
  const spec::Job scattered =
      toy::job({.tp = 2, .pp = 2}, [](spec::Job& j) { j.framework.scatter_gather_pipeline = true; });
  EXPECT_EQ(bytes(scattered), 2 * 128 * 256 / 2);
  const Plan p = plan::build(scattered);
  EXPECT_EQ(walk::collective_bytes(p, p.roles[1], "restore activations"), 2 * 128 * 256);
}

TEST(Gradients, AreReducedOnceForEveryParameterWithAnyBucketSize) {
  walk::Dice dice(69);
  for (int i = 0; i < 300; ++i) {
    const spec::Job j = walk::random_job(dice);
    if (j.strategy.data() == 1) continue;
    const Plan p = plan::build(j);
    const std::int64_t element = plan::Context(j).gradient_element;
    for (const Role& role : p.roles) {
      const char* name = j.strategy.zero ? "gradient reduce-scatter" : "gradient all-reduce";
      int buckets = 0;
      std::int64_t sum = 0;
      walk::operators(p, role, [&](const Call&, const Operator& op) {
        if (p.names[op.name] != name) return;
        ++buckets;
        sum += walk::collective(p, op)->bytes;
      });
      const std::int64_t count = parameters(j, role);  // each bucket is padded to a multiple of dp
      EXPECT_GE(sum, count * element) << walk::told(j);
      EXPECT_LE(sum, (count + std::int64_t{buckets} * (p.dp - 1)) * element) << walk::told(j);
    }
  }
}

TEST(Gradients, InOneBucketAreThePaddedParameters) {
  for (const bool overlap : {false, true}) {
    const spec::Job j = toy::job({.dp = 3, .microbatches = 2},
                                 [overlap](spec::Job& job) { job.strategy.overlap.grad_reduce = overlap; });
    const Plan p = plan::build(j);
    EXPECT_EQ(walk::count(p, p.roles[0], "gradient all-reduce"), 1);
    EXPECT_EQ(walk::collective_bytes(p, p.roles[0], "gradient all-reduce"),
              (parameters(j, p.roles[0]) + 2) / 3 * 3 * 4);
  }
}

TEST(Gradients, AreReducedBehindTheLastBackwardUnlessOverlapped) {
  walk::Dice dice(70);
  for (int i = 0; i < 200; ++i) {
    const spec::Job j = walk::random_job(dice);
    if (j.strategy.data() == 1) continue;
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      std::map<int, int> last;  // call of each chunk's last backward
      for (std::size_t at = 0; at < role.calls.size(); ++at) {
        if (p.segments[role.calls[at].segment].name.find("backward") != std::string::npos)
          last[role.calls[at].chunk] = static_cast<int>(at);
      }
      for (std::size_t at = 0; at < role.calls.size(); ++at) {
        for (const Operator& op : p.segments[role.calls[at].segment].operators) {
          const std::string& name = p.names[op.name];
          if (name != "gradient all-reduce" && name != "gradient reduce-scatter") continue;
          if (*j.strategy.overlap.grad_reduce) {
            EXPECT_EQ(static_cast<int>(at), last[role.calls[at].chunk]) << walk::told(j);
          } else {
            EXPECT_EQ(at, role.calls.size() - 1) << walk::told(j);
          }
        }
      }
    }
  }
}

TEST(Parameters, AreGatheredOnceUnderZeroOne) {
  walk::Dice dice(71);
  for (int i = 0; i < 300; ++i) {
    const spec::Job j = walk::random_job(dice);
    const Plan p = plan::build(j);
    for (const Role& role : p.roles) {
      int gathers = 0;
      std::int64_t sum = 0;
      walk::operators(p, role, [&](const Call& call, const Operator& op) {
        if (p.names[op.name] != "parameter all-gather") return;
        EXPECT_EQ(call.microbatch >= 0, *j.strategy.overlap.param_gather);  // in the first forwards, or at the end
        ++gathers;
        sum += walk::collective(p, op)->bytes;
      });
      const bool sharded = j.strategy.zero == 1 && p.dp > 1;
      const std::int64_t count = sharded ? parameters(j, role) : 0;
      EXPECT_GE(sum, 2 * count) << walk::told(j);
      EXPECT_LE(sum, 2 * (count + std::int64_t{gathers} * (p.dp - 1))) << walk::told(j);
    }
  }
}

TEST(TiedEmbeddings, AreReducedBetweenFirstAndLastStageOnly) {
  const auto reduces = [](const toy::Cut& cut, bool tied) {
    const Plan p = plan::build(toy::job(cut, [tied](spec::Job& j) { j.model.tied_embeddings = tied; }));
    std::vector<std::int64_t> bytes;
    for (const Role& role : p.roles) {
      EXPECT_LE(walk::count(p, role, "tied embedding"), 1);
      bytes.push_back(walk::collective_bytes(p, role, "tied embedding"));
    }
    return bytes;
  };
  const std::int64_t table = 2048 * 256 * 4;  // fp32 gradients
  EXPECT_EQ(reduces({.pp = 4, .microbatches = 4}, true), (std::vector<std::int64_t>{table, 0, 0, table}));
  EXPECT_EQ(reduces({.tp = 2, .pp = 2}, true), (std::vector<std::int64_t>{table / 2, table / 2}));
  EXPECT_EQ(reduces({.pp = 4, .microbatches = 4}, false), (std::vector<std::int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(reduces({.tp = 2}, true), (std::vector<std::int64_t>{0}));
}

TEST(Build, GrowsWithRolesAndNotWithMicrobatchesOrReplicas) {
  const Plan few = plan::build(toy::job({.pp = 2, .dp = 2, .microbatches = 4}));
  const Plan many = plan::build(toy::job({.pp = 2, .dp = 64, .microbatches = 400}));
  EXPECT_EQ(few.segments.size(), many.segments.size());
  EXPECT_EQ(few.works.size(), many.works.size());
  // 4 and 400 microbatches between the same begin and end, on both stages.
  std::int64_t ends = 0;
  for (const Role& role : few.roles) {
    for (const Call& call : role.calls) {
      if (call.microbatch < 0) ends += static_cast<std::int64_t>(few.segments[call.segment].operators.size());
    }
  }
  EXPECT_EQ(many.operators() - ends, 100 * (few.operators() - ends));
}

}  // namespace
