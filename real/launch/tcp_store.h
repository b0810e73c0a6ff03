// real/launch/tcp_store.h -- a rank's connection to the store that rank 0 serves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "real/launch/connection.h"
#include "real/launch/identity.h"
#include "real/launch/store.h"
#include "real/launch/store_protocol.h"
#include "real/launch/store_server.h"

namespace real {

class TcpStore final : public Store {
 public:
  /// Rank 0 starts the server. Returns when all ranks have come; throws base::DeviceError when they have not in time.
  TcpStore(const Identity&, base::Seconds patience);
  ~TcpStore() override;

  int rank() const override { return identity_.rank; }
  int world() const override { return identity_.world; }
  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, base::Seconds patience) override;
  void barrier(const std::string& name, base::Seconds patience) override;
  void abort(const std::string& reason) noexcept override;
  void leave(base::Seconds patience) override;
  void check() override;

  /// Where other machines reach this one; empty: where they reach the store.
  std::string address() const { return address_for_others(connection_->socket()); }

 private:
  void greet(Deadline);
  std::string ask(Word word, const std::string& key, const std::string& value, base::Seconds patience);
  [[noreturn]] void fail(const std::string& why);

  Identity identity_;
  std::unique_ptr<StoreServer> server_;     // rank 0's
  std::unique_ptr<Connection> connection_;  // closed before the server stops
  std::mutex guard_;
  std::string failure_;  // empty: none known
};

}  // namespace real
