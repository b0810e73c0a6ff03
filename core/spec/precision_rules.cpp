// core/spec/precision_rules.cpp -- attention kernels, formats below 16 bits, adapters (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/autocast.h"
#include "core/spec/fused_experts.h"
#include "core/spec/rules.h"

namespace spec {
namespace {

class Precision : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    kernels();
    autocast();
    narrow_attention();
    narrow();
    adapters();
    return std::move(faults_);
  }

 private:
  void kernels() {
    if (s_.linear_cross_entropy && s_.fused_kernels.cross_entropy == false) {
      fault("strategy.linear_cross_entropy",
            "is a fused loss, which fused_kernels rules out (false, or cross_entropy: false)",
            "leave it out, or write fused_kernels: {cross_entropy: true} beside what is not fused");
    }
    if (job_.framework.compiles && s_.compile_given && !s_.compile) {
      fault("strategy.compile", job_.framework.name + " compiles every step",
            "leave it out, or write framework: torch for eager code");
    }
    if (s_.launch_blocking && s_.cuda_graphs.value_or(CudaGraphs::none) != CudaGraphs::none) {
      fault("strategy.launch_blocking", "makes the host wait for each kernel, and a graph is launched as a whole",
            "leave it out, or write cuda_graphs: false");
    }
    if (s_.fused_kernels.optimizer && t_.optimizer != Optimizer::adamw) {
      fault("strategy.fused_kernels.optimizer", "is of AdamW, and the optimizer is " + std::string(name(t_.optimizer)),
            "leave it out, or write optimizer: adamw");
    } else if (s_.fused_kernels.optimizer && s_.offload.updates_on_host()) {
      fault("strategy.fused_kernels.optimizer", "is of kernels, and the optimizer is on the host",
            "leave it out, or write offload: {optimizer: none}");
    }
    if (s_.fused_kernels.experts == true) {
      const std::string why = no_fused_experts(job_);
      if (!why.empty()) fault("strategy.fused_kernels.experts", "does not take " + why, "write experts: false");
    }
    const auto in = [&](const Gpu& gpu) { return gpu.name + " in " + std::string(name(t_.precision)); };
    const Gpu* const cannot_choose = model_.indexer ? gpu_without(AttentionKernel::sparse, job_) : nullptr;
    if (cannot_choose) {
      return fault("model.indexer", "attention to the keys that it chooses has no kernel on " + in(*cannot_choose),
                   "write a node of Hopper or Blackwell GPUs and precision: bf16, fp8, mxfp8 or nvfp4");
    }
    const Gpu* const without = s_.attention_kernel ? gpu_without(*s_.attention_kernel, job_) : nullptr;
    if (!without) return;
    fault("strategy.attention_kernel",
          std::string(name(*s_.attention_kernel)) + " does not run on " + in(*without) + " with head_dim " +
              text(model_.query_head_dim()),
          "write " + std::string(name(best_attention(job_))) + ", or leave attention_kernel out");
  }

  void autocast() {
    if (!t_.autocast.value_or(false)) return;
    const std::string why = no_autocast(job_);
    if (!why.empty()) fault("training.autocast", "does not take " + why, "write autocast: false");
  }

  /// What Transformer Engine's kernels in fp8 take (pytorch/attention/dot_product_attention/utils.py and
  /// common/fused_attn, 2.4 to 2.14).
  void narrow_attention() {
    if (!t_.fp8_attention || t_.serves()) return;
    const char* const off = "write fp8_attention: false";
    if (bytes_of(t_.precision) >= 2) {
      return fault("training.fp8_attention", "is for a precision below 16 bits",
                   "write precision: fp8, or fp8_attention: false");
    }
    if (!job_.framework.keeps_casts) {
      return fault("training.fp8_attention", job_.framework.name + " trains with attention in 16 bits alone",
                   "write framework: megatron, or fp8_attention: false");
    }
    if (s_.attention_kernel.value_or(AttentionKernel::cudnn) != AttentionKernel::cudnn) {
      return fault("strategy.attention_kernel",
                   std::string(name(*s_.attention_kernel)) + " has no backward in fp8, which fp8_attention asks for",
                   "write attention_kernel: cudnn, or fp8_attention: false");
    }
    if (t_.packing || limits_attention() || model_.position == Position::alibi) {
      return fault("training.fp8_attention", "takes no packed documents, windows, chunks or ALiBi", off);
    }
    for (int kind = 0; kind < cluster_.kinds(); ++kind) {
      const Gpu& gpu = cluster_.node_of(kind).gpu;
      const NarrowHeads heads = traits_of(gpu.generation).fp8_attention;
      const std::int64_t keys = model_.query_head_dim(), values = model_.mla ? model_.mla->value_head_dim : keys;
      const bool as_latent = heads == NarrowHeads::up_to_128 && keys == 192 && values == 128;
      if (heads == NarrowHeads::none) {
        fault("training.fp8_attention", "needs cuDNN on Hopper or Blackwell, and there is " + gpu.name, off);
      } else if (keys != 128 && !as_latent && (heads == NarrowHeads::of_128 || keys > 128)) {
        fault("training.fp8_attention",
              "heads of " + text(keys) + " have no kernel in fp8 on " + gpu.name +
                  (heads == NarrowHeads::of_128 ? ", which has one for 128" : ", which has one up to 128"),
              off);
      } else if (values != keys && !as_latent) {
        fault("training.fp8_attention",
              "heads of " + text(keys) + " with values of " + text(values) + " have no kernel", off);
      }
    }
  }

