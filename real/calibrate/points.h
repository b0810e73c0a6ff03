// real/calibrate/points.h -- which points a calibration times, and in which order. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "real/calibrate/usage.h"

namespace real {

struct Point {
  Shape shape;
  /// Behind all others, its time held back for it: it heats the card.
  bool last = false;
};

/// What the machine has points of.
struct Offered {
  bool fp8 = false;
  int gpus = 1, nodes = 1;  // gpus: of each node. More than one in all: collectives, too
};

/// Anchors first: of each family what its curve cannot do without. Then what models use, by the share of their time
/// that a second of timing covers; under fp8 the matmuls again at half of their worth. Then a grid over all sizes in an
/// order that is random, but the same each time. Each shape once.
std::vector<Point> points(const std::vector<Used>&, const Offered&);

/// Matmuls, attention and collectives over all sizes; shuffled.
std::vector<Shape> grid(const Offered&);

/// Of points(), those of collectives.
std::vector<Point> collective_points(const Offered&);

/// Pairs of one size: C in bf16, and added to a sum in fp32, which is large beside the math.
struct Accumulated {
  config::MatmulRow plain, adding;
};
std::vector<Accumulated> accumulated();

}  // namespace real
