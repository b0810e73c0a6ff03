// SPDX-License-Identifier: Apache-2.0
#include "core/config/recorded_step.h"

#include <string>
#include <utility>

#include "core/config/chrome_events.h"
#include "core/config/kineto.h"

namespace config {

RecordedFile read_step(const std::string& path) {
  bool kernels = false;  // of a GPU, as a profiler names them
  const TextEntries head = read_chrome_events(
      path, [&](const ChromeEvent& event) { kernels = kernels || (event.phase == "X" && event.category == "kernel"); });
  if (find(head, "otherData.forerun") != nullptr || !kernels) return read_recorded(path);
  KinetoTrace trace = read_kineto(path, {});
  if (trace.step >= 0) {
    trace.recorded.notes.push_back("ProfilerStep#" + std::to_string(trace.step) + ", one of " +
                                   std::to_string(trace.steps.size()) +
                                   " in the trace; forerun import kineto --step takes another");
  }
  return {std::move(trace.recorded), {}};
}

}  // namespace config
