// core/config/catalogue.h -- finds catalogue files by name: models, nodes, GPUs, fabrics, calibrations, frameworks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/document.h"
#include "core/config/file_cache.h"
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
  // `assumptions`: as read_huggingface() has them.
  spec::Model model(const Value& at, std::string_view field, Faults&,
                    std::vector<std::string>* assumptions = nullptr) const;
  spec::Node node(const Value& at, std::string_view field, Faults&) const;
  spec::Gpu gpu(const Value& at, std::string_view field, Faults&) const;
  spec::Fabric fabric(const Value& at, std::string_view field, Faults&) const;
  spec::Calibration calibration(const std::string& name, std::string_view field, const base::Where& from,
                                Faults&) const;
  spec::NetworkCalibration network_calibration(const std::string& name, std::string_view field, const base::Where& from,
                                               Faults&) const;
  spec::Framework framework(const Value& at, std::string_view field, Faults&) const;
  spec::Uncertainty uncertainty(Faults&) const;

  /// The tree of a value with every `base:` followed and merged; cyclic bases and unknown names are faults.
  Value expanded(Kind, const Value& at, std::string_view field, Faults&) const;

  /// The same catalogue with other values laid over its files, and under Jobs; no file is changed.
  /// `overlay`: {frameworks: {torch: {launch: 20us}}, calibrations: {b200: {power: {sustained: 0.9}}},
  ///             networks: {efa: {send: {hop: 2us}}}, job: {simulation: {jitter: 0.02}}}
  /// by the shelves of `forerun list`, `networks` for topologies/calibrations/network; a Job's own keys win over `job`.
  Catalogue with(const Value& overlay) const;
  /// A copy that notes the entries it reads, as "frameworks.torch". REQUIRES: `entries` outlives it; one thread.
  Catalogue noting(std::set<std::string>& entries) const;
  /// A copy that reads each file once; copies of it share what was read.
  Catalogue remembering() const;
  const Value* job_defaults() const { return overlay_.find("job"); }
  std::vector<std::string> network_names() const;         // sorted
  std::string network_path(std::string_view name) const;  // empty when there is no such entry

  /// A file of workloads/launch, by its name without the extension.
  std::shared_ptr<const Value> launch(std::string_view name) const;

  /// The file as it is read: what was laid over it included. Of a catalogue that remembers: what all share.
  std::shared_ptr<const Value> entry(Kind, const std::string& file) const;

 private:
  /// Of a GPU of the catalogue; none where it has none of that name.
  std::optional<spec::Generation> generation_of(const std::string& gpu) const;
  std::shared_ptr<const Value> read(const std::string& path) const;
  std::shared_ptr<const Value> entry(const std::string& folder, std::string_view shelf, const std::string& file) const;

  std::string root_;
  Value overlay_;
  std::set<std::string>* noted_ = nullptr;
  std::shared_ptr<FileCache> read_before_;
};

}  // namespace config
