# Looks for the CUDA toolkit and says in one line what was found; enables the language when it is. Sets FORERUN_HAVE_CUDA
# and FORERUN_CUDA_VERSION. The simulator never links CUDA: a binary that does would not start on machines without it.
# SPDX-License-Identifier: Apache-2.0

set(FORERUN_HAVE_CUDA OFF)
set(FORERUN_HAVE_CUDA_LIBRARIES OFF)
set(FORERUN_CUDA_VERSION "")
if(FORERUN_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: switched off, the GPU parts are left out (simulation works without it)")
  return()
endif()
if(FORERUN_SANITIZE OR FORERUN_FUZZ)
  message(STATUS "CUDA: the GPU parts are left out under the sanitizers, whose options nvcc does not know")
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

set(why_not "not found")
if(FORERUN_HAVE_CUDA)
  # A100, H100 and B200, with code for later chips compiled on their first use. Has to be said before the language is
  # enabled: CMake would choose Turing.
  set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;100" CACHE STRING "GPUs to compile for")
  if(NOT DEFINED ENV{CUDACXX})
    set(ENV{CUDACXX} ${FORERUN_NVCC})
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  find_package(CUDAToolkit QUIET)
  if(NOT CMAKE_CUDA_COMPILER OR NOT CUDAToolkit_FOUND)
    set(why_not "${FORERUN_CUDA_VERSION} does not compile with this C++ compiler, or is not complete")
    set(FORERUN_HAVE_CUDA OFF)
  elseif(FORERUN_CUDA_VERSION VERSION_LESS 12.8)
    set(why_not "${FORERUN_CUDA_VERSION} is older than 12.8 and does not know Blackwell")
    set(FORERUN_HAVE_CUDA OFF)
  endif()
endif()

if(FORERUN_HAVE_CUDA)
  message(STATUS "CUDA: found ${FORERUN_CUDA_VERSION} (${FORERUN_NVCC})")
elseif(FORERUN_CUDA STREQUAL "ON")
  message(FATAL_ERROR "CUDA ${why_not}, and FORERUN_CUDA=ON asks for it: install the CUDA Toolkit, put nvcc on PATH or "
                      "set CUDA_HOME; or configure with FORERUN_CUDA=AUTO")
else()
  message(STATUS "CUDA ${why_not}: the GPU parts are left out (simulation works without it)")
  return()
endif()

enable_language(CUDA)
# CMake before 3.26 does not know that nvcc speaks C++20; the language's standard falls back to that of C++, so it fails
# even where none is asked for.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_EXTENSIONS OFF)

include(cmake/NvidiaLibraries.cmake)
