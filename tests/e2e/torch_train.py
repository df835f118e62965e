#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses a published PyTorch: a matrix product, a small model, and the model with a process for each GPU under torchrun.

cuBLAS and NCCL give right results. PyTorch's own kernels have no host kernels and leave memory unchanged, so the loss
is not checked.
"""
import os

import torch


def product():
    a = torch.arange(64, dtype=torch.float32).reshape(8, 8)
    assert torch.equal((a.cuda() @ a.cuda()).cpu(), a @ a)
    assert (torch.randn(8, 8, device='cuda') @ a.cuda()).shape == (8, 8)


def train(model, device, steps=5):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for step in range(steps):
        with torch.cuda.nvtx.range(f'train_step {step}'):
            start.record()
            optimizer.zero_grad()
            loss = loss_of(model(torch.randn(32, 64, device=device)), torch.zeros(32, dtype=torch.int64).to(device))
            loss.backward()
            optimizer.step()
            end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0
    loss.item()


def model_on(device):
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.LayerNorm(128),
                               torch.nn.Linear(128, 10)).to(device)


def distributed():
    import torch.distributed as dist
    rank = int(os.environ['LOCAL_RANK'])
    torch.cuda.set_device(rank)
    dist.init_process_group('nccl', device_id=torch.device('cuda', rank))
    sent = torch.full((1000,), float(rank + 1)).cuda()
    dist.all_reduce(sent)
    n = dist.get_world_size()
    assert torch.equal(sent.cpu(), torch.full((1000,), n * (n + 1) / 2))
    train(torch.nn.parallel.DistributedDataParallel(model_on(rank), device_ids=[rank]), rank)
    dist.barrier()
    dist.destroy_process_group()
    print(f'rank {rank} done\n', end='')  # one write: torchrun's ranks share a file, unbuffered


if 'LOCAL_RANK' in os.environ:
    distributed()
else:
    product()
    train(model_on('cuda'), 'cuda')
    print('one GPU done')
