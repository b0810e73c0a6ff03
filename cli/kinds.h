// cli/kinds.h -- the kinds of catalogue entries as users write them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"

namespace cli {

struct KindName {
  config::Catalogue::Kind kind;
  const char *one, *many;
};

/// In the order in which a name without its kind is looked up.
inline constexpr std::array kKinds{
    KindName{config::Catalogue::Kind::model, "model", "models"},
    KindName{config::Catalogue::Kind::node, "node", "nodes"},
    KindName{config::Catalogue::Kind::gpu, "gpu", "gpus"},
    KindName{config::Catalogue::Kind::fabric, "fabric", "fabrics"},
    KindName{config::Catalogue::Kind::framework, "framework", "frameworks"},
    KindName{config::Catalogue::Kind::job, "job", "jobs"},
    KindName{config::Catalogue::Kind::calibration, "calibration", "calibrations"},
};

inline const KindName* kind_named(std::string_view word) {
  for (const KindName& kind : kKinds) {
    if (word == kind.one || word == kind.many) return &kind;
  }
  return nullptr;
}

inline std::vector<std::string> kind_words() {
  std::vector<std::string> words;
  for (const KindName& kind : kKinds) words.emplace_back(kind.many);
  return words;
}

}  // namespace cli
