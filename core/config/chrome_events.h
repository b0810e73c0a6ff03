// core/config/chrome_events.h -- a file of Chrome's JSON trace events, one event after another: what Perfetto opens,
// what forerun and PyTorch's profiler write. One pass that keeps nothing, so that a file of a gigabyte needs no memory
// of its own. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace config {

using TextEntries = std::vector<std::pair<std::string, std::string>>;

/// The first value of `key`; nullptr: none.
const std::string* find(const TextEntries&, std::string_view key);

struct ChromeEvent {
  std::size_t number = 0;                 // in the file, from 0
  std::string phase, category, name;      // "ph" "cat" "name"
  std::string process, thread;            // "pid" "tid": numbers, or names
  std::optional<std::int64_t> start_ps;   // "ts", since the first event's
  std::optional<std::int64_t> length_ps;  // "dur"
  TextEntries args;                       // plain values; numbers and words as they are written
};

/// Calls `tell` for each event, in order. Returns the plain values outside of events, by path ("distributedInfo.rank");
/// the items of a list share its path. `name` stands for the file in messages. Throws base::InputError, at its line: no
/// JSON, no events, a time that is none or is farther than a day from the first one. REQUIRES: the stream can go back
/// to its start.
TextEntries read_chrome_events(std::istream&, const std::string& name,
                               const std::function<void(const ChromeEvent&)>& tell);
/// Of a file, packed or not. Also when it is not there, or ends early.
TextEntries read_chrome_events(const std::string& path, const std::function<void(const ChromeEvent&)>& tell);

}  // namespace config
