// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/machine_like.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "core/base/text.h"

namespace real {
namespace {

constexpr double kMemoryDiffers = 0.06;  // data sheets count what ECC and the driver keep

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> out(1);
  for (const char c : name) {
    if (c == '-') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

/// Whether a driver would call a card of the catalogue so: by its model, "h200" of "h200-sxm", and by the boards that
/// it names apart, "NVIDIA H200 NVL" and "NVIDIA A100-PCIE-40GB"; cards for workstations by every word, "rtx-6000-ada".
bool is_called(const std::string& name, const std::string& by_driver) {
  const std::vector<std::string> words = words_of(name);
  const auto says = [&](const std::string& word) { return by_driver.find(word) != std::string::npos; };
  if (words.front() == "rtx") return std::ranges::all_of(words, says);
  const auto same = [&](const char* board) { return (std::ranges::find(words, board) != words.end()) == says(board); };
  return says(words.front()) && same("nvl") && same("pcie");
}

}  // namespace

std::string why_not(const spec::Gpu& gpu, const Machine& machine) {
  if (gpu.sms != machine.sms) return fmt::format("{} has {} SMs, this GPU {}", gpu.name, gpu.sms, machine.sms);
  if (std::abs(gpu.memory / machine.memory - 1) > kMemoryDiffers) {
    return fmt::format("{} has {} of memory, this GPU {}", gpu.name, base::human(gpu.memory),
                       base::human(machine.memory));
  }
  if (!is_called(gpu.name, lower(machine.gpu))) {
    return fmt::format("this GPU calls itself {}", machine.gpu);
  }
  return "";
}

std::vector<std::string> nodes_like(const Machine& machine, const config::Catalogue& catalogue) {
  using Kind = config::Catalogue::Kind;
  std::vector<std::string> out;
  std::set<std::string> gpus;
  for (const std::string& name : catalogue.names(Kind::node)) {
    config::Faults faults;
    const spec::Node node = catalogue.node(config::scalar(name), "node", faults);
    if (!faults.empty() || !why_not(node.gpu, machine).empty()) continue;
    out.push_back(name);
    gpus.insert(node.gpu.name);
  }
  if (gpus.size() > 1) out.clear();
  // Clouds' machines are told as others with a network of their own; the card says nothing of that.
  std::stable_partition(out.begin(), out.end(), [&](const std::string& name) {
    return !catalogue.entry(Kind::node, catalogue.path(Kind::node, name))->find("base");
  });
  return out;
}

}  // namespace real
