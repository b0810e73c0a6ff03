# What the tests of real/ need beside the test executable: a rank to start many times, and where NVIDIA's libraries are found an
# executable of its own for what links them.
# SPDX-License-Identifier: Apache-2.0
add_executable(forerun_test_rank ${CMAKE_CURRENT_SOURCE_DIR}/real/launch/rank_main.cpp)
target_link_libraries(forerun_test_rank PRIVATE real_launch)
target_link_libraries(forerun_tests PRIVATE real_memory real_trace real_measure real_calibrate)
target_sources(forerun_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/real/executor/reference_model.cpp
               ${CMAKE_CURRENT_SOURCE_DIR}/real/executor/fp8_model.cpp)
target_compile_definitions(forerun_tests PRIVATE FORERUN_TEST_RANK="$<TARGET_FILE:forerun_test_rank>")
add_dependencies(forerun_tests forerun_test_rank)

if(FORERUN_HAVE_WORKER)
  file(GLOB cuda_test_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/real/cuda/*_test.cpp
       ${CMAKE_CURRENT_SOURCE_DIR}/real/cupti/*_test.cpp)
  add_executable(forerun_cuda_tests ${cuda_test_sources})
  target_link_libraries(forerun_cuda_tests PRIVATE real_cupti real_cuda GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME WorkerParts COMMAND forerun_cuda_tests --gtest_brief=1)
  add_test(NAME WorkerVersions COMMAND forerun-worker --versions)
  add_test(NAME WorkerPing COMMAND forerun-worker --ping)
  add_test(NAME WorkerSmoke COMMAND forerun-worker --smoke)
  # A minute of points. Which of them are void, the file says.
  add_test(NAME WorkerCalibrate COMMAND sh -c "rm -f calibrate.points.jsonl; exec $<TARGET_FILE:forerun-worker> calibrate calibrate.points.jsonl --seconds 60 --date 2026-01-01")
  set_tests_properties(WorkerSmoke WorkerCalibrate PROPERTIES SKIP_RETURN_CODE 77 LABELS gpu ENVIRONMENT FORERUN_SKIP_WITHOUT_GPU=1)
  # A launcher is told that a run without a GPU has failed.
  add_test(NAME WorkerWithoutGpu COMMAND sh -c "$<TARGET_FILE:forerun-worker> --smoke; status=$?; test $status = 0 || test $status = 3")
  add_dependencies(forerun_tests forerun-worker)   # tests/cli/measure_test.cpp runs it through forerun
endif()
