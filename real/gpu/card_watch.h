// real/gpu/card_watch.h -- a card while it works: read again and again by a thread of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "real/measure/measurement.h"

namespace real {

using ReadCard = std::function<Condition()>;

class CardWatch {
 public:
  /// `read` is called at once, and every `between`; without one nothing is.
  CardWatch(ReadCard read, base::Seconds between);
  CardWatch(const CardWatch&) = delete;
  CardWatch& operator=(const CardWatch&) = delete;

  /// What was read until now, as one. Throws what the first reading threw; later ones that fail are left out.
  Condition end();

 private:
  void watch(const std::stop_token&, const ReadCard&, base::Seconds between);

  std::vector<Condition> readings_;
  std::exception_ptr failure_;  // of the first
  std::jthread thread_;
};

}  // namespace real
