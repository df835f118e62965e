#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Convolutions on an emulated GPU against PyTorch on the CPU; then training steps of published models, LSTM, GRU and
attention, which must run. Values of large models are not checked: most of their kernels compute nothing."""
import os

import torch
import torch.nn.functional as F

try:
    import torchvision
except ImportError:
    torchvision = None


def check(name, f, *inputs):
    """Compares f and its gradients."""
    on_cpu = [t.clone().requires_grad_() for t in inputs]
    on_gpu = [t.cuda().requires_grad_() for t in inputs]
    want, got = f(*on_cpu), f(*on_gpu)
    gradient = torch.randn(want.shape)
    want.backward(gradient)
    got.backward(gradient.cuda())
    for a, b in [(want, got)] + [(a.grad, b.grad) for a, b in zip(on_cpu, on_gpu)]:
        assert torch.allclose(a.detach(), b.detach().cpu(), rtol=1e-4, atol=1e-4), name


def convolutions():
    random = torch.randn
    check('2d', lambda x, w: F.conv2d(x, w, padding=1), random(2, 4, 9, 11), random(6, 4, 3, 3))
    check('stride, dilation', lambda x, w: F.conv2d(x, w, stride=2, dilation=2, padding=(1, 2)), random(2, 4, 19, 11),
          random(6, 4, 3, 3))
    check('groups', lambda x, w: F.conv2d(x, w, groups=2, padding=1), random(2, 4, 9, 11), random(6, 2, 3, 3))
    check('1d', lambda x, w: F.conv1d(x, w, padding=1), random(2, 4, 19), random(6, 4, 3))
    check('3d', lambda x, w: F.conv3d(x, w, padding=1), random(2, 4, 5, 6, 7), random(6, 4, 3, 3, 3))
    check('transposed', lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), random(2, 4, 5, 6), random(4, 6, 3, 3))
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        check('without TF32', lambda x, w: F.conv2d(x, w, padding=1), random(2, 4, 9, 11), random(6, 4, 3, 3))


def step(model, *inputs):
    out = model(*inputs)
    out = out[0] if isinstance(out, tuple) else out
    out.float().mean().backward()
    torch.cuda.synchronize()


class UNet(torch.nn.Module):
    """One level: two convolutions, down, two, up by a transposed convolution, and two more."""

    def __init__(self, width=16):
        super().__init__()
        self.a, self.b, self.c = self.block(3, width), self.block(width, 2 * width), self.block(2 * width, width)
        self.up, self.out = torch.nn.ConvTranspose2d(2 * width, width, 2, 2), torch.nn.Conv2d(width, 2, 1)

    @staticmethod
    def block(inputs, outputs):
        layers = []
        for n in (inputs, outputs):
            layers += [torch.nn.Conv2d(n, outputs, 3, padding=1), torch.nn.BatchNorm2d(outputs), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers)

    def forward(self, x):
        x = self.a(x)
        low = self.up(self.b(F.max_pool2d(x, 2)))
        return self.out(self.c(torch.cat([x, low], 1)))


def models():
    images = torch.randn(2, 3, 224, 224, device='cuda')
    step(UNet().cuda(), images)
    with torch.autocast('cuda', dtype=torch.float16):
        step(UNet().cuda().to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last))
    for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        step(kind(64, 128, num_layers=2, dropout=0.5).cuda(), torch.randn(16, 20, 64, device='cuda'))
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(20, 4, 64, device='cuda'), [20, 15, 10, 5])
    torch.nn.LSTM(64, 128, bidirectional=True).cuda()(packed)[0].data.mean().backward()
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        q, k, v = (torch.randn(2, 8, 256, 64, device='cuda', dtype=dtype).requires_grad_() for _ in range(3))
        step(lambda *inputs: F.scaled_dot_product_attention(*inputs, is_causal=True), q, k, v)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
        step(F.scaled_dot_product_attention, q, k, v)
    for name in ('resnet50', 'mobilenet_v2', 'alexnet', 'vgg16') if torchvision else ():
        step(getattr(torchvision.models, name)().cuda(), images)


def distributed():
    import torch.distributed as dist
    rank = int(os.environ['LOCAL_RANK'])
    torch.cuda.set_device(rank)
    dist.init_process_group('nccl', device_id=torch.device('cuda', rank))
    step(torch.nn.parallel.DistributedDataParallel(UNet().cuda(), device_ids=[rank]), torch.randn(2, 3, 64, 64, device='cuda'))
    dist.destroy_process_group()


if 'LOCAL_RANK' in os.environ:
    distributed()
else:
    assert torch.backends.cudnn.is_available() and torch.backends.cudnn.version() >= 92600
    convolutions()
    models()
print('done')
