// dev sweep
#include "tests/real/executor/tiny.h"

namespace {
using spec::Schedule;
void sweep(const char* label, const spec::Model& model, auto change, toy::Cut cut) {
  try {
    static std::map<std::string, tiny::Run> singles;
    auto job1 = tiny::draft(model, {});
    if (!singles.contains(model.name)) singles[model.name] = tiny::run(toy::resolved(job1));
    auto job = tiny::draft(model, cut);
    change(job);
    const auto r = tiny::run(toy::resolved(job));
    printf("%-40s %-12s %.3g\n", label, model.name.c_str(), tiny::difference(singles[model.name], r));
  } catch (const std::exception& e) {
    printf("%-40s %-12s %s\n", label, model.name.c_str(), e.what());
  }
  fflush(stdout);
}
TEST(Sweep, Cp) {
  for (const auto& m : {tiny::llama(2), tiny::gpt(2)}) {
    for (int cp : {2, 4}) for (auto kind : {spec::CpKind::ring, spec::CpKind::all_gather, spec::CpKind::ulysses})
      for (bool zig : {true, false}) for (int batch : {1, 2}) for (auto rec : {spec::Recompute::Kind::none, spec::Recompute::Kind::selective}) for (int w : {0, 3}) {
      auto mw = m; mw.window = w; if (w) mw.name += " windowed";
      if (w && rec != spec::Recompute::Kind::none) continue;
      sweep(("cp" + std::to_string(cp) + " kind " + std::to_string((int)kind) + (zig ? " zigzag" : "") + " batch " + std::to_string(batch) + " w " + std::to_string(w) + " r " + std::to_string((int)rec)).c_str(), mw, [&](spec::Job& j) {
        j.strategy.cp = cp; j.strategy.cp_kind = kind; j.strategy.cp_balance = zig ? spec::CpBalance::zigzag : spec::CpBalance::none; j.training.micro_batch = batch;
        j.strategy.recompute.kind = rec;
        j.cluster = toy::cluster(cp); }, {});
    }
  }
}
TEST(Sweep, All) {
  auto none = [](spec::Job&) {};
  for (const auto& m : {tiny::llama(4), tiny::gpt(4)}) {
    sweep("accumulation", m, [](spec::Job& j) { j.training.micro_batch = 2; }, {});
    for (auto kind : {spec::Recompute::Kind::selective, spec::Recompute::Kind::full})
      sweep("recompute", m, [&](spec::Job& j) { j.strategy.recompute.kind = kind; }, {});
    sweep("dp2", m, none, {.dp = 2});
    sweep("dp2 overlap", m, [](spec::Job& j) { j.strategy.overlap.grad_reduce = true; }, {.dp = 2});
    sweep("dp2 zero1", m, none, {.dp = 2, .zero = 1});
    sweep("dp4 zero1 overlap both", m, [](spec::Job& j) { j.strategy.overlap.grad_reduce = j.strategy.overlap.param_gather = true; }, {.dp = 4, .zero = 1});
    sweep("dp4 zero2", m, none, {.dp = 4, .zero = 2});
    sweep("dp4 zero3", m, none, {.dp = 4, .zero = 3});
    sweep("dp4 zero3 recompute", m, [&](spec::Job& j) { j.strategy.recompute.kind = spec::Recompute::Kind::full; }, {.dp = 4, .zero = 3});
    sweep("dp4 zero3 shard2", m, [](spec::Job& j) { j.strategy.shard = 2; }, {.dp = 4, .zero = 3});
    sweep("dp4 zero1 shard2", m, [](spec::Job& j) { j.strategy.shard = 2; }, {.dp = 4, .zero = 1});
    sweep("tp2", m, none, {.tp = 2});
    sweep("tp2 sp", m, none, {.tp = 2, .sp = true});
    sweep("tp2 sp full", m, [&](spec::Job& j) { j.strategy.recompute.kind = spec::Recompute::Kind::full; }, {.tp = 2, .sp = true});
    sweep("tp2 dp2 sp zero1", m, none, {.tp = 2, .sp = true, .dp = 2, .zero = 1});
    sweep("tp2 dp2 sp zero3", m, none, {.tp = 2, .sp = true, .dp = 2, .zero = 3});
    sweep("tp2 dp2 zero3", m, none, {.tp = 2, .dp = 2, .zero = 3});
    sweep("pp2 gpipe", m, none, {.pp = 2, .schedule = Schedule::gpipe});
    sweep("pp2 1f1b", m, none, {.pp = 2});
    sweep("pp4 1f1b", m, none, {.pp = 4});
    sweep("pp2 vpp2", m, none, {.pp = 2, .vpp = 2});
    sweep("vpp2 pp1", m, none, {.pp = 1, .vpp = 2});
    sweep("pp2 zb-h1", m, none, {.pp = 2, .schedule = Schedule::zb_h1});
    sweep("pp4 zb-h2", m, none, {.pp = 4, .schedule = Schedule::zb_h2});
    sweep("pp2 zb-v", m, none, {.pp = 2, .schedule = Schedule::zb_v});
    sweep("pp2 dualpipe", m, none, {.pp = 2, .schedule = Schedule::dualpipe});
    sweep("pp4 dualpipe", m, none, {.pp = 4, .schedule = Schedule::dualpipe});
    sweep("pp2 tp2 dp2", m, none, {.tp = 2, .pp = 2, .dp = 2});
    sweep("pp2 tp2 dp2 sp z1", m, none, {.tp = 2, .sp = true, .pp = 2, .dp = 2, .zero = 1});
    sweep("pp2 dp2 zero3", m, none, {.pp = 2, .dp = 2, .zero = 3});
    sweep("pp2 dp2 zero2", m, none, {.pp = 2, .dp = 2, .zero = 2});
  }
}
}  // namespace
