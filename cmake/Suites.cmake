# Read by ctest itself: asks the test executable for its suites and registers each of them.
# REQUIRES: tests_executable, tests_directory.
# SPDX-License-Identifier: Apache-2.0
execute_process(COMMAND ${tests_executable} --gtest_list_tests OUTPUT_VARIABLE listing RESULT_VARIABLE failed)
if(failed)
  add_test(forerun_tests_is_built ${tests_executable} --gtest_list_tests)   # fails, and shows why
  return()
endif()
string(REPLACE ";" "," listing "${listing}")
string(REPLACE "\n" ";" listing "${listing}")
foreach(line IN LISTS listing)
  if(line MATCHES "^([A-Za-z0-9_/]+)\\.")
    set(suite ${CMAKE_MATCH_1})
    add_test(${suite} ${tests_executable} --gtest_filter=${suite}.* --gtest_brief=1)
    set_tests_properties(${suite} PROPERTIES WORKING_DIRECTORY ${tests_directory} TIMEOUT 600)
  endif()
endforeach()
