// SPDX-License-Identifier: Apache-2.0
#include "real/worker/run_options.h"

#include "core/base/fault.h"
#include "core/base/number.h"

namespace worker {
namespace {

[[noreturn]] void refuse(const std::string& field, std::string what, std::string mend) {
  throw base::InputError({{field, std::move(what), std::move(mend), {}}});
}

int whole_number(const std::string& name, const std::string& text, int least) {
  const auto number = base::number_in<int>(text);
  if (number && *number >= least) return *number;
  refuse(name, "'" + text + "' is no number of steps", "give a whole number, " + std::to_string(least) + " or more");
}

}  // namespace

RunOptions run_options(const std::vector<std::string>& words) {
  RunOptions out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      if (!out.job.empty()) refuse(word, "is a second JOB", "give one");
      out.job = word;
      continue;
    }
    if (i + 1 == words.size()) refuse(word, "has no value", "write it behind the option");
    const std::string& value = words[++i];
    if (word == "--set") {
      out.set.push_back(value);
    } else if (word == "--steps") {
      out.steps = whole_number(word, value, 1);
    } else if (word == "--warmup") {
      out.warmup = whole_number(word, value, 0);
    } else if (word == "--tokens") {
      out.tokens = value;
    } else if (word == "--json") {
      out.json = value;
    } else if (word == "--trace") {
      out.trace = value;
    } else {
      refuse(word, "is no option of run", "there are --set, --steps, --warmup, --tokens, --json and --trace");
    }
  }
  if (out.job.empty()) refuse("JOB", "is missing", "name a Job file");
  return out;
}

}  // namespace worker
