// real/worker/run.cpp -- forerun-worker run JOB [--set PATH=VALUE]... [--steps N] [--warmup N] [--tokens FILE]
// [--json FILE] [--trace FILE]: trains a job on GPUs for a few steps and says what they took. The trace's file is for
// forerun: `measure` makes a timeline of it, `explain --against` and `validate --measured` read it.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string_view>

#include "core/base/fault.h"
#include "core/config/catalogue.h"
#include "core/config/job_reader.h"
#include "core/plan/build.h"
#include "core/plan/facts.h"
#include "real/cuda/communicator.h"
#include "real/cupti/collector.h"
#include "real/executor/token_file.h"
#include "real/gpu/condition.h"
#include "real/gpu/rank_run.h"
#include "real/launch/watchdog.h"
#include "real/measure/measurement.h"
#include "real/measure/supported.h"
#include "real/memory/planned.h"
#include "real/trace/trace_file.h"
#include "real/worker/command.h"
#include "real/worker/intentions.h"
#include "real/worker/run_options.h"

namespace worker {
namespace {

using Json = nlohmann::json;
constexpr real::Channel kTraces = 1 << 20;  // above the Plan's

spec::Job job_of(const RunOptions& options) {
  config::Value tree = config::load(options.job);
  for (const std::string& entry : options.set) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      throw base::InputError(
          {{"--set", "'" + entry + "' has no value", "write path=value, such as strategy.tp=8", {}}});
    }
    config::set_path(tree, entry.substr(0, equals), entry.substr(equals + 1), "--set " + entry);
  }
  return config::read_job(tree, config::Catalogue::find());
}

/// Written beside and renamed.
void write_file(const std::string& path, const std::string& option, const std::string& text) {
  const std::string beside = path + ".part";
  std::ofstream out(beside, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(beside, path, error);
  if (!out || error) throw base::InputError({{option, "'" + path + "' cannot be written", "choose another file", {}}});
}

/// JSON has no number for what is none: null.
Json json_of(const std::vector<double>& numbers) {
  Json out = Json::array();
  for (const double number : numbers) out.push_back(std::isfinite(number) ? Json(number) : Json());
  return out;
}
std::vector<double> numbers_of(const Json& array) {
  std::vector<double> out;
  for (const Json& number : array) out.push_back(number.is_null() ? NAN : number.get<double>());
  return out;
}

/// What a rank tells rank 0, as a value of the store.
std::string told(const real::RankRun& run) {
  const real::Condition& c = run.condition;
  Json times = Json::array();
  for (const base::Seconds time : run.times) times.push_back(time.si());
  return Json{{"times", times},
              {"losses", json_of(run.losses)},
              {"norms", json_of(run.gradient_norms)},
              {"peak", run.peak},
              {"reserved", run.reserved},
              {"plain", run.plain_attention},
              {"one_by_one", run.experts_one_by_one},
              {"beside", {run.beside.at_start, run.beside.communicators, run.beside.first_step}},
              {"condition",
               {c.gpu, c.sm_clock.si(), c.memory_clock.si(), c.power.si(), c.celsius, c.slowed_by,
                c.lowest_sm_clock.si(), c.readings}}}
      .dump();
}

void add_losses(const Json& rank, real::Measurement& m) {
  const std::vector<double> losses = numbers_of(rank.at("losses"));
  m.losses.resize(losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) m.losses[i] += losses[i];
}

real::Condition condition_of(const Json& c) {
  return {c.at(0).get<std::string>(),
          base::Hertz(c.at(1).get<double>()),
          base::Hertz(c.at(2).get<double>()),
          base::Watts(c.at(3).get<double>()),
          c.at(4).get<int>(),
          c.at(5).get<std::vector<std::string>>(),
          base::Hertz(c.at(6).get<double>()),
          c.at(7).get<int>()};
}

/// Of the rank whose peak is highest.
void take_memory(int rank, const Json& of_rank, const plan::Plan& plan, real::MemoryUse& use) {
  const auto peak = of_rank.at("peak").get<real::Ledger::ByCategory>();
  const auto total = [](const auto& bytes) { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); };
  if (rank > 0 && total(peak) <= total(use.measured)) return;
  const plan::Role& role = plan.roles[static_cast<std::size_t>(plan.axes.stage_of(rank))];
  const auto bytes = [&](std::size_t i) { return of_rank.at("beside").at(i).get<std::int64_t>(); };
  use = {rank,
         peak,
         real::planned(plan, role).at_peak(),
         of_rank.at("reserved").get<std::int64_t>(),
         {bytes(0), bytes(1), bytes(2)}};
}

/// Reasons that no rank before this one had.
void add_new(const Json& reasons, std::vector<std::string>& known) {
  for (const auto& why : reasons.get<std::vector<std::string>>()) {
    if (std::ranges::find(known, why) == known.end()) known.push_back(why);
  }
}

