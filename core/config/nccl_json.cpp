// SPDX-License-Identifier: Apache-2.0
#include "core/config/nccl_json.h"

#include <filesystem>
#include <set>

#include "core/base/number.h"
#include "core/config/document.h"
#include "core/config/nccl_tests.h"

namespace config {
namespace {

double number_of(const Value* value, double otherwise) {
  if (!value || value->kind != Value::Kind::scalar) return otherwise;
  return base::number_in<double>(value->text).value_or(otherwise);
}

/// Microseconds of "out_of_place" or "in_place"; nothing where that is null.
base::Seconds time_of(const Value& row, const char* key, std::vector<base::Fault>& faults) {
  const Value* part = row.find(key);
  if (!part || part->kind != Value::Kind::map) return {};
  const Value* time = part->find("time") ? part->find("time") : part->find("cpu_time");
  const double us = number_of(time, -1);
  if (us >= 0 && us < 1e12) return base::us(us);
  faults.push_back({std::string(key) + ".time", "is no time in microseconds", "mend or delete the row",
                    time ? time->where : part->where});
  return {};
}

bool wrong(const Value& row, const char* key) {
  const Value* part = row.find(key);
  return part && number_of(part->find("nwrong"), 0) > 0;
}

void read_ranks(const Value& tree, NcclLog& log) {
  const Value* config = tree.find("config");
  const Value* devices = config ? config->find("devices") : nullptr;
  if (!devices || devices->items.empty()) return;
  // One entry a process, whichever number of GPUs it drives.
  const double each = number_of(config->find("nthreads"), 1) * number_of(config->find("ngpus"), 1);
  log.ranks = static_cast<int>(static_cast<double>(devices->items.size()) * each);
  std::set<std::string> hosts;
  for (const Value& device : devices->items) {
    if (const Value* host = device.find("hostname")) hosts.insert(host->text);
  }
  log.hosts = static_cast<int>(hosts.size());
}

}  // namespace

std::vector<NcclLog> parse_nccl_json(std::string_view text, const std::string& name) {
  const Value tree = parse(text, name);
  std::vector<base::Fault> faults;
  NcclLog log;
  log.file = name;
  const Value* args = tree.find("args");
  log.test = std::filesystem::path(args && !args->items.empty() ? args->items[0].text : name).filename().string();
  if (const NcclTest* test = nccl_test_in(log.test)) {
    log.op = test->op;
  } else {
    faults.push_back({"args", "which collective this table is of is told nowhere",
                      "give the file the test's name, such as all_reduce_perf.json",
                      args ? args->where : base::Where{name, 1, 1}});
  }
  read_ranks(tree, log);
  const Value* results = tree.find("results");
  if (!results || results->kind != Value::Kind::list) {
    faults.push_back({"results", "is missing", "give the file that nccl-tests -J wrote", {name, 1, 1}});
  } else {
    for (const Value& item : results->items) {
      NcclRow row{static_cast<std::int64_t>(number_of(item.find("size"), 0)), time_of(item, "out_of_place", faults),
                  time_of(item, "in_place", faults)};
      if (row.bytes <= 0 || !(row.time().si() > 0)) continue;
      if (wrong(item, "out_of_place") || wrong(item, "in_place")) {
        log.notes.push_back(std::to_string(row.bytes) + " bytes: results were wrong, the row is left out");
      } else {
        log.rows.push_back(row);
      }
    }
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return {std::move(log)};
}

}  // namespace config
