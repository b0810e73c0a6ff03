// step_time JOB [PATH=VALUE]... -- the step time of a job with each kind of recomputation, and its timeline.
// SPDX-License-Identifier: Apache-2.0
#include <forerun/forerun.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

namespace {

forerun::Settings settings_of(int count, char** words) {
  forerun::Settings out;
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    const std::size_t equals = word.find('=');
    out.push_back({word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1)});
  }
  return out;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s JOB [PATH=VALUE]...\n", words[0]);
    return 2;
  }
  try {
    const forerun::Forerun here;
    forerun::Settings settings = settings_of(count, words);
    const forerun::Answer answer = forerun::predict(here.job(words[1], settings));
    std::printf("as given  %8.3f s  %s\n", answer.prediction.step_time_s,
                answer.prediction.fits ? "fits" : "does not fit");
    std::ofstream timeline("step.json");
    forerun::write_perfetto(answer.trace, timeline);

    for (const char* recompute : {"none", "selective", "full"}) {
      settings.push_back({"strategy.recompute", recompute});
      const forerun::Prediction step = forerun::predict_time(here.job(words[1], settings));
      std::printf("%-9s %8.3f s  %s\n", recompute, step.step_time_s, step.fits ? "fits" : "does not fit");
    }
  } catch (const std::exception& error) {  // forerun::InputError: every fault, where it is and how to mend it
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
