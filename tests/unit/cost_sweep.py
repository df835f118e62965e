#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cost_sweep.py COST_EVAL: products, convolutions, element-wise operators, softmax and layer norm of many sizes on every
GPU model. None is faster than the peaks of its model, more work never takes notably less time, and no GPU is
slower than one with lower peaks."""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'data/fit'))
import fit  # noqa: E402
import models  # noqa: E402

PEAKS = {0: ('fp32', 4), 1: ('fp64', 8), 2: ('tf32', 4), 3: ('fp16', 2), 4: ('fp8', 1)}
# The first GPU is not slower than the second.
ORDER = [('A100-SXM4-40GB', 'A100-PCIE-40GB'), ('A100-SXM4-80GB', 'A100-SXM4-40GB'), ('A100-PCIE-80GB', 'A100-PCIE-40GB'),
         ('H100-SXM5', 'H100-PCIE'), ('H100-SXM5', 'A100-SXM4-80GB'), ('H200', 'H100-SXM5'), ('L40S', 'L4')]
# Channels, pixels in a row, channels of the result, taps in a row, stride.
CONVOLUTIONS = [(3, 224, 64, 7, 2), (64, 56, 64, 3, 1), (64, 56, 256, 1, 1), (64, 112, 64, 1, 2), (512, 7, 512, 3, 1),
                (2048, 7, 512, 3, 2)]
SIZES = [2 ** i for i in range(4, 15)]


def products():
    """Rows, operations, bytes, of sizes that grow."""
    for math_type, (_, size) in PEAKS.items():
        for batch, n, k in (1, 1024, 1024), (1, 4096, 4096), (1, 1001, 64), (16, 128, 64):
            for m in SIZES:
                yield (f'matmul\tb={batch} m={m} n={n} k={k} math={math_type}\t\t\t', math_type,
                       2 * batch * m * n * k, size * batch * (m * n + n * k + m * k))


def convolutions():
    for math_type in 0, 2, 3:
        for channels, pixels, out, taps, stride in CONVOLUTIONS:
            result = (pixels - 1) // stride + 1
            for direction in 0, 1, 2:
                for batch in 1, 2, 4, 8, 16, 32, 64, 128:
                    # Winograd's transformation saves up to three quarters of the operations.
                    winograd = math_type != 3 and taps == 3 and stride == 1
                    yield (f'convolution\tb={batch} input_channel={channels} output_channel={out} input_size={pixels} kernel={taps} '
                           f'stride={stride} padding={taps // 2} direction={direction} math={math_type}\t\t\t', math_type,
                           2 * batch * result ** 2 * channels * out * taps ** 2 / (4 if winograd else 1),
                           PEAKS[math_type][1] * batch * (result ** 2 * out + (pixels ** 2 * channels if taps >= stride else 0)))


def streams():
    for arrays in 1, 2, 3:
        for i in range(4, 31):
            o = models.Operators('')
            o.each(2 ** i, arrays)
            yield o.rows[0][1:], 0, 0, 4 * arrays * 2 ** i
    for columns in 64, 768, 1280, 4096, 50257:
        for method in 'softmax', 'norm':
            for rows in SIZES:
                o = models.Operators('')
                getattr(o, method)(rows, columns)
                yield o.rows[0][1:], 0, 0, 8 * rows * columns


def check_peaks(gpu, model, cases, times):
    for (text, math_type, operations, moved), us in zip(cases, times):
        math_type = 0 if math_type == 2 and model['compute'] < 8 else math_type
        assert us > 0 and math.isfinite(us), (gpu, text, us)
        assert operations / us <= 1.0001e-6 * model[PEAKS[math_type][0]], (gpu, text, us)
        assert (moved - model['l2_bytes']) / us <= 1.0001e-6 * model['memory_bytes_per_s'], (gpu, text, us)


def check_growth(gpu, cases, times):
    """Consecutive cases, of which the second has more operations and bytes."""
    for before, after, short, long in zip(cases, cases[1:], times, times[1:]):
        assert after[3] < before[3] or long > 0.9 * short, (gpu, before[0], after[0], short, long)


def main():
    program, common = sys.argv[1], fit.coefficients(fit.TOP / 'data/gpus/common.gpu')
    files = {path.stem: {**common, **fit.coefficients(path)} for path in (fit.TOP / 'data/gpus').glob('*.gpu')}
    del files['common']
    cases = [*products(), *convolutions(), *streams()]
    times = {gpu: fit.predict(program, [fit.Row(gpu, '', 0, f'{gpu}\t{case[0]}') for case in cases], {}, ['--busy'])
             for gpu in files}
    for gpu, model in files.items():
        check_peaks(gpu, model, cases, times[gpu])
        check_growth(gpu, cases, times[gpu])
    for fast, slow in ORDER:
        for a, b, (text, math_type, _, _) in zip(times[fast], times[slow], cases):
            # cuDNN's FP32 kernels on Hopper are slower than those on an A100, as measured.
            compiled = text.startswith('convolution') and math_type == 0 and fast[:4] != slow[:4]
            assert compiled or a < 1.01 * b, (fast, slow, text, a, b)
    print(f'{len(cases)} operators on {len(files)} GPUs')
    return 0


if __name__ == '__main__':
    sys.exit(main())
