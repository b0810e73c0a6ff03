# Installs the library into a folder of its own, builds examples/library against it as any other program would, and runs it away
# from this tree. Needs BUILD, SOURCE, SCRATCH, COMPILER.
# SPDX-License-Identifier: Apache-2.0
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE told ERROR_VARIABLE told WORKING_DIRECTORY ${SCRATCH})
  if(failed)
    message(FATAL_ERROR "${ARGN}: ${failed}\n${told}")
  endif()
  set(told "${told}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --component library --prefix ${SCRATCH}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/examples/library -B ${SCRATCH}/build -D CMAKE_PREFIX_PATH=${SCRATCH}/prefix
    -D CMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)

# The installed catalogue, moved along with the prefix, is named by hand.
set(ENV{FORERUN_DATA} ${SCRATCH}/prefix/share/forerun)
run(${SCRATCH}/build/step_time llama3-8b-32xh200)
if(NOT told MATCHES "as given +[0-9]+\\.[0-9]+ s  fits" OR NOT told MATCHES "full +[0-9]+\\.[0-9]+ s")
  message(FATAL_ERROR "the example told\n${told}")
endif()
if(NOT EXISTS ${SCRATCH}/step.json)
  message(FATAL_ERROR "the example wrote no timeline")
endif()
message("${told}")
