// SPDX-License-Identifier: Apache-2.0
#include "core/config/node_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/text.h"
#include "core/spec/ranges.h"

namespace config {
namespace {

void read_nvlink(const Value& value, const std::string& path, spec::Nvlink& link, Faults& faults) {
  MapReader map(value, path, faults,
                "nvlink: {bandwidth: 450GB/s}, of one GPU in one direction; without a base {switch: nvswitch, "
                "bandwidth: 450GB/s, domain: 8}");
  map.require("switch", link.via);
  if (link.via == spec::Switch::none) {
    map.read("bandwidth", link.bandwidth);
    map.read("domain", link.domain, 1, 1'000'000);
  } else {
    map.require("bandwidth", link.bandwidth);
    map.require("domain", link.domain, 1, 1'000'000);
  }
  map.read("multicast", link.multicast);
  map.finish();
}

void read_nic(const Value& value, const std::string& path, spec::Nic& nic, Faults& faults) {
  MapReader map(value, path, faults,
                "nic: {bandwidth: 400Gb/s}, of one card; without a base {kind: infiniband, bandwidth: 400Gb/s}");
  map.require("kind", nic.kind);
  if (nic.kind == spec::NicKind::none) {
    map.read("bandwidth", nic.bandwidth);
    nic.count = 0;
  } else {
    map.require("bandwidth", nic.bandwidth);
  }
  map.read("count", nic.count, 0, 1024);
  map.finish();
}

/// The whole number at `key` of a map, or 0.
long number(const Value* map, std::string_view key) {
  const Value* value = map ? map->find(key) : nullptr;
  return value && value->kind == Value::Kind::scalar ? std::strtol(value->text.c_str(), nullptr, 10) : 0;
}

void erase(Value* map, std::string_view key) {
  if (map) std::erase_if(map->entries, [&](const auto& entry) { return entry.first == key; });
}

}  // namespace

spec::Node read_node(const Value& value, const std::string& path, Faults& faults) {
  spec::Node node;
  MapReader map(value, path, faults);
  map.read("name", node.name);
  map.require("gpus", node.gpus, 1, spec::kMostGpusOfANode);
  for (const char* key : {"gpu", "links", "fabric"}) map.ignore(key);
  if (const Value* nvlink = map.child("nvlink")) read_nvlink(*nvlink, map.path_of("nvlink"), node.nvlink, faults);
  if (const Value* nic = map.child("nic")) {
    node.nic.count = node.gpus;
    node.nic.one_each = nic->find("count") == nullptr;
    read_nic(*nic, map.path_of("nic"), node.nic, faults);
  }
  if (const Value* pcie = map.child("pcie")) {
    MapReader part(*pcie, map.path_of("pcie"), faults, "pcie: {bandwidth: 63GB/s}");
    part.require("bandwidth", node.pcie.bandwidth);
    part.read("copy", node.pcie.copy);
    part.read("p2p", node.pcie.p2p);
    part.finish();
  } else {
    map.require("pcie", node.pcie.bandwidth);  // told as missing
  }
  if (const Value* host = map.child("host")) {
    MapReader part(*host, map.path_of("host"), faults, "host: {memory: 2TB, bandwidth: 485GB/s}");
    part.require("memory", node.host.memory);
    part.require("bandwidth", node.host.bandwidth);
    part.read("launch_slowdown", node.host.launch_slowdown, 0.1, 100.0);
    part.finish();
  }
  if (const Value* nvme = map.child("nvme")) {
    MapReader part(*nvme, map.path_of("nvme"), faults, "nvme: {read: 55GB/s, write: 34GB/s}");
    part.require("read", node.nvme.read);
    part.require("write", node.nvme.write);
    part.read("capacity", node.nvme.capacity);
    part.finish();
  }
  map.read("power", node.power);
  map.finish();
  return node;
}

/// Whether cards are described as others than `base` has them, however that is written.
bool changes(const Value& over, const Value* base) {
  const auto same = [](const std::string& one, const std::string& other) {
    const auto a = base::parse_byte_rate(one), b = base::parse_byte_rate(other);
    return one == other || (a.value && b.value && std::abs(*a.value / *b.value - 1) < 1e-9);
  };
  return std::any_of(over.entries.begin(), over.entries.end(), [&](const auto& entry) {
    const Value* was = base ? base->find(entry.first) : nullptr;
    return !was || !same(was->text, entry.second.text);
  });
}

Value merged_node(Value base, Value over) {
  const Value* nic = over.find("nic");
  if (nic && nic->kind == Value::Kind::map && !changes(*nic, base.find("nic"))) nic = nullptr;
  const bool resized = over.find("gpus") && number(&over, "gpus") != number(&base, "gpus");
  if ((resized || nic) && number(nic, "count") == 0) erase(base.find("nic"), "count");
  if (resized && !(over.find("nvlink") && over.find("nvlink")->find("domain"))) {
    Value* nvlink = base.find("nvlink");
    Value* domain = nvlink ? nvlink->find("domain") : nullptr;
    const long was = number(&base, "gpus"), is = number(&over, "gpus");
    const long reach = number(nvlink, "domain");
    if (domain && is > 0 && (reach == was || (reach < was && reach > is))) domain->text = std::to_string(is);
  }
  Value* gpu = over.find("gpu");
  const Value* below = base.find("gpu");
  if (gpu && below && gpu->kind == Value::Kind::map && !gpu->find("base") && below->kind == Value::Kind::scalar) {
    gpu->set("base", *below);
  }
  return merged(base, over);
}

}  // namespace config
