#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""models.py [--measured DIR] [--eval PROGRAM]

Compares whole models measured in inference (DIR/models.tsv, default ../shared/measured) with the
sum of the predicted times of their operators. Transformers' GPT-2, BERT and OPT with eager
attention, in single precision.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
VECTOR = 'void at::native::vectorized_elementwise_kernel<4, F<float>, at::detail::Array<char*, {}> >'
WARP = 'softmax_warp_forward<float, float, float, 10, false, false>'
BLOCK = 'cunn_SoftMaxForward<4, float, float, float>'
NORM = 'vectorized_layer_norm_kernel<float, float>'


class Operators:
    """Rows of cost_eval."""

    def __init__(self, gpu):
        self.gpu, self.rows = gpu, []

    def add(self, operator, shape, kernel='', grid='1,1,1', block='1,1,1'):
        self.rows.append('\t'.join((self.gpu, operator, shape, kernel, grid, block)))

    def each(self, elements, arrays, times=1):
        for _ in range(times):
            self.add('each', f'b=1 h={elements}', VECTOR.format(arrays), f'{-(-elements // 512)},1,1', '128,1,1')

    def product(self, operator, b, m, n, k):
        self.add(operator, f'b={b} m={m} n={n} k={k}')

    def softmax(self, rows, columns):
        if columns <= 1024:
            warps = 4 if columns > 128 else 8
            self.add('softmax', f'b={rows} h={columns}', WARP, f'{-(-rows // warps)},1,1', '32,4,1')
        else:
            self.add('softmax', f'b={rows} h={columns}', BLOCK, f'{rows},1,1', '512,1,1' if columns > 2048 else '256,1,1')

    def norm(self, rows, columns):
        self.add('ln', f'b={rows} h={columns}', NORM, f'{rows},1,1', '32,4,1')


def attention(o, kind, b, s, d, heads):
    t, scores = b * s, b * heads * s * s
    if kind == 'gpt2':
        o.product('bmm', 1, t, d, 3 * d)
    else:
        for _ in range(3):
            o.product('linear', 1, t, d, d)
    if kind == 'opt':
        o.each(t * d, 2) # scaling
    o.each(t * d, 2, 3) # heads become batches
    o.product('bmm' if kind == 'gpt2' else 'bmm_tn', b * heads, s, d // heads, s)
    o.each(scores, 2 if kind != 'opt' else 3) # scaling, or mask
    o.each(scores, 2 if kind == 'opt' else 3) # mask
    o.softmax(b * heads * s, s)
    o.product('bmm', b * heads, s, s, d // heads)
    o.each(t * d, 2)
    o.product('bmm' if kind == 'gpt2' else 'linear', 1, t, d, d)
    o.each(t * d, 3)
    o.norm(t, d)


def feed_forward(o, kind, t, d, inner):
    o.product('bmm' if kind == 'gpt2' else 'linear', 1, t, d, inner)
    if kind == 'gpt2': # GELU by its formula
        o.each(t * inner, 2, 6)
        o.each(t * inner, 3, 2)
    else:
        o.each(t * inner, 2)
    o.product('bmm' if kind == 'gpt2' else 'linear', 1, t, inner, d)
    o.each(t * d, 3)
    o.norm(t, d)


def forward(o, config, b, s):
    kind = config['model_type']
    d = config.get('n_embd') or config['hidden_size']
    heads = config.get('n_head') or config['num_attention_heads']
    inner = config.get('intermediate_size') or config.get('ffn_dim') or 4 * d
    for _ in range(config.get('n_layer') or config['num_hidden_layers']):
        attention(o, kind, b, s, d, heads)
        feed_forward(o, kind, b * s, d, inner)
    o.each(b * s * d, 3, 3) # embeddings
    o.product('linear', 1, b * s, d, config['vocab_size'])


def compare(program, measured, settings=lambda gpu: ()):
    """Yields (row of models.tsv, predicted ms) of each model in inference on one GPU. `settings` of a GPU: "GPU:KEY=VALUE"."""
    with open(measured / 'models.tsv', encoding='utf-8') as lines:
        for row in csv.DictReader(lines, delimiter='\t'):
            config = json.loads((measured / f'models/{row["model"]}.json').read_text(encoding='utf-8'))
            if config['model_type'] not in ('gpt2', 'bert', 'opt') or row['mode'] != 'inf' or row['parallel']:
                continue
            o = Operators(row['gpu'])
            forward(o, config, int(row['batch']), int(row['sequence_length']))
            out = subprocess.run([program, '--shape', '--busy', *settings(row['gpu'])], input='\n'.join(o.rows) + '\n', text=True,
                                 capture_output=True, check=True).stdout
            yield row, sum(float(line.split('\t')[0]) for line in out.splitlines()) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--measured', type=pathlib.Path, default=TOP.parent / 'shared/measured', metavar='DIR')
    parser.add_argument('--eval', default=str(TOP / 'build/data/fit/cost_eval'), metavar='PROGRAM')
    args = parser.parse_args()
    if not (args.measured / 'models.tsv').exists():
        print(f'skipped: no {args.measured}/models.tsv')
        return 77
    print_errors(compare(args.eval, args.measured))
    return 0


def print_errors(found):
    errors = []
    for row, ms in found:
        errors.append(ms / float(row['whole_ms']) - 1)
        print(f'{row["gpu"]:24}{row["model"]:12}{row["batch"]:>3} x {row["sequence_length"]:>5}'
              f'{float(row["whole_ms"]):10.1f}{ms:10.1f} ms {errors[-1]:+7.1%}')
    print(f'mean absolute error {sum(map(abs, errors)) / len(errors):.1%}, worst {max(map(abs, errors)):.1%}')


if __name__ == '__main__':
    sys.exit(main())
