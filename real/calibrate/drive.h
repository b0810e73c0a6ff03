// real/calibrate/drive.h -- what the drives behind a folder write and read: what a node's file says as `nvme`, and
// offloading to drives and checkpoints are priced by. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/units.h"

namespace real {

/// How much is moved: until either is reached, each way.
struct DriveRun {
  base::Bytes most = base::GiB(32);
  base::Seconds time = base::s(10);  // behind the page cache, were there one, and a drive's own fast cells
};

struct DriveRates {
  base::ByteRate read, write;
  base::Bytes bytes;       // written, and then read
  bool past_cache = true;  // by O_DIRECT; false: the file system has none, and pages were given up between
};

/// A nameless file in `folder`, of random bytes, by requests of 4 MiB, 16 at a time: as a training job has them, and as
/// the figures of topologies/nodes were measured (several requests for each of 8 drives). At most a quarter of what is
/// free there is taken. Throws base::DeviceError: the folder, or what the drive refused.
DriveRates drive_rates(const std::string& folder, const DriveRun& = {});

/// For people, with the line that a node's file takes.
std::string text(const DriveRates&, const std::string& folder);

}  // namespace real
