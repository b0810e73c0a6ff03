// cli/tool.h -- programs of others that a subcommand needs: found on the PATH, or else named with their package.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cli {

struct Tool {
  std::string program;  // "rsvg-convert"
  std::string package;  // of Debian: "librsvg2-bin"
  std::string does;     // "makes PNG of SVG"
};

/// Throws base::InputError about `option`, naming the package, where the PATH does not have the program. Called before
/// anything is worked out.
void require(const Tool&, const std::string& option);

/// Runs the program on `input` as stdin and returns its stdout. Throws base::InputError about `option` with the last of
/// its stderr when it fails or is not there.
std::string output_of(const Tool&, const std::vector<std::string>& arguments, const std::string& input,
                      const std::string& option);

}  // namespace cli
