// SPDX-License-Identifier: Apache-2.0
#include "real/launch/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/base/fault.h"

namespace real {
namespace {

constexpr std::size_t kNamed = 5;  // in a message

std::string encoded(const Intentions& all) {
  std::string out;
  for (const auto& [name, value] : all) out += name + '\0' + value + '\0';
  return out;
}

Intentions decoded(const std::string& text) {
  Intentions out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t name = text.find('\0', at), value = text.find('\0', name + 1);
    out.emplace_back(text.substr(at, name - at), text.substr(name + 1, value - name - 1));
    at = value + 1;
  }
  return out;
}

const std::string* find(const Intentions& all, const std::string& name) {
  const auto at = std::ranges::find(all, name, [](const auto& entry) { return entry.first; });
  return at == all.end() ? nullptr : &at->second;
}

std::string told(const std::string* value) { return value != nullptr && !value->empty() ? *value : "nothing"; }

std::vector<std::string> differences(const Intentions& mine, const Intentions& first) {
  std::vector<std::string> out;
  for (const auto& [name, value] : mine) {
    const std::string* other = find(first, name);
    if (other == nullptr || *other != value) {
      out.push_back(fmt::format("{} is {}, rank 0 has {}", name, told(&value), told(other)));
    }
  }
  for (const auto& [name, value] : first) {
    if (find(mine, name) == nullptr) out.push_back(fmt::format("{} is nothing, rank 0 has {}", name, told(&value)));
  }
  return out;
}

}  // namespace

void expect_agreement(World& world, const Intentions& mine) {
  const Identity& me = world.identity;
  const std::string key = "what rank 0 does";
  if (me.rank == 0) world.store->set(key, encoded(mine));
  const auto differ = differences(mine, decoded(world.store->get(key, world.patience.join)));
  if (differ.empty()) return world.store->barrier("agreement", world.patience.join);
  std::string what;
  for (std::size_t i = 0; i < std::min(kNamed, differ.size()); ++i) what += (i > 0 ? "; " : "") + differ[i];
  if (differ.size() > kNamed) what += fmt::format("; and {} more", differ.size() - kNamed);
  const std::string why = fmt::format("rank {} ({}) does not do what rank 0 does: {}", me.rank, me.host, what);
  world.store->abort(why);
  throw base::DeviceError(why);
}

Fingerprint& Fingerprint::add(const std::string& text) {
  hash_ = base::fnv1a(text, hash_);
  return add(static_cast<std::int64_t>(text.size()));
}

Fingerprint& Fingerprint::add(std::int64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    hash_ = base::fnv1a(static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> shift), hash_);
  }
  return *this;
}

std::string Fingerprint::text() const { return fmt::format("{:016x}", hash_); }

}  // namespace real
