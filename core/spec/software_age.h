// core/spec/software_age.h -- how old the software of a Job can be at most, where the Job does not say.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/job.h"

namespace spec {

/// No framework of an earlier year trains this model; 0 where it does not tell.
/// 2024: grouped K and V heads (Llama 2's 70B and Mistral had them in the second half of 2023, most since), experts,
/// latent attention, windows, a norm of queries and keys: Megatron Core has dropless experts and windows since 0.5.0,
/// latent attention since 0.10.0 (NVIDIA/Megatron-LM CHANGELOG.md). 2025: attention sinks (gpt-oss), chunks (Llama
/// 4), layers without windows or rotary embedding among others (Gemma 3, SmolLM3), a norm for each head (Qwen3),
/// further tokens or a bias that balances experts (DeepSeek-V3, of the last days of 2024).
int model_year(const Model&);

/// Likewise on this GPU, which tells 2025 where nothing older runs on it.
int software_year(const Job&);

}  // namespace spec
