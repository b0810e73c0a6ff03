// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/measured_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace real {

std::string difference(const Machine& before, const Machine& now) {
  const auto differ = [](const char* what, const auto& was, const auto& is) {
    return was == is ? "" : fmt::format("{} was {} and is {}", what, was, is);
  };
  for (const std::string& told :
       {differ("the GPU", before.gpu, now.gpu), differ("its number of SMs", before.sms, now.sms),
        differ("the number of GPUs", before.gpus, now.gpus), differ("the number of nodes", before.nodes, now.nodes),
        differ("the driver", before.driver, now.driver), differ("the software", before.libraries, now.libraries)}) {
    if (!told.empty()) return told;
  }
  return "";
}

MeasuredPoint summarised(const Shape& shape, std::vector<base::Seconds> samples, const Condition& condition) {
  MeasuredPoint out{.shape = shape, .samples = static_cast<int>(samples.size()), .condition = condition};
  if (out.samples < kFewestSamples) {
    out.void_because = fmt::format("only {} repetitions fitted into its time", out.samples);
    return out;
  }
  std::sort(samples.begin(), samples.end());
  if (!(samples.front().si() > 0) || !std::isfinite(samples.back().si())) {
    out.void_because = "a repetition took no time";
    return out;
  }
  const std::size_t last = samples.size() - 1;
  out.low = samples[last / 10];
  out.high = samples[last - last / 10];
  out.median = (samples[last / 2] + samples[last - last / 2]) / 2;
  if (out.high > out.low * kDisagreement) {
    out.void_because = fmt::format("repetitions took from {} to {}", base::human(out.low), base::human(out.high));
  }
  return out;
}

}  // namespace real
