# Looks for SimGrid, which runs the flows of `network.fidelity: flow` and `coupled`. Sets FORERUN_HAVE_SIMGRID and
# SimGrid::SimGrid; without it everything else is built, and these are refused by name. Debian's package has no CMake files.
# SPDX-License-Identifier: Apache-2.0

find_path(SIMGRID_INCLUDE_DIR simgrid/s4u.hpp)
find_library(SIMGRID_LIBRARY simgrid)
mark_as_advanced(SIMGRID_INCLUDE_DIR SIMGRID_LIBRARY)
if(SIMGRID_INCLUDE_DIR AND SIMGRID_LIBRARY)
  set(FORERUN_HAVE_SIMGRID ON)
  add_library(SimGrid::SimGrid UNKNOWN IMPORTED)
  set_target_properties(SimGrid::SimGrid PROPERTIES IMPORTED_LOCATION ${SIMGRID_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${SIMGRID_INCLUDE_DIR})
  message(STATUS "SimGrid: found (${SIMGRID_LIBRARY})")
else()
  set(FORERUN_HAVE_SIMGRID OFF)
  message(STATUS "SimGrid not found: network.fidelity flow and coupled are left out (install libsimgrid-dev)")
endif()
