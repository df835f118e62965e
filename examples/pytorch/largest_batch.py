# SPDX-License-Identifier: Apache-2.0
"""The largest batch of a training step that the memory of the GPU holds, and what takes the memory.

    python largest_batch.py MODEL [--side 224] [--most 65536]

MODEL is a model of torchvision. Prints a TSV line for each batch that was tried: most MiB allocated
at a time, or "out of memory". The last line has the MiB of the parameters.
"""
import argparse

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument('model')
parser.add_argument('--side', type=int, default=224)
parser.add_argument('--most', type=int, default=65536)
args = parser.parse_args()
model = torchvision.models.get_model(args.model).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def peak(batch):
    """The most memory that two training steps take, in MiB; None if that is more than there is."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    try:
        for _ in range(2):
            images = torch.empty(batch, 3, args.side, args.side, device='cuda')
            labels = torch.zeros(batch, dtype=torch.int64, device='cuda')
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            optimizer.zero_grad()
    except torch.OutOfMemoryError:
        optimizer.zero_grad()
        return None
    return torch.cuda.max_memory_allocated() / 2**20


print('model', 'batch', 'MiB', sep='\t')
fits, fails = 0, args.most + 1
while fails - fits > 1:
    batch = max(1, min(2 * fits, args.most)) if fails > args.most else (fits + fails) // 2
    used = peak(batch)
    fits, fails = (batch, fails) if used else (fits, batch)
    print(args.model, batch, used or 'out of memory', sep='\t', flush=True)
parameters = sum(p.numel() * p.element_size() for p in model.parameters()) / 2**20
print(args.model, 'parameters', parameters, sep='\t')
