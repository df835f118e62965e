# SPDX-License-Identifier: Apache-2.0
"""Two GPUs at once: products of matrices on each, and copies to the CPU beside products.

    python two_gpus.py [--size 4000] [--products 50]

Prints a TSV line for each case: its name and its seconds. The cases are those of the chapter
"Automatic Parallelism" of the book "Dive into Deep Learning".
"""
import argparse
import time

import torch


def run(x, products):
    return [x.mm(x) for _ in range(products)]


def copy_to_cpu(results, non_blocking=False):
    return [y.to('cpu', non_blocking=non_blocking) for y in results]


def timed(name, work, *devices):
    """Prints the time of the work, which ends when the devices are idle."""
    start = time.perf_counter()
    result = work()
    for device in devices:
        torch.cuda.synchronize(device)
    print(name, time.perf_counter() - start, sep='\t', flush=True)
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--size', type=int, default=4000)
    parser.add_argument('--products', type=int, default=50)
    args = parser.parse_args()
    first, second = torch.device('cuda:0'), torch.device('cuda:1')
    x, y = (torch.rand(args.size, args.size, device=device) for device in (first, second))
    for matrix in x, y:  # the first product loads cuBLAS
        run(matrix, args.products)
        torch.cuda.synchronize(matrix.device)

    print('case', 'seconds', sep='\t')
    timed('GPU 1', lambda: run(x, args.products), first)
    timed('GPU 2', lambda: run(y, args.products), second)
    timed('GPU 1 and GPU 2', lambda: (run(x, args.products), run(y, args.products)), first, second)
    results = timed('product', lambda: run(x, args.products), first)
    timed('copy', lambda: copy_to_cpu(results), first)
    del results
    timed('product and copy', lambda: copy_to_cpu(run(x, args.products), True), first)


main()
