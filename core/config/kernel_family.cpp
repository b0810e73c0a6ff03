// SPDX-License-Identifier: Apache-2.0
#include "core/config/kernel_family.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>

namespace config {
namespace {

/// Lower case; of words for collectives without what stands between their parts: "_allgather_base", "AllGather".
std::string lower(std::string_view text, bool letters_alone = false) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (!letters_alone || std::isalpha(byte)) out += static_cast<char>(std::tolower(byte));
  }
  return out;
}

bool any_of(const std::string& name, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return name.find(part) != name.npos; });
}

/// Empty: none.
std::string collective_family(std::string_view text) {
  const std::string name = lower(text, true);
  if (any_of(name, {"allgather"})) return "all_gather";
  if (any_of(name, {"reducescatter"})) return "reduce_scatter";
  if (any_of(name, {"allreduce"})) return "all_reduce";
  if (any_of(name, {"alltoall"})) return "all_to_all";
  if (any_of(name, {"broadcast"})) return "broadcast";
  if (any_of(name, {"sendrecv", "send", "recv"})) return "send_recv";
  if (any_of(name, {"reduce"})) return "reduce_to_one";
  return "";
}

/// Those of ROCm are called CopyHostToDevice.
std::string copy_family(const std::string& name) {
  return any_of(name, {"htod", "dtoh", "htoh", "hosttodevice", "devicetohost", "hosttohost"}) ? "host_copy" : "copy";
}

/// Of libraries that send without NCCL. Empty: none of theirs.
std::string other_sender(const std::string& name) {
  if (any_of(name, {"deep_ep", "hybrid_ep"})) {
    return any_of(name, {"layout"}) || !any_of(name, {"dispatch", "combine"}) ? "" : "all_to_all";
  }
  if (!any_of(name, {"userbuffers"})) return "";
  if (any_of(name, {"push", "pull"})) return "send_recv";
  if (any_of(name, {"_ag"})) return "all_gather";
  if (any_of(name, {"_rs", "reducescatter"})) return "reduce_scatter";
  return any_of(name, {"sum", "allreduce"}) ? "all_reduce" : "";
}

std::string attention_family(const std::string& name) {
  return any_of(name, {"bwd", "bprop", "backward", "cutlassb", "dot_do_o", "dkdv", "convert_dq"}) ? "attention backward"
                                                                                                  : "attention forward";
}

struct Rule {
  const char* family;
  std::array<const char*, 14> parts;  // of the name, in lower case; as many as there are
};

/// The first that holds. Libraries' kernels carry the names of the templates that they are made of, so what is rarer
/// comes first: flash attention is a cutlass kernel, cuDNN's convolutions are called gemm, Tensile's matmuls Cijk.
constexpr std::array<Rule, 14> kRules{{
    {"matmul", {"triton_tem_"}},
    {"loss", {"cross_entropy", "crossentropy", "nll_loss", "logsoftmax", "log_softmax"}},
    {"softmax", {"softmax"}},
    {"cast", {"quantize", "cast_transpose", "cast_mxfp8", "cast_nvfp4", "cast_fp8", "amax"}},
    {"convolution", {"convolve", "implicit_gemm", "xmma_fprop", "xmma_wgrad", "xmma_dgrad", "conv2d"}},
    {"reduce", {"lpnorm", "l2norm"}},
    {"copy", {"copyfunctor"}},
    {"optimizer", {"multi_tensor_apply", "adam", "sgd_", "lamb_stage", "koptimizer"}},
    {"norm",
     {"layer_norm", "layernorm", "rms_norm", "rmsnorm", "ln_fwd", "ln_bwd", "gammabeta", "batch_norm", "bn_fw", "bn_bw",
      "group_norm", "rsqrt"}},
    {"embedding", {"embedding", "indexselect", "compute_grad_weight"}},
    {"matmul", {"gemm", "matmul", "nvjet", "cutlass", "cublas", "gemv", "splitk", "xmma", "cijk_"}},
    {"copy",
     {"direct_copy", "catarray", "copy_kernel", "split_with_sizes_copy", "chunk_cat", "transpose", "memcpy",
      "permute_kernel", "sort_chunks", "gather_kernel"}},
    {"reduce", {"reduce_kernel"}},
    {"elementwise",
     {"elementwise", "triton_", "unrolled", "foreach", "rotary", "fused_rope", "swiglu", "silu", "gelu", "dropout"}},
}};

/// Recurrences by chunks of tokens: Mamba-2 (mamba_ssm), gated delta nets (flash-linear-attention).
bool is_scan(const std::string& name) {
  return any_of(name, {"chunk_scan", "chunk_state", "state_passing", "chunk_gated_delta", "gated_delta_rule",
                       "chunk_bwd_kernel_d", "chunk_fwd_kernel_o", "recompute_w_u"});
}

bool holds(const std::string& name, const Rule& rule) {
  return std::any_of(rule.parts.begin(), rule.parts.end(),
                     [&](const char* part) { return part != nullptr && name.find(part) != name.npos; });
}

/// Compilers name what they fuse by all its parts, collectives on either side among them.
bool is_collective(const std::string& name) {
  return any_of(name, {"nccl"}) ||
         (!name.starts_with("triton_") && any_of(name, {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}));
}

/// Of a compiler's, only those made of a template for it.
bool is_attention(const std::string& name) {
  if (name.starts_with("triton_") && !name.starts_with("triton_tem_")) return false;
  if (any_of(name, {"flashinfer::norm"})) return false;
  return any_of(name, {"flash_", "flash::", "flashinfer", "flashmla", "fmha", "sdpa", "attention", "attn", "dot_do_o",
                       "convert_dq", "bwd_kernel_dk", "bwd_kernel_dq"});
}

}  // namespace

std::string kernel_family(std::string_view category, std::string_view name, std::string_view collective) {
  const std::string kernel = lower(name);
  if (category == "gpu_memset") return "fill";
  if (category == "gpu_memcpy") return copy_family(kernel);
  if (is_collective(kernel)) {
    const std::string told = collective_family(collective);
    if (!told.empty()) return told;
    const std::string named = collective_family(name);
    return named.empty() ? "other" : named;
  }
  if (const std::string sent = other_sender(kernel); !sent.empty()) return sent;
  if (is_scan(kernel)) return any_of(kernel, {"bwd", "backward"}) ? "scan backward" : "scan forward";
  if (is_attention(kernel)) return attention_family(kernel);
  for (const Rule& rule : kRules) {
    if (holds(kernel, rule)) return rule.family;
  }
  return "other";
}

}  // namespace config
