// SPDX-License-Identifier: Apache-2.0
#include "real/launch/world.h"

#include "real/launch/tcp_store.h"
#include "real/launch/tcp_transport.h"

namespace real {

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
