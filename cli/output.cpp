// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/base/fault.h"

namespace cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const std::string& option, const std::string& target, const std::string& why) {
  throw base::InputError({{option, "cannot write " + target + ": " + why, "name a place that can be written", {}}});
}

std::string last_error() { return errno ? std::strerror(errno) : "it took a part only"; }

void write_stream(std::ostream& out, const std::string& option, const std::string& target,
                  const std::function<void(std::ostream&)>& write) {
  errno = 0;
  write(out);
  out.flush();
  if (!out) cannot_write(option, target, last_error());
}

/// Answers are never YAML: `--json cases.yaml` before the files to read has taken the first of them for its own.
void refuse_input_file(const std::string& option, const fs::path& path) {
  const std::string extension = path.extension().string();
  if ((extension != ".yaml" && extension != ".yml") || option == "-o" || option == "--out" || !fs::exists(path)) return;
  throw base::InputError({{option,
                           path.string() + " is a YAML file that exists, and would be replaced by the answer",
                           "give " + option + " a file of its own, or - for stdout, and the files to read apart",
                           {}}});
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || fs::equivalent(a, b, error);
}

/// A file that the command reads, or that two of its options would write.
void refuse_clash(const Arguments& args, const std::string& option) {
  const std::string target = args.get(option);
  std::error_code error;
  if (target == "-" || target.empty()) return;
  for (const std::string& operand : args.operands()) {
    if (!fs::exists(operand, error) || !same_file(operand, target)) continue;
    throw base::InputError({{option, target + " is what the command reads", "name another file", {}}});
  }
  for (const auto& [other, values] : args.options()) {
    if (other == option) continue;
    for (const std::string& value : values) {
      if (value.empty() || !same_file(value, target)) continue;
      throw base::InputError({{option, target + " is what " + other + " names as well", "name another file", {}}});
    }
  }
}

}  // namespace

void print(const std::string& text) {
  write_stream(std::cout, "", "the terminal (stdout)", [&](std::ostream& out) { out << text; });
}

void write_to(const std::string& target, const std::string& option, const std::function<void(std::ostream&)>& write) {
  if (target == "-") return write_stream(std::cout, option, "stdout", write);
  std::error_code error;
  fs::path path = target;
  if (const fs::path followed = fs::canonical(path, error); !error) path = followed;  // a link stays a link
  if (fs::is_directory(path, error)) cannot_write(option, target, "it is a folder");
  refuse_input_file(option, path);
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {  // a device or a pipe cannot be renamed over
    std::ofstream out(path, std::ios::binary);
    return write_stream(out, option, target, write);
  }
  const fs::path beside = path.string() + ".new-" + std::to_string(::getpid());
  try {
    errno = 0;
    std::ofstream out(beside, std::ios::binary);
    if (!out) cannot_write(option, target, last_error());
    write_stream(out, option, target, write);
    out.close();
    if (!out) cannot_write(option, target, last_error());
    fs::rename(beside, path, error);
    if (error) cannot_write(option, target, error.message());
  } catch (...) {
    fs::remove(beside, error);
    throw;
  }
}

void write_if_asked(const Arguments& args, const std::string& option, const std::function<std::string()>& text) {
  if (args.has(option)) write_to(args.get(option), option, [&](std::ostream& out) { out << text(); });
}

std::string on_stdout(const Arguments& args, std::initializer_list<const char*> options) {
  std::string taken;
  for (const char* flag : options) {
    if (args.has(flag)) {
      refuse_input_file(flag, args.get(flag));
      refuse_clash(args, flag);
    }
    if (args.get(flag) != "-") continue;
    if (!taken.empty()) {
      throw base::InputError({{flag, "stdout is taken by " + taken + " -", "give one of the two a file", {}}});
    }
    taken = flag;
  }
  return taken;
}

}  // namespace cli
