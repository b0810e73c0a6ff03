// kernels/host_device.h -- marks functions that kernels and CPU references share. SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef __CUDACC__
#define KERNELS_HOST_DEVICE __host__ __device__
#else
#define KERNELS_HOST_DEVICE
#endif
