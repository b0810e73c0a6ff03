// core/config/catalogue.h -- finds catalogue files by name: models, nodes, GPUs, fabrics, calibrations, frameworks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/document.h"
#include "core/config/map_reader.h"
#include "core/spec/job.h"

namespace config {

/// Where the data files lie: $FORERUN_DATA, else <prefix>/share/forerun beside an installed binary, else the source
/// tree the binary was built in. Holds topologies/ and workloads/.
class Catalogue {
 public:
  explicit Catalogue(std::string root);
  /// Finds the root for the running executable. Throws base::InputError when there is none.
  static Catalogue find();

  enum class Kind { model, node, gpu, fabric, calibration, framework, job };
  std::vector<std::string> names(Kind) const;           // sorted
  std::string path(Kind, std::string_view name) const;  // empty when there is no such entry
  const std::string& root() const { return root_; }

  // One entry each, fully resolved (a node with its GPU and calibrations). Faults are appended with their places; what
  // could not be read keeps its default. `at` is a name, a path, or an inline map (with `base:` or whole).
  spec::Model model(const Value& at, std::string_view field, Faults&) const;
  spec::Node node(const Value& at, std::string_view field, Faults&) const;
  spec::Gpu gpu(const Value& at, std::string_view field, Faults&) const;
  spec::Fabric fabric(const Value& at, std::string_view field, Faults&) const;
  spec::Calibration calibration(const std::string& name, base::Where from, Faults&) const;
  spec::NetworkCalibration network_calibration(const std::string& name, base::Where from, Faults&) const;
  spec::Framework framework(const Value& at, std::string_view field, Faults&) const;
  spec::Uncertainty uncertainty(Faults&) const;

  /// The tree of a value with every `base:` followed and merged; cyclic bases and unknown names are faults.
  Value expanded(Kind, const Value& at, std::string_view field, Faults&) const;

 private:
  std::string root_;
};

}  // namespace config
