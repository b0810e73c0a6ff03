// SPDX-License-Identifier: Apache-2.0
#include "core/plan/channel_name.h"

namespace plan {

std::string_view channel_name(const Channel& channel) {
  switch (channel.kind) {
    case Channel::Kind::group: return kAxisNames[static_cast<std::size_t>(channel.axis)];
    case Channel::Kind::forward_edge:
    case Channel::Kind::backward_edge: return "pp";
    case Channel::Kind::embedding: return "embedding";
    case Channel::Kind::model: return "model";
    case Channel::Kind::copies: return "dp";
    case Channel::Kind::stages: return "vocabulary";
  }
  return "";
}

}  // namespace plan
