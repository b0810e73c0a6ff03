// real/launch/store.h -- a small shared table by which the ranks of a run find one another: addresses, ids, results.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/units.h"

namespace real {

/// One rank's door to the table. Values are any bytes; a few kilobytes each. One thread of a rank at a time, except for
/// check(). Everything that waits has a deadline; base::DeviceError names who did not come, or who was lost.
///
/// A rank that ends without leave() is lost, and that ends the run: every rank that waits, or asks next, is told which
/// rank it was.
class Store {
 public:
  virtual ~Store() = default;

  virtual int rank() const = 0;
  virtual int world() const = 0;

  virtual void set(const std::string& key, const std::string& value) = 0;
  /// The value of `key`, waiting until some rank has set it.
  virtual std::string get(const std::string& key, base::Seconds patience) = 0;
  /// Returns when all ranks have come. A name may be used again.
  /// Throws "only 2 of 4 ranks came to 'start': missing 1, 3".
  virtual void barrier(const std::string& name, base::Seconds patience) = 0;
  /// Tells every rank that this one gives up, and why. Never throws.
  virtual void abort(const std::string& reason) noexcept = 0;
  /// This rank is done, and its end no failure; returns when every rank is. Nothing else may be called afterwards.
  virtual void leave(base::Seconds patience) = 0;
  /// Throws if a rank was lost; does not wait. From any thread.
  virtual void check() = 0;

  void wait(const std::string& key, base::Seconds patience) { get(key, patience); }
  /// Every rank's `mine`, by rank. A name may be used once only.
  std::vector<std::string> gather(const std::string& name, const std::string& mine, base::Seconds patience);
};

}  // namespace real
