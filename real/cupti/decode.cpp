// SPDX-License-Identifier: Apache-2.0
#include "real/cupti/decode.h"

#include <array>

#include "real/cupti/layouts.h"

namespace real {
namespace {

const char* copy_name(std::uint8_t kind) {  // CUpti_ActivityMemcpyKind
  constexpr std::array<const char*, 11> kNames{"copy", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                               "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  return kind < kNames.size() ? kNames[kind] : kNames[0];
}

/// What all records of device work have.
template <class Record>
DeviceRecord timed(const Record& record, DeviceRecord::Kind kind, std::string name) {
  return {.kind = kind,
          .start_ns = record.start,
          .end_ns = record.end,
          .correlation = record.correlationId,
          .device = record.deviceId,
          .stream = record.streamId,
          .name = std::move(name)};
}

template <class Record>
DeviceRecord moved(const Record& record, DeviceRecord::Kind kind, std::string name) {
  DeviceRecord out = timed(record, kind, std::move(name));
  out.bytes = static_cast<std::int64_t>(record.bytes);
  return out;
}

template <class Record>
const Record& as(const CUpti_Activity* record) {
  return *reinterpret_cast<const Record*>(record);
}

void append(const CUpti_Activity* record, Records& to) {
  using Kind = DeviceRecord::Kind;
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = as<KernelRecord>(record);
      to.device.push_back(
          timed(kernel, Kind::kernel, kernel.name ? kernel.name : ""));  // the name is CUPTI's: copied now
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = as<CopyRecord>(record);
      to.device.push_back(moved(copy, Kind::copy, copy_name(copy.copyKind)));
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      to.device.push_back(moved(as<PeerCopyRecord>(record), Kind::copy, "PtoP"));
      return;
    case CUPTI_ACTIVITY_KIND_MEMSET: to.device.push_back(moved(as<FillRecord>(record), Kind::fill, "fill")); return;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& owner = as<OwnerRecord>(record);
      if (owner.externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)
        to.owners.push_back({owner.correlationId, owner.externalId});
      return;
    }
    default: return;
  }
}

}  // namespace

void decode(std::uint8_t* buffer, std::size_t bytes, Records& to) {
  if (bytes == 0) return;
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS) append(record, to);
}

}  // namespace real
