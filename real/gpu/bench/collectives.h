// real/gpu/bench/collectives.h -- NCCL's collectives, timed by rank 0 while the other ranks take part.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "real/calibrate/shape.h"
#include "real/cuda/communicator.h"
#include "real/gpu/bench/arena.h"
#include "real/gpu/waiter.h"
#include "real/launch/deadline.h"

namespace real {

/// Every rank of the world makes one at the same time. Rank 0 calls timed() as often as it likes and end() once; the
/// others call follow(), which returns behind end().
class Collectives {
 public:
  /// `silence`: how long rank 0 may time what needs no others without a word to them.
  explicit Collectives(const World&, base::Seconds silence = base::s(60));

  /// Throws base::DeviceError before any rank has begun where the group does not exist or the bytes do not fit.
  std::vector<base::Seconds> timed(const CollectiveShape&, Arena&, const Stream&, base::Seconds most);
  void end();
  /// Tells the others, every now and then, that rank 0 times what needs none of them: between two points.
  void keep_waiting();
  void follow(Arena&, const Stream&);
  /// Ends what is under way with the others, on this rank. Good for nothing afterwards.
  void give_up();

 private:
  std::vector<base::Seconds> take_part(const CollectiveShape&, int repetitions, Arena&, const Stream&);
  void tell(const std::string& what);

  const World& world_;
  Communicator everyone_;
  std::map<std::pair<int, int>, Communicator> groups_;  // by ranks and nodes; of this rank's groups
  Waiter waiter_;
  base::Seconds silence_;
  Deadline silent_until_;
  static constexpr int kFewest = 3;  // repetitions
  int told_ = 0;
};

}  // namespace real
