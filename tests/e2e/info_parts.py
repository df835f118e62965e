#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All reports of a trace must divide the time of a GPU in the same way.

    info_parts.py TRACE

Compares `gputrace info --json` of the whole run with that of each iteration and of each GPU in it,
with the bars of the pictures, and with the recorded times in `gpureplay --emulate --json`.
"""
import json
import re
import subprocess
import sys

TIMES = ('device_ns', 'compute_ns', 'exposed_ns', 'hidden_ns', 'idle_ns')
BAR = re.compile(r'<title>compute ([\d.]+) % \(([\d.]+) % with communication at the same time\)\n'
                 r'communication alone: transfer ([\d.]+) %, waiting ([\d.]+) %\nidle ([\d.]+) %<')


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def info(*args):
    return json.loads(output('gputrace', 'info', '--json', *args))


def same(what, a, b, keys):
    differ = {k: (a[k], b[k]) for k in keys if a[k] != b[k]}
    assert not differ, f'{what}: {differ}'


def check_bars(what, trace, part, rows):
    svg = output('gputrace', 'export', '-f', 'svg', *part, trace)
    bars = BAR.findall(svg)
    rows = [row for row in rows if row['device_ns'] > 0]
    assert len(bars) == len(rows), f'{what}: {len(bars)} bars for {len(rows)} GPUs'
    for bar, row in zip(bars, rows):
        compute, hidden, transfer, waiting, idle = map(float, bar)
        for key, share in ('compute_ns', compute), ('hidden_ns', hidden), (
                'exposed_ns', transfer + waiting), ('idle_ns', idle):
            want = 100 * row[key] / row['device_ns']
            assert abs(share - want) <= 0.1001, f'{what}: GPU {row["gpu"]}: {key}: {share} % for {want} %'


def main(trace):
    whole = info(trace)
    emulated = json.loads(output('gpureplay', '--emulate', '--json', trace))
    recorded = {(i['iteration'], g['gpu']): g['recorded'] for i in emulated['iterations'] for g in i['gpus']}
    recorded.update({('run', g['gpu']): g['recorded'] for g in emulated['run']})
    for row in whole['run']:
        if row['device_ns'] > 0:
            same(f'emulated GPU {row["gpu"]}', row, recorded['run', row['gpu']], TIMES)
    if len(whole['run']) <= 64:
        check_bars('the run', trace, [], whole['run'])
    for iteration in whole['iterations']:
        number = iteration['iteration']
        part = info('--iteration', str(number), trace)['iterations'][0]
        check_bars(f'iteration {number}', trace, ['--iteration', str(number)], iteration['gpus'])
        for row, again in zip(iteration['gpus'], part['gpus']):
            gpu = row['gpu']
            same(f'iteration {number}, GPU {gpu}', row, again, row)
            one = info('--iteration', str(number), '--gpu', str(gpu), trace)
            same(f'GPU {gpu} in iteration {number}', row, one['iterations'][0]['gpus'][0], row)
            same(f'emulated iteration {number}, GPU {gpu}', row, recorded[number, gpu], TIMES)


main(*sys.argv[1:])
