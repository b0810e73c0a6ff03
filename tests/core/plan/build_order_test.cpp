// tests/core/plan/build_order_test.cpp -- whole Plans: what waits for what, and which messages meet.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/plan/build.h"
#include "tests/core/plan/walk.h"

namespace {

using plan::Call;
using plan::Channel;
using plan::Operator;
using plan::Plan;
using plan::Role;
using plan::Stream;

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
            p.channels[op.channel].axis == plan::Axis::dp)
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

TEST(Build, AHostThatAwaitsExchangesDoesSoOnceForEachReceivedMessage) {
  // 2 stages, each microbatch received once by the last stage (activations) and once by the first (its gradient).
  const auto awaited = [](bool waits, bool overlaps) {
    const spec::Job j = toy::job({.pp = 2}, [&](spec::Job& job) {
      job.framework.synchronizes_p2p = waits;
      job.strategy.overlap.p2p = overlaps;
    });
    const Plan p = plan::build(j);
    std::vector<std::int64_t> count;
    for (const Role& role : p.roles) {
      count.push_back(0);
      walk::operators(p, role, [&](const Call& call, const Operator& op) {
        if (call.microbatch >= 0 && std::holds_alternative<plan::HostSync>(p.works[op.work])) ++count.back();
      });
    }
    return std::tuple(count, spec::microbatches(j));
  };
  const auto [counts, microbatches] = awaited(true, false);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{microbatches, microbatches}));
  EXPECT_EQ(std::get<0>(awaited(true, true)), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(std::get<0>(awaited(false, false)), (std::vector<std::int64_t>{0, 0}));
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

}  // namespace
