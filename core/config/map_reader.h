// core/config/map_reader.h -- reads the entries of one map into typed fields and notes every fault: wrong type, missing
// unit, out of range, missing key, unknown key (with the nearest known one). Never throws; the caller looks at `faults`
// once, at the end, so that all faults of a file are told together.
//
//   MapReader map(value, "nvlink", faults);
//   map.require("bandwidth", link.bandwidth);
//   map.read("domain", link.domain, 1, 100000);
//   map.require("switch", link.via);   // an enumeration, by its names in core/spec
//   map.finish();   // every key that nothing asked for is a fault
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/fault.h"
#include "core/base/units.h"
#include "core/config/document.h"
#include "core/spec/names.h"

namespace config {

using Faults = std::vector<base::Fault>;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

class MapReader {
 public:
  /// `path` is the map's own path as the user writes it ("strategy.overlap"), empty for the file's root. A value that
  /// is no map is a fault, and every read then leaves its field as it is. `example`: the map that is to be written
  /// there instead, "nvlink: {bandwidth: 450GB/s}", which such a fault names.
  MapReader(const Value& value, std::string path, Faults& faults, const std::string& example = "`key: value` entries");

  bool has(std::string_view key) const;              // present and not null; marks the key as known
  const Value* child(std::string_view key);          // nullptr when absent; marks the key as known
  const Value* child_or_none(std::string_view key);  // nullptr where it is written as `none`, too
  std::string path_of(std::string_view key) const;   // "strategy.overlap.tp"
  base::Where where_of(std::string_view key) const;  // of the value when present, otherwise of the map

  // Each returns whether the key was there and could be read; the field keeps its default otherwise.
  bool read(std::string_view key, std::string& out);
  bool read(std::string_view key, bool& out);
  bool read(std::string_view key, int& out, std::int64_t min, std::int64_t max);
  bool read(std::string_view key, std::int64_t& out, std::int64_t min, std::int64_t max);
  bool read(std::string_view key, double& out, double min, double max);
  bool read(std::string_view key, base::Seconds& out);
  bool read(std::string_view key, base::Bytes& out);
  bool read(std::string_view key, base::ByteRate& out);
  bool read(std::string_view key, base::FlopRate& out);
  bool read(std::string_view key, base::Watts& out);
  bool read(std::string_view key, base::Hertz& out);
  bool read(std::string_view key, std::vector<int>& out, std::int64_t min, std::int64_t max);
  bool read(std::string_view key, std::optional<bool>& out);
  /// A text that is one of `known`.
  bool read(std::string_view key, std::string& out, std::initializer_list<std::string_view> known);
  /// A value by its name (core/spec/names.h).
  template <spec::Named E>
  bool read(std::string_view key, E& out) {
    const int at = read_name(key, {spec::kNamesOf<E>.begin(), spec::kNamesOf<E>.end()});
    if (at < 0) return false;
    out = static_cast<E>(at);
    return true;
  }
  template <spec::Named E>
  bool read(std::string_view key, std::optional<E>& out) {
    E value{};
    if (!read(key, value)) return false;
    out = value;
    return true;
  }
  /// By names that are this key's alone: some of the values, or words of its own.
  template <class E>
  requires(!kIsOptional<E>) bool read(std::string_view key, E& out,
                                      std::initializer_list<std::pair<std::string_view, E>> names) {
    std::vector<std::string> known;
    for (const auto& [name, value] : names) known.emplace_back(name);
    const int at = read_name(key, known);
    if (at < 0) return false;
    out = (names.begin() + at)->second;
    return true;
  }
  template <class E>
  bool read(std::string_view key, std::optional<E>& out, std::initializer_list<std::pair<std::string_view, E>> names) {
    E value{};
    if (!read(key, value, names)) return false;
    out = value;
    return true;
  }

  /// A map of its own below the key: read_part(*value, path, faults) makes what `out` is set to.
  template <class T, class ReadPart>
  void part(std::string_view key, T& out, ReadPart read_part) {
    if (const Value* value = child(key)) out = read_part(*value, path_of(key), faults_);
  }
  template <class T, class ReadPart>
  void part_or_none(std::string_view key, T& out, ReadPart read_part) {
    if (const Value* value = child_or_none(key)) out = read_part(*value, path_of(key), faults_);
  }

  /// As read(), and absence is a fault too.
  template <class... Args>
  bool require(std::string_view key, Args&&... args) {
    if (!require_present(key)) return false;
    return read(key, std::forward<Args>(args)...);
  }
  template <class E>
  requires(!kIsOptional<E>) bool require(std::string_view key, E& out,
                                         std::initializer_list<std::pair<std::string_view, E>> names) {
    return require_present(key) && read(key, out, names);
  }

  /// Of a value that is no map only that is told: nothing inside it has a place.
  void fault(std::string_view key, std::string what, std::string mend);
  void ignore(std::string_view key);  // known, and nothing of ours
  void finish();                      // REQUIRES: called once, after all reads
  /// As finish(); an unknown key that other tools call so is offered by the path that `meant` tells, or by its name
  /// here where the path begins with this map's.
  void finish(std::string_view (*meant)(std::string_view key));

 private:
  int read_name(std::string_view key, const std::vector<std::string>& known);  // index, or -1
  bool require_present(std::string_view key);
  const Value* scalar(std::string_view key, const char* kind);

  const Value* value_;
  std::string path_;
  Faults& faults_;
  std::vector<std::string> known_;
};

}  // namespace config
