// real/executor/actions/casts.h -- an operand of a matmul below 16 bits: its codes and scales by name, and how they
// are made of 16 bits. What the formats are: narrow.h. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "real/executor/task.h"

namespace real {

enum class Operand { input, weight, gradient };

/// Which layouts of an operand [rows, columns]: codes as it lies, turned [columns, rows].
struct Layouts {
  bool codes, turned;
};
/// Where casts are not kept each pass makes the layout that it multiplies; a gradient's serve one pass in any case.
Layouts layouts_of(const Task&, Operand);

/// Whether all of an operand has one scale.
bool has_one_scale(const Task&);

/// Of a layer's operand: those of weights live as long as their casts are kept, others with their microbatch. What
/// tensor-parallel ranks gather is cast as a shard first: "shard codes".
class Casts {
 public:
  Casts(Task& task, const std::string& layer, Operand operand);
  kernels::Scales scales() const { return scales_; }
  kernels::Fp8 format() const { return format_; }
  bool of_weight() const { return of_weight_; }
  /// Of all steps: the same for each microbatch.
  std::string history() const { return std::to_string(task_.site.layer) + ' ' + name_; }
  /// That of a weight.
  static std::string history(std::int16_t layer, const std::string& linear) {
    return std::to_string(layer) + ' ' + linear + " weight";
  }

  Tensor make(const std::string& what, std::int64_t count, Purpose purpose);
  Tensor read(const std::string& what);
  bool has(const std::string& what) const;
  void erase(const std::string& what);
  /// What a matmul reads: elements of " codes" or " turned".
  Narrow operand(const std::string& layout, std::int64_t begin, std::int64_t count);
  /// The same of rows of " codes" that are known by another name.
  Narrow with_codes(const Tensor& codes);

 private:
  Tensor scale_of(const std::string& layout);

  Task& task_;
  bool of_weight_;
  std::string name_;
  kernels::Fp8 format_;
  kernels::Scales scales_;
};

/// Casts x [rows, columns], whose parts have `widths` rows (weights) or columns (others) and lie one behind the other
/// in both layouts. `scattered`: x is this rank's shard of what tensor-parallel ranks gather, and its scale theirs.
void cast(Task&, const std::string& layer, Operand, const Tensor& x, std::int64_t rows,
          const std::vector<std::int64_t>& widths, Layouts, bool scattered = false);

/// Of a scattered operand with one scale: its largest magnitude, and that over all tensor-parallel ranks.
void find_largest(Task&, const std::string& layer, Operand, const Tensor& shard);
void agree_on_largest(Task&, const std::string& layer, Operand);
/// The codes of all tensor-parallel ranks with their scales, as if all had been cast at once. Where layouts have scales
/// of their own, those that are asked for. `columns`: of the operand.
void gather_codes(Task&, const std::string& layer, Operand, std::int64_t columns, Layouts);
/// The other layout of codes with one scale. `rows`: of the codes.
void turn_codes(Task&, const std::string& layer, Operand, std::int64_t rows);
/// Of a weight in parts of `widths` rows, each turned by itself.
void turn_weight_codes(Task&, const std::string& layer, const std::vector<std::int64_t>& widths);

}  // namespace real
