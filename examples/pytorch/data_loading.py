# SPDX-License-Identifier: Apache-2.0
"""Trains a model of torchvision on all GPUs, with images from DataLoader workers.

    python data_loading.py MODEL WORKERS[:CACHED]... [--prepare MS] [--read MS]

Workers sleep --prepare milliseconds an image instead of decoding it. Of the images, CACHED percent
(100 by default) are in memory; the others take --read milliseconds each of one disk, which all
workers share. Prints a TSV line for each number of workers: images/s. 0 workers are no process.
"""
import argparse
import time

import torch
import torchvision
from torch.utils.data import DataLoader, Dataset

BATCH = 256
parser = argparse.ArgumentParser()
parser.add_argument('model')
parser.add_argument('workers', nargs='+')
parser.add_argument('--prepare', type=float, default=0)
parser.add_argument('--read', type=float, default=0)
args = parser.parse_args()


class Batches(Dataset):
    def __init__(self, cached):
        self.cached, self.disk = cached, torch.multiprocessing.get_context().Lock()

    def __getitem__(self, index):
        with self.disk:
            time.sleep(args.read * 1e-3 * BATCH * (1 - self.cached / 100))
        time.sleep(args.prepare * 1e-3 * BATCH)
        return index


def step():  # every batch has the same images, in page-locked memory
    torch.nn.functional.cross_entropy(parallel(images), labels.cuda(non_blocking=True)).backward()
    optimizer.step()
    optimizer.zero_grad()


images, labels = torch.zeros(BATCH, 3, 224, 224).pin_memory(), torch.zeros(BATCH, dtype=torch.int64).pin_memory()
parallel = torch.nn.DataParallel(torchvision.models.get_model(args.model).cuda())
optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)
step()  # the first step loads libraries and allocates memory
print('model', 'workers', 'cached', 'images/s', sep='\t')
for loaders in args.workers:
    workers, cached = map(int, f'{loaders}:100'.split(':')[:2])
    steps = workers * -(-6 // workers) if workers else 6  # each worker prepares as many batches
    loader = iter(DataLoader(Batches(cached), batch_size=None, sampler=range(10**6), num_workers=workers))
    for _ in range(2 * workers + 1):  # those that the workers prepare ahead
        next(loader)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
        next(loader)
    torch.cuda.synchronize()
    print(args.model, workers, cached, steps * BATCH / (time.perf_counter() - start), sep='\t', flush=True)
