// real/executor/actions/norm.cpp -- norms of the blocks, behind the embedding, in front of the head.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/linear.h"
#include "real/executor/actions/narrow.h"
#include "real/executor/gradients.h"
#include "real/executor/heads.h"

namespace real {
namespace {

/// The gradient of a module's result that comes through the module behind it.
constexpr const char* kOfNextModule = "d stream by the next module";
constexpr const char* kHiddenGradient = "d multi-token hidden norm input";

kernels::Norm shape(const Task& task, std::int64_t count, std::int64_t width) {
  const bool rms = task.c.model.norm == spec::Norm::rmsnorm;
  return {rms ? kernels::NormKind::rms : kernels::NormKind::layer, count / width, width};
}

/// Of a row: the weights of its norm are as many.
std::int64_t width_of(Task& task, const std::string& name) { return task.parameter(name + ".weight").count(); }

/// y is the tensor `name`, the input is kept as `name` input.
void forward(Task& task, const std::string& name) {
  const Tensor x = task.read(name + " input");
  const kernels::Norm norm = shape(task, x.count, width_of(task, name));
  const Tensor y = task.make(name, x.count), mean = task.make(name + " mean", norm.rows, kStatistic);
  const Tensor rstd = task.make(name + " rstd", norm.rows, kStatistic);
  task.backend.norm_forward(norm, x, task.weight(name + ".weight"), task.weight(name + ".bias"), y, mean, rstd);
  cast_behind_norm(task, name);
}

Tensor backward(Task& task, const std::string& name, const Tensor& dy) {
  const Tensor x = task.read(name + " input");
  const Tensor dx = task.make("d " + name + " input", x.count);
  task.backend.norm_backward(shape(task, x.count, width_of(task, name)), x, task.weight(name + ".weight"),
                             task.read(name + " mean"), task.read(name + " rstd"), dy, dx,
                             task.gradient(name + ".weight"), task.gradient(name + ".bias"));
  return dx;
}

/// In front of a branch: reads what flows from layer to layer.
void branch_norm(Task& task) {
  const std::string input = task.name + " input";
  if (!task.again() || !task.has(input)) task.keep_stream(input);
  if (task.forward() && task.name == "attention norm") task.keep_stream("input");
  forward(task, task.name);
}

void branch_norm_gradient(Task& task, const std::string& name) {
  backward(task, name, whole_gradient(task, name));
  task.alias(gradient_name("stream", name), "d " + name + " input");  // joined by the residual gradient
}

/// Behind a branch, in front of the residual add.
void post_norm(Task& task) {
  if (task.name == "attention post norm") find_kept_output(task);
  task.alias(task.name + " input", "branch");
  forward(task, task.name);
  task.alias("branch", task.name);
}

void post_norm_gradient(Task& task, const std::string& name) {
  backward(task, name, task.c.dropout ? task.read("d branch") : task.gradient_stream());
  task.alias("d branch", "d " + name + " input");
}

void embedding_norm(Task& task) {
  task.keep_stream("embedding norm input");
  forward(task, task.name);
  task.flow(task.name);
}

void embedding_norm_gradient(Task& task) {
  backward(task, "embedding norm", task.gradient_stream());
  task.flow_gradient("d embedding norm input");
}

void final_norm(Task& task) {
  task.keep_stream("final norm input");
  forward(task, task.name);
}

/// Of multi-token prediction the next module has gone backward already.
void final_norm_gradient(Task& task) {
  const Tensor dx = backward(task, "final norm", whole_gradient(task, "final norm"));
  if (task.has(kOfNextModule)) task.backend.add(task.read(kOfNextModule), dx);
  task.flow_gradient("d final norm input");
}

/// The norms of what a module of multi-token prediction joins: the next token's embedding, and the hidden state of the
/// module or the model in front of it.
void module_embedding_norm(Task& task) {
  task.keep_stream(task.name + " input");
  forward(task, task.name);
}

Site site_before(const Task& task) { return {task.site.chunk, task.site.microbatch, ends_layer(task.op.module - 1)}; }

void module_hidden_norm(Task& task) {
  Value* hidden = task.rank.values.find(site_before(task), "stream");
  if (hidden == nullptr) throw std::logic_error("a module of multi-token prediction finds no hidden state");
  task.rank.values.at(task.site, task.name + " input") = *hidden;
  forward(task, task.name);
}

void module_embedding_norm_gradient(Task& task) {
  backward(task, "multi-token embedding norm", task.read("d multi-token embedding norm"));
  task.flow_gradient("d multi-token embedding norm input");
}

/// The model's own head has gone backward already, a module's goes behind the next module.
void module_hidden_gradient(Task& task) {
  const Tensor dx = task.read(kHiddenGradient);
  const Site before = site_before(task);
  if (task.op.module > 1) {
    task.rank.values.at(before, kOfNextModule) = *task.rank.values.find(task.site, kHiddenGradient);
    return;
  }
  const Tensor own = task.read_at(before, "gradient stream");
  const Tensor sum = task.make_at(before, "gradient stream", own.count);
  task.backend.sum(own, dx, sum);
}

Tensor normed_heads(Task& task, const std::string& name, const Tensor& x) {
  const kernels::Norm norm = shape(task, x.count, task.c.head_dim);
  const Tensor y = task.backend.allocate(x.count), mean = task.make(name + " mean", norm.rows, kStatistic);
  const Tensor rstd = task.make(name + " rstd", norm.rows, kStatistic);
  task.backend.norm_forward(norm, x, task.weight(name + ".weight"), task.weight(name + ".bias"), y, mean, rstd);
  return y;
}

Tensor normed_heads_gradient(Task& task, const std::string& name, const Tensor& x, const Tensor& dy) {
  const Tensor dx = task.backend.allocate(x.count);
  task.backend.norm_backward(shape(task, x.count, task.c.head_dim), x, task.weight(name + ".weight"),
                             task.read(name + " mean"), task.read(name + " rstd"), dy, dx,
                             task.gradient(name + ".weight"), task.gradient(name + ".bias"));
  return dx;
}

/// Each head of the queries and of the keys by itself, all by the same weights.
void query_and_key_norm(Task& task) {
  const Tensor packed = task.read("qkv");
  Heads heads = split_heads(task, packed);
  heads.q = normed_heads(task, "query norm", heads.q);
  heads.k = normed_heads(task, "key norm", heads.k);
  join_heads(task, heads, task.make(unturned_name(task), packed.count));
}

void query_and_key_norm_gradient(Task& task) {
  const Heads heads = split_heads(task, task.read("qkv"));
  const Tensor packed = task.read(std::string("d ") + unturned_name(task));
  Heads d = split_heads(task, packed);
  d.q = normed_heads_gradient(task, "query norm", heads.q, d.q);
  d.k = normed_heads_gradient(task, "key norm", heads.k, d.k);
  join_heads(task, d, task.make("d qkv", packed.count));
}

/// Of the narrow vectors of latent attention. Keys' and values' share theirs with the keys' rotary part.
void query_norm(Task& task) {
  task.alias("query norm input", "query down");
  forward(task, task.name);
}

void query_norm_gradient(Task& task) {
  backward(task, "query norm", whole_gradient(task, "query norm"));
  task.alias("d query down", "d query norm input");
}

void key_and_value_norm(Task& task) {
  const Tensor down = task.read("key and value down");
  const std::int64_t width = width_of(task, task.name), of = width + task.c.model.mla->rope_head_dim;
  const std::int64_t rows = down.count / of;
  const Tensor latent = task.make(task.name + " input", rows * width);
  task.backend.strided_copy(kernels::row_pieces(rows, width, of, width), down, latent);
  forward(task, task.name);
}

}  // namespace

void add_norm_actions(Actions& actions) {
  for (const std::string name : {"attention norm", "feed-forward norm"}) {
    actions[name] = branch_norm;
    actions[name + " gradient"] = [name](Task& t) { branch_norm_gradient(t, name); };
  }
  for (const std::string name : {"attention post norm", "feed-forward post norm"}) {
    actions[name] = post_norm;
    actions[name + " gradient"] = [name](Task& t) { post_norm_gradient(t, name); };
  }
  actions["embedding norm"] = embedding_norm;
  actions["embedding norm gradient"] = embedding_norm_gradient;
  actions["final norm"] = final_norm;
  actions["final norm gradient"] = final_norm_gradient;
  actions["multi-token embedding norm"] = module_embedding_norm;
  actions["multi-token embedding norm gradient"] = module_embedding_norm_gradient;
  actions["multi-token hidden norm"] = module_hidden_norm;
  actions["multi-token hidden norm gradient"] = [](Task& t) {
    backward(t, "multi-token hidden norm", t.read("d multi-token hidden norm"));
  };
  actions["multi-token hidden gradient"] = module_hidden_gradient;
  actions["query norm"] = query_norm;
  actions["query norm gradient"] = query_norm_gradient;
  actions["key and value norm"] = key_and_value_norm;
  actions["key and value norm gradient"] = [](Task& t) {
    backward(t, "key and value norm", whole_gradient(t, "key and value norm"));
  };
  actions["query and key norm"] = query_and_key_norm;
  actions["query and key norm gradient"] = query_and_key_norm_gradient;
}

}  // namespace real