  bool limits_attention() const {
    const auto limits = [&](std::int64_t tokens) { return tokens > 0 && tokens < t_.sequence; };
    return limits(model_.window) || limits(model_.attention_chunk);
  }

  void narrow() {
    if (t_.fp8_activation_inputs && (!model_.gated_mlp || bytes_of(storage(t_.precision)) != 2)) {
      fault("training.fp8_activation_inputs", "is for gated activations kept in 16 bits",
            "choose a model with gated_mlp and a precision of 16 bits or below, or leave it out");
    }
    const bool microscaled = t_.precision == Dtype::mxfp8 || t_.precision == Dtype::nvfp4;
    if (microscaled && !t_.serves() && !traits_of(cluster_.node.gpu.generation).trains_microscaled) {
      fault("training.precision",
            "no library trains in " + std::string(name(t_.precision)) + " on " + cluster_.node.gpu.name +
                ", a Blackwell of compute capability 12",
            "write fp8 or bf16");
    }
    if (t_.moments() != Dtype::fp32 && t_.optimizer == Optimizer::adamw8bit) {
      fault("training.moments_dtype", "adamw8bit keeps its moments in 8 bits", "write optimizer: adamw");
    }
    const int wide = t_.wide_layers.first + t_.wide_layers.last;
    if (wide > 0 && wide >= model_.layers) {
      fault("training.wide_layers", text(wide) + " layers stay in 16 bits, but the model has " + text(model_.layers),
            "write fewer, or precision: bf16");
    }
    if (t_.fp8_parameters.value_or(false)) {
      const bool fp8 =
          t_.precision == Dtype::fp8 && t_.fp8_recipe != Fp8Recipe::rowwise;  // TE's cast_master_weights_to_fp8, 2025
      if (!fp8 && !microscaled) {
        fault(
            "training.fp8_parameters",
            "weights are kept in the narrow format alone under mxfp8 and nvfp4, and under fp8 with one scale a tensor "
            "or a block",
            std::string(job_.cluster.node.gpu.computes(Dtype::mxfp8) ? "write precision: mxfp8, or fp8" : "write fp8") +
                " and fp8_recipe: delayed, tensorwise or blockwise, or fp8_parameters: false");
      } else if (!job_.framework.keeps_casts && !t_.serves() && !gathers_codes_of_masters()) {
        fault("training.fp8_parameters",
              job_.framework.name +
                  " casts 16-bit weights anew in each pass, but for shards in fp8 with one scale a tensor and without "
                  "adapters",
              std::string(t_.precision == Dtype::fp8 ? "write zero: 3 and fp8_recipe: tensorwise, " : "write ") +
                  "framework: megatron, or fp8_parameters: false");
      } else if (t_.precision == Dtype::mxfp8 && s_.zero >= 2) {
        fault("training.fp8_parameters",
              "weights in mxfp8 alone are gathered into whole gradients, which zero 2 and 3 do not keep",
              "write zero: 1, or fp8_parameters: false");
      } else if (t_.precision == Dtype::nvfp4 && s_.zero >= 2 && !t_.serves()) {
        fault("training.fp8_parameters",
              "weights in nvfp4 alone lie in the buffer of plain data parallelism, not in the shards of zero 2 and 3",
              "write zero: 1, or fp8_parameters: false");
      } else if (!t_.keeps_master()) {
        fault("training.fp8_parameters", "weights in fp8 alone cannot be updated without a master copy",
              "write master_weights: true, or fp8_parameters: false");
      }
    }
    if (bytes_of(t_.precision) < 2 && !cluster_.node.gpu.computes(storage(t_.precision))) {
      fault("cluster.node.gpu.peak", "bf16 is missing, in which embedding, attention and head are computed",
            "state the GPU's peak in bf16");
    }
  }

  /// torchao's enable_fsdp_float8_all_gather.
  bool gathers_codes_of_masters() const {
    const Fp8Recipe recipe = t_.fp8_recipe.value_or(Fp8Recipe::tensorwise);  // the default of those that cast anew
    const bool fp8 = t_.precision == Dtype::fp8;
    return fp8 && s_.zero == 3 && job_.framework.fp32_shards && recipe == Fp8Recipe::tensorwise && !s_.lora;
  }

  void adapters() {
    if (!s_.lora) return;
    if (s_.lora->rank > model_.hidden) {
      fault("strategy.lora", "a rank of " + text(s_.lora->rank) + " is above the hidden size",
            "write a rank such as 16");
    }
    if (s_.lora->base != LoraBase::bf16 && t_.fp8_parameters.value_or(false)) {
      fault("strategy.lora", "a base kept in fp8 alone has no other format",
            "write base: bf16, or fp8_parameters: false");
    }
  }
};

}  // namespace

std::vector<base::Fault> precision_faults(const Job& job) { return Precision(job).run(); }

}  // namespace spec
