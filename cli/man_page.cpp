// SPDX-License-Identifier: Apache-2.0
#include "cli/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/job_flags.h"

namespace cli {
namespace {

constexpr char kDescription[] =
    "forerun predicts how long one training step of a large model takes on a cluster of GPUs, what memory it needs on "
    "each of them and where the time goes, by simulating every operator of the step. It needs no GPU. What is trained, "
    "on what and how it is cut stands in a Job: a YAML file, a name of `forerun list jobs`, or flags.";

constexpr char kExitStatus[] =
    R"(.SH EXIT STATUS
.TP
.B 0
answered
.TP
.B 1
answered: it does not fit
.TP
.B 2
the input is wrong; every fault is told with its place and how to mend it
.TP
.B 3
the device or its driver failed
.TP
.B 130
interrupted; the answer so far was given
)";

constexpr char kEnvironment[] =
    R"(.SH ENVIRONMENT
.TP
.B FORERUN_DATA
the folder of the catalogue, in place of the one that was installed
.TP
.B COLUMNS
the width of tables and drawings; otherwise the terminal's, or 100
.TP
.B NO_COLOR
no colour, whatever its value
.TP
.B CLICOLOR_FORCE
colour where stdout is no terminal, too
)";

/// A line of text for groff: nothing in it is a request, and a dash is one that can be copied.
std::string roff_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == ',') {
      out += ",\\:";  // a list without spaces may be broken here
    } else {
      out += c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string entry(const std::string& term, const std::string& text) {
  return fmt::format(".TP\n.B {}\n{}\n", roff_escaped(term), roff_escaped(text));
}

bool same(const Option& a, const Option& b) { return a.name == b.name && a.help == b.help; }

bool has(const std::vector<Option>& options, const Option& wanted) {
  return std::any_of(options.begin(), options.end(), [&](const Option& o) { return same(o, wanted); });
}

/// Whether a subcommand takes every option of a job; those that take some of them have these in their own section.
bool takes_all(const Command& command, const std::vector<Option>& of_a_job) {
  return std::all_of(of_a_job.begin(), of_a_job.end(), [&](const Option& o) { return has(command.options, o); });
}

/// Lines that begin with spaces, and only these, keep their breaks.
std::string notes(const std::string& text) {
  std::string out = ".PP\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += line.empty() ? ".PP\n" : roff_escaped(line) + '\n';
  return out;
}

std::string section(const Command& command, const std::vector<Option>& of_a_job) {
  std::string out = fmt::format(".SS \"{}\"\n{}\n", roff_escaped(usage_of(command)), roff_escaped(command.summary));
  for (const Operand& operand : command.operands) out += entry(operand.name, operand.help);
  const bool shares = takes_all(command, of_a_job);
  for (const Option& option : command.options) {
    if (!shares || !has(of_a_job, option)) out += entry(written(option), told(option));
  }
  if (shares) out += ".PP\nIt also takes the options of a job, below.\n";
  return command.notes.empty() ? out : out + notes(command.notes);
}

std::string examples(const std::vector<const Command*>& commands) {
  std::string out = ".SH EXAMPLES\n";
  for (const Command* command : commands) {
    for (const Example& example : command->examples) {
      out += entry(example.line, example.does + (example.needs.empty() ? "" : " (needs " + example.needs + ")"));
    }
  }
  return out;
}

}  // namespace

std::string man_page(const std::vector<const Command*>& commands, const std::string& version) {
  const std::vector<Option> of_a_job = with_job_flags({});
  std::string out = fmt::format(
      ".TH FORERUN 1 \"\" \"forerun {}\" \"User Commands\"\n.ad l\n.nh\n.SH NAME\nforerun \\- know the training step "
      "before you run "
      "it\n.SH SYNOPSIS\n.B forerun\n.I SUBCOMMAND\n[OPTIONS]\n.SH DESCRIPTION\n{}\n.SH SUBCOMMANDS\n",
      version, roff_escaped(kDescription));
  for (const Command* command : commands) out += section(*command, of_a_job);
  out += ".SH OPTIONS OF A JOB\n";
  for (const Option& option : of_a_job) out += entry(written(option), told(option));
  return out + examples(commands) + kExitStatus + kEnvironment;
}

}  // namespace cli
