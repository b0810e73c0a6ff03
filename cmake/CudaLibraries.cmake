# Looks for cuBLAS, cuBLASLt and cuDNN: in the toolkit, in the system, and in a Python environment's nvidia-* wheels, which carry
# versioned names only. Sets FORERUN_HAVE_CUDA_LIBRARIES and the targets forerun::cublas, forerun::cublasLt and
# forerun::cudnn.
# SPDX-License-Identifier: Apache-2.0

set(FORERUN_HAVE_CUDA_LIBRARIES OFF)
set(FORERUN_NVIDIA_WHEELS "" CACHE PATH "the folder `nvidia` of a Python site-packages, searched first when set")

function(forerun_cuda_library name header folder)
  set(places ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR} /usr/local/cuda /usr)
  if(FORERUN_NVIDIA_WHEELS)
    list(PREPEND places ${FORERUN_NVIDIA_WHEELS}/${folder})
  endif()
  find_path(FORERUN_${name}_INCLUDE ${header} HINTS ${places} PATH_SUFFIXES include)
  find_library(FORERUN_${name}_LIBRARY NAMES ${name} ${ARGN} HINTS ${places} PATH_SUFFIXES lib64 lib lib/x86_64-linux-gnu)
  mark_as_advanced(FORERUN_${name}_INCLUDE FORERUN_${name}_LIBRARY)
  if(FORERUN_${name}_INCLUDE AND FORERUN_${name}_LIBRARY AND NOT TARGET forerun::${name})
    add_library(forerun::${name} SHARED IMPORTED GLOBAL)   # SHARED: a name like libcudnn.so.9 links, too
    set_target_properties(forerun::${name} PROPERTIES IMPORTED_LOCATION ${FORERUN_${name}_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${FORERUN_${name}_INCLUDE})
  endif()
endfunction()

forerun_cuda_library(cublas cublas_v2.h cu13 libcublas.so.13 libcublas.so.12)
forerun_cuda_library(cublasLt cublasLt.h cu13 libcublasLt.so.13 libcublasLt.so.12)
forerun_cuda_library(cudnn cudnn.h cudnn libcudnn.so.9)
if(TARGET forerun::cublas AND TARGET forerun::cublasLt AND TARGET forerun::cudnn)
  set(FORERUN_HAVE_CUDA_LIBRARIES ON)
else()
  foreach(name cublas cublasLt cudnn)
    if(NOT TARGET forerun::${name})
      message(STATUS "CUDA: ${name} not found, matmul and attention by NVIDIA's libraries are left out")
    endif()
  endforeach()
endif()
