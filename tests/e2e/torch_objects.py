# SPDX-License-Identifier: Apache-2.0
"""Exchanges objects of different sizes: PyTorch computes their sizes on the GPU."""
import torch
import torch.distributed as dist

dist.init_process_group('nccl')
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank)
mine = [rank] * (100 * rank + 1)
gathered = [None] * world
dist.all_gather_object(gathered, mine)
assert gathered == [[r] * (100 * r + 1) for r in range(world)], gathered
dist.gather_object(mine, gathered if rank == 0 else None)
assert rank or gathered[1] == [1] * 101, gathered
scattered = [None]
dist.scatter_object_list(scattered, [[r] * (50 * r + 1) for r in range(world)] if rank == 0 else None)
assert scattered[0] == [rank] * (50 * rank + 1), scattered
if rank == 0:
    dist.send_object_list(['text', 7, mine], dst=1)
elif rank == 1:
    received = [None] * 3
    dist.recv_object_list(received, src=0)
    assert received == ['text', 7, [0]], received
print(f'rank {rank} done\n', end='')  # one write
dist.destroy_process_group()
