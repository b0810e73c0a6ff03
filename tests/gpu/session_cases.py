"""What session.py trains on a GPU: strategies, recorded steps, slices of real models."""
# SPDX-License-Identifier: Apache-2.0
import os

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH = os.path.join(os.path.dirname(HERE), "torch")
LLAMA = ("llama3-8b-32xh200", ["cluster.nodes=1", "cluster.node.gpus=1", "strategy={framework: forerun}"])

# Of tests/torch/tiny.yaml on several GPUs, a process each: losses are those of the CPU backend, and a recorded step aligns.
STRATEGIES = {
    "one GPU": (1, []),
    "tp": (2, ["strategy.tp=2"]),
    "tp, sp": (2, ["strategy.tp=2", "strategy.sp=true"]),
    "tp, sp, chunked": (2, ["strategy.tp=2", "strategy.sp=true", "strategy.overlap.tp=chunked"]),
    "pp": (2, ["strategy.pp=2"]),
    "pp, vocabulary over the stages": (2, ["strategy.pp=2", "strategy.vocab_parallel=pipeline"]),
    "cp, ring": (2, ["strategy.cp=2"]),
    "cp, ulysses": (2, ["strategy.cp=2", "strategy.cp_kind=ulysses"]),
    "cp, gathered": (2, ["strategy.cp=2", "strategy.cp_kind=all_gather"]),
    "zero 1": (2, ["strategy.zero=1"]),
    "zero 2": (2, ["strategy.zero=2"]),
    "zero 3": (2, ["strategy.zero=3"]),
    "zero 3, two groups": (4, ["strategy.zero=3", "strategy.shard=2"]),
    "ep": (2, ["model.moe={experts: 4, top_k: 2, ffn: 48, every: 2}", "strategy.ep=2"]),
    "ep, etp": (4, ["model.moe={experts: 4, top_k: 2, ffn: 48, every: 2}", "strategy.tp=2", "strategy.sp=true", "strategy.ep=2",
                    "strategy.etp=2"]),
    "fp8, tp, sp": (2, ["training.precision=fp8", "training.fp8_recipe=delayed", "strategy.tp=2", "strategy.sp=true"]),
    "interleaved": (2, ["strategy.pp=2", "strategy.schedule=interleaved", "strategy.vpp=2", "model.layers=4"]),
    "zb-v": (2, ["strategy.pp=2", "strategy.schedule=zb-v", "model.layers=4"]),
    "dualpipe": (2, ["strategy.pp=2", "strategy.schedule=dualpipe", "model.layers=4"]),
    "pipedream": (2, ["strategy.pp=2", "strategy.schedule=pipedream"]),
    "graphs, tp, sp": (2, ["strategy.tp=2", "strategy.sp=true", "strategy.cuda_graphs=true"]),
    "graphs, zero 3": (2, ["strategy.zero=3", "strategy.cuda_graphs=true"]),
    "tp, pp, zero 1": (8, ["strategy.tp=2", "strategy.sp=true", "strategy.pp=2", "strategy.zero=1"]),
}

# Settings of the Job that a recorded step has to align under.
RECORDED = {
    "dense": [],
    "recomputed": ["strategy.recompute=full"],
    "experts": ["model.moe={experts: 4, top_k: 2, ffn: 48, every: 2}"],
    "latent": ["model.kv_heads=4", "model.mla={q_lora_rank: 24, kv_lora_rank: 16, rope_head_dim: 8, nope_head_dim: 16, "
               "value_head_dim: 16}"],
    "scores written": ["strategy.attention_kernel=unfused"],
    "dropout": ["training.dropout=0.1", "strategy.attention_kernel=unfused"],
    "adapters": ["strategy.lora={rank: 16, targets: [qkv, proj, ffn], base: bf16}"],
    "8-bit moments": ["training.optimizer=adamw8bit"],
    "two tokens ahead": ["model.mtp=2"],
    "fp8": ["training.precision=fp8", "training.fp8_recipe=tensorwise"],
    "fp8 delayed": ["training.precision=fp8", "training.fp8_recipe=delayed"],
    "activations on the host": ["strategy.offload={activations: cpu}"],
    "optimizer on the host": ["strategy.zero=1", "strategy.offload={optimizer: cpu}"],
    "graphs": ["strategy.cuda_graphs=true"],
}


