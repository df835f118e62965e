#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small training run with bit-identical results: prints its losses and a checksum of its parameters.

    train.py [STEPS]                                  alone
    torchrun --nproc-per-node N train.py [STEPS]      data-parallel, over NCCL
"""
import hashlib
import os
import sys

import torch

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
RANK = int(os.environ.get('LOCAL_RANK', -1))

torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
os.environ.setdefault('CUBLAS_WORKSPACE_CONFIG', ':4096:8')
device = torch.device('cuda', max(RANK, 0))
torch.cuda.set_device(device)
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.LayerNorm(2048),
                            torch.nn.Linear(2048, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(device)
if RANK >= 0:
    import torch.distributed as dist
    dist.init_process_group('nccl', device_id=device)
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[RANK])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
data = torch.randn(STEPS, 1024, 512)
wanted = torch.randint(0, 10, (STEPS, 1024))
for step in range(STEPS):
    torch.cuda.nvtx.range_push(f'step {step}')
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(data[step].to(device)), wanted[step].to(device))
    loss.backward()
    optimizer.step()
    if RANK <= 0:
        print(step, loss.item().hex())
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
if RANK <= 0:
    parameters = b''.join(p.detach().cpu().numpy().tobytes() for p in model.parameters())
    print('parameters', hashlib.sha256(parameters).hexdigest())
if RANK >= 0:
    dist.destroy_process_group()
