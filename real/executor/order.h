// real/executor/order.h -- whether the Plan's events really order its operators: every reading of a tensor must come
// behind its writing, every overwriting behind both, through FIFO streams and awaited events. What only happens to run
// in the right order is a race, and is reported with both operators.
//
// Each stream has a vector clock (Mattern, "Virtual time and global states of distributed systems", 1989): how much of
// every stream is known to be done when its latest operator runs. An event carries the clock of the operator that
// recorded it; a wait takes it in. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/plan/plan.h"

namespace real {

/// Two operators touch one tensor and nothing orders them. A mistake of the Plan, not of its user.
struct RaceError : std::logic_error {
  using std::logic_error::logic_error;
};

/// An operator of this rank's step: its call, and its place in the call's segment; -1: none.
struct Issued {
  std::int32_t call = -1, at = -1;
  auto operator<=>(const Issued&) const = default;
};

/// When an operator ran, by its own stream's count.
struct Stamp {
  plan::Stream stream = plan::Stream::compute;
  std::int64_t time = 0;  // 0: never
  Issued by;
};

/// Who wrote a tensor last, and who has read it since, by stream.
struct Accesses {
  Stamp written;
  std::array<Stamp, plan::kStreams> read;
};

class Order {
 public:
  /// Another operator: behind its stream's last one, behind what its waits' events recorded, and behind what the host
  /// has waited for.
  void begin(const plan::Operator&, Issued);
  void end();           // records the operator's events
  void host_waits();    // for the operator just begun: all that is issued from now on comes behind it
  void wait_for_all();  // the host, for every stream

  /// Throws RaceError; `what` is the tensor, `describe` says who an operator is.
  template <class Describe>
  void read(Accesses& a, const std::string& what, Describe describe) const {
    if (!behind(a.written)) fail(what, "reads", "wrote", describe(now_.by), describe(a.written.by));
    a.read[static_cast<int>(now_.stream)] = now_;
  }
  template <class Describe>
  void write(Accesses& a, const std::string& what, Describe describe) const {
    if (!behind(a.written)) fail(what, "overwrites", "wrote", describe(now_.by), describe(a.written.by));
    for (const Stamp& reader : a.read) {
      if (!behind(reader)) fail(what, "overwrites", "reads", describe(now_.by), describe(reader.by));
    }
    a = {now_, {}};
  }
  const Stamp& now() const { return now_; }

 private:
  using Clock = std::array<std::int64_t, plan::kStreams>;
  static void take_in(Clock& into, const Clock& other);
  bool behind(const Stamp& other) const { return other.time <= clock()[static_cast<int>(other.stream)]; }
  const Clock& clock() const { return streams_[static_cast<int>(now_.stream)]; }
  [[noreturn]] static void fail(const std::string& what, const char* does, const char* did, const std::string& who,
                                const std::string& whom);

  std::array<Clock, plan::kStreams> streams_{};
  std::array<Clock, plan::kEvents> events_{};
  Clock host_{};
  Stamp now_;
  plan::EventId extra_ = -1;
};

}  // namespace real
