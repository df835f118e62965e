#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains an MLP, small GPTs and ResNet-18 on an emulated GPU and on the CPU: the losses are the same, to the rounding of float32."""
import math

import torch
import torch.nn.functional as F

try:
    import torchvision
except ImportError:
    torchvision = None


class Block(torch.nn.Module):
    def __init__(self, width, heads, attention):
        super().__init__()
        self.heads, self.attention = heads, attention
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (t.view(n, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(width, 2))
        x = x + self.out(self.attention(q, k, v).transpose(1, 2).reshape(n, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def eager(q, k, v):
    """Attention by single operators, as in nanoGPT without flash attention."""
    length = q.size(2)
    mask = torch.tril(torch.ones(length, length, device=q.device)).view(1, 1, length, length)
    weights = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
    return F.softmax(weights.masked_fill(mask == 0, float('-inf')), -1) @ v


class GPT(torch.nn.Module):
    def __init__(self, attention, words=50, length=32, width=64, heads=4, layers=2):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, width), torch.nn.Embedding(length, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, attention) for _ in range(layers))
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x):
        x = self.words(x) + self.places(torch.arange(x.size(1), device=x.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def losses(model, optimizer, inputs, labels, device, clip=0, steps=12, smoothing=0):
    """Losses of some steps of a copy of the model."""
    torch.manual_seed(1)
    model = model().to(device)
    optimizer, inputs, labels, result = optimizer(model.parameters()), inputs.to(device), labels.to(device), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs).flatten(0, -2), labels.flatten(), label_smoothing=smoothing)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        result.append(loss.item())
    return result


def check(name, *args, tolerance=1e-5, **more):
    want, got = (losses(*args, device, **more) for device in ('cpu', 'cuda'))
    assert all(math.isclose(a, b, rel_tol=tolerance) for a, b in zip(want, got)), f'{name}: {want} {got}'
    assert want[-1] < 0.9 * want[0], f'{name} does not learn: {want}'


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 10))


torch.manual_seed(0)
words = torch.randint(50, (4, 33))
check('MLP', mlp, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), torch.randn(32, 16), torch.randint(10, (32,)))
check('GPT', lambda: GPT(eager), lambda p: torch.optim.AdamW(p, lr=1e-3), words[:, :-1], words[:, 1:], clip=1.0)
# 1.6 million parameters and logits, of which each optimizer's kernel updates all.
check('words', lambda: GPT(F.scaled_dot_product_attention, words=25000), lambda p: torch.optim.AdamW(p, lr=4e-3, fused=True),
      words[:2, :-1], words[:2, 1:], steps=3)
if torchvision:
    check('ResNet-18', torchvision.models.resnet18, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-4),
          torch.randn(8, 3, 64, 64), torch.randint(10, (8,)), steps=4, smoothing=0.1, tolerance=1e-3)
print('done')