real::Measurement measurement_of(const spec::Job& job, const plan::Plan& plan, const std::vector<std::string>& ranks) {
  real::Measurement m;
  const spec::Strategy& s = job.strategy;
  m.gpus = static_cast<int>(ranks.size());
  m.job = fmt::format("{} on {} GPUs (tp {} cp {} pp {} dp {})", job.model.name, m.gpus, s.tp, s.cp, s.pp, plan.dp);
  m.tokens = plan.tokens;
  m.model_flops = plan.model_flops;
  m.peak = job.cluster.node.gpu.peak_of(spec::Dtype::bf16);
  std::vector<real::StepTimes> times;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Json rank = Json::parse(ranks[i]);
    real::StepTimes& of_rank = times.emplace_back();
    for (const Json& time : rank.at("times")) of_rank.push_back(base::Seconds(time.get<double>()));
    add_losses(rank, m);
    take_memory(static_cast<int>(i), rank, plan, m.memory);
    m.conditions.push_back(condition_of(rank.at("condition")));
    add_new(rank.at("plain"), m.plain_attention);
    add_new(rank.at("one_by_one"), m.experts_one_by_one);
  }
  m.steps = real::slowest(times);
  m.time = real::spread_of(m.steps);
  m.gradient_norms = numbers_of(Json::parse(ranks.front()).at("norms"));
  return m;
}

/// The first rank of each role sends its trace to rank 0, which returns all as one.
real::JoinedTrace gather_traces(real::World& world, const plan::Plan& plan, const real::RankTrace& mine) {
  const auto blob = [](const real::RankTrace& trace) {
    const std::string text = fmt::format("{} {} {}\n", trace.start_ns, trace.offset_ns, trace.uncertainty_ns) +
                             real::write_trace(trace.trace);
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return real::Blob(first, first + text.size());
  };
  std::vector<real::RankTrace> all;
  for (const plan::Role& role : plan.roles) {
    if (role.first_rank == world.identity.rank) world.transport->send(0, kTraces, blob(mine));
    if (world.identity.rank != 0) continue;
    const real::Blob bytes = world.transport->receive(role.first_rank, kTraces, world.patience.message);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t line = text.find('\n');
    real::RankTrace& one = all.emplace_back();
    std::istringstream(text.substr(0, line)) >> one.start_ns >> one.offset_ns >> one.uncertainty_ns;
    one.trace = real::read_trace(text.substr(line + 1));
  }
  return world.identity.rank == 0 ? real::joined(std::move(all)) : real::JoinedTrace{};
}

/// CUDA has read the variable by now, where a launcher started this process.
void expect_launches_as_told(const spec::Job& job) {
  const char* const given = std::getenv("CUDA_LAUNCH_BLOCKING");
  const bool blocks = given && *given && std::string_view(given) != "0", told = job.strategy.launch_blocking;
  if (blocks == told) return;
  throw base::InputError(
      {{"strategy.launch_blocking",
        told ? "is true, and CUDA_LAUNCH_BLOCKING is not set" : "is false, and CUDA_LAUNCH_BLOCKING is set",
        told ? "export CUDA_LAUNCH_BLOCKING=1" : "unset CUDA_LAUNCH_BLOCKING, or write launch_blocking: true",
        {}}});
}

std::string run(real::World& world, const std::vector<std::string>& words) {
  const RunOptions options = run_options(words);
  const spec::Job job = job_of(options);
  const plan::Plan plan = plan::build(job);
  const int self = world.identity.rank;
  if (const auto faults = real::unsupported_on_gpu(job, plan, world.identity.world); !faults.empty()) {
    throw base::InputError(faults);
  }
  expect_launches_as_told(job);
  const bool captured = job.strategy.cuda_graphs == spec::CudaGraphs::whole;
  if (captured && options.warmup == 0) {
    throw base::InputError({{"--warmup",
                             "a step is captured in CUDA graphs behind one that was run without",
                             "give --warmup 1 or more",
                             {}}});
  }
  if (!options.trace.empty()) real::expect_no_other_profiler();  // or it would be told when all steps are done
  const real::Watchdog watchdog(world);
  real::expect_agreement(world, intentions_of(job, plan, options));
  const real::DeviceFacts device = real::facts(world.identity.local_rank % real::device_count());
  const bool shared = real::pose_as_machines_if_cards_are_shared(world, device.uuid);
  const real::CurrentDevice current(device.index);
  const real::Nvml nvml;
  const real::Steps steps{options.warmup, options.steps, !options.trace.empty(), captured};
  const real::Tokens tokens = real::tokens_of(options.tokens, spec::token_ids(job), real::all_of(steps), plan.tokens);
  const real::RankRun mine =
      real::run_rank(world, job, plan, device, tokens, steps, [&] { return real::condition_of(device, nvml); });
  const auto ranks = world.store->gather("run", told(mine), world.patience.message);
  std::vector<std::string> of_trace;
  if (mine.trace) {
    real::JoinedTrace all = gather_traces(world, plan, *mine.trace);
    of_trace = all.notes;
    const trace::Recorded recorded{"gpu", plan::facts_of(job), std::move(all.notes), std::move(all.trace),
                                   plan::work_kinds_of(plan)};
    if (self == 0) write_file(options.trace, "--trace", real::write_recorded(recorded));
  }
  if (self != 0) return "";
  real::Measurement m = measurement_of(job, plan, ranks);
  m.warmup = options.warmup;
  m.driver = nvml.driver_version();
  if (!options.tokens.empty()) m.text = options.tokens;
  m.shares_cards = shared;
  if (options.json == "-") return real::json(m);
  if (!options.json.empty()) write_file(options.json, "--json", real::json(m));
  std::string out = real::text(m);
  for (const std::string& note : of_trace) out += fmt::format("trace       {}\n", note);
  return out;
}

}  // namespace

const Command run_job{"run", "trains JOB for a few steps: step time, throughput, memory, losses", run};

}  // namespace worker
