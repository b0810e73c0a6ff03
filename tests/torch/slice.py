#!/usr/bin/env python3
"""Times slices of Llama 3 8B in plain PyTorch on one GPU, eager and compiled, and records one step of some of them, to
stand beside `forerun measure` of the same slices.

usage: slice.py OUT

OUT gets torch.jsonl, a line for each slice, and traces of torch.profiler for `forerun import kineto`. Weights and
activations are bf16, masters, their gradients and AdamW's moments fp32, as in real mode; tokens are random.
"""
# SPDX-License-Identifier: Apache-2.0
import gzip
import json
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

HIDDEN, HEADS, KV_HEADS, WIDTH, FFN, VOCABULARY, THETA = 4096, 32, 8, 128, 14336, 128256, 500000.0
WARMUP, STEPS = 3, 8
FLASH, CUDNN = SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION

# layers, tokens, sequences, compiled, attention, name of the trace
SLICES = ((4, 8192, 1, False, CUDNN, "eager-cudnn"), (4, 8192, 1, False, FLASH, "eager-flash"),
          (4, 8192, 1, True, FLASH, "compiled"), (4, 2048, 1, False, FLASH, None), (8, 2048, 1, False, FLASH, None),
          (4, 2048, 4, False, CUDNN, None), (8, 8192, 1, False, CUDNN, None))


def linear(width, out):
    return nn.Linear(width, out, bias=False)


def turned(x, cos, sin):
    a, b = x.float().chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).to(x.dtype)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_ffn = nn.Parameter(torch.ones(HIDDEN)), nn.Parameter(torch.ones(HIDDEN))
        self.q, self.k, self.v = (linear(HIDDEN, n * WIDTH) for n in (HEADS, KV_HEADS, KV_HEADS))
        self.out = linear(HEADS * WIDTH, HIDDEN)
        self.gate, self.up, self.down = linear(HIDDEN, FFN), linear(HIDDEN, FFN), linear(FFN, HIDDEN)

    def forward(self, x, cos, sin):
        batch, tokens, _ = x.shape
        y = F.rms_norm(x, (HIDDEN,), self.before_attention)
        q, k, v = (f(y).view(batch, tokens, -1, WIDTH).transpose(1, 2) for f in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(turned(q, cos, sin), turned(k, cos, sin), v, is_causal=True, enable_gqa=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, tokens, -1))
        y = F.rms_norm(x, (HIDDEN,), self.before_ffn)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.norm, self.head = nn.Parameter(torch.ones(HIDDEN)), linear(HIDDEN, VOCABULARY)

    def forward(self, ids, targets, cos, sin):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, cos, sin)
        logits = self.head(F.rms_norm(x, (HIDDEN,), self.norm)).float()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Run:
    def __init__(self, layers, tokens, sequences, compiled, attention):
        with torch.device("cuda"):
            model = Llama(layers).to(torch.bfloat16)
            places = torch.arange(tokens).float()[:, None]
            angles = places * THETA ** (-torch.arange(WIDTH // 2).float() / (WIDTH // 2))
            self.cos, self.sin = angles.cos(), angles.sin()
            self.ids = torch.randint(0, VOCABULARY, (sequences, tokens + 1))
        self.weights = list(model.parameters())
        self.masters = [weight.detach().float() for weight in self.weights]
        self.optimizer = torch.optim.AdamW(self.masters, 1e-4, fused=True, weight_decay=0.0)
        self.loss = torch.compile(model) if compiled else model
        self.attention = attention

    def step(self):
        with sdpa_kernel(self.attention):
            loss = self.loss(self.ids[:, :-1], self.ids[:, 1:], self.cos, self.sin)
            loss.backward()
        for master, weight in zip(self.masters, self.weights):
            master.grad, weight.grad = weight.grad.float(), None
        nn.utils.clip_grad_norm_(self.masters, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        torch._foreach_copy_([weight.detach() for weight in self.weights], self.masters)
        return loss

    def timed(self):
        """Seconds of the device and of the host's issuing it."""
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        begin.record()
        host = time.perf_counter()
        loss = self.step()
        host = time.perf_counter() - host
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e-3, host, loss.item()


def record(run, path):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        run.step()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(path)
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
        packed.write(plain.read())
    os.remove(path)


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    torch.manual_seed(1)
    with open(os.path.join(out, "torch.jsonl"), "a", encoding="utf-8") as told:
        for layers, tokens, sequences, compiled, attention, trace in SLICES:
            torch._dynamo.reset()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            run = Run(layers, tokens, sequences, compiled, attention)
            times = [run.timed() for _ in range(WARMUP + STEPS)][WARMUP:]
            line = {"layers": layers, "tokens": tokens, "batch": sequences, "compiled": compiled, "backend": str(attention),
                    "step_s": statistics.median(t[0] for t in times), "host_s": statistics.median(t[1] for t in times),
                    "steps": [t[0] for t in times], "loss": times[-1][2], "peak": torch.cuda.max_memory_allocated(),
                    "reserved": torch.cuda.max_memory_reserved()}
            print(json.dumps(line), flush=True)
            told.write(json.dumps(line) + "\n")
            if trace:
                record(run, os.path.join(out, trace + ".json"))
            del run


if __name__ == "__main__":
    main()
