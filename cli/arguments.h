// cli/arguments.h -- a subcommand's command line, checked against what it declares.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cli {

struct Option {
  std::string name;   // "--json"
  std::string value;  // "FILE"; empty: takes none
  std::string help;
  bool repeatable = false;
  std::string offers = {};   // what shells complete a value with (cli/completion.h); files where the value is a FILE
  bool last_counts = false;  // given again it takes the place of what it said before
};

struct Operand {
  std::string name;  // "JOB"
  std::string help;
  bool repeatable = false;  // the last one may be given any number of times
  std::string offers = {};
};

class Arguments {
 public:
  bool has(const std::string& option) const { return options_.contains(option); }
  /// The option's value; empty when it was not given.
  std::string get(const std::string& option) const;
  /// Every value of a repeatable option, in the order given.
  std::vector<std::string> all(const std::string& option) const;
  const std::vector<std::string>& operands() const { return operands_; }
  /// By the option's name; only those that were given.
  const std::map<std::string, std::vector<std::string>>& options() const { return options_; }
  /// The same without the first operand, which chose what to do with the others. REQUIRES: there is one.
  Arguments behind_first_operand() const;

 private:
  friend Arguments parse(const std::vector<std::string>&, const std::vector<Operand>&, const std::vector<Option>&);
  std::map<std::string, std::vector<std::string>> options_;
  std::vector<std::string> operands_;
};

/// Reads `--name value`, `--name=value` and operands in any order. Names are never abbreviated. Throws base::InputError
/// with every unknown option (and the nearest known one), or else a missing value, an option twice, an operand too
/// many.
Arguments parse(const std::vector<std::string>& words, const std::vector<Operand>& operands,
                const std::vector<Option>& options);

}  // namespace cli
