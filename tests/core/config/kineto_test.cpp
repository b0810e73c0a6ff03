// tests/core/config/kineto_test.cpp -- a profile written here with the fields of PyTorch's.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/kineto.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/base/fault.h"

namespace {

using config::KinetoTrace;
using trace::Span;

const std::string kHead =
    R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
 "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "traceEvents": [)";

/// Events with commas between them. Times are microseconds.
class Profile {
 public:
  Profile& step(int number, double start, double end) {
    return event("user_annotation", "ProfilerStep#" + std::to_string(number), start, end - start, "");
  }
  /// Launched by the host at `launched`.
  Profile& kernel(const std::string& name, int stream, double launched, double start, double duration,
                  const std::string& more = "", const std::string& category = "kernel", int device = 0) {
    const std::string correlation = std::to_string(++launches_);
    event("cpu_op", "aten::mm", launched - 1, 3, R"("External id": 7, "Input Dims": [[8, 4], [4, 4]])");
    event("cuda_runtime", "cudaLaunchKernel", launched, 1, "\"correlation\": " + correlation);
    return event(category, name, start, duration,
                 "\"device\": " + std::to_string(device) + ", \"stream\": " + std::to_string(stream) +
                     ", \"correlation\": " + correlation + more);
  }
  std::string text() const { return kHead + events_ + R"(], "traceName": "rank3.json"})"; }

 private:
  Profile& event(const std::string& category, const std::string& name, double start, double duration,
                 const std::string& args) {
    std::ostringstream out;
    out << std::fixed << (events_.empty() ? "" : ",\n") << R"({"ph": "X", "cat": ")" << category << R"(", "name": ")"
        << name << R"(", "pid": 0, "tid": 7, "ts": )" << 1712345678901000 + start << R"(, "dur": )" << duration
        << R"(, "args": {)" << args << "}}";
    events_ += out.str();
    return *this;
  }
  std::string events_;
  int launches_ = 0;
};

const std::string kGather = R"(, "Collective name": "_allgather_base", "In msg nelems": 1024, "Group size": 8)";

KinetoTrace read(const Profile& profile, std::optional<int> step = {}) {
  std::istringstream in(profile.text());
  return config::read_kineto(in, "k.json", step);
}

/// A step of 100 us of the host; its kernels run 50 us later.
void add_step(Profile& profile, int number, double start, double matmul) {
  profile.step(number, start, start + 100)
      .kernel("ncclDevKernel_AllGather_RING_LL", 20, start + 10, start + 60, 20, kGather)
      .kernel("nvjet_hsh_128x256", 7, start + 20, start + 80, matmul)
      .kernel("Memcpy HtoD (Pinned -> Device)", 7, start + 90, start + 85 + matmul, 5, "", "gpu_memcpy");
}

TEST(Kineto, AStepIsWhatTheHostLaunchedInIt) {
  Profile profile;
  add_step(profile, 4, 0, 50);
  add_step(profile, 5, 100, 50);
  const KinetoTrace t = read(profile);
  ASSERT_EQ(t.steps.size(), 2u);
  EXPECT_EQ(t.steps[0].kernels, 3u);
  // From the first kernel, at 60, to the next step's, at 160; the last one to its last kernel's end: 160..240.
  EXPECT_EQ(t.steps[0].length, 100'000'000);
  EXPECT_EQ(t.steps[1].length, 80'000'000);
}

TEST(Kineto, TheStepOfMedianLengthIsTakenUnlessOneIsNamed) {
  // Steps begin every 200, 300 and 250 us; the last one's length is not known.
  Profile profile;
  for (const auto& [number, start] : {std::pair{1, 0}, {2, 200}, {3, 500}, {4, 750}}) {
    add_step(profile, number, start, 50);
  }
  EXPECT_EQ(read(profile).step, 3);
  EXPECT_EQ(read(profile, 4).step, 4);
}

TEST(Kineto, StreamsAreTracksAndKernelsHaveFamilies) {
  Profile profile;
  add_step(profile, 4, 0, 50);
  const trace::Recorded r = read(profile).recorded;
  ASSERT_EQ(r.trace.tracks.size(), 2u);
  EXPECT_EQ(r.trace.tracks[0].stream, "compute");  // stream 7: 55 us that are no communication
  EXPECT_EQ(r.trace.tracks[1].stream, "stream 20");
  EXPECT_EQ(r.trace.tracks[0].rank, 3);
  const Span& gather = r.trace.tracks[1].spans[0];
  EXPECT_EQ(r.kinds[gather.work], (trace::WorkKind{"all_gather", 8}));
  EXPECT_EQ(gather.end - gather.start, 20'000'000);
  EXPECT_EQ(r.kinds[r.trace.tracks[0].spans[1].work].family, "host_copy");
  EXPECT_EQ(r.facts, (trace::Facts{{"cluster.gpus", "8"}, {"device", "NVIDIA H100 80GB HBM3"}}));
  EXPECT_EQ(r.source, "kineto");
  EXPECT_EQ(r.period, 80'000'000);
}

TEST(Kineto, KernelsOfOneStreamThatOverlapAreCut) {
  Profile profile;
  profile.step(0, 0, 100).kernel("gemm_a", 7, 1, 10, 20).kernel("gemm_b", 7, 2, 28, 20);  // begins 2 us early
  const auto spans = read(profile).recorded.trace.tracks[0].spans;
  EXPECT_EQ(spans[1].start, spans[0].end);
  EXPECT_EQ(spans[1].end - spans[1].start, 18'000'000);
}

