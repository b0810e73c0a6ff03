"""Numbers that real mode begins with, made again: starting values of parameters and the tokens that are learned from.

The generator is Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011); what is drawn from it is told in
real/executor/parameters.cpp and tokens.cpp.
"""
# SPDX-License-Identifier: Apache-2.0
import math

import torch

LOW = 0xFFFFFFFF
STEPS_A_KEY = (0x9E3779B9, 0xBB67AE85)
FACTORS = (0xD2511F53, 0xCD9E8D57)


def philox(key, counters):
    """The first two of four random words (int64 tensors below 2^32) of each counter under a key of 64 bits."""
    k0, k1 = key & LOW, key >> 32 & LOW
    c = [counters & LOW, counters >> 32 & LOW, torch.zeros_like(counters), torch.zeros_like(counters)]
    for _ in range(10):
        a, b = FACTORS[0] * c[0], FACTORS[1] * c[2]  # of which 64 bits are kept, signed ones
        c = [(b >> 32 & LOW) ^ c[1] ^ k0, b & LOW, (a >> 32 & LOW) ^ c[3] ^ k1, a & LOW]
        k0, k1 = k0 + STEPS_A_KEY[0] & LOW, k1 + STEPS_A_KEY[1] & LOW
    return c[0], c[1]


def key_of(layer, name, seed):
    """FNV-1a of "layer/name"."""
    key = 14695981039346656037 ^ seed
    for byte in f"{layer}/{name}".encode():
        key = (key ^ byte) * 1099511628211 % 2**64
    return key


def starting_values(layer, name, rows, columns, device, seed=1):
    """[rows, columns] of a normal distribution, its deviation 1 / sqrt(columns), by Box and Muller; float64."""
    out = torch.empty(rows * columns, dtype=torch.float64, device=device)
    for part in out.split(1 << 24):
        begin = part.storage_offset()
        first, second = philox(key_of(layer, name, seed), torch.arange(begin, begin + part.numel(), device=device))
        u, v = (first.double() + 1) / 2.0**32, second.double() / 2.0**32
        part.copy_(torch.sqrt(-2 * torch.log(u)) * torch.cos(2 * math.pi * v))
    return out.view(rows, columns) / math.sqrt(columns)


def sequence(number, length, vocabulary, seed=1):
    """The ids of a sequence and the one behind them: all but a tenth follow from the one before."""
    counters = torch.arange(number * (length + 1), (number + 1) * (length + 1))
    surprise, drawn = philox(seed, counters)
    out = []
    for i, (odd, chosen) in enumerate(zip(surprise.tolist(), drawn.tolist())):
        out.append(chosen % vocabulary if i == 0 or odd % 10 == 0 else (5 * out[-1] + 3) % vocabulary)
    return out


def begins_of_documents(packing, tokens, number, seed=1):
    """For each token of a sequence (counted within its step) where its document begins; lengths are drawn from a list, or
    from a normal distribution."""
    out = []
    for draw in range(tokens):
        first, second = philox(seed ^ 0x646F63756D656E74, torch.tensor([number * tokens + draw]))
        if packing.get("lengths"):
            length = packing["lengths"][first.item() % len(packing["lengths"])]
        else:
            u, v = (first.item() + 0.5) / 2.0**32, (second.item() + 0.5) / 2.0**32
            normal = math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)
            length = round(packing["mean"] + packing.get("deviation", 0) * normal)
        out += [len(out)] * max(1, length)
        if len(out) >= tokens:
            return out[:tokens]
    return out