def slices(small):
    """name: (job, settings). Differences of two give a layer, a sequence, a microbatch."""
    if small:
        job = os.path.join(TORCH, "tiny.yaml")
        return {f"{layers} layers": (job, [f"model.layers={layers}"]) for layers in (1, 2)}
    job, one = LLAMA
    out = {}
    for layers, tokens in ((2, 8192), (4, 8192), (8, 8192), (4, 2048), (8, 2048)):
        out[f"llama3-8b, {layers} layers, {tokens} tokens"] = (job, one + [
            f"model.layers={layers}", f"training.sequence={tokens}", "training.global_batch=1"])
    base = one + ["model.layers=4", "training.sequence=2048"]
    out["llama3-8b, 4 layers, 2048 tokens, graphs"] = (job, base + ["training.global_batch=1", "strategy.cuda_graphs=true"])
    out["llama3-8b, 4 layers, 2048 tokens, 4 microbatches"] = (job, base + ["training.global_batch=4"])
    out["llama3-8b, 4 layers, 4 x 2048 tokens"] = (
        job, base + ["training.global_batch=4", "training.micro_batch=4"])
    out["llama3-8b, 4 layers, 4 x 2048 tokens, recomputed"] = (
        job, base + ["training.global_batch=4", "training.micro_batch=4", "strategy.recompute=full"])
    out["mixtral-8x7b, 1 layer, 4096 tokens"] = (job, one + [
        "model=mixtral-8x7b", "model.layers=1", "training.sequence=4096", "training.global_batch=1"])
    out["llama3-8b, 4 layers, 8192 tokens, fp8"] = (job, one + [
        "model.layers=4", "training.sequence=8192", "training.global_batch=1", "training.precision=fp8",
        "training.fp8_recipe=delayed"])
    return out


def operators(small):
    """name: (job, settings) of steps whose operators are looked at one by one: what is beside the slices above."""
    tiny = os.path.join(TORCH, "tiny.yaml")
    experts = {"moe": "{experts: 8, top_k: 4, ffn: 48}"}
    dense, sparse, many, latent = (
        [(tiny, []), (tiny, [f"model.moe={experts['moe']}"]), (tiny, [f"model.moe={experts['moe']}"]),
         (tiny, RECORDED["latent"])] if small else
        [(LLAMA[0], LLAMA[1] + ["training.global_batch=1", *sides]) for sides in (
            ["model.layers=4", "training.sequence=8192"],
            ["model=mixtral-8x7b", "model.layers=1", "training.sequence=4096"],
            ["model=qwen3-30b-a3b", "model.layers=2", "training.sequence=8192"],
            ["model=deepseek-v2", "model.layers=1", "training.sequence=4096"])])
    cases = {
        "8-bit moments": (dense, ["training.optimizer=adamw8bit"]),
        "fp8, tensorwise": (dense, ["training.precision=fp8", "training.fp8_recipe=tensorwise"]),
        "fp8, blockwise": (dense, ["training.precision=fp8", "training.fp8_recipe=blockwise"]),
        "activations on the host": (dense, ["strategy.offload={activations: cpu}"]),
        "optimizer on the host": (dense, ["strategy.zero=1", "strategy.offload={optimizer: cpu}"]),
        "documents": (dense, [f"training.packing={{lengths: {[1, 31] if small else [1, 2047, 6144]}}}"]),
        "experts, summed apart": (sparse, ["strategy.fused_kernels.grad_accumulation=false"]),
        "experts, fp8": (sparse, ["training.precision=fp8", "training.fp8_recipe=tensorwise"]),
        "small experts": (many, []),
        "small experts, dropped": (many, ["strategy.moe_capacity_factor=1"]),
        "latent attention": (latent, []),
    }
    return {name: (job, base + settings) for name, ((job, base), settings) in cases.items()}


# Of tests/torch/tiny.yaml on four GPUs: every step ends, whether kernels are loaded at the start or when first launched.
CROWDED = {
    "tp, zero 3": ["strategy.tp=2", "strategy.sp=true", "strategy.zero=3"],
    "pp, zero 1": ["strategy.pp=2", "strategy.zero=1"],
    "experts that nobody chose": ["model.moe={experts: 4, top_k: 1, ffn: 48}", "strategy.ep=4", "training.sequence=2"],
}
