# SPDX-License-Identifier: Apache-2.0
"""Trains a model of torchvision on several GPUs, by DataParallel or DistributedDataParallel.

    python scaling.py MODEL BATCH... [--steps 3] [--side 112]
    torchrun --nproc-per-node GPUS scaling.py MODEL BATCH...

Under torchrun the GPUs are those of DistributedDataParallel; else all are of DataParallel. BATCH is
that of all GPUs together. Prints a TSV line for each batch: mean milliseconds of a step.
"""
import argparse
import os
import time

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument('model')
parser.add_argument('batch', type=int, nargs='+')
parser.add_argument('--steps', type=int, default=3)
parser.add_argument('--side', type=int, default=112)
args = parser.parse_args()

rank, world = int(os.environ.get('LOCAL_RANK', 0)), int(os.environ.get('WORLD_SIZE', 1))
torch.cuda.set_device(rank)
model = torchvision.models.get_model(args.model).cuda()
if world > 1:
    torch.distributed.init_process_group('nccl', device_id=torch.device('cuda', rank))
    kind, gpus = 'DDP', world
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
else:
    kind, gpus = 'DP', torch.cuda.device_count()
    model = torch.nn.DataParallel(model) if gpus > 1 else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def step(images, labels):
    images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
    optimizer.zero_grad()


if rank == 0:
    print('model', 'kind', 'gpus', 'batch', 'milliseconds', sep='\t')
for batch in args.batch:
    images, labels = torch.rand(batch // world, 3, args.side, args.side), torch.randint(1000, (batch // world,))
    images, labels = images.pin_memory(), labels.pin_memory()
    for _ in range(3):  # load libraries, allocate memory, and let DDP choose its buckets
        step(images, labels)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(args.steps):
        step(images, labels)
    torch.cuda.synchronize()
    if rank == 0:
        milliseconds = (time.perf_counter() - start) / args.steps * 1e3
        print(args.model, kind, gpus, batch, milliseconds, sep='\t', flush=True)
if world > 1:
    torch.distributed.destroy_process_group()
