// core/spec/pipeline_rules.cpp -- schedules, chunks and layers of a pipeline (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include "core/base/text.h"
#include "core/spec/layer_cuts.h"
#include "core/spec/rules.h"

namespace spec {
namespace {

class Pipeline : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    pipeline();
    return std::move(faults_);
  }

 private:
  void pipeline() {
    const bool chunked = traits_.takes_vpp;
    if (chunked && s_.pp == 1) {
      fault("strategy.schedule", "an interleaved schedule needs more than one stage",
            "write schedule: 1f1b and vpp: 1, or pp: 2 or more");
    } else if (chunked && s_.vpp == 1) {
      fault("strategy.schedule", "an interleaved schedule needs more than one chunk a stage",
            "write vpp: 2 or more, or schedule: 1f1b");
    } else if (!chunked && !traits_.two_chunks() && s_.vpp > 1) {
      fault("strategy.vpp", text(s_.vpp) + " chunks a stage need the interleaved schedule",
            "write schedule: interleaved, or vpp: 1");
    } else if (const std::int64_t count = whole_microbatches(); chunked && count % s_.pp != 0) {
      const std::int64_t round = times(times(t_.micro_batch, data()), s_.pp);
      fault("training.global_batch",
            text(count) + " microbatches do not divide by pp " + text(s_.pp) + ", as the interleaved schedule needs",
            "write a multiple of micro_batch x dp x pp = " + text(round) + ", or schedule: 1f1b");
    }
    beyond_one_f_one_b();
    layers();
    if (s_.recompute.layers < 0 || (s_.recompute.layers > 0 && s_.recompute.layers > model_.layers)) {
      fault("strategy.recompute",
            text(s_.recompute.layers) + " layers of a stage, but the model has " + text(model_.layers),
            "write a number from 1 to the layers of a stage, or leave layers out for all");
    }
  }

  /// The schedules beyond GPipe, 1F1B and interleaving.
  void beyond_one_f_one_b() {
    if (!traits_.training_only()) return;
    if (s_.pp == 1) {
      fault("strategy.schedule", "this schedule needs more than one stage", "write schedule: 1f1b, or pp: 2 or more");
    }
    if (traits_.two_chunks() && s_.vpp > 2) {
      fault("strategy.vpp", text(s_.vpp) + " chunks a stage, but this schedule has two", "leave vpp out");
    }
    if (s_.overlap.p2p && !*s_.overlap.p2p) {
      fault("strategy.overlap.p2p", "this schedule sends beside what it computes", "write p2p: true, or leave it out");
    }
    if (!traits_.flushes && s_.optimizer_barrier.value_or(false)) {
      fault("strategy.optimizer_barrier", "an asynchronous pipeline has none", "leave optimizer_barrier out");
    }
    if (traits_.two_copies()) from_both_ends();
  }

  void from_both_ends() {
    if (s_.ep > 1 && !s_.overlap.expert.value_or(true)) {
      fault("strategy.overlap.expert", "dualpipe sends tokens to experts beside what it computes",
            "write expert: true, or leave it out");
    }
    if (s_.pp % 2 != 0) {
      fault("strategy.pp", text(s_.pp) + " stages cannot be fed from both ends evenly, as dualpipe does",
            "write an even pp, or another schedule");
    }
    const std::int64_t count = whole_microbatches(), least = times(2, s_.pp);
    if (count > 0 && (count % 2 != 0 || count < least)) {
      fault("training.global_batch",
            text(count) + " microbatches, but dualpipe needs an even number of at least 2 pp = " + text(least),
            "write a larger global_batch, a smaller micro_batch, or another schedule");
    }
  }

