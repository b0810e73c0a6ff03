# Real mode: `real/launch` is built everywhere; what needs the CUDA toolkit and NVIDIA's libraries only where these are found.
# SPDX-License-Identifier: Apache-2.0

forerun_floor(real_launch real/launch core_base)
# The executor of a Plan and its CPU backend need no CUDA.
forerun_floor(real_executor real/executor core_plan kernels)
forerun_floor(real_cpu real/cpu real_executor real_launch)
