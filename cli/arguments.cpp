// cli/arguments.cpp -- the only place that knows Boost.Program_options.
// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <algorithm>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>

#include "cli/other_options.h"
#include "core/base/fault.h"

namespace cli {
namespace {

namespace po = boost::program_options;

std::string dashed(const std::string& name) { return name.starts_with("-") ? name : "--" + name; }

/// `behind`: the next word where it may be the option's value.
base::Fault unknown(const std::string& word, const std::string& behind, const std::vector<Option>& options) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals == word.npos ? behind : word.substr(equals + 1);
  return {name, "there is no such option", meant_by(name, value, options), {}};
}

base::Fault takes_none(const std::string& name, const std::string& value, const std::vector<Option>& options) {
  return {name, "takes no value", mend_of_switch(name, value, options), {}};
}

/// A value too few or one too many.
base::Fault misused(const std::string& name, const std::vector<std::string>& words,
                    const std::vector<Option>& options) {
  const auto option = std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
  if (option != options.end() && !option->value.empty()) {
    return {name, "has no value", "write " + name + ' ' + option->value, {}};
  }
  const auto word = std::ranges::find_if(words, [&](const std::string& w) { return w.starts_with(name + '='); });
  return takes_none(name, word == words.end() ? "" : word->substr(name.size() + 1), options);
}

po::basic_parsed_options<char> parsed_by_boost(const std::vector<std::string>& words,
                                               const std::vector<Option>& options) {
  po::options_description description;
  for (const Option& option : options) {
    const std::string name = option.name.substr(2);
    if (option.value.empty()) {
      description.add_options()(name.c_str(), "");
    } else {
      description.add_options()(name.c_str(), po::value<std::string>(), "");
    }
  }
  using po::command_line_style::style_t;
  const int style = style_t::allow_long | style_t::long_allow_adjacent | style_t::long_allow_next;
  try {
    return po::command_line_parser(words).options(description).style(style).allow_unregistered().run();
  } catch (const po::error_with_option_name& error) {
    throw base::InputError({misused(dashed(error.get_option_name()), words, options)});
  } catch (const po::error& error) {
    throw base::InputError({{"", error.what(), "--help shows how it is written", {}}});
  }
}

}  // namespace

std::string Arguments::get(const std::string& option) const {
  const auto found = options_.find(option);
  return found == options_.end() || found->second.empty() ? "" : found->second.back();
}

std::vector<std::string> Arguments::all(const std::string& option) const {
  const auto found = options_.find(option);
  return found == options_.end() ? std::vector<std::string>{} : found->second;
}

Arguments Arguments::behind_first_operand() const {
  Arguments out = *this;
  out.operands_.erase(out.operands_.begin());
  return out;
}

namespace {

/// Whether the word behind a space is an option of its own: `--json --quiet`. `--set=--x` says what it means.
bool takes_an_option(const po::option& given, const std::vector<Option>& options) {
  if (given.original_tokens.size() < 2 || given.value.empty()) return false;
  const std::string name = given.value.front().substr(0, given.value.front().find('='));
  return std::any_of(options.begin(), options.end(), [&](const Option& option) { return option.name == name; });
}

std::string word_of(const po::option& given) {
  return given.original_tokens.empty() ? given.string_key : given.original_tokens.front();
}

/// Without a style for short options Boost hands "-x" on as an operand; "-" alone is one.
bool is_operand(const po::option& given) {
  const std::string word = word_of(given);
  return given.position_key >= 0 && !(word.size() > 1 && word.front() == '-');
}

bool is_switch(const po::option& given) { return given.position_key < 0 && !given.unregistered && given.value.empty(); }

bool says_yes_or_no(const std::string& word) { return word == "true" || word == "false"; }

base::Fault swallowed(const po::option& given) {
  const std::string name = "--" + given.string_key;
  return {name, "has no value: " + given.value.front() + " behind it is an option", "write " + name + " VALUE", {}};
}

/// -o is the one short option: what compilers have taught everybody.
std::vector<std::string> with_long_output(std::vector<std::string> words, const std::vector<Option>& options) {
  for (const Option& option : options) {
    if (option.name == "--output") std::replace(words.begin(), words.end(), std::string("-o"), option.name);
  }
  return words;
}

}  // namespace

Arguments parse(const std::vector<std::string>& given, const std::vector<Operand>& operands,
                const std::vector<Option>& options) {
  const std::vector<std::string> words = with_long_output(given, options);
  Arguments out;
  std::vector<base::Fault> faults;
  const std::vector<po::option> parsed = parsed_by_boost(words, options).options;
  for (std::size_t i = 0; i < parsed.size(); ++i) {
    const po::option& option = parsed[i];
    const std::string word = word_of(option);
    if (is_operand(option)) {
      if (i > 0 && says_yes_or_no(word) && is_switch(parsed[i - 1])) {
        faults.push_back(takes_none("--" + parsed[i - 1].string_key, word, options));
      }
      out.operands_.push_back(word);
    } else if (option.unregistered || option.position_key >= 0) {
      const bool valued = i + 1 < parsed.size() && is_operand(parsed[i + 1]);
      faults.push_back(unknown(word, valued ? word_of(parsed[i + 1]) : "", options));
    } else {
      if (takes_an_option(option, options)) faults.push_back(swallowed(option));
      auto& values = out.options_["--" + option.string_key];
      values.insert(values.end(), option.value.begin(), option.value.end());
      // A flag without a value leaves no value; its presence is the key's.
    }
  }
  // A value behind an unknown option looks like an operand, so these two faults would be noise beside it.
  if (faults.empty()) {
    for (const Option& option : options) {
      if (!option.repeatable && !option.last_counts && out.all(option.name).size() > 1) {
        faults.push_back({option.name, "is given twice", "keep one of the two", {}});
      }
    }
    const bool any_number = !operands.empty() && operands.back().repeatable;
    for (std::size_t i = operands.size(); !any_number && i < out.operands_.size(); ++i) {
      const bool setting = out.operands_[i].find('=') != std::string::npos;
      faults.push_back(
          {"",
           "'" + out.operands_[i] + "' is one operand too many",
           setting ? "write the option in front of each: --set a=1 --set b=2" : "--help shows how many there are",
           {}});
    }
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return out;
}

}  // namespace cli
