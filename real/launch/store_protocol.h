// real/launch/store_protocol.h -- what the store's server and its clients say to one another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "real/launch/connection.h"

namespace real {

enum class Word : std::uint64_t {
  // A client's. `number` is how many milliseconds it will wait, but for hello.
  hello = 0x666f7265'72756e01,  // key: the job; value: "node7, process 4711"; number: rank + (world << 32)
  set,                          // key, value
  get,                          // key
  barrier,                      // key
  leave,
  abort,  // value: why
  // The server's answers.
  ok,        // value of get
  too_late,  // value: who or what did not come
  failed,    // value: who was lost, or why this client is refused; told unasked too
};

struct Message {
  Word word;
  std::string key, value;
  std::int64_t number = 0;
};

inline Frame encode(const Message& message) {
  const std::uint64_t numbers[2] = {static_cast<std::uint64_t>(message.number), message.key.size()};
  Frame out{static_cast<std::uint64_t>(message.word), Blob(sizeof numbers + message.key.size() + message.value.size())};
  std::memcpy(out.payload.data(), numbers, sizeof numbers);
  std::memcpy(out.payload.data() + sizeof numbers, message.key.data(), message.key.size());
  std::memcpy(out.payload.data() + sizeof numbers + message.key.size(), message.value.data(), message.value.size());
  return out;
}

/// Nothing when the frame is no message of ours.
inline std::optional<Message> decode(const Frame& frame) {
  std::uint64_t numbers[2];
  if (frame.tag < static_cast<std::uint64_t>(Word::hello) || frame.tag > static_cast<std::uint64_t>(Word::failed) ||
      frame.payload.size() < sizeof numbers) {
    return std::nullopt;
  }
  std::memcpy(numbers, frame.payload.data(), sizeof numbers);
  const std::size_t rest = frame.payload.size() - sizeof numbers;
  if (numbers[1] > rest) return std::nullopt;
  const char* const text = reinterpret_cast<const char*>(frame.payload.data() + sizeof numbers);
  return Message{static_cast<Word>(frame.tag), std::string(text, numbers[1]),
                 std::string(text + numbers[1], rest - numbers[1]), static_cast<std::int64_t>(numbers[0])};
}

}  // namespace real
