// sim/network/knobs.h -- the constants of a curve that fits move, in SI units.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/network_calibration.h"

namespace sim {

struct Knob {
  enum class What { efficiency, ramp, latency, hop, decay, local };
  enum class Of { simple, low_latency, ll128 };  // protocol

  const char* name;
  What what;
  Of of;
  double (*get)(const spec::PathCurve&);
  void (*set)(spec::PathCurve&, double);
  double least, most;  // that a fit may state
};

/// What rows tell best comes first.
inline constexpr Knob kKnobs[] = {
    {"efficiency", Knob::What::efficiency, Knob::Of::simple, [](const spec::PathCurve& c) { return c.efficiency; },
     [](spec::PathCurve& c, double v) { c.efficiency = v; }, 1e-3, 1},
    {"ramp", Knob::What::ramp, Knob::Of::simple, [](const spec::PathCurve& c) { return c.ramp.si(); },
     [](spec::PathCurve& c, double v) { c.ramp = base::Bytes(v); }, 100, 1e7},
    // The slowest start that rows of their own told is 0.39 ms, a tree's over EFA between two nodes.
    {"latency", Knob::What::latency, Knob::Of::simple, [](const spec::PathCurve& c) { return c.latency.si(); },
     [](spec::PathCurve& c, double v) { c.latency = base::Seconds(v); }, 1e-7, 5e-4},
    {"hop", Knob::What::hop, Knob::Of::simple, [](const spec::PathCurve& c) { return c.hop.si(); },
     [](spec::PathCurve& c, double v) { c.hop = base::Seconds(v); }, 1e-9, 1e-4},
    {"decay", Knob::What::decay, Knob::Of::simple, [](const spec::PathCurve& c) { return c.decay; },
     [](spec::PathCurve& c, double v) { c.decay = v; }, 1e-3, 1},
    {"local", Knob::What::local, Knob::Of::simple, [](const spec::PathCurve& c) { return c.local; },
     [](spec::PathCurve& c, double v) { c.local = v; }, 1e-3, 3},
    {"low_latency.efficiency", Knob::What::efficiency, Knob::Of::low_latency,
     [](const spec::PathCurve& c) { return c.low_latency.efficiency; },
     [](spec::PathCurve& c, double v) { c.low_latency.efficiency = v; }, 1e-3, 1},
    {"low_latency.latency", Knob::What::latency, Knob::Of::low_latency,
     [](const spec::PathCurve& c) { return c.low_latency.latency.si(); },
     [](spec::PathCurve& c, double v) { c.low_latency.latency = base::Seconds(v); }, 1e-7, 1e-3},
    {"low_latency.hop", Knob::What::hop, Knob::Of::low_latency,
     [](const spec::PathCurve& c) { return c.low_latency.hop.si(); },
     [](spec::PathCurve& c, double v) { c.low_latency.hop = base::Seconds(v); }, 1e-9, 1e-4},
    {"ll128.efficiency", Knob::What::efficiency, Knob::Of::ll128,
     [](const spec::PathCurve& c) { return c.ll128.efficiency; },
     [](spec::PathCurve& c, double v) { c.ll128.efficiency = v; }, 1e-3, 1},
    {"ll128.latency", Knob::What::latency, Knob::Of::ll128,
     [](const spec::PathCurve& c) { return c.ll128.latency.si(); },
     [](spec::PathCurve& c, double v) { c.ll128.latency = base::Seconds(v); }, 1e-7, 1e-3},
    {"ll128.hop", Knob::What::hop, Knob::Of::ll128, [](const spec::PathCurve& c) { return c.ll128.hop.si(); },
     [](spec::PathCurve& c, double v) { c.ll128.hop = base::Seconds(v); }, 1e-9, 1e-4},
};

/// Whether the curve has the knob's protocol at all.
inline bool offered(const Knob& knob, const spec::PathCurve& curve) {
  switch (knob.of) {
    case Knob::Of::low_latency: return curve.low_latency.efficiency > 0;
    case Knob::Of::ll128: return curve.ll128.efficiency > 0;
    case Knob::Of::simple: break;
  }
  return curve.offered();
}

}  // namespace sim
