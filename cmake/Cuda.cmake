# Looks for the CUDA toolkit and says in one line what was found. Sets FORERUN_HAVE_CUDA and FORERUN_CUDA_VERSION.
# The simulator never links CUDA: a binary that does would not start on machines without it.
# SPDX-License-Identifier: Apache-2.0

set(FORERUN_HAVE_CUDA OFF)
set(FORERUN_CUDA_VERSION "")
if(FORERUN_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: switched off, the GPU parts are left out (simulation works without it)")
  return()
endif()

# CMake itself looks only at $CUDACXX and PATH and remembers a failure, so find the compiler in its usual homes first.
if(NOT FORERUN_NVCC)
  find_program(FORERUN_NVCC nvcc HINTS $ENV{CUDACXX} ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda /opt/cuda
               PATH_SUFFIXES bin)
  mark_as_advanced(FORERUN_NVCC)
endif()
if(FORERUN_NVCC)
  execute_process(COMMAND ${FORERUN_NVCC} --version OUTPUT_VARIABLE banner ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND banner MATCHES "release ([0-9]+\\.[0-9]+)")
    set(FORERUN_HAVE_CUDA ON)
    set(FORERUN_CUDA_VERSION ${CMAKE_MATCH_1})
  endif()
endif()

if(FORERUN_HAVE_CUDA)
  message(STATUS "CUDA: found ${FORERUN_CUDA_VERSION} (${FORERUN_NVCC})")
elseif(FORERUN_CUDA STREQUAL "ON")
  message(FATAL_ERROR "CUDA not found, and FORERUN_CUDA=ON asks for it: install the CUDA Toolkit, put nvcc on PATH or "
                      "set CUDA_HOME; or configure with FORERUN_CUDA=AUTO")
else()
  message(STATUS "CUDA not found: the GPU parts are left out (simulation works without it)")
endif()
