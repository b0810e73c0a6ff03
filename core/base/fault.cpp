// SPDX-License-Identifier: Apache-2.0
#include "core/base/fault.h"

#include <algorithm>
#include <tuple>

namespace base {
namespace {

std::string joined(const std::vector<Fault>& all) {
  std::string text;
  for (const Fault& fault : all) {
    if (!text.empty()) text += '\n';
    text += to_string(fault);
  }
  return text;
}

std::vector<Fault> in_file_order(std::vector<Fault> all) {
  std::stable_sort(all.begin(), all.end(), [](const Fault& a, const Fault& b) {
    return std::tie(a.where.file, a.where.line, a.where.column) < std::tie(b.where.file, b.where.line, b.where.column);
  });
  return all;
}

}  // namespace

std::string to_string(const Fault& fault) {
  std::string text;
  if (!fault.where.file.empty()) {
    text += fault.where.file + ':';
    if (fault.where.line > 0) {
      text += std::to_string(fault.where.line) + ':' + std::to_string(fault.where.column) + ':';
    }
    text += ' ';
  }
  text += "error: ";
  if (!fault.field.empty()) text += fault.field + ": ";
  text += fault.what;
  if (!fault.mend.empty()) text += "\n  mend: " + fault.mend;
  return text;
}

InputError::InputError(std::vector<Fault> all)
    : std::runtime_error(joined(in_file_order(all))), faults(in_file_order(std::move(all))) {}

}  // namespace base
