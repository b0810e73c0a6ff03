"""Models of a Job in plain PyTorch, written from what the models are and not from this project's code: autograd makes
the gradients, torch.nn.functional the operators. Parameters have real mode's names and layouts, [out, in].
"""
# SPDX-License-Identifier: Apache-2.0
import math

import torch
import torch.nn.functional as F

from counter import begins_of_documents, starting_values

EPSILON = 1e-5
UNSUPPORTED = ("mtp", "embedding_norm", "post_norms", "full_every", "nope_every", "attention_chunk")


class Model:
    def __init__(self, spec, device, dtype, packing=None):
        unsupported = [key for key in UNSUPPORTED if spec.get(key)]
        if unsupported or spec.get("kind", "transformer") != "transformer":
            raise SystemExit(f"tests/torch has no model with {', '.join(unsupported) or spec['kind']}")
        self.spec, self.device, self.dtype, self.packing = spec, device, dtype, packing
        self.begins = None  # [batch, tokens], of each token's document
        self.heads, self.kv_heads = spec["heads"], spec["kv_heads"]
        self.head_dim = spec.get("head_dim") or spec["hidden"] // self.heads
        self.parameters, self.masters = {}, {}  # as they are multiplied with; as they were drawn, in float64
        self._start()

    # Parameters.

    def _add(self, layer, name, rows, columns, start="normal"):
        if start == "normal":
            value = starting_values(layer, name, rows, columns, self.device)
        else:
            value = torch.full((rows, columns), 1.0 if start == "one" else 0.0, dtype=torch.float64, device=self.device)
        value = value.squeeze(1 if columns == 1 else -1)
        self.masters[layer, name] = value
        self.parameters[layer, name] = value.to(self.dtype, copy=True).requires_grad_()

    def _add_norm(self, layer, name, width):
        self._add(layer, name + ".weight", width, 1, "one")
        if self.spec["norm"] == "layernorm" and self.spec.get("norm_bias", True):
            self._add(layer, name + ".bias", width, 1, "zero")

    def _add_linear(self, layer, name, out, width, bias):
        self._add(layer, name + ".weight", out, width)
        if bias:
            self._add(layer, name + ".bias", out, 1, "zero")

    def _start(self):
        s = self.spec
        hidden, bias = s["hidden"], s.get("bias", False)
        self._add(-1, "embedding.weight", s["vocab"], hidden)
        if s["position"] == "learned":
            self._add(-1, "position embedding.weight", s["max_positions"], hidden)
        for layer in range(s["layers"]):
            self._add_norm(layer, "attention norm", hidden)
            self._start_attention(layer, hidden, s.get("qkv_bias", bias), s.get("proj_bias", bias))
            if not s.get("parallel_block") or s.get("norms_in_parallel", 2) > 1:
                self._add_norm(layer, "feed-forward norm", hidden)
            up = 2 if s["gated_mlp"] else 1
            if self._has_experts(layer):
                self._start_experts(layer, hidden, up, bias)
            else:
                self._add_linear(layer, "feed-forward up", up * s["ffn"], hidden, bias)
                self._add_linear(layer, "feed-forward down", hidden, s["ffn"], bias)
        self._add_norm(-1, "final norm", hidden)
        if not s.get("tied_embeddings"):
            self._add_linear(-1, "output head", s["vocab"], hidden, s.get("head_bias", False))

    def _start_attention(self, layer, hidden, bias, output_bias):
        mla = self.spec.get("mla")
        if mla:
            own, rotary, value = mla["nope_head_dim"], mla["rope_head_dim"], mla["value_head_dim"]
            rank = mla.get("q_lora_rank", 0)
            if rank:
                self._add_linear(layer, "query down", rank, hidden, bias)
                self._add(layer, "query norm.weight", rank, 1, "one")
            self._add_linear(layer, "query up" if rank else "query", self.heads * (own + rotary), rank or hidden, False)
            self._add_linear(layer, "key and value down", mla["kv_lora_rank"] + rotary, hidden, bias)
            self._add(layer, "key and value norm.weight", mla["kv_lora_rank"], 1, "one")
            self._add_linear(layer, "key and value up", self.heads * (own + value), mla["kv_lora_rank"], False)
            width = self.heads * value
        else:
            width = self.heads * self.head_dim
            self._add_linear(layer, "qkv", width + 2 * self.kv_heads * self.head_dim, hidden, bias)
            if self.spec.get("qk_norm"):
                self._add_norm(layer, "query norm", self.head_dim)
                self._add_norm(layer, "key norm", self.head_dim)
        self._add_linear(layer, "attention output", hidden, width, output_bias)
        if self.spec.get("attention_sinks"):
            self._add(layer, "attention sinks", self.heads, 1, "zero")

    def _start_experts(self, layer, hidden, up, bias):
        moe = self.spec["moe"]
        experts, ffn, shared = moe["experts"], moe["ffn"], moe.get("shared_ffn", 0)
        self._add_linear(layer, "router", experts, hidden, moe.get("router_bias", False))
        self._add_linear(layer, "expert up", experts * up * ffn, hidden, bias)
        self._add_linear(layer, "expert down", experts * hidden, ffn, bias)
        if shared:
            self._add_linear(layer, "shared expert up", up * shared, hidden, bias)
            self._add_linear(layer, "shared expert down", hidden, shared, bias)

    def _has_experts(self, layer):
        moe = self.spec.get("moe")
        return bool(moe) and layer >= moe.get("first_dense", 0) and (layer + 1) % moe.get("every", 1) == 0

    # Forward.

    def _linear(self, layer, name, x):
        return F.linear(x, self.parameters[layer, name + ".weight"], self.parameters.get((layer, name + ".bias")))

    def _norm(self, layer, name, x):
        if self.spec["norm"] == "layernorm":
            weight, bias = self.parameters[layer, name + ".weight"], self.parameters.get((layer, name + ".bias"))
            return F.layer_norm(x, x.shape[-1:], weight, bias, EPSILON)
        return self._rms(layer, name, x)

    def _rms(self, layer, name, x):
        wide = x if x.dtype == torch.float64 else x.float()
        scaled = (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPSILON)).to(x.dtype)
        return scaled * self.parameters[layer, name + ".weight"]

    def _rotated(self, x):
        """Pairs (i, i + d / 2) of heads [batch, heads, tokens, d] turn by the token's place in its document."""
        half = x.shape[-1] // 2
        place = self._places()[:, None, :, None].double()
        rate = 10000.0 ** (-torch.arange(half, dtype=torch.float64, device=x.device) / half)
        wide = x if x.dtype == torch.float64 else x.float()
        scale = self.spec.get("rope_scale", 1)
        cos, sin = (scale * f(place * rate).to(wide.dtype) for f in (torch.cos, torch.sin))
        a, b = wide[..., :half], wide[..., half:]
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).to(x.dtype)

    def _places(self):
        return torch.arange(self.begins.shape[1], device=self.device) - self.begins

    def _slopes(self):
        """ALiBi, arXiv 2108.12409: 2^(-8 i / n); of n that is no power of two, every second one of the next finer."""
        def of(n):
            return [2.0 ** (-8.0 * i / n) for i in range(1, n + 1)]
        power = 2 ** int(math.log2(self.heads))
        values = of(power) + of(2 * power)[0::2][: self.heads - power]
        return torch.tensor(values, dtype=torch.float64, device=self.device)

    def _window(self, layer):
        window = self.spec.get("window", 0)
        return window if window and layer % self.spec.get("window_every", 1) == 0 else 0

    def _attend(self, layer, q, k, v):
        """Heads [batch, heads, tokens, d]; those of keys and values are repeated for the queries' groups."""
        k, v = (x.repeat_interleave(self.heads // x.shape[1], 1) for x in (k, v))
        window, tokens = self._window(layer), q.shape[-2]
        sinks, alibi = self.parameters.get((layer, "attention sinks")), self.spec["position"] == "alibi"
        scale = 1 / math.sqrt(q.shape[-1])
        if not (window or alibi or self.packing or sinks is not None) and hasattr(F, "scaled_dot_product_attention"):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = q @ k.transpose(-1, -2) * scale
        scores = scores if scores.dtype == torch.float64 else scores.float()
        behind = torch.arange(tokens, device=q.device)[:, None] - torch.arange(tokens, device=q.device)
        if alibi:
            scores = scores - (self._slopes()[:, None, None] * behind).to(scores.dtype)
        hidden = (behind < 0) | (behind >= window) if window else behind < 0
        hidden = (hidden | (self.begins[:, :, None] != self.begins[:, None, :]))[:, None]
        scores = scores.masked_fill(hidden, -math.inf)
        if sinks is not None:
            beside = sinks.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
            scores = torch.cat((scores, beside), -1)
        return torch.softmax(scores, -1)[..., :tokens].to(q.dtype) @ v

    def _attention(self, layer, x):
        batch, tokens, _ = x.shape
        def heads(t, count):
            return t.view(batch, tokens, count, -1).transpose(1, 2)
        mla, ropes = self.spec.get("mla"), self.spec["position"] == "rope"
        turned = self._rotated if ropes else lambda t: t
        if mla:
            own = mla["nope_head_dim"]
            if mla.get("q_lora_rank", 0):
                q = self._linear(layer, "query up", self._rms(layer, "query norm", self._linear(layer, "query down", x)))
            else:
                q = self._linear(layer, "query", x)
            narrow, shared = self._linear(layer, "key and value down", x).split(
                [mla["kv_lora_rank"], mla["rope_head_dim"]], -1)
            kv = heads(self._linear(layer, "key and value up", self._rms(layer, "key and value norm", narrow)),
                       self.heads)
            q, shared = heads(q, self.heads), turned(heads(shared, 1)).expand(-1, self.heads, -1, -1)
            q = torch.cat((q[..., :own], turned(q[..., own:])), -1)
            out = self._attend(layer, q, torch.cat((kv[..., :own], shared), -1), kv[..., own:])
        else:
            width, kv_width = self.heads * self.head_dim, self.kv_heads * self.head_dim
            q, k, v = self._linear(layer, "qkv", x).split([width, kv_width, kv_width], -1)
            q, k, v = heads(q, self.heads), heads(k, self.kv_heads), heads(v, self.kv_heads)
            if self.spec.get("qk_norm"):
                q, k = self._norm(layer, "query norm", q), self._norm(layer, "key norm", k)
            out = self._attend(layer, turned(q), turned(k), v)
        return self._linear(layer, "attention output", out.transpose(1, 2).reshape(batch, tokens, -1))

    def _activated(self, x):
        gate, rest = x.chunk(2, -1) if self.spec["gated_mlp"] else (x, 1)
        kind = self.spec["activation"]
        if kind == "swiglu":
            return F.silu(gate) * rest
        if kind == "clamped_swiglu":
            gate = gate.clamp(max=7)
            return gate * torch.sigmoid(1.702 * gate) * (rest.clamp(-7, 7) + 1)
        if kind == "relu":
            return F.relu(gate) * rest
        if kind == "squared_relu":
            return F.relu(gate).square() * rest
        return F.gelu(gate, approximate="tanh") * rest

    def _feed_forward(self, layer, name, x):
        return self._linear(layer, name + " down", self._activated(self._linear(layer, name + " up", x)))

    def _experts(self, layer, x):
        moe = self.spec["moe"]
        flat = x.reshape(-1, x.shape[-1])
        logits = self._linear(layer, "router", flat)
        wide = logits if logits.dtype == torch.float64 else logits.float()
        values, chosen = wide.topk(moe["top_k"], -1)
        share = torch.softmax(values, -1).to(x.dtype)
        out = torch.zeros_like(flat)
        def of(name, expert):
            whole = self.parameters.get((layer, name))
            return None if whole is None else whole.chunk(moe["experts"])[expert]
        for expert in range(moe["experts"]):
            token, place = (chosen == expert).nonzero(as_tuple=True)
            inner = F.linear(flat[token], of("expert up.weight", expert), of("expert up.bias", expert))
            result = F.linear(self._activated(inner), of("expert down.weight", expert), of("expert down.bias", expert))
            out = out.index_add(0, token, result * share[token, place][:, None])
        if moe.get("shared_ffn", 0):
            out = out + self._feed_forward(layer, "shared expert", flat)
        return out.view_as(x)

    def loss_sum(self, ids, number):
        """Of the targets behind each token; ids [batch, tokens + 1], the first of its step's sequence `number`."""
        s, (batch, tokens) = self.spec, (ids.shape[0], ids.shape[1] - 1)
        begins = [begins_of_documents(self.packing, tokens, number + i) if self.packing else [0] * tokens
                  for i in range(batch)]
        self.begins = torch.tensor(begins, device=self.device)
        x = F.embedding(ids[:, :-1], self.parameters[-1, "embedding.weight"])
        if s["position"] == "learned":
            x = x + F.embedding(self._places(), self.parameters[-1, "position embedding.weight"])
        for layer in range(s["layers"]):
            normed = self._norm(layer, "attention norm", x)
            before, x = x, x + self._attention(layer, normed)
            if s.get("parallel_block"):
                inner = normed if s.get("norms_in_parallel", 2) == 1 else self._norm(layer, "feed-forward norm", before)
            else:
                inner = self._norm(layer, "feed-forward norm", x)
            x = x + (self._experts(layer, inner) if self._has_experts(layer)
                     else self._feed_forward(layer, "feed-forward", inner))
        x = self._norm(-1, "final norm", x)
        head = "embedding" if s.get("tied_embeddings") else "output head"
        logits = self._linear(-1, head, x).flatten(0, 1)
        return F.cross_entropy(logits if logits.dtype == torch.float64 else logits.float(), ids[:, 1:].flatten(),
                               reduction="sum")
