# Joins the parts of Vega that the charts need into one script, `OUT`, that defines `vega`. Debian ships the parts alone, each
# a module that asks for others by `require`. Run as `cmake -D FOLDER=... -D OUT=... -P JoinVega.cmake`.
# SPDX-License-Identifier: Apache-2.0

# Each after those that it requires; without maps, layouts of graphs and words.
set(parts util canvas time format loader statistics scale dataflow scenegraph expression event-selector selection functions runtime
    view parser transforms view-transforms encode)

file(WRITE ${OUT} "/* Vega, (c) University of Washington Interactive Data Lab and contributors, BSD-3-Clause: https://vega.github.io */
window.vega = (() => {
const parts = {};
const require = (name) => parts[name === 'vega-selections' ? 'vega-selection' : name];
const define_part = (name, body) => { const module = {exports: {}}; body(module.exports, module); parts[name] = module.exports; };
")
foreach(part IN LISTS parts)
  file(READ ${FOLDER}/vega-${part}.min.js text)
  string(REGEX REPLACE "\n//# sourceMappingURL=[^\n]*" "" text "${text}")
  file(APPEND ${OUT} "define_part('vega-${part}', function (exports, module) {\n")
  file(APPEND ${OUT} "${text}")
  file(APPEND ${OUT} "\n});\n")
endforeach()
file(APPEND ${OUT} "const {transforms} = parts['vega-dataflow'];
Object.assign(transforms, parts['vega-transforms'], parts['vega-view-transforms'], parts['vega-encode']);
return {parse: parts['vega-parser'].parse, View: parts['vega-view'].View, loader: parts['vega-loader'].loader};
})();
")
