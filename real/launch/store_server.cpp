// SPDX-License-Identifier: Apache-2.0
#include "real/launch/store_server.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <vector>

namespace real {
namespace {

constexpr base::Seconds kToRead = base::s(1);

}  // namespace

StoreServer::StoreServer(int port, int world, std::string job)
    : board_(world), job_(std::move(job)), listener_(listen_on(port)), thread_([this] { serve(); }) {}

StoreServer::~StoreServer() {
  stopping_ = true;
  wake_.ring();
  thread_.join();
}

void StoreServer::serve() {
  while (!stopping_) turn();
  turn();  // what came just before the end
  const Deadline end = Deadline::in(kToRead);
  for (Client& client : clients_) client.connection.flush(end);
}

void StoreServer::turn() {
  wait_for_events();
  for (Client& client : clients_) hear(client);
  drop_closed();  // before giving up is heard of: a rank that gives up may do so because this one was lost
  answer_those_who_wait();
  tell_failure();
  for (Client& client : clients_) client.connection.write_some();
}

/// Returns when a client speaks or can be written to, one comes, a deadline passes, or the server is to stop.
void StoreServer::wait_for_events() {
  std::vector<pollfd> polled{{wake_.fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
  int patience = 1000;
  for (const Client& client : clients_) {
    const bool writes = client.connection.wants_to_write();
    polled.push_back({client.connection.fd(), static_cast<short>(POLLIN | (writes ? POLLOUT : 0)), 0});
    if (client.pending) patience = std::min(patience, client.until.milliseconds_left());
  }
  poll(polled.data(), polled.size(), patience);
  if (polled[1].revents & POLLIN) {
    if (Socket socket = accept_from(listener_, Deadline::in({}))) clients_.emplace_back(std::move(socket));
  }
}

void StoreServer::hear(Client& client) {
  for (const Frame& frame : client.connection.read_some()) {
    const auto message = decode(frame);
    if (!message) continue;
    if (client.rank < 0) {
      if (message->word == Word::hello) welcome(client, *message);
    } else {
      take(client, *message);
    }
  }
}

void StoreServer::welcome(Client& client, const Message& hello) {
  const int rank = static_cast<int>(hello.number & 0xffffffff), world = static_cast<int>(hello.number >> 32);
  if (hello.key != job_)
    return reply(client, Word::failed, "the store at this address belongs to another job; set MASTER_PORT");
  const auto twin = std::ranges::find(clients_, rank, &Client::rank);
  if (world != board_.world()) {
    board_.fail(
        fmt::format("rank {} ({}) was told of {} ranks, rank 0 of {}", rank, hello.value, world, board_.world()));
  } else if (rank < 0 || rank >= world) {
    board_.fail(fmt::format("{} says that it is rank {} of {}", hello.value, rank, world));
  } else if (twin != clients_.end()) {
    board_.fail(fmt::format("two processes say that they are rank {}: {}; {}", rank, twin->who, hello.value));
  }
  if (board_.failure()) return reply(client, Word::failed, *board_.failure());
  client.rank = rank;
  client.who = hello.value;
  client.connection.accept_any_length();
  reply(client, Word::ok, "");
}

void StoreServer::take(Client& client, const Message& request) {
  if (board_.failure()) return reply(client, Word::failed, *board_.failure());
  switch (request.word) {
    case Word::set: board_.set(request.key, request.value); return reply(client, Word::ok, "");
    case Word::barrier:
    case Word::leave:
      client.use = board_.arrive(request.key, client.rank);
      if (request.word == Word::leave) board_.leave(client.rank);
      [[fallthrough]];
    case Word::get:
    case Word::abort:
      client.pending = request;
      client.until = Deadline::in(base::ms(static_cast<double>(request.number)));
      return;
    default: return;
  }
}

bool StoreServer::answer(Client& client) {
  const Message& request = *client.pending;
  if (request.word == Word::abort) {
    board_.fail(gave_up(client.rank, request.value));
    return true;
  }
  if (request.word == Word::get) {
    const std::string* const value = board_.find(request.key);
    if (value) reply(client, Word::ok, *value);
    if (value || !client.until.passed()) return value != nullptr;
    reply(client, Word::too_late, nobody_set(request.key, base::ms(static_cast<double>(request.number))));
    return true;
  }
  const bool over = board_.over(request.key, client.use);
  if (over) reply(client, Word::ok, "");
  if (over || !client.until.passed()) return over;
  if (request.key == kJoin) {  // there will be no run: all are told the same
    board_.fail(fmt::format("{} ({} sets how long they are waited for, now {} s)", board_.missing(kJoin), kJoinVariable,
                            static_cast<double>(request.number) / 1e3));
  }
  reply(client, Word::too_late, board_.failure().value_or(board_.missing(request.key)));
  return true;
}

void StoreServer::answer_those_who_wait() {
  for (Client& client : clients_) {
    if (client.pending && answer(client)) client.pending.reset();
  }
}

void StoreServer::tell_failure() {
  if (!board_.failure() || told_failure_) return;
  told_failure_ = true;
  for (Client& client : clients_) {
    client.pending.reset();
    if (client.rank >= 0) reply(client, Word::failed, *board_.failure());
  }
}

void StoreServer::drop_closed() {
  for (const Client& client : clients_) {
    if (!client.connection.open() && client.rank >= 0) board_.lose(client.rank, client.who);
  }
  clients_.remove_if([](const Client& client) { return !client.connection.open(); });
}

void StoreServer::reply(Client& client, Word word, std::string value) {
  client.connection.queue(encode({.word = word, .key = {}, .value = std::move(value)}));
}

}  // namespace real
