# What the readers' fuzzer does not reach is not built for it: a third of the sources, and nearly half of the time. A source that it
# comes to need shows as an undefined symbol when the fuzzer is linked; take its name off the list then.
# SPDX-License-Identifier: Apache-2.0

if(NOT FORERUN_FUZZ)
  return()
endif()
set(forerun_beyond_fuzz
    # recipes of other programs, measured tables and their writers, search, purchases, cases
    "/core/config/launch/"
    "/core/config/(candidate|case|change|choices|collective_case|figure|price|purchase|search)_reader\\.cpp$"
    "/core/config/(collective_jsonl|collective_places|kernel_csv|kernel_jsonl|measured_kernels|nccl_json|nccl_log|row_source)\\.cpp$"
    "/core/config/(calibration|model|network_calibration)_writer\\.cpp$"
    # what is told beyond one prediction
    "/core/spec/(change|inputs)\\.cpp$"
    "/sim/(alternatives|compare|explain|scaling|schedule|sensitivity|topology)\\.cpp$"
    "/sim/analysis/(critical_path|passes|path_sum|rerun|what_if|work_rate)\\.cpp$"
    "/sim/network/(calibrate|collective_accuracy|fit|link_load)\\.cpp$")
