// SPDX-License-Identifier: Apache-2.0
#include "cli/model_facts.h"

#include "core/spec/parameters.h"

namespace cli {

std::vector<std::pair<std::string, std::int64_t>> parameter_parts(const spec::Model& model) {
  if (model.is_list()) {
    const spec::LayerListTotals count = spec::totals(model.list);
    std::vector<std::pair<std::string, std::int64_t>> parts{{"operators", count.dense_parameters},
                                                            {"tables", count.table_parameters}};
    if (count.table_parameters == 0) parts.clear();
    parts.emplace_back("total", count.dense_parameters + count.table_parameters);
    return parts;
  }
  const spec::Parameters p = spec::parameters(model);
  std::vector<std::pair<std::string, std::int64_t>> parts{{"embedding", p.embedding},
                                                          {"positions", p.positions},
                                                          {"embedding_norm", p.embedding_norm},
                                                          {"attention", p.attention},
                                                          {"indexer", p.indexer},
                                                          {"recurrent", p.recurrent},
                                                          {"feed_forward", p.feed_forward},
                                                          {"router", p.router},
                                                          {"latent", p.latent},
                                                          {"experts", p.experts},
                                                          {"shared_experts", p.shared_experts},
                                                          {"norms", p.norms},
                                                          {"final_norm", p.final_norm},
                                                          {"head", p.head},
                                                          {"multi_token", p.multi_token}};
  std::erase_if(parts, [](const auto& part) { return part.second == 0; });
  parts.emplace_back("total", p.total());
  return parts;
}

}  // namespace cli
