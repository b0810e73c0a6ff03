# One static library for each floor of the house, from whatever .cpp files lie in its folder.
# SPDX-License-Identifier: Apache-2.0

# Sets `out` to the .cpp files under `folder`; the build looks again whenever a file comes or goes.
function(forerun_sources out folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS LIST_DIRECTORIES false ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  foreach(pattern IN LISTS forerun_beyond_fuzz)
    list(FILTER files EXCLUDE REGEX ${pattern})
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# Headers that nearly every file reads are parsed once for all floors. Not in the fuzzer's build, whose compiler is another.
function(forerun_common_headers target)
  if(FORERUN_FUZZ)
    return()
  elseif(target STREQUAL core_base)
    target_precompile_headers(core_base PRIVATE <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <set> <string>
                              <string_view> <utility> <vector> <fmt/format.h>)
  else()
    target_precompile_headers(${target} REUSE_FROM core_base)
  endif()
endfunction()

# forerun_floor(name folder dependency...): a folder that holds only headers becomes an interface library.
function(forerun_floor name folder)
  forerun_sources(files ${folder})
  if(files)
    add_library(${name} STATIC ${files})
    forerun_common_headers(${name})
    set(kind PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  target_include_directories(${name} ${kind} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(${name} ${kind} ${ARGN})
endfunction()
