// SPDX-License-Identifier: Apache-2.0
#include "core/base/near_names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "core/base/text.h"

namespace base {
namespace {

std::string in_small_letters(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Letters that are wrong, too many or missing; two neighbours that changed places are one.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last.back();
}

/// A third of its letters; one of a name so short that another third could be any other name.
std::size_t most_letters_wrong(std::string_view name) { return name.size() <= 4 ? 1 : name.size() / 3; }

}  // namespace

std::string spelled_alike(std::string_view name) {
  std::string out = in_small_letters(name);
  std::ranges::replace(out, '-', '_');
  return out;
}

std::set<std::string> numbered_words(std::string_view name) {
  std::set<std::string> out;
  std::string word;
  bool digit = false;
  for (const char c : in_small_letters(name) + '-') {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      word += c;
      digit |= std::isdigit(letter) != 0;
      continue;
    }
    if (digit && word.size() > 1) out.insert(word);
    word.clear();
    digit = false;
  }
  return out;
}

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& known) {
  const std::string wished = spelled_alike(name);
  for (const std::string& candidate : known) {
    if (spelled_alike(candidate) == wished) return candidate;
  }
  std::optional<std::string> best;
  for (const std::string& candidate : known) {  // h100 is the beginning of h100-sxm before it is a misspelt h800
    const bool begins = !name.empty() && candidate.starts_with(name) && candidate.substr(name.size()).starts_with('-');
    if (begins && (!best || candidate.size() < best->size())) best = candidate;
  }
  if (best) return best;
  std::size_t best_distance = most_letters_wrong(name) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(wished, spelled_alike(candidate));
    // Of two equally near ones the one that begins alike is meant: tpp is tp, not pp.
    const bool begins_alike = best && distance == best_distance && !name.empty() && candidate.front() == name.front() &&
                              best->front() != name.front();
    if ((distance < best_distance || begins_alike) && distance < candidate.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string nearest_or(std::string_view name, const std::vector<std::string>& known, const std::string& otherwise) {
  const auto near = nearest(name, known);
  return near ? "did you mean " + *near + "?" : otherwise;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const std::string wished = in_small_letters(name);
  const std::set<std::string> wanted = numbered_words(wished);
  std::vector<std::string> meant;
  std::size_t most = 1;
  for (const std::string& candidate : known) {
    std::size_t shared = 0;
    for (const std::string& word : numbered_words(candidate)) shared += wanted.contains(word) ? word.size() : 0;
    if (shared > most) meant.clear();
    if (shared > 0 && shared >= most) meant.push_back(candidate);
    most = std::max(most, shared);
  }
  if (meant.empty()) return nearest_or(name, known, "");
  constexpr std::size_t kMost = 4;
  const auto distance = [&](const std::string& candidate) { return edit_distance(wished, candidate); };
  std::ranges::stable_sort(meant, {}, distance);
  const std::size_t far = 2 * std::max<std::size_t>(1, distance(meant.front()));
  while (meant.size() > kMost || (meant.size() > 1 && distance(meant.back()) >= far)) meant.pop_back();
  const std::string last = std::move(meant.back());
  meant.pop_back();
  return "did you mean " + (meant.empty() ? last : joined(meant) + " or " + last) + "?";
}

std::string nearest_and(std::string_view name, const std::vector<std::string>& known, const std::string& always) {
  const auto near = nearest(name, known);
  return near ? "did you mean " + *near + "? " + always : always;
}

}  // namespace base
