// tests/core/config/recorded_step_test.cpp -- whichever of the two wrote a trace, its step is read.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/recorded_step.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/base/fault.h"
#include "reports/perfetto.h"
#include "tests/reports/sample.h"

namespace {

class RecordedStep : public testing::Test {
 protected:
  ~RecordedStep() override { std::filesystem::remove(path_); }
  config::RecordedFile read(const std::string& text) {
    std::ofstream(path_) << text;
    return config::read_step(path_);
  }
  const std::string path_ = testing::TempDir() + "step-" + std::to_string(::getpid()) + ".json";
};

TEST_F(RecordedStep, OfForerunIsReadAsItWasWritten) {
  trace::Recorded step;
  step.source = "cpu";
  step.trace = sample::trace();
  step.trace.channels = {"pp"};
  step.kinds = {{"matmul", 0}};
  for (trace::Track& track : step.trace.tracks) {
    for (trace::Span& span : track.spans) span.work = 0;
  }
  std::ostringstream text;
  reports::write_perfetto({{"measured", &step}}, text);
  EXPECT_EQ(read(text.str()).measured.source, "cpu");
}

TEST_F(RecordedStep, OfPyTorchIsReadFromTheProfileItself) {
  const config::RecordedFile file = read(R"({"traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "ts": 0, "dur": 50},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "ts": 100, "dur": 50},
    {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 10, "dur": 20},
    {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 110, "dur": 25}]})");
  EXPECT_EQ(file.measured.source, "kineto");
  EXPECT_EQ(file.measured.period, 100'000'000);
  EXPECT_FALSE(file.predicted.has_value());
  EXPECT_EQ(file.measured.notes.back(),
            "ProfilerStep#4, one of 2 in the trace; forerun import kineto --step takes another");
}

TEST_F(RecordedStep, OfNobodyIsRefused) {
  EXPECT_THROW(read(R"({"traceEvents": [{"ph": "X", "name": "gemm", "ts": 1, "dur": 2}]})"), base::InputError);
}

}  // namespace
