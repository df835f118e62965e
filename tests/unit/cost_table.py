#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cost_table.py COST_EVAL MEASURED: predicts every measured operator. No prediction is faster than the peaks of its GPU,
and the errors of each class stay within bounds; so do whole models."""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'data/fit'))
import fit  # noqa: E402
import models  # noqa: E402

# Largest mean absolute error of a class on a GPU.
BOUNDS = {'element-wise': 0.05, 'softmax': 0.10, 'layer norm': 0.13, 'product': 0.15, 'convolution': 0.13}
ARRAYS = {'add': 3, 'mul': 3, 'div': 3, 'pow': 3}
PEAKS = ('fp32', 'memory_bytes_per_s', 'l2_bytes')


def work(row):
    """Operations and bytes of an operator."""
    shape = {k: float(v) for k, v in (pair.split('=') for pair in row.text.split('\t')[2].split())}
    if row.operator in ('bmm', 'linear'):
        b, m, n, k = (shape[i] for i in 'bmnk')
        return 2 * b * m * n * k, 4 * b * (m * n + n * k * (1 if row.operator == 'bmm' else 1 / b) + m * k)
    if row.operator == 'conv':
        pixels = shape['b'] * shape['input_size'] ** 2
        channels = shape['input_channel'], shape['output_channel']
        # Winograd's transformation saves up to three quarters of the operations.
        return 2 * pixels * channels[0] * channels[1] * shape['kernel'] ** 2 / 4, 4 * pixels * sum(channels)
    return 0, 4 * shape['b'] * shape['h'] * ARRAYS.get(row.operator, 2)


def check_peaks(rows, kernels, peaks):
    for row, us in zip(rows, kernels):
        operations, moved = work(row)
        fp32, memory, cache = peaks[row.gpu]
        assert us > 0, row
        assert operations / us <= fp32 / 1e6, (row, us)
        assert (moved - cache) / us <= memory / 1e6, (row, us)


def check_collectives(program, path, model):
    """All-reduce on eight GPUs, from 64 KiB on: within 15 % of the bandwidth that nccl-tests printed."""
    units, rows, measured = {'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}, [], []
    for name, size, rate in (line.rstrip('\n').split('\t')[:3] for line in path.open(encoding='utf-8') if line.count('\t') == 2):
        if name != 'NCCL Bandwidth' or size[-1] not in units:
            continue
        # Sizes are powers of two, written in thousands.
        nbytes = 2 ** round(math.log2(float(size[:-1]) * units[size[-1]]))
        if nbytes >= 65536:
            rows.append(fit.Row(model, 'all_reduce', 0, f'{model}\tall_reduce\tbytes={nbytes}\t\t\t'))
            measured.append((nbytes, float(rate)))
    found = [nbytes * 1.75 / us / 1e3 / rate - 1 for us, (nbytes, rate) in zip(fit.predict(program, rows, {}), measured)]
    print(f'all-reduce {model:24}{sum(map(abs, found)) / len(found):.1%}, worst {max(map(abs, found)):.1%}')
    assert len(found) == 18 and max(map(abs, found)) < 0.15, found


def main():
    program, measured = sys.argv[1], pathlib.Path(sys.argv[2])
    path = measured / 'operators.tsv.gz'
    if not path.exists():
        print(f'skipped: no {path}')
        return 77
    table = fit.read_rows(path)
    files = {gpu: fit.coefficients(fit.TOP / f'data/gpus/{name}.gpu') for gpu, name in fit.FILES.items()}
    peaks = {gpu: [values[key] for key in PEAKS] for gpu, values in files.items()}
    data = fit.Data(program, table, max(map(len, table.values())))
    for klass in fit.CLASSES:
        for gpu in fit.FILES:
            rows = data.of('fit', [gpu], klass) + data.of('test', [gpu], klass)
            if not rows:
                continue
            kernels = fit.predict(program, rows, {})
            check_peaks(rows, kernels, peaks)
            found = [abs(r - 1) for r in fit.ratios(rows, kernels, fit.host_parts(rows, kernels))]
            error = sum(found) / len(found)
            print(f'{klass:13}{gpu:24}{len(rows):7}{error:7.1%}', flush=True)
            assert error < BOUNDS[klass], (klass, gpu, error)
    check_collectives(program, measured / 'azure-A100.tsv', 'A100')
    check_collectives(program, measured / 'azure-H200.tsv', 'H200')
    found = [abs(ms / float(row['whole_ms']) - 1) for row, ms in models.compare(program, measured)]
    print(f'whole models {sum(found) / len(found):.1%}, worst {max(found):.1%}')
    assert sum(found) / len(found) < 0.08 and max(found) < 0.16, found
    return 0


if __name__ == '__main__':
    sys.exit(main())
