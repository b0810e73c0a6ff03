// SPDX-License-Identifier: Apache-2.0
#include "real/launch/tcp_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/fault.h"

namespace real {
namespace {

// Beyond a request's own deadline, for the answer that says who did not come.
constexpr base::Seconds kAnswerTime = base::s(10);
constexpr const char* kStoreLost = "rank 0, which keeps the store, ended before the others";

std::string self(const Identity& identity) { return fmt::format("{}, process {}", identity.host, getpid()); }

}  // namespace

TcpStore::TcpStore(const Identity& identity, base::Seconds patience) : identity_(identity) {
  const Deadline end = Deadline::in(patience);
  if (rank() == 0) server_ = std::make_unique<StoreServer>(identity.store_port, world(), identity.job);
  try {
    connection_ =
        std::make_unique<Connection>(connect_to(server_ ? "127.0.0.1" : identity.store_host, identity.store_port, end));
  } catch (const base::DeviceError& error) {
    throw base::DeviceError(fmt::format("rank {} waited {} s for rank 0 ({} sets how long): {}", rank(), patience.si(),
                                        kJoinVariable, error.what()));
  }
  greet(end);
  barrier(kJoin, patience);
}

TcpStore::~TcpStore() { connection_.reset(); }

void TcpStore::greet(Deadline end) {
  connection_->queue(encode({.word = Word::hello,
                             .key = identity_.job,
                             .value = self(identity_),
                             .number = rank() + (static_cast<std::int64_t>(world()) << 32)}));
  connection_->flush(end);
  const auto frame = connection_->next(end);
  const auto answer = frame ? decode(*frame) : std::nullopt;
  if (!answer) {
    fail(fmt::format("what listens at {}:{} is no store of forerun; set MASTER_PORT", identity_.store_host,
                     identity_.store_port));
  }
  if (answer->word != Word::ok) fail(answer->value);
}

void TcpStore::fail(const std::string& why) {
  if (failure_.empty()) failure_ = why;
  throw base::DeviceError(failure_);
}

std::string TcpStore::ask(Word word, const std::string& key, const std::string& value, base::Seconds patience) {
  const std::lock_guard lock(guard_);
  if (!failure_.empty()) fail(failure_);
  const auto milliseconds = static_cast<std::int64_t>(patience.si() * 1e3 + 0.5);
  connection_->queue(encode({.word = word, .key = key, .value = value, .number = milliseconds}));
  const Deadline end = Deadline::in(patience + kAnswerTime);
  connection_->flush(end);
  const auto frame = connection_->next(end);
  const auto answer = frame ? decode(*frame) : std::nullopt;
  if (!answer) fail(connection_->open() ? "the store at rank 0 does not answer" : kStoreLost);
  if (answer->word == Word::too_late) throw base::DeviceError(answer->value);
  if (answer->word == Word::failed) fail(answer->value);
  return answer->value;
}

void TcpStore::set(const std::string& key, const std::string& value) { ask(Word::set, key, value, {}); }

std::string TcpStore::get(const std::string& key, base::Seconds patience) { return ask(Word::get, key, "", patience); }

void TcpStore::barrier(const std::string& name, base::Seconds patience) { ask(Word::barrier, name, "", patience); }

void TcpStore::leave(base::Seconds patience) { ask(Word::leave, kLeave, "", patience); }

void TcpStore::abort(const std::string& reason) noexcept {
  try {
    ask(Word::abort, "", reason, {});  // the answer is the failure itself: the server has it then
  } catch (...) {
  }
}

void TcpStore::check() {
  const std::unique_lock lock(guard_, std::try_to_lock);
  if (!lock) return;  // a request is under way, and will be told
  if (!failure_.empty()) fail(failure_);
  const auto frame = connection_->next(Deadline::in({}));
  const auto told = frame ? decode(*frame) : std::nullopt;
  if (told) fail(told->value);
  if (!connection_->open()) fail(kStoreLost);
}

}  // namespace real
