// tests/emulated_gpu/libraries/processes.cpp -- a meeting of ranks that are processes of one machine, by files: a file
// that is there was brought, a message's that is gone was taken. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/libraries/meeting.h"

namespace emulated_gpu {
namespace {

namespace fs = std::filesystem;

/// Nobody sees half of it, and of two that write it one is last.
void write(const fs::path& path, const std::string& content) {
  static std::atomic<int> written{0};
  const fs::path part = fmt::format("{}.{}-{}", path.string(), getpid(), written++);
  std::ofstream file(part, std::ios::binary);
  file << content;
  file.close();
  if (!file) throw Fault("cannot write " + path.string());
  fs::rename(part, path);
}

std::optional<std::string> content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// A call and its bytes; pointers mean nothing to another process.
std::string packed(const Call& call, const Bytes& bytes) {
  std::string out(sizeof call + bytes.size(), '\0');
  std::memcpy(out.data(), &call, sizeof call);
  if (!bytes.empty()) std::memcpy(out.data() + sizeof call, bytes.data(), bytes.size());
  return out;
}
std::pair<Call, Bytes> unpacked(const std::string& content) {
  Call call{};
  std::memcpy(&call, content.data(), sizeof call);
  Bytes bytes(content.size() - sizeof call);
  if (!bytes.empty()) std::memcpy(bytes.data(), content.data() + sizeof call, bytes.size());
  return {call, std::move(bytes)};
}

class Processes final : public Meeting {
 public:
  Processes(fs::path folder, int ranks) : Meeting(ranks), folder_(std::move(folder)) {
    fs::create_directories(folder_);
  }

  void break_up(const std::string& why) override { write(folder_ / "broken", why); }

  void bring(int rank, const Call& call, Bytes bytes) override {
    throw_if_broken();
    if (call.kind == Kind::receive) return;
    if (call.kind == Kind::send) return write(message(rank, call.peer, call), packed(call, bytes));
    if (std::exchange(answered_, false)) {
      before_.insert(before_.end(), group_.begin(), group_.end());
      group_.clear();
    }
    group_.push_back(brought(rank, call));
    write(group_.back(), packed(call, bytes));
  }

  std::optional<Bytes> result(int rank, const Call& call) override {
    throw_if_broken();
    if (call.kind == Kind::send) {
      return fs::exists(message(rank, call.peer, call)) ? std::nullopt : std::optional(Bytes{});
    }
    if (call.kind == Kind::receive) return received(message(call.peer, rank, call), call);
    for (int other = 0; other < ranks(); ++other) {
      if (!fs::exists(brought(other, call))) return std::nullopt;
    }
    std::vector<Bytes> all;
    for (int other = 0; other < ranks(); ++other) {
      auto [theirs, bytes] = unpacked(content_of(brought(other, call)).value());
      expect_same(theirs, call);
      all.push_back(std::move(bytes));
    }
    answered_ = true;
    for (const fs::path& path : std::exchange(before_, {})) fs::remove(path);
    return result_of(call, rank, all);
  }

  void call_first(const Side& side) override { write(called(side), ""); }
  bool has_called(const Side& side) override {
    throw_if_broken();
    return fs::exists(called(side));
  }

  /// The last one takes the folder away.
  void leave(int rank) override {
    if (!fs::exists(folder_)) return;  // with that of a communicator which this one was split from
    write(folder_ / fmt::format("left.{}", rank), "");
    for (int other = 0; other < ranks(); ++other) {
      if (!fs::exists(folder_ / fmt::format("left.{}", other))) return;
    }
    std::error_code another_was_last;
    fs::remove_all(folder_, another_was_last);
  }

 private:
  fs::path brought(int rank, const Call& call) const { return folder_ / fmt::format("{}.of.{}", call.number, rank); }
  fs::path message(int from, int to, const Call& call) const {
    return folder_ / fmt::format("{}.from.{}.to.{}", call.number, from, to);
  }
  fs::path called(const Side& side) const {
    return folder_ / fmt::format("{}.{}.to.{}", side.kind == Kind::send ? "sends" : "receives", side.from, side.to);
  }
  void throw_if_broken() const {
    if (const auto why = content_of(folder_ / "broken")) throw Fault(*why);
  }
  static std::optional<Bytes> received(const fs::path& path, const Call& call) {
    const auto content = content_of(path);
    if (!content) return std::nullopt;
    auto [sent, bytes] = unpacked(*content);
    expect_fits(sent, call);
    fs::remove(path);
    return std::move(bytes);
  }

  fs::path placed(std::uint64_t number, int rank) const { return folder_ / fmt::format("split.{}.{}", number, rank); }
  void come(std::uint64_t number, const Place& place) override {
    write(placed(number, place.rank), fmt::format("{} {}", place.color, place.key));
  }
  std::vector<Place> places(std::uint64_t number) override {
    std::vector<Place> all;
    for (int rank = 0; rank < ranks(); ++rank) {
      std::ifstream file(placed(number, rank));
      Place place{.color = 0, .key = 0, .rank = rank};
      if (file >> place.color >> place.key) all.push_back(place);
    }
    return all;
  }
  std::shared_ptr<Meeting> part(std::uint64_t number, int color, int ranks) override {
    return meeting_of_processes((folder_ / fmt::format("{}.{}", number, color)).string(), ranks);
  }

  fs::path folder_;
  // What this process has brought and not taken away: collectives that run together, on all ranks, are all brought
  // before the first is answered, and whoever has brought one of them is done with what was brought before.
  std::vector<fs::path> group_, before_;
  bool answered_ = false;
};

}  // namespace

std::shared_ptr<Meeting> meeting_of_processes(const std::string& folder, int ranks) {
  return std::make_shared<Processes>(folder, ranks);
}

}  // namespace emulated_gpu
