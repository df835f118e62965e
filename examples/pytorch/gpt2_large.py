# SPDX-License-Identifier: Apache-2.0
"""Steps of GPT2-Large (transformers, eager attention, FP32, 1024 tokens) by DistributedDataParallel.

    torchrun --nproc-per-node GPUS gpt2_large.py BATCH... [--steps 4]

BATCH is that of all GPUs together. Prints a TSV line for each batch: milliseconds of the fastest
forward and backward pass, by events.
"""
import argparse

import torch
import transformers

parser = argparse.ArgumentParser()
parser.add_argument('batch', type=int, nargs='+')
parser.add_argument('--steps', type=int, default=4)
args = parser.parse_args()

torch.distributed.init_process_group('nccl')
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
torch.cuda.set_device(rank)
torch.set_default_device('cuda')
config = transformers.GPT2Config(n_embd=1280, n_head=20, n_layer=36, use_cache=False, attn_implementation='eager')
model = torch.nn.parallel.DistributedDataParallel(transformers.GPT2LMHeadModel(config).train(), device_ids=[rank])
if rank == 0:
    print('batch', 'milliseconds', sep='\t')
for batch in args.batch:
    tokens, fastest = torch.ones(batch // world, 1024, dtype=torch.long), float('inf')
    for _ in range(args.steps):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        torch.distributed.barrier()
        start.record()
        model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=tokens).loss.backward()
        end.record()
        end.synchronize()
        fastest = min(fastest, start.elapsed_time(end))
        model.zero_grad()
    if rank == 0:
        print(batch, fastest, sep='\t', flush=True)
torch.distributed.destroy_process_group()
