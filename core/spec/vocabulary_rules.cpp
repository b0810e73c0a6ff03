// SPDX-License-Identifier: Apache-2.0
#include "core/spec/vocabulary_rules.h"

#include <string>

namespace spec {

std::vector<base::Fault> vocabulary_faults(const Job& job) {
  const Strategy& s = job.strategy;
  std::vector<base::Fault> faults;
  if (s.vocab_parallel != VocabParallel::pipeline) return faults;
  const auto refuse = [&](bool given, const char* field, const std::string& what, const std::string& mend) {
    if (given) faults.push_back({field, what, mend});
  };
  const std::string other = ", or vocab_parallel: tensor";
  refuse(s.pp == 1, "strategy.vocab_parallel", "there is one stage to cut the vocabulary over",
         "write pp: 2 or more, or leave vocab_parallel out");
  refuse(!s.traits().one_f_one_b, "strategy.schedule",
         "a vocabulary cut over the stages is not supported by this version under this schedule",
         "write schedule: 1f1b or interleaved" + other);
  refuse(s.embedding_in_split, "strategy.embedding_in_split",
         "embedding and head are no layers of one stage where every stage has a share of them",
         "leave embedding_in_split out" + other);
  refuse(s.overlap.p2p && !*s.overlap.p2p, "strategy.overlap.p2p",
         "passes of the vocabulary come between those that send", "write p2p: true" + other);
  refuse(s.zero >= 2, "strategy.zero",
         "a vocabulary cut over the stages is not supported by this version under zero 2 and 3",
         "write zero: 1" + other);
  refuse(s.lora.has_value(), "strategy.lora", "frozen embeddings cut over the stages are not supported by this version",
         "leave lora out" + other);
  refuse(s.pairs_passes(), "strategy.overlap.expert",
         "a vocabulary cut over the stages is not supported by this version beside overlapped passes",
         "write expert: false" + other);
  refuse(s.offload.any(), "strategy.offload",
         "a vocabulary cut over the stages is not supported by this version beside offloading",
         "leave offload out" + other);
  refuse(job.model.mtp > 0, "model.mtp",
         "heads of multi-token prediction cut over the stages are not supported by this version",
         "write mtp: 0" + other);
  refuse(job.model.is_list() || job.training.serves(), "strategy.vocab_parallel",
         "only the training of a transformer cuts its vocabulary over stages", "leave vocab_parallel out");
  for (const int layers : s.stage_layers) {
    if (layers > 0) continue;
    refuse(true, "strategy.stage_layers", "a stage without layers has nothing left to do",
           "write 1 or more layers" + other);
    break;
  }
  return faults;
}

}  // namespace spec
