#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends Python objects from rank 0 to rank 1; PyTorch computes their size on the GPU."""
import torch
import torch.distributed as dist


def main():
    dist.init_process_group('nccl')
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    if rank == 0:
        dist.send_object_list([{'a': 1, 'b': 'x' * 100}, [1, 2, 3]], dst=1)
    else:
        dist.recv_object_list([None, None], src=0)
    torch.cuda.synchronize()
    dist.destroy_process_group()


main()