  void layers() {
    const std::int64_t chunks = s_.model_chunks();
    const std::string split =
        "pp " + text(s_.pp) +
        (chunks > s_.pp ? " x vpp " + text(s_.chunks_a_stage()) + " = " + text(chunks) + " chunks" : "");
    if (!s_.stage_layers.empty()) return listed_layers(chunks);
    if (shares_choices(model_) && cuts_by_itself(job_)) return own_cut_at_choices(split);
    if (chunks <= model_.layers + 2 && !split_layers(model_, s_).empty()) return choices_in_reach();
    if (cuts_by_itself(job_)) return;
    const char* field = s_.pp == 1 && s_.vpp > 1 ? "strategy.vpp" : "strategy.pp";
    if (s_.embedding_in_split) {
      const std::int64_t layers = model_.layers;
      return fault(
          field,
          text(layers + 2) + " or " + text(layers + 1) + " layers, embedding and head included, do not divide into " +
              split,
          layers % chunks == 0 ? "leave embedding_in_split out" : "choose other degrees, or write stage_layers");
    }
    Strategy counted = s_;
    counted.embedding_in_split = true;
    const bool helps = chunks <= model_.layers + 2 && !split_layers(model_, counted).empty();
    fault(field, text(model_.layers) + " layers do not divide into " + split,
          "choose degrees that divide them, or write stage_layers" + nearly_even(chunks) +
              (helps ? ", or embedding_in_split: true" : ""));
  }

  /// ": [3, 4, 4, 3]", fewer on the chunks with the head and the embedding; nothing where it would be too long to read.
  std::string nearly_even(std::int64_t chunks) const {
    constexpr std::int64_t kMostShown = 16;
    if (chunks > kMostShown || chunks > model_.layers) return "";
    const std::int64_t fewer = chunks - model_.layers % chunks, in_front = fewer / 2, behind = fewer - in_front;
    std::vector<std::string> counts;
    for (std::int64_t at = 0; at < chunks; ++at) {
      counts.push_back(text(model_.layers / chunks + (at >= in_front && at < chunks - behind ? 1 : 0)));
    }
    return ": [" + base::joined(counts) + "]";
  }

  void listed_layers(std::int64_t chunks) {
    const std::vector<int>& list = s_.stage_layers;
    const std::int64_t entries = list.size();
    std::int64_t sum = 0;
    for (const int count : list) sum += count;
    if (s_.embedding_in_split) {
      fault("strategy.embedding_in_split", "has no effect beside stage_layers", "leave one of the two out");
    }
    if (entries != s_.pp && entries != chunks) {
      fault("strategy.stage_layers", text(entries) + " entries for pp " + text(s_.pp),
            "write " + text(s_.pp) + " entries, one for each stage" +
                (s_.vpp > 1 ? ", or " + text(chunks) + ", one for each chunk in model order" : ""));
    } else if (sum != model_.layers) {
      fault("strategy.stage_layers",
            "the entries add up to " + text(sum) + ", but the model has " + text(model_.layers) + " layers",
            "let them add up to " + text(model_.layers));
    } else if (split_layers(model_, s_).empty()) {
      fault("strategy.stage_layers",
            s_.vpp > 1 && entries == s_.pp ? "an entry does not divide by vpp " + text(s_.vpp) + ", or is zero"
                                           : "a stage between the first and the last has no layer",
            "write one layer or more for each chunk; only the first and the last may hold none");
    } else {
      choices_in_reach();
    }
  }

  void own_cut_at_choices(const std::string& split) {
    if (!own_cut(job_).empty()) return;
    fault("strategy.pp", split + " do not all begin at one of the layers with an indexer",
          "choose a smaller pp or vpp");
  }

  void choices_in_reach() {
    if (!shares_choices(model_)) return;
    for (const ChunkLayers& chunk : split_layers(model_, s_)) {
      if (chunk.count == 0 || model_.parts_in(chunk.first).indexes) continue;
      std::string begins;
      for (int layer = 0; layer < std::min(model_.layers, model_.indexer->first + 2 * model_.indexer->every); ++layer) {
        if (model_.parts_in(layer).indexes) begins += (begins.empty() ? "" : ", ") + text(layer);
      }
      return fault(s_.stage_layers.empty() ? "strategy.pp" : "strategy.stage_layers",
                   "a stage begins with layer " + text(chunk.first) +
                       ", whose attention takes over the keys chosen by a layer of the stage before",
                   "write stage_layers so that stages begin at layers with an indexer: " + begins + ", ...");
    }
  }

  const ScheduleTraits traits_ = s_.traits();
};

}  // namespace

std::vector<base::Fault> pipeline_faults(const Job& job) { return Pipeline(job).run(); }

}  // namespace spec
