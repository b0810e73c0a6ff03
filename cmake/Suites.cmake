# Read by ctest itself: asks the test executable for its suites and registers each of them.
# REQUIRES: tests_executable, tests_directory, tests_scratch.
# SPDX-License-Identifier: Apache-2.0
execute_process(COMMAND ${tests_executable} --gtest_list_tests OUTPUT_VARIABLE listing RESULT_VARIABLE failed)
if(failed)
  add_test(forerun_tests_is_built ${tests_executable} --gtest_list_tests)   # fails, and shows why
  return()
endif()
# Suites whose processes meet at a port that was free a moment ago: one after the other, so that none takes another's.
set(suites_with_ports "^(By/)?(Measure|SearchCommand|Spawn|Store|TcpStore|Transport)$")
string(REPLACE ";" "," listing "${listing}")
string(REPLACE "\n" ";" listing "${listing}")
foreach(line IN LISTS listing)
  if(line MATCHES "^([A-Za-z0-9_/]+)\\.")
    set(suite ${CMAKE_MATCH_1})
    set(scratch ${tests_scratch}/${suite})   # of its own: suites run at the same time
    file(MAKE_DIRECTORY ${scratch})
    add_test(${suite} ${tests_executable} --gtest_filter=${suite}.* --gtest_brief=1)
    set_tests_properties(${suite} PROPERTIES WORKING_DIRECTORY ${tests_directory} TIMEOUT 600
                         ENVIRONMENT TEST_TMPDIR=${scratch})   # what testing::TempDir() tells
    if(suite MATCHES "${suites_with_ports}")
      set_tests_properties(${suite} PROPERTIES RESOURCE_LOCK ports)
    endif()
  endif()
endforeach()
