// core/spec/fillers.h -- what resolve() (job.h) fills in where the Job says nothing, by subject, and how it tells so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/spec/job.h"

namespace spec {

/// Fills one option and tells it, when it has an effect on this job.
class Filler {
 public:
  Filler(Job& job, std::string from) : job_(job), from_(std::move(from)) {}

  void fill(std::optional<bool>& option, std::optional<bool> from, const char* field, bool has_effect = true) {
    if (option) return;
    option = from.value_or(false);
    if (has_effect) tell(field, *option ? "true" : "false", from_);
  }
  void tell(const std::string& field, const std::string& value, const std::string& reason) {
    job_.assumptions.push_back(field + ": " + value + " (" + reason + ")");
  }

 private:
  Job& job_;
  std::string from_;
};

/// Which operations are one kernel. REQUIRES: the attention kernel is known.
void fill_kernels(Job&, Filler& of_framework);
/// Whether the activation is written out. REQUIRES: which operations are one kernel is known.
void fill_written_gelu(Job&, Filler& of_framework);
/// Dropout of recipes that have it. REQUIRES: the attention kernel is known.
void fill_dropout(Job&, Filler& of_framework);
/// Whether adapters are cast.
void fill_adapters(Job&, Filler& of_framework);
/// Whose code the layers and the loss are, and where their checkpoints end.
void fill_model_code(Job&, Filler& of_framework);

/// What runs beside compute. REQUIRES: degrees are known.
void fill_overlap(Job&, Filler& of_framework);
/// What FSDP leaves undone between the microbatches of a pipeline.
void fill_pipeline_units(Job&, Filler& of_framework);
/// Which exchange of tokens experts have.
void fill_dispatcher(Job&, Filler& of_framework);

/// What the host issues. REQUIRES: what runs beside compute is known.
void fill_graphs(Job&, Filler& of_framework);
void fill_host(Job&);

}  // namespace spec
