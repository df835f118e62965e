#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pytorch.py BUILD PYTHON [import] [resnet50] [llama7b]: costs of emulation with PyTorch. PYTHON has torch, torchvision
and transformers.

import:   CPU time of `import torch` without and with the emulator (least of three).
resnet50: CPU time of a DistributedDataParallel step of ResNet-50 on 4 GPUs, all ranks together (32 images per GPU).
llama7b:  three steps of LLaMA-7B in bfloat16 on 8 GPUs of 80 GB with --no-data, AdamW, 2048 tokens per GPU, with
          DistributedDataParallel and with FSDP2: peak memory of all processes (sum of PSS), CPU and real time.
"""
import os
import pathlib
import resource
import subprocess
import sys
import time


def cpu_seconds(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def step_seconds(step, count):
    """CPU time of this process per step, without the first two steps."""
    for i in range(count):
        if i == 2:
            begin = cpu_seconds(resource.RUSAGE_SELF)
        step()
    return (cpu_seconds(resource.RUSAGE_SELF) - begin) / (count - 2)


def resnet50(torch, rank):
    import torchvision
    model = torch.nn.parallel.DistributedDataParallel(torchvision.models.resnet50().cuda(rank), device_ids=[rank])
    optimizer, loss = torch.optim.SGD(model.parameters(), 0.1), torch.nn.CrossEntropyLoss()
    images, labels = torch.randn(32, 3, 224, 224, device='cuda'), torch.zeros(32, dtype=torch.long, device='cuda')

    def step():
        optimizer.zero_grad()
        loss(model(images), labels).backward()
        optimizer.step()
        torch.cuda.synchronize()
    print(f'{step_seconds(step, 6):.3f} s of CPU time per step on rank {rank}', flush=True)


def llama7b(torch, rank, sharded):
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.set_default_dtype(torch.bfloat16)
    with torch.device('cuda', rank):
        model = LlamaForCausalLM(LlamaConfig(use_cache=False))
    if sharded:
        from torch.distributed.fsdp import fully_shard
        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
    else:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)
    tokens = torch.randint(0, 32000, (1, 2048), device='cuda')
    for _ in range(3):
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()


def worker(what):
    import torch
    torch.distributed.init_process_group('nccl')
    rank = torch.distributed.get_rank()
    torch.cuda.set_device(rank)
    resnet50(torch, rank) if what == 'resnet50' else llama7b(torch, rank, what == 'fsdp')
    torch.distributed.destroy_process_group()


def processes(top):
    """The process `top` and its descendants."""
    parents = {}
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rsplit(')', 1)[1].split()[1])
        except OSError:
            pass
    found, new = set(), {top}
    while new:
        found |= new
        new = {pid for pid, parent in parents.items() if parent in new}
    return found


def memory(pids):
    """Sum of their proportional set sizes, in bytes."""
    total = 0
    for pid in pids:
        try:
            total += 1024 * int(pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text().split('Pss:')[1].split()[0])
        except (OSError, IndexError):
            pass
    return total


def run(command):
    """(output, peak memory, CPU seconds, real seconds)."""
    before, begin, peak = cpu_seconds(resource.RUSAGE_CHILDREN), time.monotonic(), 0
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    while child.poll() is None:
        peak = max(peak, memory(processes(child.pid)))
        time.sleep(0.5)
    assert child.returncode == 0, (command, child.returncode)
    return child.stdout.read(), peak, cpu_seconds(resource.RUSAGE_CHILDREN) - before, time.monotonic() - begin


def main():
    build, python, *which = sys.argv[1:]
    which = which or ['import', 'resnet50', 'llama7b']
    emulator = [f'{build}/tools/gpuemu']
    if 'import' in which:
        for prefix in ([], [*emulator, '--']):
            seconds = min(run([*prefix, python, '-c', 'import torch'])[2] for _ in range(3))
            print(f'import torch{" with the emulator" if prefix else ""}: {seconds:.2f} s of CPU time')
    launch = [python, '-m', 'torch.distributed.run', '--nproc-per-node']
    if 'resnet50' in which:
        out = run([*emulator, '--gpus', '4', '--like', 'V100', '--', *launch, '4', __file__, 'worker', 'resnet50'])[0]
        lines = [float(line.split()[0]) for line in out.splitlines() if 's of CPU time' in line]
        assert len(lines) == 4, out
        print(f'ResNet-50 on 4 GPUs: {sum(lines):.2f} s of CPU time per step')
    for how in ('ddp', 'fsdp') if 'llama7b' in which else ():
        _, peak, cpu, real = run([*emulator, '--no-data', '--gpus', '8', '--like', 'H100', '--', *launch, '8', __file__, 'worker', how])
        print(f'LLaMA-7B on 8 GPUs, {how}: {peak / 1e9:.1f} GB of host memory, {cpu:.0f} s of CPU time, {real:.0f} s')


if __name__ == '__main__':
    worker(sys.argv[2]) if os.environ.get('RANK') else main()
