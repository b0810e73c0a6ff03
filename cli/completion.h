// cli/completion.h -- scripts that let a shell complete forerun's command line, made of what the subcommands declare.
//
// What an option or operand `offers` is words, and names in <>, which the script asks for when they are wanted:
// <models> what `forerun list models` prints, <files> the shell's own files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace cli {

/// "<files>" where an option takes a FILE or a DIR and declares nothing else.
std::string offers_of(const Option&);
/// What all operands of a command offer, each word once.
std::string offers_of(const std::vector<Operand>&);

/// Needs bash alone, not the package bash-completion.
std::string bash_completion(const std::vector<const Command*>&);
/// An autoloaded function: a file named _forerun in a folder of $fpath.
std::string zsh_completion(const std::vector<const Command*>&);
std::string fish_completion(const std::vector<const Command*>&);

}  // namespace cli
