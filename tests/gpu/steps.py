#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""steps.py [--profile] [--batch=N] STEPS: prints the median step time of a small training run in ms,
without the first ten steps."""
import contextlib
import statistics
import sys
import time

import torch

PROFILED = '--profile' in sys.argv
BATCH = next((int(a.split('=')[1]) for a in sys.argv if a.startswith('--batch=')), 16)
STEPS = int(sys.argv[-1])

torch.manual_seed(1)
device = torch.device('cuda')
layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, dropout=0.0)
model = torch.nn.TransformerEncoder(layer, 4).to(device)
optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
data = torch.randn(BATCH, 128, 512, device=device)
times = []
with torch.profiler.profile() if PROFILED else contextlib.nullcontext():
    for step in range(STEPS):
        begun = time.perf_counter()
        torch.cuda.nvtx.range_push(f'step {step}')
        optimizer.zero_grad()
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        loss.item()
        torch.cuda.nvtx.range_pop()
        times.append((time.perf_counter() - begun) * 1e3)
print(f'{statistics.median(times[10:]):.3f}')
