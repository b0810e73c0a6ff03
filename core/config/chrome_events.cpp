// SPDX-License-Identifier: Apache-2.0
#include "core/config/chrome_events.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>

#include "core/base/fault.h"
#include "core/base/text.h"
#include "core/config/gzip_stream.h"

namespace config {
namespace {

using Json = nlohmann::json;
constexpr std::int64_t kPerMicrosecond = 1'000'000;          // picoseconds
constexpr std::int64_t kFarthest = 24ll * 3600 * 1'000'000;  // microseconds, so that sums stay within 64 bits
constexpr std::int64_t kLatest = 4'000'000'000'000'000'000;  // microseconds, likewise
constexpr const char* kMend = "give a file that forerun measure --trace or PyTorch's profiler wrote";

/// A time in microseconds, exactly: a double has not enough digits for picoseconds since 1970.
struct Moment {
  std::int64_t us = 0, ps = 0;  // 0 <= ps < 1e6
};

std::optional<Moment> moment_of(std::string_view text) {
  Moment out;
  const char* const end = text.data() + text.size();
  const auto [point, error] = std::from_chars(text.data(), end, out.us);
  if (error != std::errc() || out.us < -kLatest || out.us > kLatest) return {};
  if (point == end) return out;
  if (*point == '.' && text.front() != '-' && text.find_first_of("eE") == text.npos) {
    std::string digits(point + 1, end);
    digits.resize(6, '0');
    std::from_chars(digits.data(), digits.data() + digits.size(), out.ps);
    return out;
  }
  double value = 0;
  if (std::from_chars(text.data(), end, value).ptr != end || !(std::abs(value) < kLatest)) return {};
  out.us = static_cast<std::int64_t>(std::floor(value));
  out.ps = static_cast<std::int64_t>((value - std::floor(value)) * kPerMicrosecond);
  return out;
}

/// Where byte `at` of a text stands.
base::Where place_of(std::istream& in, const std::string& name, std::size_t at) {
  base::Where where{name, 1, 1};
  char c = 0;
  for (std::size_t i = 1; i < at && in.get(c); ++i) {
    where.column = c == '\n' ? 1 : where.column + 1;
    where.line += c == '\n';
  }
  return where;
}

[[noreturn]] void refuse_broken(base::Where where) {
  throw base::InputError({{"TRACE", "is no JSON from here on", kMend, std::move(where)}});
}

class Events final : public nlohmann::json_sax<Json> {
 public:
  Events(const std::string& name, const std::function<void(const ChromeEvent&)>& tell) : name_(name), tell_(tell) {}

  std::optional<std::size_t> broken_at;  // byte

  TextEntries outside_of_a_list() {
    if (!any_list_) throw base::InputError({{"traceEvents", "is missing", kMend, {name_, 1, 1}}});
    return std::move(outside_);
  }

  bool null() override { return true; }
  bool boolean(bool value) override { return plain(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return plain(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return plain(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return plain(text); }
  bool string(string_t& text) override { return plain(text); }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& key) override {
    path_.back() = key;
    return true;
  }
  bool start_object(std::size_t) override {
    if (inside_event_ == 0 && at_events()) {
      event_ = {};
      event_.number = count_++;
      inside_event_ = path_.size();
    }
    path_.emplace_back();
    return true;
  }
  bool end_object() override {
    path_.pop_back();
    if (inside_event_ == 0 || path_.size() != inside_event_) return true;
    inside_event_ = 0;
    tell_(event_);
    return true;
  }
  bool start_array(std::size_t) override {
    const bool bare = path_.empty();  // Chrome takes a list without an object around it, too
    path_.emplace_back(bare ? "traceEvents" : "");
    if (bare) path_.emplace_back();
    any_list_ = any_list_ || at_events();
    return true;
  }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    broken_at = position;
    return false;
  }

 private:
  bool at_events() const { return path_.size() == 2 && path_[0] == "traceEvents"; }

  bool plain(const std::string& text) {
    if (inside_event_ == 0) {
      std::string path;
      for (const std::string& part : path_) path += (path.empty() || part.empty() ? "" : ".") + part;
      if (!at_events()) outside_.emplace_back(path, text);
      return true;
    }
    const std::size_t depth = path_.size() - inside_event_;
    if (depth == 1) take(path_.back(), text);
    if (depth == 2 && path_[inside_event_] == "args" && !path_.back().empty())
      event_.args.emplace_back(path_.back(), text);
    return true;
  }

  void take(const std::string& key, const std::string& text) {
    if (key == "ph") event_.phase = text;
    if (key == "cat") event_.category = text;
    if (key == "name") event_.name = text;
    if (key == "pid") event_.process = text;
    if (key == "tid") event_.thread = text;
    if (key == "ts") event_.start_ps = time(key, text, true);
    if (key == "dur") event_.length_ps = time(key, text, false);
  }

  std::int64_t time(const std::string& key, const std::string& text, bool since_first) {
    const std::optional<Moment> moment = moment_of(text);
    if (moment && since_first && !first_) first_ = moment->us;
    const std::int64_t us = moment ? moment->us - (since_first ? *first_ : 0) : 0;
    if (moment && us > -kFarthest && us < kFarthest) return us * kPerMicrosecond + moment->ps;
    const std::string field = "traceEvents[" + std::to_string(event_.number) + "]." + key;
    throw base::InputError(
        {{field, base::quoted(text) + " is no time in microseconds near the others", kMend, {name_, 1, 1}}});
  }

  const std::string& name_;
  const std::function<void(const ChromeEvent&)>& tell_;
  std::vector<std::string> path_;  // of the keys around; "" for a list's items
  std::size_t inside_event_ = 0;   // how many of them are around the event; 0: in none
  std::size_t count_ = 0;
  std::optional<std::int64_t> first_;
  ChromeEvent event_;
  TextEntries outside_;
  bool any_list_ = false;
};

}  // namespace

const std::string* find(const TextEntries& entries, std::string_view key) {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == key; });
  return at == entries.end() ? nullptr : &at->second;
}

TextEntries read_chrome_events(std::istream& in, const std::string& name,
                               const std::function<void(const ChromeEvent&)>& tell) {
  Events events(name, tell);
  Json::sax_parse(in, &events);
  if (events.broken_at) {
    in.clear();
    in.seekg(0);
    refuse_broken(place_of(in, name, *events.broken_at));
  }
  return events.outside_of_a_list();
}

TextEntries read_chrome_events(const std::string& path, const std::function<void(const ChromeEvent&)>& tell) {
  GzipBuffer buffer(path);
  std::istream in(&buffer);
  Events events(path, tell);
  Json::sax_parse(in, &events);
  if (!buffer.sound()) {
    throw base::InputError(
        {{"TRACE", "the packed file is broken or ends early", "fetch or write it again", {path, 1, 1}}});
  }
  if (events.broken_at) {
    GzipBuffer again(path);
    std::istream text(&again);
    refuse_broken(place_of(text, path, *events.broken_at));
  }
  return events.outside_of_a_list();
}

}  // namespace config
