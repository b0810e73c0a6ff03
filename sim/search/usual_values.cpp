// SPDX-License-Identifier: Apache-2.0
#include "sim/search/usual_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/base/text.h"
#include "core/spec/attention_again.h"
#include "sim/cost/curves.h"

namespace sim {
namespace {

using spec::Schedule;
using spec::SearchKey;
using spec::SearchValue;
using Values = std::vector<SearchValue>;

constexpr std::int64_t kLeastTokens = 2048;  // of a context-parallel rank

template <class... E>
Values codes(E... values) {
  return {static_cast<SearchValue>(values)...};
}

/// Of schedules that a search tries unless told otherwise, or of the others.
std::vector<Schedule> schedules(bool tried) {
  std::vector<Schedule> out;
  for (std::size_t i = 0; i < spec::kNamesOf<Schedule>.size(); ++i) {
    if (const auto s = static_cast<Schedule>(i); spec::traits_of(s).searched == tried) out.push_back(s);
  }
  return out;
}

Values codes(const std::vector<Schedule>& values) {
  Values out;
  for (const Schedule value : values) out.push_back(static_cast<SearchValue>(value));
  return out;
}

/// Training keeps activations of every sequence; serving is the faster the more share a pass over the weights; samples
/// of other networks are small.
std::int64_t most_micro_batch(const spec::Job& job) {
  if (job.model.is_list()) return std::max<std::int64_t>(8, job.training.global_batch);
  return job.training.serves() ? 1024 : 8;
}

Values divisors(std::int64_t number, std::int64_t most) {
  Values out;
  for (std::int64_t d = 1; d <= std::min(number, most); ++d) {
    if (number % d == 0) out.push_back(static_cast<SearchValue>(d));
  }
  return out;
}

std::int64_t replicas(const spec::Job& job) { return std::int64_t{job.strategy.data()} * job.strategy.cp; }

/// Whether cuDNN's attention is taken to be as fast as FlashAttention 2, so that both are one strategy.
bool cudnn_is_flash2(const spec::Job& job) {
  const auto curve = [&](spec::AttentionKernel kernel) {
    const spec::AttentionCurve& a = attention_curve(job.cluster.node.calibration, kernel);
    return std::tuple(a.forward, a.backward, a.ramp, a.backward_ramp, a.diagonal, a.causal, a.head_dim_64,
                      a.head_dim_256, a.dropout, a.overhead.si());
  };
  if (job.model.mla || job.training.fp8_attention || job.cluster.mixed()) return false;
  return curve(spec::AttentionKernel::flash2) == curve(spec::AttentionKernel::cudnn);
}

Values kernels(const spec::Job& job) {
  Values out;
  using K = spec::AttentionKernel;
  for (const K kernel : {K::flash2, K::flash3, K::cudnn}) {
    if (kernel == K::cudnn && !out.empty() && cudnn_is_flash2(job)) continue;
    if (!spec::gpu_without(kernel, job) && spec::attention_is_usual(kernel, job))
      out.push_back(static_cast<SearchValue>(kernel));
  }
  if (out.empty()) out.push_back(static_cast<SearchValue>(spec::best_attention(job)));
  return out;
}

Values tp_overlaps(const spec::Job& job) {
  Values out = codes(spec::TpOverlap::none);
  const spec::Framework& framework = job.framework;
  if (spec::offers_userbuffers(job) && framework.tp_of_fp8_gpus)
    out.push_back(static_cast<SearchValue>(*framework.tp_of_fp8_gpus));
  if (framework.overlap.tp) out.push_back(static_cast<SearchValue>(*framework.overlap.tp));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Otherwise `selective` alone is `none` with more to do.
bool selective_frees(const spec::Job& job) {
  const spec::AttentionKernel kernel = job.strategy.attention_kernel.value_or(spec::best_attention(job));
  return spec::frees_when_again(kernel);
}

/// Those that free much for what they take: norms and the experts' activation need no matmul again. Of a dense
/// feed-forward the activation alone is no module.
spec::RecomputeModules cheap_modules(const spec::Model& model) {
  spec::RecomputeModules out{.core_attn = false, .layernorm = true};
  (model.moe ? out.moe_act : out.mlp) = true;
  out.mla_up_proj = model.mla && !model.indexer;
  return out;
}

Values recomputes(const spec::Job& job) {
  using Kind = spec::Recompute::Kind;
  Values out = codes(Kind::none);
  if (selective_frees(job)) out.push_back(static_cast<SearchValue>(Kind::selective));
  if (job.framework.recomputes_by_modules)
    out.push_back(spec::value_of(spec::Recompute{Kind::selective, 0, cheap_modules(job.model)}));
  out.push_back(static_cast<SearchValue>(Kind::full));
  if (job.framework.recomputes_by_operators) out.push_back(static_cast<SearchValue>(Kind::selective_ops));
  return out;
}

Values chunks(const spec::Job& job) {
  Values out;
  for (int v = 2; v * job.strategy.pp <= job.model.layers + 2; ++v) out.push_back(v);
  return out;
}

bool divides(const spec::Job& job, bool ends_counted) {
  spec::Strategy cut = job.strategy;
  cut.embedding_in_split = ends_counted;
  return !spec::split_layers(job.model, cut).empty();
}

/// Even stages where the layers divide; otherwise, where that helps, with embedding and head counted as layers.
Values splits(const spec::Job& job) {
  const bool helps = job.strategy.stage_layers.empty() && !divides(job, false) && divides(job, true);
  return {helps ? 1 : 0};
}

/// Uneven stages where nothing else divides the layers. Stages of several chunks each lose less than a layer by it:
/// other numbers of chunks do with less.
Values cuts(const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  if (s.embedding_in_split) return {spec::kEvenLayers};
  // The even cut is refused wherever a stage would begin at a layer without an indexer.
  if (spec::shares_choices(job.model)) return {spec::kEvenLayers, spec::value_of(spec::LayerCut::by_work)};
  if (divides(job, false)) {  // on a mixed cluster faster stages may do more all the same
    const bool uneven = job.cluster.mixed() && !spec::cut_of(job, spec::LayerCut::by_work).empty();
    return uneven ? Values{spec::kEvenLayers, spec::value_of(spec::LayerCut::by_work)} : Values{spec::kEvenLayers};
  }
  const std::int64_t chunks = s.model_chunks(), fewer = chunks - job.model.layers % chunks;
  if (chunks > s.pp && fewer >= s.pp) return {};
  const std::vector<int> by_work = spec::cut_of(job, spec::LayerCut::by_work);
  if (by_work.empty()) return {};
  Values out;
  if (spec::cuts_by_itself(job)) out.push_back(spec::kEvenLayers);  // what the job says by leaving them out
  out.push_back(spec::value_of(spec::LayerCut::by_work));
  const bool differs = chunks == s.pp && spec::cut_of(job, spec::LayerCut::light_front) != by_work;
  if (differs) out.push_back(spec::value_of(spec::LayerCut::light_front));
  return out;
}

Values zeros(const spec::Job& job) { return job.strategy.pp == 1 ? Values{0, 1, 2, 3} : Values{0, 1}; }

Values shards(const spec::Job& job) {
  const int inside = job.cluster.node.island();
  const std::int64_t all = replicas(job);
  if (job.strategy.zero == 3 && inside > 1 && inside < all && all % inside == 0) return {0, inside};
  return {0};
}

/// Of a key without effect.
SearchValue only_value(SearchKey key, const spec::Job& job) {
  switch (key) {
    case SearchKey::ep:
    case SearchKey::etp:
    case SearchKey::vpp: return 1;
    case SearchKey::attention_kernel: return static_cast<SearchValue>(spec::best_attention(job));
    case SearchKey::cp_kind: return static_cast<SearchValue>(spec::CpKind::ring);
    case SearchKey::schedule: return static_cast<SearchValue>(Schedule::one_f_one_b);
    case SearchKey::overlap_tp: return static_cast<SearchValue>(spec::TpOverlap::none);
    case SearchKey::recompute: return static_cast<SearchValue>(spec::Recompute::Kind::none);
    case SearchKey::stage_layers: return spec::kEvenLayers;
    default: return 0;
  }
}

}  // namespace

bool has_effect(SearchKey key, const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  const bool decodes = job.training.mode == spec::Mode::decode;
  switch (key) {
    case SearchKey::sp:
    case SearchKey::overlap_tp: return s.tp > 1;
    case SearchKey::cp_kind: return s.cp > 1 && !decodes;                       // which deals tokens out one by one
    case SearchKey::attention_kernel: return !job.model.is_list() && !decodes;  // the cache is read at one pace
    case SearchKey::ep: return job.model.moe.has_value();
    case SearchKey::etp: return job.model.moe && s.tp > 1;
    case SearchKey::schedule:
    case SearchKey::embedding_in_split:
    case SearchKey::stage_layers: return s.pp > 1;
    case SearchKey::vpp: return s.traits().takes_vpp;
    // The host updates the shards that zero makes, one for each replica or a single one.
    case SearchKey::zero:
      return !job.training.serves() && (job.model.moe || replicas(job) > 1 || s.offload.updates_on_host());
    case SearchKey::recompute: return !job.training.serves();  // otherwise nothing is kept for a backward pass
    default: return true;
  }
}

std::vector<SearchValue> usual_values(SearchKey key, const spec::Job& job) {
  if (!has_effect(key, job)) return {only_value(key, job)};
  const spec::Strategy& s = job.strategy;
  const std::int64_t gpus = job.cluster.gpus();
  switch (key) {
    case SearchKey::tp: return divisors(gpus, job.cluster.node.island());
    case SearchKey::sp: return job.model.moe ? Values{1} : Values{1, 0};
    case SearchKey::cp: return divisors(gpus / s.tp, std::max<std::int64_t>(1, job.training.sequence / kLeastTokens));
    case SearchKey::cp_kind: return codes(spec::CpKind::ring, spec::CpKind::all_gather, spec::CpKind::ulysses);
    case SearchKey::ep: return divisors(job.model.moe->experts, gpus);
    case SearchKey::etp: return {1, s.tp};
    case SearchKey::micro_batch: {
      Values out;
      for (std::int64_t b = 1; b <= std::min(most_micro_batch(job), job.training.global_batch); b *= 2) {
        out.push_back(static_cast<SearchValue>(b));
      }
      return out;
    }
    case SearchKey::recompute: return recomputes(job);
    case SearchKey::attention_kernel: return kernels(job);
    case SearchKey::overlap_tp: return tp_overlaps(job);
    case SearchKey::offload: return {0};
    case SearchKey::pp: return divisors(gpus / (std::int64_t{s.tp} * s.cp), job.model.layers + 2);
    case SearchKey::dp: return {static_cast<SearchValue>(gpus / (std::int64_t{s.tp} * s.cp * s.pp))};
    case SearchKey::schedule: return codes(schedules(true));
    case SearchKey::vpp: return chunks(job);
    case SearchKey::embedding_in_split: return splits(job);
    case SearchKey::stage_layers: return cuts(job);
    case SearchKey::zero: return zeros(job);
    case SearchKey::shard: return shards(job);
  }
  return {};
}

/// What a framework can be told to do beside what it does by itself: asynchronous tensor parallelism, userbuffers.
template <class Tell>
void tell_overlap(const spec::Job& job, Tell tell) {
  if (job.model.is_list() || job.cluster.gpus() < 2 || job.training.mode == spec::Mode::decode) return;
  spec::Job cut = job;
  cut.strategy.sp = true;
  cut.strategy.tp = std::max(2, job.strategy.tp);
  const Values tried = tp_overlaps(cut);
  const spec::TpOverlap other =
      job.framework.shards_by_dtensor ? spec::TpOverlap::chunked : spec::TpOverlap::userbuffers;
  if (std::ranges::find(tried, static_cast<SearchValue>(other)) != tried.end()) return;
  tell(SearchKey::overlap_tp, fmt::format("{0}: --allow overlap.tp=none,{0}", spec::name(other)));
}

std::vector<std::pair<std::string, std::string>> left_out(const spec::Job& job, const spec::SearchSpace& space) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto open = [&](SearchKey key) { return !space[key].has_value(); };
  const auto tell = [&](SearchKey key, std::string what) {
    if (open(key)) out.emplace_back(spec::name(key), std::move(what));
  };
  const bool is_cut = !job.model.is_list();  // which has replicas alone
  const std::string node = std::to_string(job.cluster.node.island());
  if (is_cut && job.cluster.gpus() > job.cluster.node.island()) {
    tell(SearchKey::tp, "over more than the " + node + " GPUs that a node or NVLink joins: --allow tp=8,16");
  }
  int cp = 2;
  while (job.training.sequence / cp >= kLeastTokens) cp *= 2;
  if (is_cut && cp <= job.cluster.gpus()) {
    tell(SearchKey::cp,
         "parts of a sequence below " + std::to_string(kLeastTokens) + " tokens: --allow cp=1," + std::to_string(cp));
  }
  tell_overlap(job, tell);
  if (job.model.moe && job.cluster.gpus() > 1) tell(SearchKey::etp, "other than 1 and tp: --allow etp=1,2");
  const std::int64_t most = most_micro_batch(job);
  if (job.training.global_batch > most) {
    tell(SearchKey::micro_batch, fmt::format("above {}: --allow micro_batch={},{}", most, most, 2 * most));
  }
  if (!is_cut) return out;
  std::vector<std::string> untried;
  for (const Schedule s : schedules(false)) untried.emplace_back(name(s));
  tell(SearchKey::schedule, base::joined(untried) + ": --allow schedule=1f1b,gpipe");
  tell(SearchKey::stage_layers, "uneven cuts of layers that divide: --allow stage_layers=even,by_work");
  if (!job.training.serves())
    tell(SearchKey::recompute,
         fmt::format("some layers of a stage, other modules: --allow 'recompute={{kind: full, layers: 4}},"
                     "{{kind: selective, modules: [{}]}}'",
                     job.model.moe ? "moe" : "layernorm"));
  tell(SearchKey::offload, "--allow 'offload={optimizer: cpu},none'");
  if (open(SearchKey::zero) && !job.training.serves())
    out.emplace_back("zero", "2 and 3 with several stages: --allow zero=0,1,2,3");
  return out;
}

}  // namespace sim
