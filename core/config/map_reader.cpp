// SPDX-License-Identifier: Apache-2.0
#include "core/config/map_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/near_names.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/base/utf8.h"

namespace config {
namespace {

const char* kind_name(const Value& value) { return value.kind == Value::Kind::list ? "a list" : "a map"; }

bool whole_number(const Value& value, std::int64_t& out, bool& overflow) {
  const std::string& text = value.text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  overflow = error == std::errc::result_out_of_range;
  return !value.quoted && error == std::errc() && end == text.data() + text.size();
}

std::string plain(double value) {
  std::string text = std::to_string(value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

/// Reads one whole number within its range, or notes why not.
bool read_whole(const Value& value, const std::string& path, std::int64_t& out, std::int64_t min, std::int64_t max,
                Faults& faults) {
  const auto refuse = [&](const std::string& what) {
    const std::string mend = "write a whole number from " + std::to_string(min) + " to " + std::to_string(max);
    faults.push_back({path, what, mend, value.where});
    return false;
  };
  std::int64_t number = 0;
  bool overflow = false;
  if (value.kind == Value::Kind::null) return refuse("is empty");
  if (value.kind != Value::Kind::scalar) return refuse(std::string(kind_name(value)) + " is not a whole number");
  if (!whole_number(value, number, overflow) && !overflow) {
    return refuse(base::quoted(value.text) +
                  (value.quoted ? " is in quotes, so it is text" : " is not a whole number"));
  }
  if (overflow || number < min || number > max) return refuse(value.text + " is out of range");
  out = number;
  return true;
}

template <class Q>
bool take(const Value* value, std::string path, base::Parsed<Q> (*parse)(std::string_view), Q& out, Faults& faults) {
  if (!value) return false;
  base::Parsed<Q> parsed = parse(value->text);
  if (parsed.value && !(parsed.value->si() < 1e18)) {
    parsed = {{}, base::quoted(value->text) + " is out of range", "write a quantity that a real machine can have"};
  }
  if (!parsed.value) {
    faults.push_back({std::move(path), std::move(parsed.problem), std::move(parsed.mend), value->where});
    return false;
  }
  out = *parsed.value;
  return true;
}

}  // namespace

MapReader::MapReader(const Value& value, std::string path, Faults& faults, const std::string& example)
    : value_(value.kind == Value::Kind::scalar || value.kind == Value::Kind::list ? nullptr : &value),
      path_(std::move(path)),
      faults_(faults) {
  if (value_) return;
  const std::string what = value.kind == Value::Kind::list ? "a list" : base::quoted(value.text);
  faults_.push_back({path_, what + " is not a map", "write " + example, value.where});
}

bool MapReader::has(std::string_view key) const {
  const Value* entry = value_ ? value_->find(key) : nullptr;
  const_cast<MapReader*>(this)->known_.emplace_back(key);
  return entry && entry->kind != Value::Kind::null;
}

const Value* MapReader::child(std::string_view key) { return has(key) ? value_->find(key) : nullptr; }

const Value* MapReader::child_or_none(std::string_view key) {
  const Value* value = child(key);
  return value && value->kind == Value::Kind::scalar && value->text == "none" ? nullptr : value;
}

std::string MapReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
}

base::Where MapReader::where_of(std::string_view key) const {
  if (!value_) return {};
  const Value* entry = value_->find(key);
  return entry ? entry->where : value_->where;
}

const Value* MapReader::scalar(std::string_view key, const char* kind) {
  const Value* value = child(key);
  if (!value || value->kind == Value::Kind::scalar) return value;
  fault(key, std::string(kind_name(*value)) + " is not " + kind, std::string("write ") + kind);
  return nullptr;
}

bool MapReader::require_present(std::string_view key) {
  if (has(key)) return true;
  if (value_ && value_->find(key)) {
    fault(key, "has no value", "write a value for it");
  } else if (value_) {
    const std::string place = path_.empty() ? "the file" : path_;
    fault(key, "is missing", "add `" + std::string(key) + ":` to " + place);
  }
  return false;
}

void MapReader::fault(std::string_view key, std::string what, std::string mend) {
  if (!value_) return;
  faults_.push_back({path_of(key), std::move(what), std::move(mend), where_of(key)});
}

void MapReader::ignore(std::string_view key) { known_.emplace_back(key); }

void MapReader::finish() {
  finish([](std::string_view) { return std::string_view(); });
}

void MapReader::finish(std::string_view (*meant)(std::string_view)) {
  if (!value_) return;
  std::sort(known_.begin(), known_.end());
  known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
  for (const auto& [key, entry] : value_->entries) {
    if (key == "source" || std::binary_search(known_.begin(), known_.end(), key)) continue;  // where a number is from
    std::string_view other = meant(key);
    if (other.starts_with(path_ + '.')) other.remove_prefix(path_.size() + 1);
    constexpr std::size_t kMost = 60;  // of another kind of file "keys" are whole lines
    const bool long_line = key.size() > kMost;
    faults_.push_back({path_of(long_line ? key.substr(0, kMost) + "..." : key), "unknown key",
                       other.empty() ? base::nearest_or(key, known_, "known keys: " + base::joined(known_))
                                     : "did you mean " + std::string(other) + '?',
                       entry.key_where});
  }
}

int MapReader::read_name(std::string_view key, const std::vector<std::string>& known) {
  const Value* value = scalar(key, "a name");
  if (!value) return -1;
  const auto it = std::find(known.begin(), known.end(), value->text);
  if (it != known.end()) return static_cast<int>(it - known.begin());
  fault(key, base::quoted(value->text) + " is not known",
        base::nearest_and(value->text, known, "known: " + base::joined(known)));
  return -1;
}

bool MapReader::read(std::string_view key, std::string& out) {
  const Value* value = scalar(key, "a text");
  if (!value) return false;
  // It goes into lines of reports, comments of scripts and names of files.
  if (std::any_of(value->text.begin(), value->text.end(), base::is_control)) {
    fault(key, "holds a line break or another control character", "write it in one line");
    return false;
  }
  out = value->text;
  return true;
}

bool MapReader::read(std::string_view key, std::string& out, std::initializer_list<std::string_view> known) {
  const int at = read_name(key, {known.begin(), known.end()});
  if (at >= 0) out = *(known.begin() + at);
  return at >= 0;
}

bool MapReader::read(std::string_view key, bool& out) {
  const Value* value = scalar(key, "true or false");
  if (!value) return false;
  const std::string& text = value->text;
  const bool yes = text == "true" || text == "True" || text == "TRUE";
  const bool no = text == "false" || text == "False" || text == "FALSE";
  if (value->quoted || !(yes || no)) {
    fault(key, base::quoted(text) + " is neither true nor false", "write true or false, without quotes");
    return false;
  }
  out = yes;
  return true;
}

bool MapReader::read(std::string_view key, std::optional<bool>& out) {
  bool value = false;
  if (!read(key, value)) return false;
  out = value;
  return true;
}

bool MapReader::read(std::string_view key, std::int64_t& out, std::int64_t min, std::int64_t max) {
  const Value* value = child(key);
  return value && read_whole(*value, path_of(key), out, min, max, faults_);
}

bool MapReader::read(std::string_view key, int& out, std::int64_t min, std::int64_t max) {
  std::int64_t number = 0;
  if (!read(key, number, std::max<std::int64_t>(min, INT32_MIN), std::min<std::int64_t>(max, INT32_MAX))) return false;
  out = static_cast<int>(number);
  return true;
}

bool MapReader::read(std::string_view key, double& out, double min, double max) {
  const Value* value = scalar(key, "a number");
  if (!value) return false;
  const auto refuse = [&](const std::string& what) {
    fault(key, what, "write a number from " + plain(min) + " to " + plain(max));
    return false;
  };
  const std::string& text = value->text;
  const auto number = value->quoted ? std::nullopt : base::number_in<double>(text);
  if (!number || !std::isfinite(*number)) return refuse(base::quoted(text) + " is not a number");
  if (*number < min || *number > max) return refuse(text + " is out of range");
  out = *number;
  return true;
}

bool MapReader::read(std::string_view key, std::vector<int>& out, std::int64_t min, std::int64_t max) {
  const Value* value = child(key);
  if (!value) return false;
  if (value->kind != Value::Kind::list) {
    fault(key, value->kind == Value::Kind::map ? "a map is not a list" : base::quoted(value->text) + " is not a list",
          "write whole numbers in brackets, such as [1, 2]");
    return false;
  }
  std::vector<int> numbers;
  for (std::size_t i = 0; i < value->items.size(); ++i) {
    std::int64_t number = 0;
    if (!read_whole(value->items[i], path_of(key) + '[' + std::to_string(i) + ']', number,
                    std::max<std::int64_t>(min, INT32_MIN), std::min<std::int64_t>(max, INT32_MAX), faults_)) {
      return false;
    }
    numbers.push_back(static_cast<int>(number));
  }
  out = std::move(numbers);
  return true;
}

bool MapReader::read(std::string_view key, base::Seconds& out) {
  return take(scalar(key, "a time with its unit, such as 1.5us or 60d"), path_of(key), base::parse_seconds, out,
              faults_);
}
bool MapReader::read(std::string_view key, base::Bytes& out) {
  return take(scalar(key, "a size with its unit, such as 80GB"), path_of(key), base::parse_bytes, out, faults_);
}
bool MapReader::read(std::string_view key, base::ByteRate& out) {
  return take(scalar(key, "a bandwidth with its unit, such as 450GB/s"), path_of(key), base::parse_byte_rate, out,
              faults_);
}
bool MapReader::read(std::string_view key, base::FlopRate& out) {
  return take(scalar(key, "a speed with its unit, such as 989TFLOP/s"), path_of(key), base::parse_flop_rate, out,
              faults_);
}
bool MapReader::read(std::string_view key, base::Watts& out) {
  return take(scalar(key, "a power with its unit, such as 700W"), path_of(key), base::parse_watts, out, faults_);
}
bool MapReader::read(std::string_view key, base::Hertz& out) {
  return take(scalar(key, "a frequency with its unit, such as 1.98GHz"), path_of(key), base::parse_hertz, out, faults_);
}

}  // namespace config
