// real/executor/parameters.h -- the parameters of one rank: which part of the whole model's each is, who holds copies,
// and its tensors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "real/executor/backend.h"
#include "real/executor/place.h"
#include "real/executor/values.h"

namespace real {

struct Range {
  std::int64_t begin = 0, length = 0;
};

/// A matrix of the model (a vector is one column), of which this rank has some rows and a range of columns. The rows of
/// experts lie one expert behind the other.
struct Part {
  std::int64_t whole_rows = 0, whole_columns = 1;
  std::vector<Range> rows;  // of the whole one, in the order of this rank's
  Range columns;
  std::int64_t row_count() const;
  std::int64_t count() const { return row_count() * columns.length; }
};

enum class Start { normal, zero, one };

/// What operators find of a weight. In codes: fp8 alone, beside its master (actions/fp8_weights.h). Until cast: 16 bits
/// that the step's cast lets go (mxfp8).
enum class Kept : std::uint8_t { wide, codes, until_cast };

struct Parameter {
  std::int16_t layer = -1;  // of the model; -1: at one of its ends
  std::string name;         // "qkv.weight"
  Part part;
  Start start = Start::normal;
  plan::Axis copies = plan::Axis::dp;  // ranks that hold the same part: dp or expert_dp
  plan::Axis shards = plan::Axis::dp;  // those that share one copy of its states
  bool uncut = false;                  // every (expert) tensor-parallel rank holds the same
  bool partial_over_tp = false;        // and its gradient has seen this rank's tokens or heads alone
  bool frozen = false;                 // beside low-rank adapters: has neither gradient nor states
  bool sharded = false;                // this rank has its `owned` range of the states alone
  bool reduced_apart = false;          // a gradient that is reduced leaves the tensor in which the next one is summed
  Range owned;                         // of this rank's part
  std::int64_t single = -1;            // elements before those that kv_copies hold as well; -1: it has none of those
  bool of_narrow_layer = false;        // all of which the Plan gathers in fp8 where its weights are in fp8 alone
  Kept kept = Kept::wide;
  int scales = 1;  // of its codes: each expert has its own

  std::int64_t count() const { return part.count(); }
  /// Elements that each of the `shards` ranks owns, the last ones' shares padded.
  std::int64_t share(int ranks) const { return (count() + ranks - 1) / ranks; }

  std::map<std::int64_t, Value> stashed;  // earlier weights that backwards will read (stash.h)
  Value weight;                           // what operators read: the whole part. Zero 3: only while it is gathered
  Value gradient;                 // of the whole part, from this rank's tokens (zero 0: also once it is reduced)
  Value reduced;                  // of the owned range, from all tokens (reduced_apart)
  Value master, m, v;             // of the owned range; of a frozen one its share of the weight. SGD has no v
  Value m_scales, v_scales;       // of the blocks of moments in 8 bits
  Tensor codes;                   // of the whole part; their pieces, one a scale, are RankState::narrow_weights
  Value largest, largest_before;  // magnitudes, one a scale: of what the codes were made of, of the step before
  // Where the optimizer works on the host, master, m and v are there, and
  Value host_gradient, arrived;  // what it sees; what comes to it, or is added to it on the device
  Value left_norm;               // the sum of its squares, taken as it left the device
  Value shard;                   // of the device's weight, the owned range, where that is gathered
  // New weights of the owned range on the host, on their way to the device. Where parameters are kept on the host they
  // stay there, and `shard` is there only on its way to a gather. Shards that are masters are not kept twice.
  Value host_shard;
  /// What is on drives is not in the host's memory, but while it is worked on.
  struct OnDrives {
    Value weight, gradient, master, m, v;
  };
  OnDrives drives;
  /// What the other ranks get of this one's share.
  Value& gathered_from() { return shard ? shard : master; }
  /// The gradient that the optimizer sees.
  Value& final_gradient() { return reduced_apart ? reduced : gradient; }
  /// Of the owned range, what begins behind `single`; empty without copies.
  Range owned_copies() const {
    if (single < 0) return {owned.length, 0};
    const std::int64_t before = std::clamp<std::int64_t>(single - owned.begin, 0, owned.length);
    return {before, owned.length - before};
  }
};

/// Parameters that become complete together: a layer, an end of the model.
struct Unit {
  std::int16_t layer = -1;
  std::vector<Parameter*> parameters;
};

/// Under which the parameters of a module of multi-token prediction stand, from 1: its block is of the kind of the
/// model's last layer.
inline std::int16_t module_layer(const spec::Model& model, int module) {
  return static_cast<std::int16_t>(model.layers + module - 1);
}

/// The layer of the model that one like these parameters' stands for, -1 as it is.
inline int layer_like(const spec::Model& model, std::int16_t layer) { return std::min<int>(layer, model.layers - 1); }

/// Of an end of the model that the other end reads, too: the embedding's table where it is the head's, all of the
/// embedding where modules of multi-token prediction look tokens up.
bool is_of_both_ends(const spec::Model&, const Parameter&);

inline constexpr const char* kSinks = "attention sinks";  // one number for each head of the rank

/// The first of the rows of the vocabulary that a rank has of its tables.
std::int64_t first_row(const plan::Context&, const Place&);

class ParameterTable {
 public:
  /// Of the chunks of this rank's stage. Throws std::logic_error where the Plan counts other numbers of parameters.
  ParameterTable(const plan::Context&, const Place&, const std::vector<plan::Chunk>&);

  Parameter* find(std::int16_t layer, std::string_view name);
  /// All, in model order; a table that both ends share once.
  std::deque<Parameter>& all() { return parameters_; }
  const std::deque<Parameter>& all() const { return parameters_; }
  /// Those that have a gradient.
  std::vector<Parameter*> trained();
  /// Of a chunk, in model order: embedding, layers, head.
  const std::vector<Unit>& units(int chunk) const { return units_[chunk]; }
  /// Rows of the embedding and of the head where the vocabulary is cut over the stages; otherwise none.
  const std::vector<Unit>& vocabulary() const { return vocabulary_; }

 private:
  void add_table(Unit&, const std::string& name);
  void add_embedding(Unit&);
  void add_head_bias(Unit&);
  void add_vocabulary();
  void add_block(Unit&);
  void add_layer(Unit&);
  void add_attention(Unit&);
  void add_latent_attention(Unit&);
  void add_experts(Unit&);
  void add_head(Unit&);
  void add_modules(Unit&);
  enum class Cut { outputs, inputs, none };  // of a linear layer: a bias is cut with the outputs
  void add(Unit&, std::string name, Part, Start, bool uncut, bool partial_over_tp = false);
  void norm(Unit&, const std::string& name, std::int64_t width, bool partial);
  void linear(Unit&, const std::string& name, Cut, Part, bool bias);
  /// Of this rank's experts, which have such a part each.
  Part of_each_expert(const Part& one) const;
  /// Beside a layer, or beside each of the modules that a framework has for it.
  void adapters(Unit&, const std::string& of, const Part& weight, Cut);
  void adapter(Unit&, const std::string& of, const Part& weight, Cut);

  const plan::Context& c_;
  const Place& place_;
  std::deque<Parameter> parameters_;  // units point into it
  std::vector<std::vector<Unit>> units_;
  std::vector<Unit> vocabulary_;
};

/// The draws that a parameter's part begins with, one behind the other, the same numbers whatever the model is cut
/// into. None: it is all 0, or all 1.
std::vector<kernels::Normal> draws_of(const Parameter&, std::uint64_t seed);
/// The same numbers, and ones and zeros.
std::vector<double> starting_values(const Parameter&, std::uint64_t seed);

}  // namespace real
