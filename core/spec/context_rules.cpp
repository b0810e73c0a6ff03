// SPDX-License-Identifier: Apache-2.0
#include "core/spec/context_rules.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/spec/rules.h"

namespace spec {
namespace {

void check_ulysses(const Job& job, std::vector<base::Fault>& faults) {
  const Model& m = job.model;
  const std::int64_t tp = job.strategy.tp, cp = job.strategy.cp;
  if (m.heads % tp != 0) return;  // told with tp
  const UlyssesHeads way = job.framework.ulysses_heads;
  const UlyssesShare share = ulysses_share(job);
  if (share.divides || way == UlyssesHeads::padded) return;
  const std::string mend = "choose another cp, or cp_kind: ring";
  if (way == UlyssesHeads::uneven) {
    if (m.heads / tp > cp) return;
    faults.push_back({"strategy.cp",
                      text(m.heads / tp) + " heads of a tensor-parallel rank are not more than cp " + text(cp) +
                          ", as " + job.framework.name + " needs to deal them out unevenly",
                      mend});
    return;
  }
  if (m.heads % (tp * cp) != 0) {
    faults.push_back(
        {"strategy.cp",
         text(m.heads) + " heads do not divide by tp " + text(tp) + " x cp " + text(cp) + ", as cp_kind: ulysses needs",
         "choose degrees whose product divides " + text(m.heads) + ", or cp_kind: ring"});
    return;
  }
  const std::int64_t kv_heads = std::max<std::int64_t>(1, m.kv_heads / tp);
  faults.push_back({"strategy.cp",
                    text(kv_heads) + " kv_heads of a tensor-parallel rank can be neither divided nor copied over cp " +
                        text(cp) + ", as cp_kind: ulysses needs",
                    "choose a cp that divides " + text(kv_heads) + ", a multiple of it, or cp_kind: ring"});
}

}  // namespace

UlyssesShare ulysses_share(const Job& job) {
  const int tp = job.strategy.tp, cp = job.strategy.cp;
  const int heads = job.model.heads / tp;
  const int keys = job.model.mla ? heads : std::max(1, job.model.kv_heads / tp);
  if (heads % cp == 0 && (keys % cp == 0 || cp % keys == 0)) return {heads / cp, std::max(keys / cp, 1), true};
  const int most = (keys + cp - 1) / cp;
  return {most * std::max(heads / keys, 1), most, false};
}

std::vector<base::Fault> context_faults(const Job& job) {
  const Strategy& s = job.strategy;
  std::vector<base::Fault> faults;
  if (s.cp == 1) return faults;
  const bool decodes = job.training.mode == Mode::decode;  // of the sequence a rank has cached tokens alone
  const std::int64_t sequence = job.training.sequence, cp = s.cp;
  const bool zigzag = s.cp_balance == CpBalance::zigzag && job.model.causal;
  if (decodes) {
    // no chunks, no ring, no trade
  } else if (sequence % (zigzag ? 2 * cp : cp) != 0) {
    faults.push_back({"strategy.cp",
                      text(sequence) + " tokens of a sequence do not divide into " +
                          (zigzag ? "2 x cp = " + text(2 * cp) + " chunks (cp_balance: zigzag)" : text(cp) + " parts"),
                      std::string(zigzag ? "choose a cp of which twice as much divides the sequence"
                                         : "choose a cp that divides the sequence") +
                          (zigzag && sequence % cp == 0 ? ", or write cp_balance: none" : "")});
  } else if (s.sp && s.tp > 1 && sequence % (cp * s.tp) != 0) {
    faults.push_back(
        {"strategy.cp",
         text(sequence / cp) + " tokens of a context-parallel rank do not divide by tp " + text(s.tp) + " (sp: true)",
         "choose degrees whose product divides " + text(sequence)});
  }
  if (!decodes && s.cp_kind == CpKind::ring && cp * job.model.layers > 1'000'000) {
    faults.push_back({"strategy.cp",
                      text(cp * job.model.layers) + " steps of the ring in one forward are more than are simulated",
                      "choose a smaller cp, or cp_kind: all_gather"});
  }
  if (!decodes && s.cp_kind == CpKind::ulysses) check_ulysses(job, faults);
  const std::int64_t chunk = job.model.attention_chunk;
  if (!decodes && s.cp_kind != CpKind::ulysses && chunk > 0 && chunk < sequence) {
    faults.push_back({"strategy.cp_kind",
                      "chunks of attention (" + text(chunk) +
                          " tokens) that context-parallel ranks cut are supported "
                          "where each has whole sequences alone",
                      "write cp_kind: ulysses, or a sequence of at most " + text(chunk)});
  }
  const AttentionKernel kernel = s.attention_kernel.value_or(best_attention(job));
  if (kernel == AttentionKernel::mem_efficient && s.cp_kind != CpKind::ulysses) {
    faults.push_back(
        {"strategy.attention_kernel",
         "mem_efficient takes a mask of whole sequences, and these context-parallel ranks have parts of them",
         "write attention_kernel: flash2, or cp_kind: ulysses"});
  }
  if (writes_scores(kernel)) {
    const bool flash = !gpu_without(AttentionKernel::flash2, job);
    const bool usual = attention_is_usual(AttentionKernel::flash2, job);
    faults.push_back(
        {"strategy.attention_kernel",
         "context parallelism needs a kernel that does not write the scores, and " + std::string(name(kernel)) +
             (s.attention_kernel ? " does" : ", the default of " + job.framework.name + " here, does"),
         !flash  ? "write cp: 1"
         : usual ? "write attention_kernel: flash2"
                 : "write cp: 1, or attention_kernel: flash2 where yours takes values padded to the keys"});
  }
  return faults;
}

}  // namespace spec
