#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPT with deterministic algorithms, alone or with DistributedDataParallel under torchrun."""
import os

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, LENGTH, WORDS, STEPS = 64, 4, 2, 32, 128, 3


class Block(nn.Module):

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (t.view(batch, length, HEADS, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(WIDTH, 2))
        scores = (q @ k.transpose(2, 3)) * (q.shape[-1]**-0.5)
        mask = torch.ones(length, length, device=x.device).tril()
        mixed = scores.masked_fill(mask == 0, float('-inf')).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):

    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))


def main():
    rank, ranks = int(os.environ.get('LOCAL_RANK', 0)), int(os.environ.get('WORLD_SIZE', 1))
    torch.manual_seed(rank)
    torch.use_deterministic_algorithms(True)
    torch.cuda.set_device(rank)
    model = GPT().to(rank)
    if ranks > 1:
        torch.distributed.init_process_group('nccl', device_id=torch.device('cuda', rank))
        model = nn.parallel.DistributedDataParallel(model, device_ids=[rank], bucket_cap_mb=0.05)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(STEPS):
        with torch.cuda.nvtx.range(f'train_step {step}'):
            tokens = torch.randint(WORDS, (4, LENGTH + 1)).to(rank)
            loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            loss.item()
    if ranks > 1:
        torch.distributed.destroy_process_group()


main()
