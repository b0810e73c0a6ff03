// real/worker/calibrate.cpp -- forerun-worker calibrate FILE --seconds N --date DATE [--resume] [--collectives]: times
// points on this machine's GPUs and writes each to FILE; rank 0 times, the others take part in collectives. `forerun
// calibrate` starts it and fits curves to the file; over several machines a launcher does.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <iostream>

#include "core/base/fault.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/config/catalogue.h"
#include "real/calibrate/run.h"
#include "real/gpu/bench/gpu_bench.h"
#include "real/launch/watchdog.h"
#include "real/worker/command.h"
#include "real/worker/library_versions.h"

namespace worker {
namespace {

constexpr int kFp8Since = 89;  // compute capability, times ten: Ada
constexpr int kTellEvery = 50;

struct Options {
  std::string file, date;
  int seconds = 0;
  bool resumes = false, collectives_alone = false;
};

[[noreturn]] void refuse(const std::string& field, std::string what, std::string mend) {
  throw base::InputError({{field, std::move(what), std::move(mend), {}}});
}

int seconds_in(const std::string& text) {
  const int out = base::number_in<int>(text).value_or(0);
  if (out > 0) return out;
  refuse("--seconds", "'" + text + "' is no time", "give a whole number, 1 or more");
}

Options options_in(const std::vector<std::string>& words) {
  Options out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool has_value = i + 1 < words.size();
    if (word == "--resume") {
      out.resumes = true;
    } else if (word == "--collectives") {
      out.collectives_alone = true;
    } else if (word == "--seconds" && has_value) {
      out.seconds = seconds_in(words[++i]);
    } else if (word == "--date" && has_value) {
      out.date = words[++i];
    } else if (word.starts_with("--") || !out.file.empty()) {
      refuse(word, "is no option of calibrate, or has no value",
             "there are FILE, --seconds N, --date DATE, --resume and --collectives");
    } else {
      out.file = word;
    }
  }
  if (out.file.empty() || out.seconds == 0 || out.date.empty()) {
    refuse("calibrate", "lacks FILE, --seconds or --date", "`forerun calibrate` gives all of them");
  }
  return out;
}

/// Every rank looks, so that one which lies elsewhere ends all.
void expect_even_nodes(const real::Identity& me) {
  const int gpus = me.local_world;
  if (me.world % gpus == 0 && me.rank % gpus == me.local_rank) return;
  throw base::DeviceError(
      fmt::format("rank {} of {} is the {}. of {} on {}: calibrating wants as many ranks on every machine, one "
                  "machine's behind the "
                  "other's\n  mend: srun --ntasks-per-node 8 --distribution block, or mpirun --map-by ppr:8:node",
                  me.rank, me.world, me.local_rank + 1, gpus, me.host));
}

real::Machine machine_of(const real::DeviceFacts& device, const real::Nvml& nvml, const real::Identity& me,
                         const std::string& date) {
  return {.gpu = device.name,
          .major = device.major,
          .minor = device.minor,
          .sms = device.sms,
          .gpus = me.local_world,
          .nodes = me.world / me.local_world,
          .memory = device.memory,
          .power_limit = nvml.power_limit(device.pci_bus_id),
          .driver = nvml.driver_version(),
          .libraries = library_versions(),
          .date = date};
}

/// Convolutions and models without heads add nothing, so all of the catalogue's may be asked.
std::vector<real::Point> points_for(const real::Machine& machine, bool collectives_alone) {
  const real::Offered offered{
      .fp8 = 10 * machine.major + machine.minor >= kFp8Since, .gpus = machine.gpus, .nodes = machine.nodes};
  if (collectives_alone) return real::collective_points(offered);
  const config::Catalogue catalogue = config::Catalogue::find();
  const auto models = catalogue.names(config::Catalogue::Kind::model);
  return real::points(real::usage_of_models(catalogue, models), offered);
}

/// To stderr, so that minutes do not pass in silence: void points, and one of many others.
void tell(const real::Progress& progress, const real::MeasuredPoint& point) {
  const bool is_void = !point.void_because.empty();
  if (!is_void && progress.timed % kTellEvery != 0) return;
  std::cerr << fmt::format("{:>5} points, {:>8}  {}: {}\n", progress.timed, base::human(progress.took),
                           real::words(point.shape),
                           is_void ? "void: " + point.void_because : base::human(point.median));
}

void lead(real::GpuBench& bench, const real::Machine& machine, const Options& options) {
  auto file = options.resumes ? real::PointsFile::resume(options.file, machine)
                              : real::PointsFile::begin(options.file, machine);
  const base::Seconds begun = bench.now();
  const std::vector<real::Point> points = points_for(machine, options.collectives_alone);
  const base::Seconds left = base::s(options.seconds) - (bench.now() - begun);
  const real::Progress done = real::run(bench, points, file, left, tell);
  bench.end();
  std::cerr << fmt::format("{} points timed in {}, {} of them void; {} known before, {} left for --resume {}\n",
                           done.timed, base::human(done.took), done.voided, done.known, done.left, options.file);
}

std::string run(real::World& world, const std::vector<std::string>& words) {
  const Options options = options_in(words);
  if (options.collectives_alone && world.identity.world == 1) {
    refuse("--collectives", "wants several GPUs", "start a rank for each");
  }
  expect_even_nodes(world.identity);
  const real::Watchdog watchdog(world);
  const real::DeviceFacts device = real::facts(world.identity.local_rank % real::device_count());
  if (real::pose_as_machines_if_cards_are_shared(world, device.uuid)) {
    throw base::DeviceError(
        "ranks share a GPU, and no time of theirs would mean anything: give --gpus at most as many "
        "as there are");
  }
  const real::CurrentDevice current(device.index);
  real::GpuBench bench(world, device);
  if (world.identity.rank == 0) {
    lead(bench, machine_of(device, bench.nvml(), world.identity, options.date), options);
  } else {
    bench.follow();
  }
  return "";  // stdout is for what is fitted
}

}  // namespace

const Command calibrate{"calibrate", "times kernels, copies and collectives, for `forerun calibrate`", run};

}  // namespace worker
