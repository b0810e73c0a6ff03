// tests/real/cupti/decode_test.cpp -- buffers of CUPTI's own records, walked by CUPTI itself. Needs its library, and no
// GPU. SPDX-License-Identifier: Apache-2.0
#include "real/cupti/decode.h"

#include <cupti.h>
#include <gtest/gtest.h>

#include <cstring>

#include "real/trace/join.h"

namespace {

/// Records one behind the other, as CUPTI writes them.
class Buffer {
 public:
  template <class Record>
  void add(const Record& record) {
    std::memcpy(bytes_ + size_, &record, sizeof record);
    size_ += sizeof record;
  }
  real::Records decoded() {
    real::Records out;
    real::decode(bytes_, size_, out);
    return out;
  }

 private:
  alignas(8) std::uint8_t bytes_[4096] = {};
  std::size_t size_ = 0;
};

#if CUPTI_API_VERSION >= 130000
CUpti_ActivityKernel10 kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, const char* name) {
  CUpti_ActivityKernel10 out{};
#else
CUpti_ActivityKernel9 kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, const char* name) {
  CUpti_ActivityKernel9 out{};
#endif
  out.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  out.start = start;
  out.end = end;
  out.correlationId = correlation;
  out.deviceId = 1;
  out.streamId = 7;
  out.name = name;
  return out;
}

CUpti_ActivityExternalCorrelation owner(std::uint32_t correlation, std::uint64_t id,
                                        CUpti_ExternalCorrelationKind kind) {
  CUpti_ActivityExternalCorrelation out{};
  out.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  out.externalKind = kind;
  out.externalId = id;
  out.correlationId = correlation;
  return out;
}

TEST(Decode, AKernelKeepsTimesStreamAndName) {
  Buffer buffer;
  buffer.add(kernel(9, 100, 250, "gemm"));
  const real::Records records = buffer.decoded();
  ASSERT_EQ(records.device.size(), 1u);
  const real::DeviceRecord& k = records.device[0];
  EXPECT_EQ(k.kind, real::DeviceRecord::Kind::kernel);
  EXPECT_EQ(k.start_ns, 100u);
  EXPECT_EQ(k.end_ns, 250u);
  EXPECT_EQ(k.correlation, 9u);
  EXPECT_EQ(k.device, 1u);
  EXPECT_EQ(k.stream, 7u);
  EXPECT_EQ(k.name, "gemm");
}

TEST(Decode, CopiesAndFillsKeepTheirBytes) {
  Buffer buffer;
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.bytes = 4096;
  buffer.add(copy);
  CUpti_ActivityMemset4 fill{};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.bytes = 12;
  buffer.add(fill);
  CUpti_ActivityMemcpyPtoP4 peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.bytes = 5;
  buffer.add(peer);
  const real::Records records = buffer.decoded();
  ASSERT_EQ(records.device.size(), 3u);
  EXPECT_EQ(records.device[0].name, "HtoD");
  EXPECT_EQ(records.device[0].bytes, 4096);
  EXPECT_EQ(records.device[1].kind, real::DeviceRecord::Kind::fill);
  EXPECT_EQ(records.device[1].bytes, 12);
  EXPECT_EQ(records.device[2].name, "PtoP");
  EXPECT_EQ(records.device[2].bytes, 5);
}

TEST(Decode, AKernelJoinsItsOperatorThoughItComesFirstAndOtherIdsAreLeftAlone) {
  Buffer buffer;
  buffer.add(kernel(9, 100, 250, "gemm"));
  buffer.add(owner(9, 42, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0));
  buffer.add(owner(9, 77, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1));  // another tool's
  buffer.add(kernel(11, 300, 301, "stray"));
  buffer.add(owner(11, 5, CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC));
  const real::Joined joined = real::join(buffer.decoded());
  ASSERT_EQ(joined.operators.size(), 1u);
  EXPECT_EQ(joined.operators[0].owner, 42u);
  EXPECT_EQ(joined.operators[0].busy_ns, 150u);
  ASSERT_EQ(joined.orphans.size(), 1u);
  EXPECT_EQ(joined.orphans[0].name, "stray");
}

TEST(Decode, RecordsThatWereNotAskedForArePassedOver) {
  Buffer buffer;
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  buffer.add(call);
  buffer.add(kernel(1, 0, 1, nullptr));  // a kernel without a name is still one
  const real::Records records = buffer.decoded();
  ASSERT_EQ(records.device.size(), 1u);
  EXPECT_EQ(records.device[0].name, "");
}

TEST(Decode, AnEmptyBufferHasNoRecords) { EXPECT_TRUE(Buffer().decoded().device.empty()); }

}  // namespace
