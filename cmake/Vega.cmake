# The parts of the HTML reports, embedded into `reports`: our page's style and scripts, the charts' specifications, and Vega
# itself where Debian's libjs-vega is installed. Without it everything builds, and `--html` and `plot` say what is missing.
# SPDX-License-Identifier: Apache-2.0
find_path(FORERUN_VEGA_FOLDER vega-view.min.js PATHS /usr/share/javascript/vega NO_DEFAULT_PATH
          DOC "Folder of Vega's parts, vega-view.min.js and so on")

set(page_assets ${PROJECT_BINARY_DIR}/page_assets)
file(GLOB asset_files CONFIGURE_DEPENDS LIST_DIRECTORIES false ${PROJECT_SOURCE_DIR}/reports/page/*.css
     ${PROJECT_SOURCE_DIR}/reports/page/*.js ${PROJECT_SOURCE_DIR}/reports/charts/*.vg.json ${PROJECT_SOURCE_DIR}/reports/plot/*.cjs)
list(SORT asset_files)

if(FORERUN_VEGA_FOLDER)
  message(STATUS "Vega: ${FORERUN_VEGA_FOLDER}, HTML reports have charts")
  set(vega ${page_assets}/vega.js)
  file(GLOB vega_parts ${FORERUN_VEGA_FOLDER}/*.min.js)
  add_custom_command(OUTPUT ${vega}
    COMMAND ${CMAKE_COMMAND} -D FOLDER=${FORERUN_VEGA_FOLDER} -D OUT=${vega} -P ${PROJECT_SOURCE_DIR}/cmake/JoinVega.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/JoinVega.cmake ${vega_parts} VERBATIM)
  list(APPEND asset_files ${vega})
else()
  message(STATUS "Vega: not found, --html and plot are off (install libjs-vega and configure again)")
endif()

# The assembler reads the files; the compiler never sees their text.
set(number 0)
set(blobs "")
set(declarations "")
set(entries "")
foreach(file IN LISTS asset_files)
  get_filename_component(name ${file} NAME)
  string(APPEND blobs "asm(\".pushsection .rodata\\n.hidden forerun_asset_${number}\\n.hidden forerun_asset_${number}_end\\n\"
    \".globl forerun_asset_${number}\\n.globl forerun_asset_${number}_end\\nforerun_asset_${number}:\\n\"
    \".incbin \\\"${file}\\\"\\nforerun_asset_${number}_end:\\n.popsection\\n\");\n")
  string(APPEND declarations "extern const char forerun_asset_${number}[], forerun_asset_${number}_end[];\n")
  string(APPEND entries "      {\"${name}\", {forerun_asset_${number}, forerun_asset_${number}_end}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(CONFIGURE OUTPUT ${page_assets}/assets.cpp @ONLY CONTENT [[
// Made by cmake/Vega.cmake.
#include "reports/html/assets.h"

@blobs@
extern "C" {
@declarations@}

namespace reports::html {

const std::vector<Asset>& assets() {
  static const std::vector<Asset> all{
@entries@  };
  return all;
}

}  // namespace reports::html
]])
set_source_files_properties(${page_assets}/assets.cpp PROPERTIES OBJECT_DEPENDS "${asset_files}")
target_sources(reports PRIVATE ${page_assets}/assets.cpp)
