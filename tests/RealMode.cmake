# What the tests of real/ need beside the test executable: a rank to start many times.
# SPDX-License-Identifier: Apache-2.0
add_executable(forerun_test_rank ${CMAKE_CURRENT_SOURCE_DIR}/real/launch/rank_main.cpp)
target_link_libraries(forerun_test_rank PRIVATE real_launch)
target_compile_definitions(forerun_tests PRIVATE FORERUN_TEST_RANK="$<TARGET_FILE:forerun_test_rank>")
add_dependencies(forerun_tests forerun_test_rank)
