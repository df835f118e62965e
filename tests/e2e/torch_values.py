#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results of PyTorch's own kernels on an emulated GPU against those on the CPU: those that decide what a program does
next, and those of small models."""
import copy
import itertools
import os

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def same(name, f, *inputs):
    """f on CPU and GPU tensors gives the same results."""
    want, got = f(*inputs), f(*(t.cuda() for t in inputs))
    for a, b in zip(want if isinstance(want, (tuple, list)) else (want,), got if isinstance(got, (tuple, list)) else (got,)):
        b = b.cpu() if torch.is_tensor(b) else b
        assert torch.allclose(torch.as_tensor(a).double(), torch.as_tensor(b).double(), rtol=1e-5, atol=1e-6,
                              equal_nan=True), f'{name}: {a} {b}'


def elements():
    x = torch.tensor([-2.5, 0, 1, 3, float('nan'), 7, -0.5, 2])
    y = torch.tensor([1.0, 0, -1, 3, 2, 8, 0.5, 4])
    for name, f in {
            'add': lambda a, b: a + 2 * b, 'sub': lambda a, b: a - b, 'mul': lambda a, b: a * b, 'div': lambda a, b: a / b,
            'scalars': lambda a, b: (a + 1, 2 * a, a / 4, 3 - b), 'compare': lambda a, b: (a > b, a <= b, a == b, a != 1, b >= 2),
            'where': lambda a, b: torch.where(a > b, a, b), 'neg': lambda a, b: (-a, b.abs(), b.relu(), b.exp(), b.tanh()),
            'cast': lambda a, b: (b.half(), b.double(), b.long(), (b - 0.3).int(), b.bool(), b.half().float(), b.bfloat16()),
            'pow': lambda a, b: (b**2, b**3), 'fill': lambda a, b: (torch.full_like(a, 3), torch.zeros_like(b)),
            'strides': lambda a, b: b.reshape(2, 4).t() + a.reshape(4, 2), 'copy': lambda a, b: b.reshape(2, 4).t().contiguous(),
            'clamp': lambda a, b: (a.clamp(min=0), a.clamp(max=2), a.clamp(0, 2)),
            'masked': lambda a, b: b.masked_fill(a > 0, 9.)}.items():
        same(name, f, x, y)
    assert torch.arange(2, 20, 3, device='cuda').tolist() == list(range(2, 20, 3))
    assert torch.arange(-3, 9, 2, dtype=torch.int16, device='cuda').tolist() == list(range(-3, 9, 2))
    assert torch.allclose(torch.arange(0, 1, 0.125, device='cuda').cpu(), torch.arange(0, 1, 0.125))


def reductions():
    x = torch.tensor([[3.0, -1, 4], [1, 5, -9], [2, 6, 5], [3, 5, 8]])
    for name, f in {
            'sum': lambda t: (t.sum(), t.sum(0), t.sum(1)), 'mean': lambda t: (t.mean(), t.mean(0)),
            'max': lambda t: (t.max(), *t.max(0), *t.max(1)), 'min': lambda t: (t.min(), *t.min(1)),
            'arg': lambda t: (t.argmax(), t.argmax(1), t.argmin(0)), 'any': lambda t: ((t > 7).any(), (t > 0).all(), (t > 7).any(1)),
            'integers': lambda t: (t.long().sum(), t.int().sum(0), (t > 0).sum()),
            'norm': lambda t: (t.norm(), t.norm(1), t.norm(3, 1), t.norm(0), t.norm(float('inf'), 1), t.norm(-float('inf'), 0)),
            'spread': lambda t: (t.std(), t.var(1), t.var(0, unbiased=False), *torch.std_mean(t, 1), *torch.aminmax(t, dim=1), t.nansum(0))}.items():
        same(name, f, x)


def integers():
    """Arithmetic wraps around and does not round."""
    large, small = 2**60 + torch.arange(-6, 6), torch.tensor([3, -7, 2, 5, -1, 9, 4, -2, 8, 6, -5, 1])
    exact = lambda t: t.cpu() % 1000003 if t.dtype == torch.int64 else t  # all digits count
    for name, f in {
            'arithmetic': lambda a, b: (a + b, a - b, 3 * a, a + 2 * b, a // b, a % b, a * a, -a, a.abs(), 7 - a),
            'bits': lambda a, b: (a & b, a | b, a ^ b, ~a, a >> 3, b << 2), 'casts': lambda a, b: (a.int(), a.short(), a.char(), a.bool()),
            'comparison': lambda a, b: (a == a.flip(0), a > a.flip(0), torch.maximum(a, a.flip(0)), a.clamp(min=2**60 + 1), torch.where(b > 0, a, b)),
            'fill': lambda a, b: (torch.full_like(a, 2**60 + 3), torch.arange(2**60, 2**60 + 9, device=a.device), a.masked_fill(b > 0, 2**60 + 5)),
            'reductions': lambda a, b: (a.sum(), (a * b).view(3, 4).sum(0), a.max(), a.view(3, 4).min(1)[0], a.argmax()),
            'added': lambda a, b: (a.scatter_add(0, b.abs() % 12, a), a.index_put((b.abs() % 12,), a, accumulate=True))}.items():
        same(name, lambda a, b: [exact(t) for t in f(a, b)], large, small)
    for dtype in torch.uint8, torch.int8, torch.int16, torch.int32:
        same(f'wrap-around {dtype}', lambda a: (a + a, 100 * a, -a, a * a, ~a, 3 - a, a.sum(), a.float(), a.long()), (large * 37 + 11 * small).to(dtype))
    same('bool', lambda a: (a + a, (300 * a.float() - 20).to(torch.uint8), a.cumsum(0), a.sum()), small > 0)


def gradients(name, f, *inputs):
    """The results of f and the gradients of its floating inputs."""

    def run(*tensors):
        tensors = [t.clone().requires_grad_(t.is_floating_point()) for t in tensors]
        result = f(*tensors)
        torch.manual_seed(3)
        result.backward(torch.empty_like(result).copy_(torch.randn(result.shape)))
        return [result.detach()] + [t.grad for t in tensors if t.is_floating_point()]

    same(name, run, *inputs)


def rows():
    torch.manual_seed(2)
    random, labels = torch.randn, torch.randint(10, (12,))
    for shape in (5, 7), (3, 2000), (2, 5, 33):
        for dim in range(len(shape)):
            gradients(f'softmax {shape} {dim}', lambda x: F.softmax(x, dim), random(shape))
            gradients(f'log_softmax {shape} {dim}', lambda x: F.log_softmax(x, dim), random(shape))
    for rows, columns in (3, 64), (40, 33), (200, 96), (2, 1030):
        gradients(f'layer norm {rows} {columns}', lambda x, a, b: F.layer_norm(x, (columns,), a, b), random(rows, columns),
                  random(columns), random(columns))
        gradients(f'layer norm without weights {columns}', lambda x: F.layer_norm(x, (columns,)), random(rows, columns))
        gradients(f'rms norm {rows} {columns}', lambda x, a: F.rms_norm(x, (columns,), a), random(rows, columns),
                  random(columns))
    gradients('cross entropy', F.cross_entropy, random(12, 10), labels)
    gradients('weights', lambda x, y: F.cross_entropy(x, y, torch.linspace(1, 2, 10).to(x.device), reduction='sum'),
              random(12, 10), labels)
    gradients('ignored', lambda x, y: F.cross_entropy(x, y, ignore_index=3), random(12, 10), labels)
    gradients('each', lambda x, y: F.cross_entropy(x, y, reduction='none'), random(12, 10), labels)
    gradients('embedding', lambda w, i: F.embedding(i, w), random(10, 8), labels)
    gradients('padding', lambda w, i: F.embedding(i, w, 3), random(10, 8), labels)
    gradients('columns', lambda x, i: x[:, i], random(5, 10, 3), labels)
    gradients('powers', lambda i: 2**i, random(3, 5))
    for dim in 0, -1:
        gradients('weight norm', lambda v, g: torch._weight_norm(v, g, dim), random(6, 5, 7), random(6, 1, 1) if dim == 0 else random(1, 1, 7))
    for steps, shortest, zero in (14, 12, False), (14, 0, False), (300, 298, False), (300, 0, False), (4, 2, True), (4, 2, False):  # 4 are too few for two labels
        gradients(f'CTC {steps} {shortest} {zero}', lambda x, i: F.ctc_loss(F.log_softmax(x, 2), i.view(3, 4), torch.tensor([steps, steps - 1, shortest]).to(x.device),
                  torch.tensor([4, 3, 0]).to(x.device), blank=10, zero_infinity=zero, reduction='none'), random(steps, 3, 11).double(), labels // 4)
    gradients('gelu', F.gelu, random(100))
    gradients('gelu by tanh', lambda x: F.gelu(x, approximate='tanh'), random(100))
    gradients('gather', lambda x, i: x.gather(1, i.view(12, 1)), random(12, 10), labels)
    same('scatter', lambda x, i, y: x.scatter(1, i.view(12, 1), y), random(12, 10), labels, random(12, 1))
    same('triangles', lambda x: (x.tril(), x.triu(1), x.tril(-1)), random(2, 5, 4))
    same('cat', lambda x: (torch.cat([x.transpose(1, 2), x.transpose(1, 2) + 1], 1), torch.cat([x, 2 * x], 2)), random(2, 5, 4))


def images():
    """Pooling, interpolation, padding, depthwise convolutions, losses of pixels."""
    torch.manual_seed(6)
    random = torch.randn
    last = lambda x: x.contiguous(memory_format=torch.channels_last)
    for layout in (lambda x: x, last):
        for f in (lambda x: F.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x, 2),
                  lambda x: F.avg_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
                  lambda x: F.adaptive_avg_pool2d(x, 1), lambda x: F.adaptive_avg_pool2d(x, (5, 7))):
            gradients('pooling', lambda x: f(layout(x)), random(2, 6, 13, 16))
    for options in (dict(scale_factor=2), dict(size=(20, 9)), dict(scale_factor=2, mode='bilinear'), dict(scale_factor=2, mode='bicubic'),
                    dict(size=(20, 9), mode='bilinear', align_corners=True)):
        gradients(f'interpolation {options}', lambda x: F.interpolate(x, **options), random(2, 3, 13, 16))
    for mode in 'nearest', 'linear':
        gradients(f'interpolation {mode}', lambda x: F.interpolate(x, scale_factor=2, mode=mode), random(2, 3, 13))
    for mode, options in itertools.product(('nearest', 'nearest-exact'), (dict(scale_factor=1.7), dict(scale_factor=0.61), dict(size=9))):
        for sizes in (13,), (13, 16):
            gradients(f'interpolation {mode} {options}', lambda x: F.interpolate(x, mode=mode, **options), random(2, 3, *sizes))
    for mode, scale, x in itertools.product(('nearest', 'nearest-exact'), (1.7, 2, 0.61), (random(8, 6, 13, 16), random(2, 3, 5, 6, 7))):
        gradients(f'{mode} {scale} of channels last or volumes', lambda x: F.interpolate(last(x) if x.dim() == 4 else x, scale_factor=scale, mode=mode), x)
    gradients('bilinear, channels last', lambda x: F.interpolate(last(x), scale_factor=2, mode='bilinear'), random(2, 32, 7, 6))
    for align in False, True:
        gradients('trilinear', lambda x: F.interpolate(x, size=(9, 5, 11), mode='trilinear', align_corners=align), random(2, 3, 5, 6, 7))
    for options in dict(kernel_size=2), dict(kernel_size=(2, 3, 2), stride=(1, 2, 2), padding=1), dict(kernel_size=2, stride=1, dilation=2):
        gradients(f'pooling of volumes {options}', lambda x: F.max_pool3d(x, **options), random(2, 3, 6, 7, 8))
    for mode in 'reflect', 'replicate':
        gradients(f'padding of volumes {mode}', lambda x: F.pad(x, (2, 1, 3, 0, 1, 4), mode), random(2, 3, 6, 8, 9))
    gradients('padding of a line by its ends', lambda x: F.pad(x, (2, 1), 'replicate'), random(2, 3, 8))
    for mode in 'reflect', 'replicate', 'circular', 'constant':
        gradients(f'padding {mode}', lambda x: F.pad(x, (2, 1, 3, 4), mode), random(2, 3, 8, 9))
    gradients('padding of a line', lambda x: F.pad(x, (2, 1), 'reflect'), random(2, 3, 8))
    for options in dict(padding=1), dict(padding=1, stride=2), dict(dilation=2):
        gradients(f'depthwise {options}', lambda x, w: F.conv2d(x, w, groups=6, **options), random(2, 6, 11, 12), random(12, 1, 3, 3))
    classes = torch.randint(6, (2, 5, 7))
    for reduction in 'mean', 'sum', 'none':
        gradients(f'pixels {reduction}', lambda x, y: F.cross_entropy(x, y, torch.linspace(1, 2, 6).to(x.device), reduction=reduction, ignore_index=3),
                  random(2, 6, 5, 7), classes)


def norms():
    """Batch normalisation by PyTorch and by cuDNN, and group normalisation."""
    torch.manual_seed(7)
    random = torch.randn
    last = lambda x: x.contiguous(memory_format=torch.channels_last)
    statistics = random(6), random(6).abs()
    for training, cudnn, layout, shape in itertools.product((True, False), (True, False), (lambda x: x, last), ((3, 6, 4, 5), (16, 6))):

        def batch_norm(x, weight, bias):
            running = [t.clone().to(x.device) for t in statistics]
            with torch.backends.cudnn.flags(enabled=cudnn):
                result = F.batch_norm(layout(x) if x.dim() == 4 else x, *running, weight, bias, training)
            return torch.cat([result.flatten(), *running])

        gradients(f'batch norm {training} {cudnn} {shape}', batch_norm, random(shape), random(6), random(6))
    for shape in (3, 6, 4, 5), (3, 24), (3, 6, 40):
        gradients(f'group norm {shape}', lambda x, a, b: F.group_norm(x, 3, a, b), random(shape), random(shape[1]), random(shape[1]))
        gradients(f'group norm without weights {shape}', lambda x: F.group_norm(x, 3), random(shape))
    gradients('instance norm', F.instance_norm, random(2, 3, 6, 7))


def functions():
    """Activations, losses and other functions of elements, with their gradients."""
    torch.manual_seed(4)
    x, y = 3 * torch.randn(200), torch.randn(200)
    for f in (F.silu, F.hardswish, F.hardsigmoid, F.leaky_relu, F.softplus, F.logsigmoid, torch.sin, torch.cos, torch.expm1):
        gradients(f.__name__, f, x)
    same('functions', lambda t: (t.erf(), t.abs().log1p(), t.sign(), t.floor(), t.ceil(), t.round(), t.trunc(), ~(t > 0)), x)
    same('activations', lambda t: (F.mish(t), F.elu(t, 0.5), F.selu(t)), x)
    same('extremes', lambda a, b: (torch.minimum(a.long(), b.long()), torch.maximum(a, b), torch.minimum(a, b[:1])), x, y)
    same('division', lambda a, b: (a.fmod(b), a % b, a // b, a % b[:1] // b[:1], a % float('inf'), torch.atan2(a, b), (9 * a).long() // 4, torch.xlogy(a, b.abs())), x, y)
    for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
        gradients(f.__name__, lambda p, t: f(p, t, reduction='none'), x, y)

    def exact(p, t):
        p = p.detach().requires_grad_()
        results = [f(p, t, reduction='none') for f in (F.mse_loss, F.smooth_l1_loss, F.huber_loss)]
        sum(r.sum() for r in results).backward()
        return results + [p.grad]

    same('losses of whole numbers', exact, x.round().half(), y.round().half())
    for f in (F.relu6, F.elu, F.selu, F.celu, F.mish, F.hardtanh, F.softshrink, F.hardshrink):
        gradients(f.__name__, f, x)
    gradients('glu', F.glu, x)
    same('more functions', lambda t: [f(t) for f in (torch.tan, torch.asin, torch.acos, torch.atan, torch.sinh, torch.cosh, torch.asinh, torch.atanh, torch.frac, torch.log2, torch.log10)], 0.9 * x.sigmoid())
    same('pairs', lambda a, b: (torch.fmax(a, b), torch.fmin(a, b), torch.hypot(a, b), torch.copysign(a, b), torch.logaddexp(a, b), torch.logical_and(a > 0, b > 0), torch.logical_or(a > 0, b > 0), torch.logical_xor(a, b), a.abs()**b), x, y)
    same('three', lambda a, b: (a.clamp(b, b + 1), a.lerp(b, 0.3), a.lerp(b, b), torch.where(a > 0, a.double() / 3, b.double())), x, y)
    same('integers', lambda a: (~a, a << 2, a >> 1, a.clamp(-2, 3)), (9 * x).long())
    gradients('cross entropy gradients', lambda a: F.binary_cross_entropy(a.sigmoid(), (a > 1).float(), reduction='none'), x)
    same('cross entropy of probabilities', lambda a, b: F.binary_cross_entropy(b.sigmoid(), a.sigmoid(), reduction='none'), x, y)


def attend(device, dtype, backend, tensors, grad, mask, kept, **options):
    """The result of attention, and its gradients; `kept` replaces dropout."""
    q, k, v = (t.to(device, dtype).transpose(1, 2).requires_grad_() for t in tensors)
    mask = mask if mask is None or mask.dtype == torch.bool else mask.to(dtype)
    mask = None if mask is None else mask.to(device)
    if kept is None:
        with sdpa_kernel(backend):
            result = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **options)
    else:
        result = (F.softmax(q @ k.transpose(2, 3) / q.size(3)**0.5, 3) * kept) @ v
    result.backward(grad.to(device, dtype))
    return [t.detach().cpu().double() for t in (result, q.grad, k.grad, v.grad)]


def near(name, got, want, tolerance):
    for a, b in zip(got, want):
        error = ((a - b).abs().max() / b.abs().max()).item()
        assert error < tolerance, f'{name}: {error}'


def attention():
    """Each implementation gives the CPU's results in double precision, and drops the same weights in both directions."""
    torch.manual_seed(5)
    random = torch.randn
    half = (torch.float16, 2e-3), (torch.bfloat16, 2e-2)
    masked = torch.rand(2, 1, 20, 40) > 0.3
    masked[..., 0] = True
    for backend, dtypes in ((SDPBackend.MATH, ((torch.float32, 1e-5), *half)), (SDPBackend.FLASH_ATTENTION, half),
                            (SDPBackend.EFFICIENT_ATTENTION, ((torch.float32, 1e-5), *half)), (SDPBackend.CUDNN_ATTENTION, half)):
        for (dtype, tolerance), mask, options in itertools.product(dtypes, (None, masked, random(1, 4, 20, 40)),
                                                                   (dict(), dict(is_causal=True), dict(scale=0.3), dict(enable_gqa=True))):
            if mask is not None and (options or backend == SDPBackend.FLASH_ATTENTION):
                continue
            keys = 2 if options.get('enable_gqa') else 4
            length = 20 if options.get('is_causal') else 40
            tensors = [random(2, n, heads, 16).to(dtype).double() for n, heads in ((20, 4), (length, keys), (length, keys))]
            if mask is not None and mask.is_floating_point():
                mask = mask.to(dtype).double()
            arguments = tensors, random(2, 4, 20, 16).to(dtype).double(), mask, None
            near(f'{backend} {dtype} {options}', attend('cuda', dtype, backend, *arguments, **options),
                 attend('cpu', torch.float64, SDPBackend.MATH, *arguments, **options), tolerance)
        for dtype, tolerance in dtypes:
            tensors = [random(2, n, 3, 64).to(dtype).double() for n in (33, 64, 64)]
            tensors[2] = torch.eye(64).double().view(1, 64, 1, 64).expand(2, 64, 3, 64)  # so the result is the weights
            arguments = tensors, random(2, 3, 33, 64).to(dtype).double(), None
            got = attend('cuda', dtype, backend, *arguments, None, dropout_p=0.125)
            kept = (got[0] != 0) / 0.875
            assert abs(kept.mean() - 1) < 0.02, kept.mean()
            near(f'dropout {backend} {dtype}', got, attend('cpu', torch.float64, None, *arguments, kept), tolerance)


