// real/cupti/layouts.h -- the layouts of records of the CUPTI that this is built with. Each new one appends fields, so
// a newer library's records begin with them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

namespace real {

#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
using CopyRecord = CUpti_ActivityMemcpy6;
#else
using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
#endif
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using FillRecord = CUpti_ActivityMemset4;
using OwnerRecord = CUpti_ActivityExternalCorrelation;

}  // namespace real
