// tests/core/config/kernel_family_test.cpp -- names as the profiler shows them, cut where nothing more is told.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/kernel_family.h"

#include <gtest/gtest.h>

namespace {

std::string family(const std::string& name, const std::string& collective = "") {
  return config::kernel_family("kernel", name, collective);
}

TEST(KernelFamily, MatmulsOfEveryLibrary) {
  for (const char* name :
       {"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1",
        "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNN", "void cutlass::Kernel2<cutlass_80_wmma_tensorop>",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float>",
        "Cijk_Ailk_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x224", "_grouped_matmul_kernel",
        "_p_matmul_ogs_NNT_bf16xbf16xbf16", "triton_tem_fused_mm_rsqrt_mul_3"}) {
    EXPECT_EQ(family(name), "matmul") << name;
  }
}

TEST(KernelFamily, AttentionForwardAndBackward) {
  EXPECT_EQ(family("void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>"), "attention forward");
  EXPECT_EQ(family("void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<>"), "attention backward");
  EXPECT_EQ(family("void flash_bwd_dot_do_o_kernel<true>"), "attention backward");
  EXPECT_EQ(family("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128"),
            "attention forward");
  EXPECT_EQ(family("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7"), "attention backward");
  EXPECT_EQ(family("fmha_cutlassF_bf16_aligned_64x128_rf_sm80"), "attention forward");
  EXPECT_EQ(family("triton_tem_fused_flex_attention_0"), "attention forward");
  EXPECT_EQ(family("fmha_cutlassB_bf16_aligned_128x64_k128_sm80"), "attention backward");
  EXPECT_EQ(family("void cudnn::fusion::convert_dq_to_16bits<true>"), "attention backward");
  EXPECT_EQ(family("bwd_kernel_dk_dv"), "attention backward");  // AOTriton's
  EXPECT_EQ(family("attn_fwd"), "attention forward");
  EXPECT_EQ(family("void flashinfer::norm::RMSNormKernel<8, __nv_bfloat16>"), "norm");
}

TEST(KernelFamily, RecurrencesByChunks) {
  EXPECT_EQ(family("_chunk_scan_fwd_kernel"), "scan forward");
  EXPECT_EQ(family("_chunk_state_bwd_dx_kernel"), "scan backward");
  EXPECT_EQ(family("chunk_gated_delta_rule_fwd_kernel_h_blockdim64"), "scan forward");
}

TEST(KernelFamily, CollectivesByTheEventOrElseByTheKernel) {
  EXPECT_EQ(family("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"), "all_gather");
  EXPECT_EQ(family("ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclDevComm*)"), "reduce_scatter");
  EXPECT_EQ(family("ncclDevKernel_AllReduce_Sum_bf16_TREE_LL"), "all_reduce");
  EXPECT_EQ(family("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"), "send_recv");
  // Expert parallelism: NCCL runs an all-to-all as sends and receives.
  EXPECT_EQ(family("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "all_to_allv"), "all_to_all");
  EXPECT_EQ(family("ncclDevKernel_Generic", "_allgather_base"), "all_gather");
  EXPECT_EQ(family("ncclDevKernel_Generic", "_reduce_scatter_base"), "reduce_scatter");
  EXPECT_EQ(family("ncclDevKernel_Generic"), "other");
  EXPECT_EQ(family("void multimem_all_reduce_kernel<c10::BFloat16>"), "all_reduce");
  // Libraries that send without NCCL: DeepEP, and Transformer Engine's userbuffers.
  EXPECT_EQ(family("void deep_ep::intranode::dispatch<8, 768, 8192>"), "all_to_all");
  EXPECT_EQ(family("void deep_ep::internode::combine<false, __nv_bfloat16>"), "all_to_all");
  EXPECT_EQ(family("void deep_ep::layout::get_dispatch_layout<256, 32, 32>"), "other");
  EXPECT_EQ(family("void kuserbuffers_pushsend(int*, int*, int4*)"), "send_recv");
  EXPECT_EQ(family("userbuffers_fp16_sum_inplace_gpu_mc_rs_oop"), "reduce_scatter");
  EXPECT_EQ(family("userbuffers_fp16_sum_inplace_gpu_mc_ag"), "all_gather");
}

TEST(KernelFamily, MemoryBoundKernels) {
  EXPECT_EQ(family("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"),
            "elementwise");
  EXPECT_EQ(family("triton_poi_fused_mul_silu_3"), "elementwise");
  EXPECT_EQ(family("triton_poi_fused_add_all_gather_into_tensor_2"), "elementwise");
  EXPECT_EQ(family("triton_poi_fused__scaled_dot_product_flash_attention_clone_4"), "elementwise");
  // Templates of C++ are full of lambdas, which are no LAMB.
  EXPECT_EQ(family("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<{lambda(float)#1}>>"),
            "elementwise");
  EXPECT_EQ(family("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0"), "norm");
  EXPECT_EQ(family("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>"), "norm");
  EXPECT_EQ(family("void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<>"), "norm");
  EXPECT_EQ(family("void cunn_SoftMaxForward<8, float, float, float, LogSoftMaxForwardEpilogue>"), "loss");
  EXPECT_EQ(family("void scaled_upper_triang_masked_softmax_warp_forward<__nv_bfloat16>"), "softmax");
  EXPECT_EQ(family("void at::native::nll_loss_forward_reduce_cuda_kernel_2d<float>"), "loss");
  EXPECT_EQ(family("void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>"), "optimizer");
  EXPECT_EQ(family("void at::native::multi_tensor_apply_kernel<LpNormFunctor<float, NormType::L2>>"), "reduce");
  EXPECT_EQ(family("void at::native::embedding_backward_kernel<>"), "embedding");
  EXPECT_EQ(family("void at::native::CatArrayBatchedCopy<>"), "copy");
  EXPECT_EQ(family("void at::native::split_with_sizes_copy_out_contiguous_no_cast_kernel<int4>"), "copy");
  EXPECT_EQ(family("void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>, CopyFunctor<float, 2>>"), "copy");
  EXPECT_EQ(family("void kOptimizerStatic8bit2StateBlockwise<__nv_bfloat16, 0, 256, 1>"), "optimizer");
  EXPECT_EQ(family("void transformer_engine::fused_rope_forward_kernel<float>"), "elementwise");
  EXPECT_EQ(family("void transformer_engine::cast_mxfp8_2D_kernel<false>"), "cast");
  EXPECT_EQ(family("triton_red_fused__softmax_amax_exp_sub_1"), "softmax");
  EXPECT_EQ(family("_permute_kernel"), "copy");
  EXPECT_EQ(family("_sort_chunks_by_map_kernel"), "copy");
  EXPECT_EQ(family("void at::native::compute_grad_weight<float, long>"), "embedding");
  EXPECT_EQ(family("my_own_kernel"), "other");
}

TEST(KernelFamily, CopiesAndFillsByTheirCategory) {
  EXPECT_EQ(config::kernel_family("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", ""), "host_copy");
  EXPECT_EQ(config::kernel_family("gpu_memcpy", "Memcpy DtoD (Device -> Device)", ""), "copy");
  EXPECT_EQ(config::kernel_family("gpu_memcpy", "CopyHostToDevice", ""), "host_copy");  // ROCm's
  EXPECT_EQ(config::kernel_family("gpu_memset", "Memset (Device)", ""), "fill");
}

}  // namespace
