// core/config/choices_reader.h -- choices between models that whole published steps had a say in
// (validation/choices.yaml), so that they can be made again without some of those steps.
//
//   choices:
//   - name: deepspeed-pipeline
//     decides: "whether DeepSpeed sends activations between stages whole or cut by tp"
//     present: whole
//     alternatives:
//       whole: {source: "...", overrides: {frameworks: {deepspeed: {scatter_gather_pipeline: false}}}}
//       cut: {source: "...", told_by: bloom-176b, overrides: {frameworks: {deepspeed: {scatter_gather_pipeline:
//       true}}}}
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/document.h"

namespace config {

struct Alternative {
  std::string name;
  std::string source;   // why it is physically possible
  std::string told_by;  // the validation file that alone tells of it; empty: other sources do
  Value overrides;      // as Catalogue::with takes them
};

struct Choice {
  std::string name, decides;
  std::vector<Alternative> alternatives;  // at least two, in file order
  std::size_t present = 0;                // the one that the catalogue has
};

/// Throws base::InputError with every fault: an override that names no shelf, entry or key of the catalogue, a value
/// that its reader refuses, a present alternative that is not what the catalogue holds, a key that is set by another
/// alternative and not by the present one. Values under `job` are checked only when a Job is read with them.
std::vector<Choice> read_choices(const std::string& path, const Catalogue&);
/// The same from a tree.
std::vector<Choice> read_choices(const Value& tree, const Catalogue&);

/// "frameworks.torch", "job": what an alternative lays its values over. Jobs that read none of it are not touched.
std::vector<std::string> entries_of(const Alternative&);

}  // namespace config