def order():
    """Sorting, running sums, gradients of indexing, recurrent networks."""
    torch.manual_seed(8)
    x, many = torch.randperm(60).view(6, 10) / 7, torch.randperm(5000) / 7
    rows, whole = torch.randint(6, (9,)), torch.randint(-900, 900, (5000,))
    for dim in 0, 1:
        for f in (torch.cumsum, torch.cumprod, torch.logcumsumexp, torch.cummax, torch.cummin, torch.sort, torch.argsort, torch.flip):
            same(f'{f.__name__} {dim}', lambda t: f(t, (dim,) if f == torch.flip else dim), x)
        for options in dict(), dict(largest=False):
            same(f'topk {dim}', lambda t: t.topk(3, dim, **options), x)
    gradients('running sum', lambda t: t.cumsum(0), many)
    same('sort', lambda t, i: (*t.sort(), *t.sort(descending=True), *t.view(2, 2500).sort(1), *t.view(2, 2500).sort(1, descending=True), *i.sort(stable=True), i.cumsum(0)), many, whole)
    same('few of many', lambda t: t.view(2, 2500).topk(5), many)
    exact = lambda t: t.cpu() - 2**60  # no double has these differences
    for dim in 0, 1:
        large = 2**60 + torch.randperm(60).view(6, 10)
        same(f'large integers {dim}', lambda t: [exact(v) for v in (t.sort(dim)[0], t.topk(3, dim)[0], t.cummax(dim)[0], t.cummin(dim)[0])], large)
        same(f'indices of large integers {dim}', lambda t: (t.sort(dim)[1], t.topk(3, dim)[1], t.cummax(dim)[1], t.cummin(dim)[1]), large)
        same(f'products {dim}', lambda t: t.cumprod(dim).cpu() % 1000003, torch.randperm(60).view(6, 10) + 99991)
    gradients('rows', lambda t, i: t[i], x, rows)
    gradients('elements', lambda t, i: t[i, i], x, rows)
    same('added rows', lambda t, i, y: t.index_put((i,), y, accumulate=True), x, rows, torch.randn(9, 10))
    gradients('large embedding', lambda w, i: F.embedding(i, w), torch.randn(50, 4).double(), torch.randint(50, (5000,)))
    same('rolled', lambda t: (t.roll(2, 1), t.roll((1, 3), (0, 1))), x)
    for layer in (torch.nn.LSTM(5, 7, 2, bidirectional=True), torch.nn.LSTM(5, 7, batch_first=True), torch.nn.GRU(5, 7, 2), torch.nn.RNN(5, 7),
                  torch.nn.RNN(5, 7, 2, nonlinearity='relu', bidirectional=True), torch.nn.LSTM(5, 7, bias=False)):

        def run(x):
            this = copy.deepcopy(layer).to(x.device)
            x = x.clone().requires_grad_()
            result, state = this(x)
            torch.manual_seed(9)
            (result * torch.randn(result.shape).to(x.device)).sum().backward()
            return [result.detach(), *[s.detach() for s in (state if isinstance(state, tuple) else (state,))], x.grad] + [p.grad for p in this.parameters()]

        same(str(layer), run, torch.randn(6, 3, 5))


