#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch operators and whole training steps on the GPU, and prints a line for each: class, name, time in us.

    operators.py [--only CLASS,...]                               on a real GPU
    gpuemu --like H100-SXM5 --no-data -- python operators.py      as the emulated GPU would take

The time of an operator is the median over several rounds of back-to-back launches, by CUDA events; the inputs of a
round are larger than the second-level cache where the operator moves much. compare_operators.py compares two tables.
"""
import argparse
import statistics
import sys

import torch
import torch.nn.functional as F

ROUNDS, LAUNCHES = 5, 10
GPU = torch.device('cuda')
SHORT = {torch.float32: 'f32', torch.float16: 'f16', torch.bfloat16: 'bf16'}


def median_us(work, launches=LAUNCHES, rounds=ROUNDS):
    """Returns the median time of one call of work() in us."""
    begun, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    ahead = torch.ones(4096, 4096, device=GPU)
    for _ in range(3):
        work()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        ahead @ ahead  # the host gets ahead, so that its launches do not limit
        begun.record()
        for _ in range(launches):
            work()
        ended.record()
        ended.synchronize()
        times.append(begun.elapsed_time(ended) * 1e3 / launches)
    return statistics.median(times)


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, device=GPU).to(dtype)


def products():
    shapes = [(n, n, n) for n in (512, 1024, 2048, 4096, 8192)]
    shapes += [(8192, 768, 768), (8192, 768, 3072), (8192, 3072, 768), (4096, 1280, 5120), (1024, 1024, 50257), (64, 4096, 4096)]
    for dtype in SHORT:
        for m, n, k in shapes:
            a, b = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
            yield f'{SHORT[dtype]} {m}x{n}x{k}', lambda: a @ b
    torch.backends.cuda.matmul.allow_tf32 = True
    for m, n, k in shapes[1:5]:
        a, b = random(m, k), random(k, n)
        yield f'tf32 {m}x{n}x{k}', lambda: a @ b
    torch.backends.cuda.matmul.allow_tf32 = False
    for b, m, n, k in ((96, 512, 512, 64), (96, 512, 64, 512), (256, 128, 128, 128)):
        x, y = random(b, m, k, dtype=torch.bfloat16), random(b, k, n, dtype=torch.bfloat16)
        yield f'bf16 {b} of {m}x{n}x{k}', lambda: torch.bmm(x, y)


def elementwise():
    for dtype in (torch.float32, torch.bfloat16):
        for n in (1 << 20, 1 << 23, 1 << 26, 1 << 28):
            a, b = random(n, dtype=dtype), random(n, dtype=dtype)
            out = torch.empty_like(a)
            yield f'add {SHORT[dtype]} {n}', lambda: torch.add(a, b, out=out)
            yield f'gelu {SHORT[dtype]} {n}', lambda: F.gelu(a)
            yield f'relu_ {SHORT[dtype]} {n}', lambda: torch.relu_(out)
            yield f'exp {SHORT[dtype]} {n}', lambda: torch.exp(a, out=out)
    a, b = random(1 << 26), torch.empty(1 << 26, device=GPU, dtype=torch.bfloat16)
    yield 'cast f32 to bf16 67108864', lambda: b.copy_(a)
    a = random(8192, 8192)
    yield 'transposed copy f32 8192x8192', lambda: a.t().contiguous()
    a, b = random(8192, 4096), random(8192, 4096)
    yield 'cat f32 8192x4096 twice', lambda: torch.cat((a, b), 1)
    yield 'add broadcast f32 8192x4096', lambda: a + b[0]
    yield 'dropout f32 8192x4096', lambda: F.dropout(a, 0.1)
    yield 'where f32 8192x4096', lambda: torch.where(a > 0, a, b)


def reductions():
    for rows, columns in ((1 << 16, 1024), (4096, 16384), (1024, 1024), (64, 1 << 20)):
        a = random(rows, columns)
        yield f'sum of rows f32 {rows}x{columns}', lambda: a.sum(1)
        yield f'sum of columns f32 {rows}x{columns}', lambda: a.sum(0)
        yield f'sum f32 {rows}x{columns}', lambda: a.sum()
        yield f'max of rows f32 {rows}x{columns}', lambda: a.amax(1)


def normalisations():
    for rows, columns in ((8192, 768), (16384, 1024), (4096, 4096), (65536, 512), (1024, 50257)):
        for dtype in (torch.float32, torch.bfloat16):
            a = random(rows, columns, dtype=dtype)
            weight, bias = random(columns, dtype=dtype), random(columns, dtype=dtype)
            yield f'softmax {SHORT[dtype]} {rows}x{columns}', lambda: F.softmax(a, 1)
            yield f'layer_norm {SHORT[dtype]} {rows}x{columns}', lambda: F.layer_norm(a, (columns,), weight, bias)
    for shape in ((64, 64, 112, 112), (64, 256, 56, 56), (64, 2048, 7, 7)):
        a, m = random(*shape), torch.nn.BatchNorm2d(shape[1]).to(GPU)
        yield f'batch_norm f32 {shape}', lambda: m(a)
    a, m = random(64, 64, 112, 112), torch.nn.MaxPool2d(3, 2, 1)
    yield 'max_pool f32 (64, 64, 112, 112)', lambda: m(a)


def indices():
    table, rows = random(50257, 1024), torch.randint(0, 50257, (16384,), device=GPU)
    yield 'embedding f32 16384 of 50257x1024', lambda: F.embedding(rows, table)
    logits, wanted = random(4096, 50257), torch.randint(0, 50257, (4096,), device=GPU)
    yield 'cross_entropy f32 4096x50257', lambda: F.cross_entropy(logits, wanted)
    parameters = [torch.nn.Parameter(random(1024, 1024)) for _ in range(48)]
    for p in parameters:
        p.grad = random(1024, 1024)
    adam = torch.optim.AdamW(parameters, foreach=True)
    yield 'AdamW foreach f32 48 of 1024x1024', adam.step
    sgd = torch.optim.SGD(parameters, lr=0.01, momentum=0.9, foreach=True)
    yield 'SGD foreach f32 48 of 1024x1024', sgd.step


def copies():
    for mb in (1, 16, 256):
        host, device = torch.empty(mb << 20, dtype=torch.uint8, pin_memory=True), torch.empty(mb << 20, dtype=torch.uint8, device=GPU)
        other = torch.empty_like(device)
        yield f'to the device {mb} MiB', lambda: device.copy_(host, non_blocking=True)
        yield f'to the host {mb} MiB', lambda: host.copy_(device, non_blocking=True)
        yield f'within the device {mb} MiB', lambda: other.copy_(device)
        yield f'fill {mb} MiB', device.zero_


def convolutions():
    layers = ((64, 3, 64, 224, 7, 2), (64, 64, 64, 56, 3, 1), (64, 64, 256, 56, 1, 1), (64, 128, 128, 28, 3, 1),
              (64, 256, 512, 56, 1, 2), (64, 512, 512, 7, 3, 1), (64, 2048, 512, 7, 1, 1))
    for name, dtype, tf32, layout in (('f32', torch.float32, False, torch.contiguous_format),
                                      ('tf32', torch.float32, True, torch.contiguous_format),
                                      ('bf16 channels_last', torch.bfloat16, True, torch.channels_last)):
        for n, c, k, size, r, stride in layers:
            x = random(n, c, size, size, dtype=dtype).to(memory_format=layout)
            w = random(k, c, r, r, dtype=dtype).to(memory_format=layout)
            torch.backends.cudnn.allow_tf32 = tf32
            y = F.conv2d(x, w, stride=stride, padding=r // 2)
            g = torch.randn_like(y)
            shape = f'{name} {n}x{c}x{size} to {k} by {r} stride {stride}'

            def backward(mask):
                return lambda: torch.ops.aten.convolution_backward(g, x, w, None, (stride, stride), (r // 2, r // 2), (1, 1), False,
                                                                   (0, 0), 1, mask)
            yield f'forward {shape}', lambda: F.conv2d(x, w, stride=stride, padding=r // 2)
            yield f'data {shape}', backward((True, False, False))
            yield f'filter {shape}', backward((False, True, False))
    torch.backends.cudnn.allow_tf32 = True


def attention():
    for b, h, n, d in ((16, 12, 1024, 64), (4, 16, 4096, 128)):
        q, k, v = (random(b, h, n, d, dtype=torch.bfloat16).requires_grad_() for _ in range(3))
        yield f'flash bf16 {b}x{h}x{n}x{d}', lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        g = torch.randn_like(y)
        yield f'flash backward bf16 {b}x{h}x{n}x{d}', lambda: torch.autograd.grad(y, (q, k, v), g, retain_graph=True)


def models():
    """Training steps of whole models."""
    import torchvision
    import transformers

    for name, batch in (('resnet50', 64), ('resnet50', 256), ('mobilenet_v2', 256), ('alexnet', 512), ('vgg16', 64)):
        model = getattr(torchvision.models, name)().to(GPU)
        sgd = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        x, wanted = random(batch, 3, 224, 224), torch.randint(0, 1000, (batch,), device=GPU)

        def step():
            sgd.zero_grad()
            F.cross_entropy(model(x), wanted).backward()
            sgd.step()
        yield f'{name} batch {batch} tf32 convolutions', step
    for name, size, batch, amp in (('gpt2', {}, 8, False), ('gpt2', {}, 16, True),
                                   ('gpt2-medium', {'n_embd': 1024, 'n_layer': 24, 'n_head': 16}, 8, True)):
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**size)).to(GPU)
        adam = torch.optim.AdamW(model.parameters(), foreach=True)
        words = torch.randint(0, 50257, (batch, 1024), device=GPU)

        def step():
            adam.zero_grad()
            with torch.autocast('cuda', torch.bfloat16, enabled=amp):
                loss = model(words, labels=words).loss
            loss.backward()
            adam.step()
        yield f'{name} batch {batch} of 1024 {"bf16 autocast" if amp else "f32"}', step


CLASSES = {'product': products, 'elementwise': elementwise, 'reduction': reductions, 'normalisation': normalisations,
           'index': indices, 'copy': copies, 'convolution': convolutions, 'attention': attention, 'model': models}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--only', default=','.join(CLASSES))
    for which in parser.parse_args().only.split(','):
        try:
            for name, work in CLASSES[which]():
                us = median_us(work, *((3, 3) if which == 'model' else ()))
                print(f'{which}\t{name}\t{us:.2f}', flush=True)
        except (RuntimeError, ImportError) as e:
            print(f'{which}: {e}', file=sys.stderr, flush=True)


if __name__ == '__main__':
    main()
