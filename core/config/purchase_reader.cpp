// SPDX-License-Identifier: Apache-2.0
#include "core/config/purchase_reader.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/config/candidate_reader.h"
#include "core/config/figure_reader.h"
#include "core/config/named_model.h"
#include "core/config/usual_batch.h"
#include "core/spec/parameters.h"

namespace config {
namespace {

constexpr double kChinchilla = 20;  // tokens a parameter: Hoffmann et al., arXiv 2203.15556, table 3

constexpr std::int64_t kUsualSequence = 8192;

/// A purchaser need not know how the model is trained: the sequence that is left out of `training` is as Llama 3 had
/// it, and so is the batch (read_purchase).
Value filled_training(const Value* written, const spec::Model& model, const base::Where& where,
                      std::vector<std::string>& assumptions) {
  Value out;
  out.kind = Value::Kind::map;
  out.where = out.key_where = where;
  if (written != nullptr) out = *written;
  if (out.kind != Value::Kind::map) return out;  // told by the Job's reader
  if (out.find("sequence") == nullptr) {
    const std::int64_t sequence =
        model.max_positions > 0 ? std::min(model.max_positions, kUsualSequence) : kUsualSequence;
    out.set("sequence", scalar(std::to_string(sequence), where));
    assumptions.push_back("training.sequence: " + std::to_string(sequence) + " tokens");
  }
  return out;
}

/// Where the plan does not say, by GPUs.
std::map<std::int64_t, std::int64_t> batches(const Value& job, const Value& candidates, const Catalogue& catalogue,
                                             std::vector<std::string>& assumptions) {
  const Value& training = *job.find("training");
  if (training.kind != Value::Kind::map || training.find("global_batch") != nullptr) return {};
  const double sequence = parse_number(training.find("sequence")->text).value.value_or(1);
  const std::int64_t tokens = std::max<std::int64_t>(1, std::llround(sequence));
  const auto out = usual_batches(tokens, gpus_of(candidates, catalogue));
  if (!out.empty()) assumptions.push_back("training.global_batch: " + batches_text(tokens, out));
  return out;
}

/// The Job that all candidates share, without a cluster.
Value shared_job(MapReader& map, const spec::Model& model, const base::Where& where, spec::Purchase& out) {
  Value job;
  job.kind = Value::Kind::map;
  job.where = job.key_where = where;
  if (const Value* named = map.child("model")) job.set("model", *named);
  const Value* training = map.child("training");
  job.set("training", filled_training(training, model, where, out.assumptions));
  for (const char* key : {"strategy", "network", "simulation"}) {
    if (const Value* section = map.child(key)) job.set(key, *section);
  }
  if (training != nullptr && training->find("checkpoint") != nullptr) {
    map.fault("training", "has a checkpoint, whose interval is the plan's to choose",
              "write checkpoint: {bandwidth: 1GB/s, async: true} beside training");
  }
  return job;
}

void read_tokens(MapReader& map, spec::Purchase& out, Faults& faults) {
  std::string text;
  if (!map.require("tokens", text)) return;
  if (text == "chinchilla") {
    if (out.model.moe) {
      map.fault("tokens", "chinchilla's law is of dense models, and " + base::quoted(out.model.name) + " has experts",
                "write how many tokens, such as 15e12");
    }
    out.tokens = kChinchilla * static_cast<double>(spec::parameters(out.model).total());
    out.assumptions.emplace_back("tokens: 20 a parameter (chinchilla: Hoffmann et al., arXiv 2203.15556)");
    return;
  }
  const base::Parsed<double> parsed = parse_tokens(text);
  if (parsed.value) {
    out.tokens = *parsed.value;
  } else {
    faults.push_back({"tokens", parsed.problem, parsed.mend, map.where_of("tokens")});
  }
}

void read_sum(MapReader& map, const char* key, std::optional<base::Money>& out, Faults& faults) {
  const Value* value = map.child(key);
  spec::Figure<base::Money> sum;
  if (value != nullptr && read_figure(*value, key, base::parse_money, base::usd(0.01), base::usd(1e15),
                                      "a sum, such as $5M", sum, faults)) {
    out = sum.value;
  }
}

void read_wishes(MapReader& map, spec::Purchase& out, Faults& faults) {
  base::Seconds deadline;
  if (map.read("deadline", deadline)) {
    if (!(deadline.si() > 0)) map.fault("deadline", "is zero", "write how long the run may take, such as 60d");
    out.deadline = deadline;
  }
  read_sum(map, "budget", out.budget, faults);
  read_sum(map, "outlay", out.outlay, faults);
  map.read("runs", out.runs, 10, 1'000'000);
  std::int64_t seed = 1;
  map.read("seed", seed, 0, INT64_MAX);
  out.seed = static_cast<std::uint64_t>(seed);
}

void refuse_what_has_no_run(const spec::Job& job, double tokens, MapReader& map) {
  const double step = static_cast<double>(job.training.global_batch) * static_cast<double>(job.training.sequence);
  if (tokens > 0 && tokens < step) {
    map.fault("tokens",
              base::with_commas(std::llround(tokens)) + " are fewer than one step takes, " +
                  base::with_commas(std::llround(step)),
              "write how many tokens, such as 15e12 or 15T");
  }
  if (job.training.serves()) {
    map.fault("training", "serves: a plan is of training", "remove training.mode");
  }
  if (job.simulation.unfold) {
    map.fault("simulation", "unfolds: a plan prices thousands of strategies", "remove simulation.unfold");
  }
}

}  // namespace

base::Parsed<double> parse_tokens(std::string_view text) {
  const std::string mend = "write how many tokens, such as 15e12 or 15T, or chinchilla";
  double scale = 1;
  std::string_view digits = text;
  for (const auto& [ending, factor] : {std::pair{'M', 1e6}, std::pair{'B', 1e9}, std::pair{'T', 1e12}}) {
    if (!digits.ends_with(ending)) continue;
    digits.remove_suffix(1);
    scale = factor;
    break;
  }
  const base::Parsed<double> parsed = parse_number(digits);
  if (!parsed.value) return {{}, base::quoted(text) + " is not a number of tokens", mend};
  const double tokens = *parsed.value * scale;
  if (!(tokens >= 1 && tokens <= 1e18)) return {{}, base::quoted(text) + " is out of range", mend};
  return {tokens, {}, {}};
}

spec::Purchase read_purchase(const Value& tree, const Catalogue& files, std::map<int, Value>* jobs) {
  const Catalogue catalogue = files.remembering();
  Faults faults;
  spec::Purchase out;
  MapReader map(tree, "", faults);
  if (tree.find("cluster") != nullptr && tree.find("candidates") == nullptr) {
    throw base::InputError(
        {{"", "is a Job, not a purchase",
          "write `tokens:` and, for `cluster:`, `candidates:` such as [{node: dgx-h100, nodes: [8]}]; its "
          "strategy may stay",
          tree.where}});
  }
  if (const Value* model = map.child("model")) {
    out.model = read_named_model(*model, catalogue, faults, out.assumptions);
  } else if (tree.kind == Value::Kind::map) {
    map.fault("model", "is missing",
              "add `model:` with a name, a path or a map; `forerun list models` shows the names");
  }
  const bool has_model = faults.empty();
  if (has_model && out.model.is_list()) {
    map.fault("model", base::quoted(out.model.name) + " is not trained on tokens", "name a transformer");
  }
  if (has_model) read_tokens(map, out, faults);
  const Value* candidates = map.child("candidates");
  const Value job = shared_job(map, out.model, tree.where, out);
  read_wishes(map, out, faults);
  const PriceList prices = read_prices(map.child("prices"), catalogue, faults);
  out.ownership = prices.ownership;
  read_failures(map.child("failures"), map.child("checkpoint"), catalogue, out.failures, out.checkpoint, faults);
  if (candidates == nullptr && tree.kind == Value::Kind::map) {
    map.fault("candidates", "is missing", "add `candidates:` such as [{node: dgx-h100, nodes: [32, 64]}]");
  } else if (candidates != nullptr && has_model) {
    const auto of_gpus = batches(job, *candidates, catalogue, out.assumptions);
    out.candidates = read_candidates(*candidates, job, of_gpus, prices, catalogue, faults, jobs);
    refuse_strangers(prices, out.candidates, catalogue, faults);
  }
  const auto largest = std::ranges::max_element(
      out.candidates, {}, [](const spec::Candidate& one) { return one.job.training.global_batch; });
  if (largest != out.candidates.end()) refuse_what_has_no_run(largest->job, out.tokens, map);
  map.ignore("tokens");
  map.finish();
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return out;
}

}  // namespace config
