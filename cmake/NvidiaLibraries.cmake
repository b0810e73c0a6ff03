# Finds NCCL, CUPTI, cuDNN, cuBLAS and cuBLASLt, for which CMake 3.25 has no targets or looks in too few places: the CUDA toolkit, the system,
# and the `nvidia` folder of a Python environment, whose wheels have a prefix each and only versioned file names. Makes nvidia::nccl,
# nvidia::cupti, nvidia::cudnn, nvidia::cublas, nvidia::cublasLt; FORERUN_NVIDIA_MISSING lists those not found. Sets
# FORERUN_HAVE_CUDA_LIBRARIES where those of matmuls and attention are there, which is all that kernels/ needs.
# SPDX-License-Identifier: Apache-2.0

set(FORERUN_NVIDIA_SITE "" CACHE PATH "the folder `nvidia` of a Python site-packages; searched first when set")

set(nvidia_site ${FORERUN_NVIDIA_SITE})
if(NOT nvidia_site)
  find_program(FORERUN_PYTHON NAMES python3)
  mark_as_advanced(FORERUN_PYTHON)
  if(FORERUN_PYTHON)
    execute_process(COMMAND ${FORERUN_PYTHON} -c "import nvidia; print(list(nvidia.__path__)[0])"
                    OUTPUT_VARIABLE nvidia_site OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()

set(nvidia_prefixes ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_TARGET_DIR}/extras/CUPTI
    /usr/local/cuda /usr/local/cuda/extras/CUPTI /usr)
if(nvidia_site)
  set(wheels ${nvidia_site}/cu13 ${nvidia_site}/nccl ${nvidia_site}/cudnn)
  if(FORERUN_NVIDIA_SITE)
    list(PREPEND nvidia_prefixes ${wheels})
  else()
    list(APPEND nvidia_prefixes ${wheels})
  endif()
endif()

# nvidia_library(name header file-name...): a header and a library from different installs do not fit, so both are looked for in
# one prefix after the other. The target is SHARED, not UNKNOWN: only then does a file name without a plain .so link.
function(nvidia_library name header)
  foreach(prefix IN LISTS nvidia_prefixes)
    find_path(NVIDIA_${name}_INCLUDE ${header} PATHS ${prefix} PATH_SUFFIXES include NO_DEFAULT_PATH)
    find_library(NVIDIA_${name}_LIBRARY NAMES ${ARGN} PATHS ${prefix}
                 PATH_SUFFIXES lib64 lib lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH)
    mark_as_advanced(NVIDIA_${name}_INCLUDE NVIDIA_${name}_LIBRARY)
    if(NVIDIA_${name}_INCLUDE AND NVIDIA_${name}_LIBRARY)
      break()
    endif()
    unset(NVIDIA_${name}_INCLUDE CACHE)
    unset(NVIDIA_${name}_LIBRARY CACHE)
  endforeach()
  if(NVIDIA_${name}_LIBRARY)
    add_library(nvidia::${name} SHARED IMPORTED GLOBAL)
    set_target_properties(nvidia::${name} PROPERTIES IMPORTED_LOCATION ${NVIDIA_${name}_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${NVIDIA_${name}_INCLUDE})
  else()
    set(FORERUN_NVIDIA_MISSING ${FORERUN_NVIDIA_MISSING} ${name} PARENT_SCOPE)
  endif()
endfunction()

set(FORERUN_NVIDIA_MISSING)
nvidia_library(nccl nccl.h nccl libnccl.so.2)
nvidia_library(cupti cupti.h cupti libcupti.so.13 libcupti.so.12)
nvidia_library(cudnn cudnn.h cudnn libcudnn.so.9)
nvidia_library(cublas cublas_v2.h cublas libcublas.so.13 libcublas.so.12)
nvidia_library(cublasLt cublasLt.h cublasLt libcublasLt.so.13 libcublasLt.so.12)

set(FORERUN_HAVE_CUDA_LIBRARIES ON)
foreach(name cublas cublasLt cudnn)
  if(name IN_LIST FORERUN_NVIDIA_MISSING)
    message(STATUS "CUDA: ${name} not found, matmul and attention by NVIDIA's libraries are left out")
    set(FORERUN_HAVE_CUDA_LIBRARIES OFF)
  endif()
endforeach()
