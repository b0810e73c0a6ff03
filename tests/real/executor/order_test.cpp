// tests/real/executor/order_test.cpp -- what only happens to run in the right order is found out: by hand on a few
// operators, and on whole Plans from which a wait, a collective or an operator was taken.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/order.h"

#include "tests/real/executor/tiny.h"

namespace {

using plan::Stream;
using testing::AnyOf;
using testing::HasSubstr;

plan::Operator on(Stream stream, plan::EventId waits = -1) {
  plan::Operator op;
  op.stream = stream;
  op.waits[0] = waits;
  return op;
}

std::string number(real::Issued by) { return "operator " + std::to_string(by.at); }

/// Runs operators one behind the other; `touch` of each is done while it runs.
class Written {
 public:
  template <class Touch>
  void run(const plan::Operator& op, Touch touch) {
    order_.begin(op, {0, count_++});
    touch();
    order_.end();
  }
  void write() { order_.write(tensor_, "x", number); }
  void read() { order_.read(tensor_, "x", number); }
  void host_waits() { order_.host_waits(); }

 private:
  real::Order order_;
  real::Accesses tensor_;
  int count_ = 0;
};

TEST(Order, AStreamKeepsItsOwn) {
  Written w;
  w.run(on(Stream::compute), [&] { w.write(); });
  EXPECT_NO_THROW(w.run(on(Stream::compute), [&] { w.read(); }));
}

TEST(Order, AnotherStreamNeedsAnEvent) {
  Written w;
  w.run(on(Stream::tp), [&] { w.write(); });
  EXPECT_NO_THROW(w.run(on(Stream::compute, plan::event_of(Stream::tp)), [&] { w.read(); }));
  Written without;
  without.run(on(Stream::tp), [&] { without.write(); });
  EXPECT_THROW(without.run(on(Stream::compute), [&] { without.read(); }), real::RaceError);
}

TEST(Order, WhatIsOverwrittenMustHaveBeenRead) {
  Written w;
  w.run(on(Stream::compute), [&] { w.write(); });
  w.run(on(Stream::dp, plan::event_of(Stream::compute)), [&] { w.read(); });
  EXPECT_THROW(w.run(on(Stream::compute), [&] { w.write(); }), real::RaceError);
}

TEST(Order, EventsReachThroughOtherStreams) {
  // tp writes, compute waits for tp, dp waits for compute: dp comes behind tp.
  Written w;
  w.run(on(Stream::tp), [&] { w.write(); });
  w.run(on(Stream::compute, plan::event_of(Stream::tp)), [] {});
  EXPECT_NO_THROW(w.run(on(Stream::dp, plan::event_of(Stream::compute)), [&] { w.read(); }));
}

TEST(Order, AnEventIsWhatWasRecordedBeforeTheWait) {
  Written w;
  w.run(on(Stream::tp), [] {});
  w.run(on(Stream::compute, plan::event_of(Stream::tp)), [] {});
  w.run(on(Stream::tp), [&] { w.write(); });  // too late for the wait above
  EXPECT_THROW(w.run(on(Stream::compute), [&] { w.read(); }), real::RaceError);
}

TEST(Order, AHostThatWaitsOrdersAllThatComes) {
  Written w;
  w.run(on(Stream::compute), [&] { w.write(), w.host_waits(); });
  EXPECT_NO_THROW(w.run(on(Stream::dp), [&] { w.read(); }));
}

/// The first operator of this name, wherever it is.
template <class Change>
void change_first(plan::Plan& plan, const std::string& name, Change change) {
  for (plan::Segment& segment : plan.segments) {
    for (std::size_t i = 0; i < segment.operators.size(); ++i) {
      if (plan.names[segment.operators[i].name] == name) return change(plan, segment, i);
    }
  }
  FAIL() << "no operator " << name;
}

void forget_waits(plan::Plan&, plan::Segment& segment, std::size_t i) { segment.operators[i].waits = {-1, -1, -1, -1}; }

void turn_into_nothing(plan::Plan& plan, plan::Segment& segment, std::size_t i) {
  plan.names.push_back("events awaited");
  segment.operators[i].name = static_cast<std::int32_t>(plan.names.size()) - 1;
}

std::string race(const spec::Job& job, const std::string& name) {
  plan::Plan plan = plan::build(job);
  change_first(plan, name, forget_waits);
  try {
    tiny::run(job, plan, 1);
  } catch (const real::RaceError& error) {
    return error.what();
  }
  return "no race";
}

TEST(Order, AForgottenWaitIsARaceThatNamesBothOperators) {
  const std::string told = race(toy::resolved(tiny::draft(tiny::gpt(), {.tp = 2})), "residual add");
  EXPECT_THAT(told, HasSubstr("'residual add' on stream compute of layer 0, microbatch 0, forward"));
  EXPECT_THAT(told, HasSubstr("reads 'branch', which"));
  EXPECT_THAT(told, HasSubstr("'attention output all-reduce' on stream tp of layer 0, microbatch 0, forward"));
  EXPECT_THAT(told, HasSubstr("wrote, and no event puts the one behind the other"));
}

TEST(Order, CollectivesMayNotRunAheadOfCompute) {
  EXPECT_THAT(race(toy::resolved(tiny::draft(tiny::llama(), {.tp = 2})), "qkv input gradient all-reduce"),
              HasSubstr("'qkv input gradient' on stream compute"));
  EXPECT_THAT(race(toy::resolved(tiny::draft(tiny::llama(), {.dp = 2, .zero = 3})), "gradient reduce-scatter"),
              HasSubstr("'gradient reduce-scatter' on stream dp"));
  EXPECT_THAT(race(toy::resolved(tiny::draft(tiny::llama(), {.pp = 2})), "send activations"),
              HasSubstr("'send activations' on stream send next"));
}

TEST(Order, WhatAnExpertsAdapterAddsIsAwaited) {
  spec::Job job = tiny::draft(tiny::moe(), {.dp = 4});
  job.strategy.lora = {.rank = 4, .ffn = true};
  job.strategy.ep = job.strategy.etp = 2;
  job.strategy.etp_given = true;
  job.strategy.moe_dispatcher = spec::MoeDispatcher::allgather;  // nothing is sorted in front of the sum
  EXPECT_THAT(race(toy::resolved(job), "expert reduce-scatter"),
              HasSubstr("'expert down adapter add' on stream compute"));
  EXPECT_THAT(race(toy::resolved(job), "expert gradient reduce-scatter"),
              HasSubstr("'expert up adapter gradient add' on stream compute"));
  EXPECT_THAT(race(toy::resolved(job), "expert up adapter all-gather"),
              HasSubstr("'expert up adapter A' on stream compute"));
}

TEST(Order, AMissingSumShowsInTheNumbers) {
  const auto apart = [](const spec::Job& job, const std::string& name) {
    plan::Plan plan = plan::build(job);
    change_first(plan, name, turn_into_nothing);
    return tiny::largest_copies_apart(job, plan);
  };
  // Ranks that should hold the same gradient do not.
  EXPECT_GT(apart(toy::resolved(tiny::draft(tiny::llama(), {.dp = 2})), "gradient all-reduce"), 1e-6);
  EXPECT_GT(
      apart(toy::resolved(tiny::draft(tiny::llama(), {.tp = 2, .sp = true})), "shared weights gradient all-reduce"),
      1e-6);
  EXPECT_GT(apart(toy::resolved(tiny::draft(tiny::llama(), {.tp = 4})), "copied heads' gradient all-reduce"), 1e-6);
}

TEST(Order, ARankThatIsNotAnsweredTellsItsOperator) {
  const spec::Job job = toy::resolved(tiny::draft(tiny::llama(), {.pp = 2}));
  plan::Plan plan = plan::build(job);
  change_first(plan, "send gradient", turn_into_nothing);
  // Without its first gradient rank 0 sends no third microbatch, and rank 1 waits for that one: whose patience ends
  // first is the machine's choice, and each says what it waits for.
  try {
    tiny::run(job, plan, 1, 5);  // no message that does come takes 5 s
    FAIL() << "a step without its gradients has ended";
  } catch (const base::DeviceError& error) {
    EXPECT_THAT(error.what(), AnyOf(HasSubstr("rank 0, 'receive gradient' on stream recv next"),
                                    HasSubstr("rank 1, 'receive activations' on stream recv prev")));
  }
}

}  // namespace
