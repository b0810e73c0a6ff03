// real/launch/store_server.h -- the table itself: a thread of rank 0 that answers every rank's requests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <list>
#include <optional>
#include <string>
#include <thread>

#include "real/launch/board.h"
#include "real/launch/store_protocol.h"
#include "real/launch/wake.h"

namespace real {

class StoreServer {
 public:
  /// Listens at once; throws base::DeviceError when the port is taken.
  StoreServer(int port, int world, std::string job);
  /// Tells the clients what is still to be told, for a second at most, and closes their connections.
  ~StoreServer();

 private:
  struct Client {
    explicit Client(Socket socket) : connection(std::move(socket), kLongestHello) {}
    Connection connection;
    int rank = -1;  // not known before its hello
    std::string who;
    std::optional<Message> pending;  // what it waits for
    Deadline until = Deadline::in({});
    int use = 0;  // of the barrier
  };
  static constexpr std::uint64_t kLongestHello = 4096;

  void serve();
  void turn();
  void wait_for_events();
  void hear(Client&);
  void welcome(Client&, const Message& hello);
  void take(Client&, const Message& request);
  void answer_those_who_wait();
  bool answer(Client&);  // what `pending` asks for; false: not yet
  void tell_failure();
  void drop_closed();
  static void reply(Client&, Word word, std::string value);

  Board board_;
  std::string job_;
  Socket listener_;
  Wake wake_;
  std::list<Client> clients_;
  bool told_failure_ = false;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace real