def decisions():
    x = torch.tensor([0, 3.0, 0, 0, 5, 7])
    assert torch.nonzero(x.cuda()).flatten().tolist() == [1, 4, 5]
    same('indices of a large mask', lambda t: (t > 1).nonzero(), torch.randn(300, 100))
    rows, columns = torch.tensor([0, 2, -1]), torch.tensor([1, 1, 0])
    same('advanced indices', lambda t, i, k: (t[i], t[i, k], t[:, k], t[t > 0]), torch.randn(4, 3), rows, columns)
    same('indexed writes', lambda t, i, k: t.index_put((i, k), t[:3, 0]), torch.randn(4, 3), rows, columns)
    order = torch.randperm(100, device='cuda').tolist()
    assert sorted(order) == list(range(100)) and order != list(range(100))


def scatters():
    """Writes by index: assignment, reductions, numbers."""
    torch.manual_seed(11)
    x, y, p, rows, columns = torch.randn(6, 10), torch.randn(6, 10), torch.rand(6, 10), torch.tensor([1, 4, 0, 4, 2, 1]), torch.randint(10, (6, 3))
    for reduction in 'sum', 'prod', 'mean', 'amax', 'amin':
        gradients(f'scatter {reduction}', lambda a, b, i: a.scatter_reduce(1, i, b, reduction), x, y[:, :3], columns)
        same(f'scatter {reduction} of integers', lambda a, b, i: a.scatter_reduce(1, i, b, reduction), (9 * x).long(), (9 * y[:, :3]).long(), columns)
    gradients('scatter', lambda a, b, i: a.scatter(1, i, b), x, y[:, :1], rows[:, None])
    gradients('scatter of a number', lambda a, i: a.scatter(1, i, 1.5), x, columns)
    same('one hot', lambda i, c: (F.one_hot(i), F.one_hot(c, 12)), rows, columns)
    gradients('index add', lambda a, b, i: a.index_add(0, i, b, alpha=0.5).index_add(1, i, b[:, :6]), x, y, rows)
    gradients('index copy', lambda a, b, i: a.index_copy(0, i[1:3], b[:2]), x, y, rows)
    same('index fill', lambda a, b, i: (a.index_fill(0, i, 3), a.t().index_fill(1, -i - 1, 3)), x, y, rows)
    gradients('take', lambda a, i: a.take(i - 3), x, columns)
    same('put', lambda a, b, i: (a.put(i[:, 0] - 60, b[:, 0], accumulate=True), a.t().put(i[:, 0], b[:, 0], accumulate=True)), x, y, columns)
    same('lists', lambda a, b, c: [*torch._foreach_sub([a, b], [b, a], alpha=2), *torch._foreach_mul([a, b], [b, c]), *torch._foreach_div([a, b], [c, c]), *torch._foreach_maximum([a, b], 0.),
                                   *torch._foreach_minimum([a, b], [b, a]), *torch._foreach_lerp([a, b], [b, a], [c, c]), *torch._foreach_lerp([a, b], [b, a], 0.3), *torch._foreach_abs([a, b]),
                                   *torch._foreach_exp([a, b]), *torch._foreach_log([c]), *torch._foreach_sign([a, b])], x, y, p)
    same('numbers', lambda a, b: (torch.logaddexp2(a, b), torch.heaviside(a.round(), b), (a / 0).nan_to_num(1, 2, 3), a.round(decimals=1), a.renorm(2, 0, 1)), x, y)
    for eps in None, 0.2:
        gradients('logit', lambda a: a.logit(eps), p)


