// SPDX-License-Identifier: Apache-2.0
#include "real/launch/world.h"

#include "core/base/fault.h"
#include "core/base/number.h"
#include "real/launch/board.h"
#include "real/launch/tcp_store.h"
#include "real/launch/tcp_transport.h"

namespace real {

Patience patience_from(const Environment& get) {
  constexpr int kMost = 86'400;
  Patience out;
  const std::optional<std::string> told = get(kJoinVariable);
  if (!told) return out;
  const auto seconds = base::number_in<int>(*told);
  if (!seconds || *seconds < 1 || *seconds > kMost) {
    throw base::InputError({{kJoinVariable,
                             "'" + *told + "' is no time to wait for ranks that start",
                             "write whole seconds, 1 to 86400",
                             {}}});
  }
  out.join = base::s(*seconds);
  return out;
}

World join(const Identity& identity, const Patience& patience) {
  if (identity.world == 1) {
    World alone = std::move(in_process(1, patience).front());
    alone.identity = identity;
    return alone;
  }
  auto store = std::make_unique<TcpStore>(identity, patience.join);
  auto transport = std::make_unique<TcpTransport>(*store, identity, patience.join);
  return {identity, patience, std::move(store), std::move(transport)};
}

}  // namespace real
