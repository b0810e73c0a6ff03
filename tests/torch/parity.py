#!/usr/bin/env python3
"""Trains the model of a Job in plain PyTorch and by `forerun measure`, from the same parameters on the same tokens, and
compares losses and gradient norms step by step; on a GPU the times of a step, too.

usage: parity.py FORERUN JOB [--steps N] [--backend cpu|gpu] [--set PATH=VALUE]... [--each FILE] [--json FILE]

On the CPU both compute in double and agree to rounding: 1e-9. On a GPU both are in bf16 with fp32 masters, sums and
moments: 1 % of a loss. VALUE is JSON, or text. --each: once more for each line of settings of FILE, beside those of
--set. Exit code 1: they do not agree.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import math
import subprocess
import sys
import time

import torch
import job as jobs
from counter import sequence
from model import Model

LEARNING_RATE, BETAS, ADAM_EPSILON, LARGEST_NORM = 1e-3, (0.9, 0.999), 1e-8, 1.0  # real mode's
WARMUP = 3  # steps that are not timed
TOLERANCE = {"cpu": {"loss": 1e-9, "norm": 1e-7}, "gpu": {"loss": 0.01, "norm": 0.05}}


class Trainer:
    """AdamW on masters, wider than what is multiplied with them where that is bf16."""

    def __init__(self, spec, training, backend):
        self.device = "cuda" if backend == "gpu" and torch.cuda.is_available() else "cpu"
        self.wide = torch.float32 if backend == "gpu" else torch.float64
        self.training, self.vocab = training, spec["vocab"]
        self.model = Model(spec, self.device, torch.bfloat16 if backend == "gpu" else torch.float64,
                           training.get("packing"))
        self.masters = [master.to(self.wide, copy=True) for master in self.model.masters.values()]
        self.model.masters.clear()
        self.optimizer = torch.optim.AdamW(self.masters, LEARNING_RATE, BETAS, ADAM_EPSILON, weight_decay=0.0)

    def batch(self, number):
        t = self.training
        first = number * t["global_batch"]
        return [sequence(first + i, t["sequence"], self.vocab) for i in range(t["global_batch"])]

    def step(self, ids):
        """The mean loss of the batch and the norm of all gradients."""
        t = self.training
        tokens, micro = t["global_batch"] * t["sequence"], t.get("micro_batch", 1)
        weights = list(self.model.parameters.values())
        sums, loss = [torch.zeros_like(m) for m in self.masters], torch.zeros((), dtype=self.wide, device=self.device)
        for number, part in enumerate(ids.split(micro)):
            one = self.model.loss_sum(part, number * micro) / tokens
            for total, gradient in zip(sums, torch.autograd.grad(one, weights)):
                total += gradient
            loss += one.detach()
        norm = torch.sqrt(sum(g.square().sum() for g in sums))
        factor = torch.clamp(LARGEST_NORM / norm, max=1.0)
        for master, gradient in zip(self.masters, sums):
            master.grad = gradient * factor
        self.optimizer.step()
        with torch.no_grad():
            for weight, master in zip(weights, self.masters):
                weight.copy_(master)
        return loss, norm

    def run(self, steps):
        out = {"losses": [], "norms": [], "steps_s": []}
        for number in range(steps):
            ids = torch.tensor(self.batch(number), device=self.device)
            if self.device == "cuda":
                torch.cuda.synchronize()
            begin = time.perf_counter()
            loss, norm = self.step(ids)
            out["losses"].append(loss.item())  # waits for the GPU
            out["norms"].append(norm.item())
            out["steps_s"].append(time.perf_counter() - begin)
        return out


def of_forerun(options, settings):
    words = [options.forerun, "measure", options.job, "--json", "-"]
    for setting in settings:
        words += ["--set", setting]
    if options.backend == "cpu":
        words += ["--backend", "cpu", "--steps", str(options.steps)]
    else:
        words += ["--warmup", str(WARMUP), "--steps", str(options.steps - WARMUP)]
    told = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
    if options.backend == "gpu":
        return {"losses": told["losses"], "norms": told["gradient_norms"], "steps_s": told["steps_s"]}
    return {"losses": [s["loss"] for s in told["steps"]], "norms": [s["gradient_norm"] for s in told["steps"]]}


def apart(a, b):
    """The largest difference, as a share."""
    if len(a) != len(b):
        raise SystemExit(f"{len(a)} steps here and {len(b)} there")
    return max(abs(x / y - 1) if math.isfinite(x / y) else math.inf for x, y in zip(a, b))


def median(values):
    return sorted(values)[len(values) // 2]


def compare(options, settings):
    """What is told of it; both runs and how far they are apart."""
    job = jobs.read(options.forerun, options.job, settings)
    theirs = Trainer(job["model"], job["training"], options.backend).run(options.steps)
    ours = of_forerun(options, settings)
    told = {"job": options.job, "set": settings, "backend": options.backend, "torch": torch.__version__,
            "loss_apart": apart(ours["losses"], theirs["losses"]), "norm_apart": apart(ours["norms"], theirs["norms"]),
            "forerun": ours, "pytorch": theirs}
    print(f"{' '.join(settings) or options.job}: {options.steps} steps, loss {theirs['losses'][0]:.6f} to "
          f"{theirs['losses'][-1]:.6f}; apart by {told['loss_apart']:.1e} of a loss, {told['norm_apart']:.1e} of a norm")
    if options.backend == "gpu" and not torch.cuda.is_available():
        print("  this PyTorch has no CUDA: it computed in bf16 on the CPU, and no times are compared")
    elif "steps_s" in ours:
        print(f"  a step: {median(ours['steps_s']):.6f} s here, {median(theirs['steps_s'][WARMUP:]):.6f} s in PyTorch")
    return told


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [line.split() for line in file if line.strip() and not line.startswith("#")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forerun")
    parser.add_argument("job")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--backend", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    parser.add_argument("--each", metavar="FILE")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()

    more = lines_of(options.each) if options.each else []
    told = [compare(options, options.set + settings) for settings in [[], *more]]
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1)
    limit = TOLERANCE[options.backend]
    agree = all(one["loss_apart"] <= limit["loss"] and one["norm_apart"] <= limit["norm"] for one in told)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