TEST(Kineto, BranchesOfAGraphOnOneStreamKeepTheirTime) {
  // A gather of 100 us, and beside it two matmuls of 30 us each: all on stream 7.
  Profile profile;
  profile.step(0, 0, 200).kernel("ncclDevKernel_AllGather_RING_LL", 7, 1, 10, 100, kGather);
  profile.kernel("gemm", 7, 2, 20, 30).kernel("gemm", 7, 3, 60, 30);
  const trace::Trace t = read(profile).recorded.trace;
  ASSERT_EQ(t.tracks.size(), 2u);
  EXPECT_EQ(t.streams, 2);
  ASSERT_EQ(t.tracks[1].spans.size(), 2u);
  for (const Span& span : t.tracks[1].spans) EXPECT_EQ(span.end - span.start, 30'000'000);
}

TEST(Kineto, ManyKernelsThatNobodyKnowsAreTold) {
  const auto notes = [](double unknown) {
    Profile profile;
    profile.step(0, 0, 1000).kernel("gemm", 7, 1, 10, 100).kernel("my_own_kernel", 7, 2, 200, unknown);
    return read(profile).recorded.notes;
  };
  EXPECT_TRUE(notes(4).empty());  // 4 of 104
  ASSERT_EQ(notes(25).size(), 1u);
  EXPECT_NE(notes(25)[0].find("20 % of the kernels' time"), std::string::npos) << notes(25)[0];
  EXPECT_NE(notes(25)[0].find("my_own_kernel"), std::string::npos);
}

TEST(Kineto, ANumberThatIsNoRanksIsRefused) {
  for (const char* rank :
       {R"("rank": -3, "world_size": 8)", R"("rank": 8, "world_size": 8)", R"("rank": 99999999999, "world_size": 8)"}) {
    std::istringstream in(std::string(R"({"distributedInfo": {)") + rank +
                          R"(}, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 2}]})");
    EXPECT_THROW(config::read_kineto(in, "k.json"), base::InputError) << rank;
  }
}

TEST(Kineto, WithoutStepsAllOfItIsOne) {
  Profile profile;
  profile.kernel("gemm", 7, 1, 10, 20).kernel("gemm", 7, 40, 50, 20);
  const KinetoTrace t = read(profile);
  EXPECT_EQ(t.step, -1);
  EXPECT_EQ(t.steps[0].length, 60'000'000);  // 10..70
  ASSERT_EQ(t.recorded.notes.size(), 1u);
  EXPECT_NE(t.recorded.notes[0].find("marks no steps"), std::string::npos);
}

TEST(Kineto, ATraceThatDoesNotTellItsRankIsTakenForRankZero) {
  std::istringstream in(R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 2}]})");
  const trace::Recorded r = config::read_kineto(in, "k.json").recorded;
  EXPECT_EQ(r.trace.tracks[0].rank, 0);
  EXPECT_EQ(r.notes.back(), "the trace does not tell its rank: it is taken for rank 0");
}

TEST(Kineto, OfSeveralGpusTheBusiestIsTold) {
  Profile profile;
  profile.kernel("gemm", 7, 1, 10, 20, "", "kernel", 1).kernel("gemm", 7, 2, 40, 20, "", "kernel", 1);
  profile.kernel("gemm", 7, 3, 10, 20);
  const KinetoTrace t = read(profile);
  EXPECT_EQ(t.steps[0].kernels, 2u);
  EXPECT_NE(t.recorded.notes[0].find("of 2 GPUs; this is number 1 alone"), std::string::npos);
}

std::string refusal(const Profile& profile, std::optional<int> step = {}) {
  try {
    read(profile, step);
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "read without fault";
}

TEST(Kineto, AStepThatWasImportedBeforeIsToldWhereItGoes) {
  std::istringstream in(R"({"otherData": {"forerun": 1, "source": "kineto"}, "traceEvents": []})");
  try {
    config::read_kineto(in, "step.json");
    FAIL();
  } catch (const base::InputError& error) {
    EXPECT_STREQ(error.what(),
                 "step.json:1:1: error: otherData.forerun: is of a recorded step of forerun's own, not of PyTorch's "
                 "profiler\n  mend: give it as it is: forerun explain JOB --against step.json");
  }
}

TEST(Kineto, RefusesWhatHasNoStepOfAGpu) {
  EXPECT_EQ(refusal(Profile().step(1, 0, 10)),
            "k.json:1:1: error: traceEvents: has no kernel of a GPU\n  mend: profile with ProfilerActivity.CUDA, and "
            "export the trace of a rank that has a GPU");
  Profile profile;
  add_step(profile, 4, 0, 50);
  EXPECT_NE(refusal(profile, 9).find("--step: there is no step 9\n  mend: choose of 4"), std::string::npos);
  EXPECT_EQ(refusal(Profile().kernel("gemm", 7, 1, 10, 20), 7),
            "k.json:1:1: error: --step: the trace marks no steps (ProfilerStep#), so that none is number 7\n"
            "  mend: leave --step out: all of it is taken for one step");
  EXPECT_NE(refusal(Profile().step(1, 0, 10).kernel("gemm", 7, 50, 60, 5)).find("no kernel was launched inside"),
            std::string::npos);
}

}  // namespace
