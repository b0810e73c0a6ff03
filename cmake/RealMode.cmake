# Real mode. What needs no CUDA is built everywhere: the launcher, the joining of records, the memory ledger. What does is one
# executable of its own, forerun-worker, beside forerun: NVIDIA's libraries are shared ones, and a binary linked to them does not start
# where they are missing. Sets FORERUN_HAVE_WORKER.
# SPDX-License-Identifier: Apache-2.0

forerun_floor(real_launch real/launch core_base)
forerun_floor(real_memory real/memory core_plan)
forerun_floor(real_trace real/trace core_trace nlohmann_json::nlohmann_json)
# The executor of a Plan and its CPU backend need no CUDA.
forerun_floor(real_executor real/executor core_plan kernels)
forerun_floor(real_measure real/measure real_executor real_memory real_trace nlohmann_json::nlohmann_json)
forerun_floor(real_cpu real/cpu real_measure real_launch)
# What a calibration times, in which order, and what its points tell; who times them is handed in.
forerun_floor(real_calibrate real/calibrate real_measure core_config core_plan)

set(FORERUN_HAVE_WORKER OFF)
if(NOT FORERUN_HAVE_CUDA)
  return()
endif()
if(FORERUN_NVIDIA_MISSING)
  list(JOIN FORERUN_NVIDIA_MISSING ", " missing)
  if(FORERUN_CUDA STREQUAL "ON")
    message(FATAL_ERROR "FORERUN_CUDA=ON, but not found: ${missing}. Install them, or set FORERUN_NVIDIA_SITE to the folder `nvidia` of a "
                        "Python environment that has them; or configure with FORERUN_CUDA=AUTO")
  endif()
  message(STATUS "GPU worker: left out, not found: ${missing} (simulation works without it)")
  return()
endif()
set(FORERUN_HAVE_WORKER ON)

forerun_floor(real_cuda real/cuda real_launch real_memory CUDA::cudart_static nvidia::nccl ${CMAKE_DL_LIBS})
forerun_floor(real_cupti real/cupti real_trace real_cuda nvidia::cupti)

forerun_sources(worker_sources real/worker)
forerun_floor(real_gpu real/gpu real_calibrate real_measure real_cupti real_cuda kernels_cuda kernels_vendor CUDA::nvtx3)
# Optimizers on the host want loops of several numbers at a time: -O3, and square roots (of sums of squares) that set no errno.
set_source_files_properties(${PROJECT_SOURCE_DIR}/real/gpu/host.cpp PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>;-fno-math-errno"
                            SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)

add_executable(forerun-worker ${worker_sources})
target_link_libraries(forerun-worker PRIVATE real_gpu real_cupti real_cuda real_launch core_config nvidia::cudnn nvidia::cublas nvidia::cublasLt)
set_target_properties(forerun-worker PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                      INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS forerun-worker)
