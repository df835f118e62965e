# SPDX-License-Identifier: Apache-2.0
"""Data parallelism in one process, step by step, as torch.nn.DataParallel does it in one call.

    python dataparallel.py MODEL GPUS BATCH...

For each batch prints a TSV line for each phase of a step (mean milliseconds; all GPUs are idle at
its end) and for each GPU (most MiB allocated at a time). Images are 112x112.
"""
import sys
import time

import torch
import torchvision
from torch.nn.parallel import comm, gather, parallel_apply, replicate, scatter

STEPS = 3
name, gpus, *batches = sys.argv[1:]
gpus, seconds = list(range(int(gpus))), {}


def phase(what, work):
    start = time.perf_counter()
    result = work()
    for gpu in gpus:
        torch.cuda.synchronize(gpu)
    seconds[what] = seconds.get(what, 0) + time.perf_counter() - start
    return result


def step(images, labels):
    inputs = phase('scatter', lambda: scatter((images,), gpus))
    replicas = phase('replicate', lambda: replicate(model, gpus, detach=True)) if len(gpus) > 1 else [model]
    if len(gpus) > 1:  # the copies are leaves, whose gradients are added below
        weights = [[p.requires_grad_() for m in r.modules() for p in m._former_parameters.values()] for r in replicas]
    outputs = phase('forward', lambda: parallel_apply(replicas, inputs, devices=gpus))
    output = phase('gather', lambda: gather(outputs, gpus[0]))
    loss = phase('loss', lambda: torch.nn.functional.cross_entropy(output, labels.to(gpus[0])))
    phase('backward', loss.backward)
    if len(gpus) > 1:
        sums = phase('reduce', lambda: comm.reduce_add_coalesced([[p.grad for p in w] for w in weights], gpus[0]))
        for parameter, gradient in zip(model.parameters(), sums):
            parameter.grad = gradient
    phase('update', optimizer.step)
    optimizer.zero_grad()


model = torchvision.models.get_model(name).to(gpus[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
print('model', 'gpus', 'batch', 'what', 'value', sep='\t')
for batch in map(int, batches):
    data = torch.rand(batch, 3, 112, 112), torch.randint(1000, (batch,))
    for _ in range(2):  # load libraries and allocate memory
        step(*data)
    seconds.clear()
    for _ in range(STEPS):
        step(*data)
    for what, total in seconds.items():
        print(name, len(gpus), batch, what, total / STEPS * 1e3, sep='\t', flush=True)
    for gpu in gpus:
        print(name, len(gpus), batch, f'GPU {gpu}', torch.cuda.max_memory_allocated(gpu) / 2**20, sep='\t')