def selections():
    """Ranks, frequencies, positions in sorted rows, histograms, distinct elements, ranges."""
    torch.manual_seed(12)
    x, whole, large = torch.randn(6, 10), torch.randint(-9, 9, (6, 10)), 2**60 + torch.arange(60).view(6, 10) // 2
    gradients('median', lambda t: t.median(1)[0], x)
    same('ranks', lambda t: (*t.median(0), t.median(), *t.kthvalue(3), *t.nanmedian(1), t.quantile(0.3, 1)), x)
    same('NaN', lambda t: (t.median(1)[0], t.nanmedian(1)[0]), torch.where(x > 1, float('nan'), x))
    same('large ranks', lambda t: t.median(0)[0].cpu() - 2**60, large.flip(0))
    same('modes', lambda t: (t.mode()[0], t.mode(0)[0]), whole)
    for right in False, True:
        same('positions', lambda t, b: (torch.searchsorted(t.sort(1)[0], b, right=right), torch.bucketize(t, b.flatten().sort()[0], right=right)), x, x.flip(0).round(decimals=1))
    same('frequencies', lambda t, w: ((t + 9).flatten().bincount(), (t + 9).flatten().bincount(w.flatten()), (t + 9).flatten().bincount(minlength=30), w.histc(7, -2, 2)), whole, x)
    for values in whole, whole.float(), large.flip(0), whole > 0, torch.randint(20, (5000,)):
        same('distinct', lambda t: [v.cpu() - 2**60 if v.dtype == torch.int64 else v for v in (*t.unique(return_inverse=True, return_counts=True), t.unique())], values)
    same('runs', lambda t: t.flatten().unique_consecutive(return_counts=True), whole // 4)
    for number, kind in (11, torch.float32), (8, torch.float64):
        assert torch.allclose(torch.linspace(-3, 5, number, dtype=kind, device='cuda').cpu(), torch.linspace(-3, 5, number, dtype=kind))


def boxes():
    """Boxes that overlap, and regions of images."""
    try:
        from torchvision.ops import nms, roi_align
    except ImportError:
        return
    torch.manual_seed(16)
    corners = torch.rand(150, 2) * 40
    boxes = torch.cat([corners, corners + 2 + torch.rand(150, 2) * 15], 1)
    for threshold in 0.2, 0.5:
        same('kept boxes', lambda b, s: nms(b, s, threshold), boxes, torch.rand(150))
    regions = torch.cat([torch.arange(20)[:, None] % 2, boxes[:20]], 1).double()
    for samples, aligned in (2, False), (-1, True):
        gradients(f'regions {samples}', lambda x: roi_align(x, regions.to(x.device), (3, 4), 0.5, samples, aligned), torch.randn(2, 3, 21, 20).double())


def cells():
    """Cells of recurrent networks, PReLU, patches, samples at points."""
    torch.manual_seed(13)
    random = torch.randn
    for cell, state in ((torch.nn.LSTMCell, 2), (torch.nn.GRUCell, 1)):
        gates = 4 if state == 2 else 3
        function = torch.lstm_cell if state == 2 else torch.gru_cell
        for bias in True, False:

            def run(x, h, c, wi, wh, *biases):
                result = function(x, (h, c) if state == 2 else h, wi, wh, *biases)
                return torch.cat(result) if state == 2 else result + c.sum()

            gradients(f'{cell.__name__} {bias}', run, random(3, 5), random(3, 7), random(3, 7), random(gates * 7, 5), random(gates * 7, 7), *((random(gates * 7), random(gates * 7)) if bias else ()))
    for weights in 1, 4:
        gradients('prelu', F.prelu, random(2, 4, 9, 8), random(weights))
    for options in dict(padding=1), dict(stride=2), dict(dilation=2):
        gradients(f'unfold {options}', lambda x: F.unfold(x, 3, **options), random(2, 4, 9, 8))
    gradients('fold', lambda x: F.fold(x, (9, 8), 3, padding=1), random(2, 36, 72))
    with torch.backends.cudnn.flags(enabled=False):  # emulated cuDNN has no spatial transformer
        for padding, corners, mode in itertools.product(('zeros', 'border', 'reflection'), (False, True), ('bilinear', 'nearest')):
            gradients(f'grid {padding} {corners} {mode}', lambda x, g: F.grid_sample(x, g, mode, padding, corners), random(2, 4, 9, 8).double(), random(2, 5, 6, 2).double())
            gradients(f'volume {padding} {corners} {mode}', lambda x, g: F.grid_sample(x, g, mode, padding, corners), random(2, 3, 4, 5, 6).double(), random(2, 3, 4, 2, 3).double())


def random():
    """The first numbers are those of real GPUs with this seed."""
    torch.manual_seed(0)
    normal = torch.randn(2, 3, device='cuda').cpu()
    assert torch.allclose(normal, torch.tensor([[-0.9247, -0.4253, -2.6438], [0.1452, -0.1209, -0.5797]]), atol=1e-4), normal
    torch.manual_seed(0)
    uniform = torch.rand(6, device='cuda').cpu()
    assert torch.allclose(uniform, torch.tensor([0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967]), atol=1e-4), uniform
    n = 10000
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = torch.empty(n, device='cuda', dtype=dtype)
        for name, fill, mean, deviation in (('normal', lambda t: t.normal_(3, 2), 3, 2),
                                            ('uniform', lambda t: t.uniform_(-2, 6), 2, 8 / 12**0.5),
                                            ('exponential', lambda t: t.exponential_(2), 0.5, 0.5)):
            values = fill(x).cpu().double()
            assert abs(values.mean() - mean) < 5 * deviation / n**0.5, (name, dtype, values.mean())
            assert abs(values.std() - deviation) < 0.05 * deviation, (name, dtype, values.std())
    assert abs(torch.empty(n, device='cuda').bernoulli_(0.3).cpu().mean() - 0.3) < 0.025
    whole = torch.randint(-5, 5, (n,), device='cuda').cpu()
    assert whole.unique().tolist() == list(range(-5, 5))
    for x in (torch.ones(n), torch.ones(101), torch.ones(102), torch.ones(200, 100)[:, ::2].t()):
        x = x.cuda().requires_grad_()
        y = F.dropout(x, 0.2)
        y.sum().backward()
        assert y.detach().cpu().unique().tolist() == [0, 1.25] and torch.equal(x.grad.cpu(), y.detach().cpu())
        assert 0.75 < y.detach().cpu().mean() < 1.25
    strided = torch.zeros(40, 60, device='cuda').t().normal_().cpu()
    assert len(strided.unique()) > 2390


def scaler():
    """Half precision overflows above 65504, so the scale is halved three times."""
    model = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    grad_scaler = torch.amp.GradScaler('cuda')
    for _ in range(20):
        with torch.autocast('cuda', dtype=torch.float16):
            loss = model(torch.ones(4, 8, device='cuda')).sum()
        grad_scaler.scale(loss).backward()
        grad_scaler.step(optimizer)
        grad_scaler.update()
        optimizer.zero_grad()
    assert grad_scaler.get_scale() == 8192, grad_scaler.get_scale()


def optimizers():
    """Fused and foreach optimizers take the steps of the CPU's."""
    adam, sgd = (torch.optim.Adam, torch.optim.AdamW), (torch.optim.SGD,)
    for options, kinds in ((dict(fused=True), adam + sgd), (dict(fused=True, weight_decay=0.1), adam + sgd), (dict(foreach=True), adam + sgd), (dict(capturable=True), adam),
                           (dict(fused=True, amsgrad=True), adam), (dict(fused=True, momentum=0.9, nesterov=True), sgd), (dict(fused=True, momentum=0.9, dampening=0.2), sgd)):
        for kind in kinds:

            def train(w, x):
                w = w.clone().requires_grad_()
                optimizer = kind([w], lr=0.01, **({} if w.device.type == 'cpu' and 'capturable' in options else options))
                for _ in range(3):
                    optimizer.zero_grad()
                    (x @ w).square().mean().backward()
                    optimizer.step()
                return w.detach()

            same(f'{kind.__name__} {options}', train, torch.randn(8, 4).double(), torch.randn(16, 8).double())


def decompositions():
    """Products of the factors, which do not depend on signs, and values that have no sign."""
    torch.manual_seed(8)
    linalg = torch.linalg
    orthogonal = lambda q: q.mT @ q
    svd = lambda a, driver, **options: (lambda u, s, v: ((u[..., :s.shape[-1]] * s[..., None, :]) @ v[..., :s.shape[-1], :], s, orthogonal(u), orthogonal(v.mT)))(
        *linalg.svd(a, driver=driver if a.is_cuda else None, **options))
    for dtype, shape in itertools.product((torch.float32, torch.float64), ((7, 4), (4, 7), (3, 5, 5), (2, 40, 33), (1, 64, 64))):
        a = torch.randn(shape, dtype=dtype)
        near = lambda name, f, *inputs: torch.testing.assert_close([t.cpu() for t in f(*(i.cuda() for i in inputs))], list(f(*inputs)), rtol=1e-4,
                                                                   atol=2e-4 if dtype == torch.float32 else 1e-10, msg=lambda text: f'{name} {dtype} {shape}: {text}')
        for mode in 'reduced', 'complete':
            near(f'qr {mode}', lambda x: (lambda q, r: (q @ r, orthogonal(q), r.abs()))(*linalg.qr(x, mode)), a)
        for driver, whole in itertools.product((None, 'gesvd', 'gesvdj'), (False, True)):
            near(f'svd {driver} {whole}', lambda x: svd(x, driver, full_matrices=whole), a)
        near('svd gesvda', lambda x: svd(x, 'gesvda', full_matrices=False), a)
        near('values', lambda x: (linalg.svdvals(x), linalg.pinv(x), linalg.matrix_rank(x), linalg.matrix_norm(x, 'nuc'), linalg.cond(x).log()), a)
        if shape[-2] >= shape[-1]:
            near('lstsq', lambda x, y: (linalg.lstsq(x, y).solution,), a, torch.randn(*shape[:-1], 3, dtype=dtype))
            near('reflectors', lambda x, y: (lambda h, tau: (torch.ormqr(h, tau, y), torch.ormqr(h, tau, y.mT, left=False, transpose=True)))(*torch.geqrf(x)), a,
                 torch.randn(*shape[:-1], 2, dtype=dtype))
        if shape[-2] == shape[-1]:
            near('eigh', lambda x: (lambda values, v: (values, v @ (values[..., None] * v.mT), orthogonal(v)))(*linalg.eigh(x)), a + a.mT)
            near('lu', lambda x: (*linalg.lu(x), x @ linalg.solve(x, x + 1), x @ linalg.inv(x), linalg.cholesky(orthogonal(x) + torch.eye(x.shape[-1], device=x.device))), a)
            near('eigvalsh', lambda x: (linalg.eigvalsh(x, UPLO='U'),), a)


def objects():
    import torch.distributed as dist
    rank = int(os.environ['LOCAL_RANK'])
    torch.cuda.set_device(rank)
    dist.init_process_group('nccl', device_id=torch.device('cuda', rank))
    sent = [{'a': 1, 'b': 'x' * 100}, [1, 2, 3]]
    got = list(sent) if rank == 0 else [None, None]
    dist.broadcast_object_list(got, src=0)
    assert got == sent, got
    if rank == 0:
        dist.send_object_list(sent, dst=1)
    else:
        got = [None, None]
        dist.recv_object_list(got, src=0)
        assert got == sent, got
    sharded(rank)
    dist.destroy_process_group()


def sharded(rank):
    """Training of sharded layers, of which chunks of parameters and gradients are exchanged, gives the losses of the CPU."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    random, classes = torch.randn(8, 16, generator=torch.Generator().manual_seed(1)), torch.arange(8)

    def train(device, dtype):
        torch.manual_seed(5)
        model, x, y, result = torch.nn.Sequential(torch.nn.Linear(16, 31), torch.nn.ReLU(), torch.nn.Linear(31, 9)).to(device), random, classes, []
        if device == 'cuda':
            policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
            fully_shard(model[0], mp_policy=policy)
            fully_shard(model, mp_policy=policy)
            x, y = x.chunk(2)[rank].cuda().to(dtype), y.chunk(2)[rank].cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for _ in range(4):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            loss = loss.detach().float()
            if device == 'cuda':
                torch.distributed.all_reduce(loss, torch.distributed.ReduceOp.AVG)
            result.append(loss.item())
        return torch.tensor(result)

    for dtype, tolerance in (torch.float32, 1e-5), (torch.bfloat16, 2e-2):
        want, got = train('cpu', torch.float32), train('cuda', dtype)
        assert torch.allclose(want, got, rtol=tolerance), f'{want} {got}'


if 'LOCAL_RANK' in os.environ:
    objects()
else:
    for test in (elements, integers, functions, reductions, rows, images, norms, order, scatters, selections, boxes, cells, attention, random, scaler, optimizers, decompositions, decisions):
        test()
print('done\n', end='')  # one write: ranks share a file
