#!/usr/bin/env python3
"""Times on one GPU, through PyTorch, what prices of frameworks' steps rest on and no published table tells.

usage: probe.py OUT [--only BLOCK,...] [--small]

OUT gets probe.jsonl, a line a figure, flushed as it is measured, and traces of torch.profiler for `forerun import kineto`.
Blocks, in the order in which they run:
  grouped    matmuls of a rank's experts: one kernel (torch._grouped_mm), one matmul an expert on 4 streams as
             Transformer Engine issues them, and on one stream; forward, input and weight gradients
  load       one kernel over and over for some seconds: its time in the first milliseconds and in the last second, clocks
  eager      norms, rotary embedding, activations and losses as models write them, forward and backward
  routing    what routers and permutations of experts are made of
  models     steps of Transformers' Llama and Qwen3-MoE slices, traced
  fsdp       host's time to issue layers: plain, fully_shard, tensor parallel by DTensor, compiled; collectives are none's
             (a fake process group), copies are real
  updates    AdamW fused, foreach and one by one; gradient norms
  attention  scaled_dot_product_attention by FlashAttention-2 and cuDNN
  long       the same over up to 262,144 tokens
  behind     kernels that wait for memory: alone and behind matmuls, over little and much memory
  context    memory that a context and the libraries take beside allocations
--small: a run without meaning on a machine without a GPU.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import gzip
import json
import os
import statistics
import threading
import time
import traceback

import torch
import torch.nn.functional as F
from torch import nn

BF16 = torch.bfloat16
BACKENDS = ("FLASH_ATTENTION", "CUDNN_ATTENTION")


class Clock:
    """Median seconds of the device by events; of the host where there is no GPU."""

    def __init__(self, small):
        self.small = small

    def sync(self):
        if not self.small:
            torch.cuda.synchronize()

    def of(self, call, repeats=9, warm=2, least=2e-3):
        for _ in range(warm):
            call()
        self.sync()
        begin = time.perf_counter()
        call()
        self.sync()
        inner = max(1, min(200, int(least / max(1e-6, time.perf_counter() - begin))))
        times = sorted(self.once(call, inner) for _ in range(repeats))
        return statistics.median(times), times[0], times[-1]

    def once(self, call, inner=1):
        if self.small:
            begin = time.perf_counter()
            for _ in range(inner):
                call()
            return (time.perf_counter() - begin) / inner
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(inner):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / inner


class Probe:
    def __init__(self, out, small):
        self.out, self.small, self.clock = out, small, Clock(small)
        self.device = "cpu" if small else "cuda"
        os.makedirs(out, exist_ok=True)
        self.file = open(os.path.join(out, "probe.jsonl"), "a", encoding="utf-8")

    def tell(self, **line):
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def timed(self, call, captured=False, repeats=7, warm=2, least=2e-3, **line):
        """Tells the seconds of a call, or why there are none."""
        try:
            median, low, high = self.clock.of(self.graph(call) if captured else call, repeats, warm, least)
            self.tell(**line, seconds=median, low=low, high=high)
        except Exception as error:  # pylint: disable=broad-except  # the other figures are wanted all the same
            self.tell(**line, failed=str(error)[:300])

    def tensor(self, *sides, scale=1.0, dtype=BF16):
        return torch.randn(*sides, device=self.device).mul_(scale).to(dtype)

    def graph(self, call):
        """`call` captured, so that the host's pace does not count; itself without a GPU."""
        if self.small:
            return call
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            call()
            call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        return graph.replay

    def trace(self, name, call):
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU] + ([] if self.small else [ProfilerActivity.CUDA])) as profiler:
            call()
            self.clock.sync()
        path = os.path.join(self.out, name + ".json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as plain:
            told = json.load(plain)
        told["traceName"] = name + ".json"  # not where it lay
        with gzip.open(path + ".gz", "wt", encoding="utf-8") as packed:
            json.dump(told, packed)
        os.remove(path)

    # Blocks.

    def grouped(self):
        streams = [] if self.small else [torch.cuda.Stream() for _ in range(4)]
        models = [(2, 16, 32)] if self.small else [(4096, 28672, 8), (14336, 4096, 8), (2048, 1536, 16), (768, 2048, 16), (2048, 1536, 128),
                                                  (7168, 4096, 8), (2048, 7168, 8), (7168, 4096, 32), (4096, 3072, 16)]
        for k, n, experts in models:
            for rows in ([4] if self.small else [64, 128, 256, 512, 1024, 2048, 4096]):
                if rows * experts > 40000 or rows * experts * max(k, n) > 2**30:
                    continue
                self._grouped(k, n, experts, rows, streams)

    def _grouped(self, k, n, experts, rows, streams):
        x, dy = self.tensor(experts * rows, k), self.tensor(experts * rows, n)
        turned = self.tensor(experts, n, k, scale=k**-0.5).transpose(1, 2)  # weights as nn.Linear keeps them, [n, k]
        ends = torch.arange(rows, experts * rows + 1, rows, device=self.device, dtype=torch.int32)
        y, dx = torch.empty_like(dy), torch.empty_like(x)
        xs, dys, ys, dxs = x.split(rows), dy.split(rows), y.split(rows), dx.split(rows)
        dw = torch.empty(experts, k, n, device=self.device, dtype=BF16)

        def each(call, side):
            if not side:
                for i in range(experts):
                    call(i)
                return
            main = torch.cuda.current_stream()
            for stream in side:
                stream.wait_stream(main)
            for i in range(experts):
                with torch.cuda.stream(side[i % len(side)]):
                    call(i)
            for stream in side:
                main.wait_stream(stream)

        singles = {"forward": lambda i: torch.mm(xs[i], turned[i], out=ys[i]),
                   "dgrad": lambda i: torch.mm(dys[i], turned[i].t(), out=dxs[i]),
                   "wgrad": lambda i: torch.mm(xs[i].t(), dys[i], out=dw[i])}
        wholes = {"forward": lambda: torch._grouped_mm(x, turned, offs=ends),
                  "dgrad": lambda: torch._grouped_mm(dy, turned.transpose(1, 2), offs=ends),
                  "wgrad": lambda: torch._grouped_mm(x.t(), dy, offs=ends)}
        about = {"captured": True, "least": 5e-4, "block": "grouped", "k": k, "n": n, "experts": experts, "rows": rows}
        for which, single in singles.items():
            self.timed(wholes[which], **about, which=which, how="one kernel")
            self.timed(lambda single=single: each(single, streams), **about, which=which, how="4 streams")
            self.timed(lambda single=single: each(single, []), **about, which=which, how="1 stream")
        self.timed(lambda: singles["forward"](0), **about, which="forward", how="one expert")

    def load(self):
        """Kernels of one kind over and over."""
        n = 64 if self.small else 8192
        a, b, c = self.tensor(n, n), self.tensor(n, n), self.tensor(n, n)
        wide, thin = self.tensor(n, n // 2), self.tensor(n // 2, 28 * n // 16)
        out = torch.empty(n, 28 * n // 16, device=self.device, dtype=BF16)
        kinds = {"matmul 8192 x 8192 x 8192": lambda: torch.mm(a, b, out=c),
                 "matmul 8192 x 14336 x 4096": lambda: torch.mm(wide, thin, out=out),
                 "copy": lambda: c.copy_(a)}
        heads, width = (2, 16) if self.small else (32, 128)
        for tokens in (128,) if self.small else (8192, 32768):
            for backend in BACKENDS:
                try:
                    for which, call in self._attentions(heads, heads, width, tokens, 1, backend).items():
                        kinds[f"{backend.split('_')[0].lower()} 1 x {tokens} causal, {heads} heads of {width} {which}"] = call
                except (RuntimeError, AttributeError, ImportError) as error:
                    self.tell(block="load", what=f"{backend} {tokens}", failed=str(error)[:300])
        for what, call in kinds.items():
            try:
                self._loaded(what, call, 0.2 if self.small else 3.0)
            except RuntimeError as error:
                self.tell(block="load", what=what, failed=str(error)[:300])

    def _attentions(self, heads, kv, width, tokens, batch, backend):
        """Forward and backward by one backend."""
        from torch.nn.attention import SDPBackend, sdpa_kernel
        q = self.tensor(batch, heads, tokens, width).requires_grad_()
        k, v = (self.tensor(batch, kv, tokens, width).requires_grad_() for _ in range(2))
        grad = self.tensor(batch, heads, tokens, width)

        def attend():
            with sdpa_kernel(getattr(SDPBackend, backend)):
                return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=kv != heads)

        def forward():
            with torch.no_grad():
                attend()

        done = attend()
        return {"forward": forward, "backward": lambda: torch.autograd.grad(done, (q, k, v), grad, retain_graph=True)}

    def _loaded(self, what, call, seconds):
        call()
        self.clock.sync()
        time.sleep(0.05 if self.small else 0.8)  # cool
        inner = max(1, int(2e-3 / max(1e-6, self.clock.once(call))))
        time.sleep(0.05 if self.small else 0.5)
        samples, clocks, stop = [], [], threading.Event()

        def watch():
            try:
                import pynvml
                pynvml.nvmlInit()
                card = pynvml.nvmlDeviceGetHandleByIndex(0)
                while not stop.wait(0.1):
                    clocks.append((time.perf_counter(), pynvml.nvmlDeviceGetClockInfo(card, pynvml.NVML_CLOCK_SM),
                                   pynvml.nvmlDeviceGetPowerUsage(card) / 1e3, pynvml.nvmlDeviceGetTemperature(card, 0)))
            except Exception as error:  # pylint: disable=broad-except  # a figure less, not a run less
                clocks.append((0, str(error), 0, 0))

        watcher = threading.Thread(target=watch)
        watcher.start()
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            marks = []
            for _ in range(20):
                marks.append(self._mark())
                for _ in range(inner):
                    call()
            marks.append(self._mark())
            self.clock.sync()
            samples += [self._between(a, b) / inner for a, b in zip(marks, marks[1:])]
        stop.set()
        watcher.join()
        # Over time, in parts that double: what the first milliseconds were, and where it settles.
        ends, told, at = [0.01 * 2**i for i in range(11)], [], 0.0
        part = []
        for sample in samples:
            at += sample * inner
            part.append(sample)
            if at >= ends[len(told)]:
                told.append((round(at, 4), statistics.median(part)))
                part = []
        self.tell(block="load", what=what, first=statistics.median(samples[:5]), last=statistics.median(samples[-len(samples) // 4:]),
                  over_time=told, clocks=[c[1:] for c in clocks[:3] + clocks[-3:]])

    def _mark(self):
        if self.small:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _between(self, a, b):
        return b - a if self.small else a.elapsed_time(b) * 1e-3

    def _passes(self, block, what, call, inputs, **about):
        """Forward and backward of call(*inputs)."""
        about |= {"block": block, "what": what}
        self.timed(lambda: call(*inputs), which="forward", **about)
        try:
            out = call(*inputs)
        except Exception:  # pylint: disable=broad-except  # told by the forward pass
            return
        grad, of = torch.randn_like(out), [x for x in inputs if x.requires_grad]
        self.timed(lambda: torch.autograd.grad(out, of, grad, retain_graph=True), which="backward", **about)

    def eager(self):
        def rms(x, w):
            wide = x.float()
            return w * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)

        def turned(q, cos, sin):
            half = q.shape[-1] // 2
            return q * cos + torch.cat((-q[..., half:], q[..., :half]), -1) * sin

        def halves(x):
            a, b = x.chunk(2, -1)
            return F.silu(a) * b

        def loss(logits, targets):
            return F.cross_entropy(logits.float(), targets)

        def shards(logits, targets):
            """As a vocabulary's shard computes it, by the operation."""
            wide = logits.float()
            wide = wide - wide.max(-1, keepdim=True)[0]
            exponents = wide.exp()
            return (exponents.sum(-1).log() - wide.gather(1, targets[:, None])[:, 0]).mean()

        compiled = (lambda f: f) if self.small else torch.compile
        for rows, width in ((32, 64),) if self.small else ((8192, 4096), (16384, 2048), (4096, 8192)):
            about = {"rows": rows, "width": width}
            x, y = self.tensor(rows, width).requires_grad_(), self.tensor(rows, width).requires_grad_()
            w = torch.ones(width, device=self.device, dtype=BF16, requires_grad=True)
            bias = torch.zeros(width, device=self.device, dtype=BF16, requires_grad=True)
            wide = x.detach().float().requires_grad_()
            self._passes("eager", "rms norm by the operation", rms, (x, w), **about)
            self._passes("eager", "rms norm by the operation, fp32", rms, (wide, w.detach().float().requires_grad_()), **about)
            self._passes("eager", "rms norm compiled", compiled(rms), (x, w), **about)
            if hasattr(F, "rms_norm"):
                self._passes("eager", "rms norm", lambda x, w, width=width: F.rms_norm(x, (width,), w, 1e-5), (x, w), **about)
            self._passes("eager", "layer norm", lambda x, w, b, width=width: F.layer_norm(x, (width,), w, b), (x, w, bias), **about)
            self._passes("eager", "add", lambda x, y: x + y, (x, y), **about)
            self._passes("eager", "dropout", lambda x: F.dropout(x, 0.1), (x,), **about)
            self._passes("eager", "gelu", lambda x: F.gelu(x, approximate="tanh"), (x,), **about)
            self._passes("eager", "silu and product", lambda x, y: F.silu(x) * y, (x, y), **about)
            self._passes("eager", "silu and product of halves", halves, (x,), **about)
            self._passes("eager", "silu and product of halves, compiled", compiled(halves), (x,), **about)
            heads = self.tensor(1, rows, width // 16 if self.small else width // 128, 16 if self.small else 128).requires_grad_()
            cos, sin = (self.tensor(rows, 1, heads.shape[-1]) for _ in range(2))
            self._passes("eager", "rotary", turned, (heads, cos, sin), **about)
            self._passes("eager", "rotary of turned heads", lambda q, c, s: turned(q.transpose(1, 2), c, s),
                         (heads, cos.transpose(0, 1), sin.transpose(0, 1)), **about)
            self._forget()
        for rows, width in ((32, 64),) if self.small else ((8192, 32000), (4096, 128256)):
            logits = self.tensor(rows, width).requires_grad_()
            targets = torch.randint(0, width, (rows,), device=self.device)
            for what, call in (("loss", loss), ("loss compiled", compiled(loss)), ("loss of a shard", shards),
                               ("loss of a shard, compiled", compiled(shards))):
                self._passes("eager", what, call, (logits, targets), rows=rows, width=width)
            self._forget()

    def routing(self):
        for tokens, hidden, experts, chosen in ((32, 16, 8, 2),) if self.small else ((4096, 2048, 128, 8), (8192, 4096, 8, 2), (4096, 7168, 256, 8)):
            about = {"tokens": tokens, "hidden": hidden, "experts": experts, "top_k": chosen}
            logits = self.tensor(tokens, experts, dtype=torch.float32).requires_grad_()
            x = self.tensor(tokens, hidden).requires_grad_()
            picks = logits.detach().topk(chosen, -1)[1]
            routed = torch.zeros(tokens, experts, dtype=torch.bool, device=self.device).scatter(1, picks, True)
            order = torch.arange(tokens, device=self.device).expand(experts, -1).masked_select(routed.t().contiguous())
            copies = self.tensor(tokens * chosen, hidden).requires_grad_()
            shares = torch.rand(tokens * chosen, 1, device=self.device).to(BF16).requires_grad_()
            flat = picks.flatten()
            index = order[:, None].expand(-1, hidden)
            one_by_one = {
                "top-k": lambda: logits.detach().topk(chosen, -1),
                "softmax": lambda: logits.detach().softmax(-1),
                "map": lambda: torch.zeros_like(routed).scatter(1, picks, True),
                "turned map": lambda: routed.t().contiguous(),
                "masked select": lambda: torch.arange(tokens, device=self.device).expand(experts, -1).masked_select(routed.t()),
                "count": lambda: routed.sum(0),
                "sort": lambda: flat.sort(stable=True),
                "histogram": lambda: torch.histc(flat.float(), experts, 0, experts - 1)}
            for what, call in one_by_one.items():
                self.timed(call, block="routing", what=what, which="forward", **about)
            self._passes("routing", "index select", lambda x: x.index_select(0, order), (x,), **about)
            self._passes("routing", "weigh", lambda c, s: c * s, (copies, shares), **about)
            self._passes("routing", "scatter add", lambda c: torch.zeros_like(x).scatter_add(0, index, c), (copies,), **about)
            self._passes("routing", "index add", lambda c: torch.zeros_like(x).index_add(0, order, c), (copies,), **about)
            self._passes("routing", "view and sum", lambda c: c.view(tokens, chosen, hidden).sum(1), (copies,), **about)
            self._forget()

    def models(self):
        import transformers
        from transformers import AutoModelForCausalLM
        tokens = 64 if self.small else 8192
        sides = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512}
        llama = sides if self.small else {"hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
                                          "num_key_value_heads": 8, "vocab_size": 128256, "rope_theta": 500000.0}
        qwen = sides | {"head_dim": 16, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32} if self.small else {
            "hidden_size": 2048, "intermediate_size": 6144, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
            "vocab_size": 151936, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
            "norm_topk_prob": True}
        mixtral = sides | {"num_local_experts": 4, "num_experts_per_tok": 2} if self.small else {
            "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
            "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2}
        cases = [("transformers-llama", "LlamaConfig", llama, 2, tokens, {}),
                 ("transformers-qwen3-moe", "Qwen3MoeConfig", qwen, 2, tokens // 2, {"experts": "grouped_mm"}),
                 ("transformers-qwen3-moe-eager", "Qwen3MoeConfig", qwen, 2, tokens // 2, {"experts": "eager"}),
                 ("transformers-mixtral", "MixtralConfig", mixtral, 1, tokens // 2, {"experts": "grouped_mm"}),
                 ("transformers-llama-compiled", "LlamaConfig", llama, 2, tokens, {"compiled": True})]
        for name, config, keys, layers, length, how in cases:
            model = None
            try:
                config = getattr(transformers, config)(num_hidden_layers=layers, max_position_embeddings=length, use_cache=False, **keys)
                config._attn_implementation = "sdpa"
                if "experts" in how:
                    config._experts_implementation = how["experts"]
                with torch.device(self.device):
                    model = AutoModelForCausalLM.from_config(config, dtype=BF16)
                model.train()
                self._model(name, model, layers, length, how)
            except Exception as error:  # pylint: disable=broad-except  # the others are wanted all the same
                self.tell(block="models", what=name, failed=traceback.format_exc()[-600:], error=str(error)[:200])
            del model
            self._forget()

    def _forget(self):
        if not self.small:
            torch._dynamo.reset()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def _model(self, name, model, layers, length, how):
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=not self.small)
        ids = torch.randint(0, 512, (1, length), device=self.device)
        call = torch.compile(model) if how.get("compiled") else model

        def step():
            loss = call(input_ids=ids, labels=ids).loss
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

        times, hosts = [], []
        for i in range(3 if self.small else 8):
            host = time.perf_counter()
            begin = self._mark()
            step()
            end = self._mark()
            host = time.perf_counter() - host
            self.clock.sync()
            if i >= 2:
                times.append(self._between(begin, end))
                hosts.append(host)
        self.tell(block="models", what=name, layers=layers, tokens=length, seconds=statistics.median(times),
                  host=statistics.median(hosts), **how,
                  peak=0 if self.small else torch.cuda.max_memory_allocated())
        self.trace(name, step)

    def fsdp(self):
        import torch.distributed as dist
        from torch.testing._internal.distributed.fake_pg import FakeStore
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                                       parallelize_module)
        mesh = init_device_mesh(self.device, (8,))
        policy = MixedPrecisionPolicy(param_dtype=BF16, reduce_dtype=torch.float32)

        def shard(model):
            for layer in model.layers:
                fully_shard(layer, mesh=mesh, mp_policy=policy)
            fully_shard(model, mesh=mesh, mp_policy=policy)

        def tensor(model, sp):
            from torch.distributed.tensor import Replicate, Shard
            def row():
                return RowwiseParallel(output_layouts=Shard(1)) if sp else RowwiseParallel()

            def gathered():
                return PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))

            for layer in model.layers:
                plan = {"attention.q": ColwiseParallel(), "attention.k": ColwiseParallel(), "attention.v": ColwiseParallel(),
                        "attention.out": row(), "ffn.gate": ColwiseParallel(), "ffn.up": ColwiseParallel(), "ffn.down": row()}
                if sp:
                    plan |= {"norm1": SequenceParallel(), "norm2": SequenceParallel(), "attention": gathered(), "ffn": gathered()}
                layer.tensor_parallel(8)
                parallelize_module(layer, mesh, plan)

        def compiled(model):
            for layer in model.layers:
                layer.compile()

        ways = {"plain": [], "compiled": [compiled], "fully_shard": [shard], "fully_shard, compiled": [compiled, shard],
                "tensor parallel": [lambda m: tensor(m, False)], "tensor and sequence parallel": [lambda m: tensor(m, True)],
                "tensor and sequence parallel, compiled": [lambda m: tensor(m, True), compiled]}
        for way, steps in ways.items():
            times = {}
            try:
                for layers in (2, 4) if self.small else (4, 12):
                    times[layers] = self._issued(layers, steps)
                few, many = sorted(times)
                self.tell(block="fsdp", what=way, by_layers=times,
                          layer={key: (times[many][key] - times[few][key]) / (many - few) for key in times[few]})
            except Exception as error:  # pylint: disable=broad-except
                self.tell(block="fsdp", what=way, failed=traceback.format_exc()[-800:], error=str(error)[:200])
            self._forget()
        if not self.small:
            try:
                self._copies(shard)
            except Exception:  # pylint: disable=broad-except
                self.tell(block="fsdp", what="copies", failed=traceback.format_exc()[-800:])
        dist.destroy_process_group()

    def _issued(self, layers, steps):
        """Host's seconds of a forward and a backward pass of small layers, which the device keeps up with."""
        with torch.device(self.device):
            model = Decoder(layers, 256, 8, 512).to(torch.float32 if steps else BF16)
        for change in steps:
            change(model)
        x = self.tensor(1, 64, 256, dtype=next(model.parameters()).dtype)
        passes = []
        for _ in range(4 if self.small else 14):
            self.clock.sync()
            a = time.perf_counter()
            out = model(x).sum()
            b = time.perf_counter()
            self.clock.sync()
            c = time.perf_counter()
            out.backward()
            passes.append((b - a, time.perf_counter() - c))
            model.zero_grad()
        kept = passes[len(passes) // 2:]
        kernels = self._count(model, x)
        return {"forward": statistics.median(p[0] for p in kept), "backward": statistics.median(p[1] for p in kept), **kernels}

    def _count(self, model, x):
        from torch.profiler import ProfilerActivity, profile
        if self.small:
            return {}
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            model(x).sum().backward()
            self.clock.sync()
        return {"kernels": sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profiler.events())}

    def _copies(self, shard):
        """Llama 3 8B's layers sharded 8 ways: what copies into and out of gathers take."""
        with torch.device(self.device):
            model = Decoder(4, 4096, 32, 14336)
        shard(model)
        x = self.tensor(1, 8192, 4096)

        def step():
            model(x).sum().backward()
            model.zero_grad()

        for _ in range(3):
            step()
        self.trace("fully-shard-copies", step)

    def updates(self):
        count, parts = (4096, 4) if self.small else (1 << 29, 64)
        for dtype in (torch.float32, BF16):
            about = {"block": "updates", "dtype": str(dtype), "numbers": count}
            weights = [torch.randn(count // parts, device=self.device).to(dtype).requires_grad_() for _ in range(parts)]
            for weight in weights:
                weight.grad = torch.randn_like(weight)
            ways = {"fused": {"fused": True}, "foreach": {"foreach": True}, "one by one": {"foreach": False, "fused": False}}
            for way, keys in ways.items():
                if self.small and way == "fused":
                    continue
                optimizer = torch.optim.AdamW(weights, 1e-4, **keys)
                self.timed(optimizer.step, repeats=5, least=0, **about, what="adamw", way=way)
                del optimizer
                self._forget()
            self.timed(lambda w=weights: nn.utils.clip_grad_norm_(w, 1e9), repeats=5, **about, what="clip_grad_norm_")
            del weights
            self._forget()

    def attention(self):
        for heads, kv, width in ((2, 2, 16),) if self.small else ((32, 8, 128), (16, 16, 64), (32, 32, 128)):
            for tokens in (64,) if self.small else (1024, 4096, 16384):
                self._by_each_backend("attention", heads, kv, width, tokens, 1 if self.small else 16384 // tokens, repeats=5)

    def long(self):
        heads, width = (2, 16) if self.small else (8, 128)
        for tokens in (64,) if self.small else (8192, 32768, 131072, 262144):
            self._by_each_backend("long", heads, heads, width, tokens, 1, repeats=3, warm=1)

    def _by_each_backend(self, block, heads, kv, width, tokens, batch, **how):
        for backend in BACKENDS:
            about = {"block": block, "backend": backend, "heads": heads, "kv_heads": kv, "width": width, "tokens": tokens,
                     "batch": batch}
            try:
                for which, call in self._attentions(heads, kv, width, tokens, batch, backend).items():
                    self.timed(call, least=0, **how, **about, which=which)
            except (RuntimeError, AttributeError, ImportError) as error:
                self.tell(**about, failed=str(error)[:200])

    def behind(self):
        n = 64 if self.small else 8192
        a, b, c = self.tensor(n, n), self.tensor(n, n), self.tensor(n, n)

        def matmuls(seconds):
            for _ in range(0 if self.small else int(seconds / 1.5e-3)):
                torch.mm(a, b, out=c)

        def told(call, load, repeats=7, **line):
            """Behind so many seconds of matmuls, in one queue."""
            times = []
            call()
            for _ in range(repeats):
                self.clock.sync()
                matmuls(load)
                times.append(self.clock.once(call))
            times.sort()
            self.tell(block="behind", **line, behind=load, seconds=statistics.median(times), low=times[0], high=times[-1])

        loads = (0, 0.02, 0.2)
        rows, width = (32, 64) if self.small else (8192, 4096)
        x, y, z = (self.tensor(rows, width) for _ in range(3))
        weight = torch.ones(width, device=self.device, dtype=BF16)
        gate, up, gated = (self.tensor(rows, 3 * width + width // 2) for _ in range(3))
        kernels = {"add": lambda: torch.add(x, y, out=z), "copy": lambda: z.copy_(x), "multiply": lambda: torch.mul(gate, up, out=gated),
                   "layer norm": lambda: F.layer_norm(x, (width,), weight)}
        for what, kernel in kernels.items():
            for load in loads:
                told(lambda kernel=kernel: [kernel() for _ in range(4)], load, what=what, calls=4, rows=rows, width=width)
        for power in (12, 13) if self.small else range(26, 32):
            for piece in (10,) if self.small else (22, 26):
                parts = [torch.randn(1 << piece, device=self.device).requires_grad_() for _ in range(1 << power - piece)]
                for part in parts:
                    part.grad = torch.randn_like(part)
                optimizer = torch.optim.AdamW(parts, 1e-4, **({} if self.small else {"fused": True}))
                for load in loads:
                    told(optimizer.step, load, repeats=4, what="adamw", numbers=1 << power, piece=1 << piece)
                    told(lambda parts=parts: torch._foreach_norm([p.grad for p in parts]), load, repeats=4, what="norms",
                         numbers=1 << power, piece=1 << piece)
                del parts, optimizer, part
                self._forget()

    def context(self):
        if self.small:
            return
        import pynvml
        pynvml.nvmlInit()
        card = pynvml.nvmlDeviceGetHandleByIndex(0)

        def told(what):
            torch.cuda.synchronize()
            self.tell(block="context", what=what, reserved=torch.cuda.memory_reserved(),
                      used=pynvml.nvmlDeviceGetMemoryInfo(card).used, of=pynvml.nvmlDeviceGetMemoryInfo(card).total)

        told("whatever ran before")
        x = self.tensor(1024, 1024)
        told("a tensor")
        x @ x
        told("cuBLAS")
        for backend in BACKENDS:
            for call in self._attentions(8, 8, 128, 1024, 1, backend).values():
                call()
            told(backend)


class Attention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))

    def forward(self, y):
        batch, tokens, _ = y.shape
        q, k, v = (f(y).view(batch, tokens, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(attended.transpose(1, 2).reshape(batch, tokens, -1))


class FeedForward(nn.Module):
    def __init__(self, hidden, ffn):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(hidden, ffn, bias=False), nn.Linear(hidden, ffn, bias=False), nn.Linear(ffn, hidden, bias=False)

    def forward(self, y):
        return self.down(F.silu(self.gate(y)) * self.up(y))


class Layer(nn.Module):
    def __init__(self, hidden, heads, ffn):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.attention, self.ffn = Attention(hidden, heads), FeedForward(hidden, ffn)

    def tensor_parallel(self, ranks):
        self.attention.heads //= ranks

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, layers, hidden, heads, ffn):
        super().__init__()
        self.layers = nn.ModuleList(Layer(hidden, heads, ffn) for _ in range(layers))
        self.norm = nn.RMSNorm(hidden)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


BLOCKS = ("grouped", "load", "eager", "routing", "models", "fsdp", "updates", "attention", "long", "behind", "context")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--only", default=",".join(BLOCKS))
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    probe = Probe(options.out, options.small)
    if not options.small:
        probe.tell(block="machine", gpu=torch.cuda.get_device_name(), torch=torch.__version__, cuda=torch.version.cuda,
                   date=time.strftime("%Y-%m-%d"))
    for name in options.only.split(","):
        begin = time.perf_counter()
        try:
            getattr(probe, name)()
            said = "ok"
        except Exception:  # pylint: disable=broad-except  # the blocks behind it are wanted all the same
            said = traceback.format_exc()[-600:]
            probe.tell(block=name, failed=said)
        print(f"{name:<10}{time.perf_counter() - begin:7.1f} s  {said}", flush=True)


if __name__ == "__main__":
    main()
