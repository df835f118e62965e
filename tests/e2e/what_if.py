# SPDX-License-Identifier: Apache-2.0
"""Predicted against true steps of made-up runs: what_if.py MAKE_RUN FOLDER."""
import json
import os
import subprocess
import sys

MAKE_RUN, FOLDER = sys.argv[1:]
os.mkdir(FOLDER)
CHANGES = {
    'network=2x': ['--net', '2'],
    'network=0.25x': ['--net', '0.25'],
    'gpu=2x': ['--gpu', '2'],
    'gpu=0.5x': ['--gpu', '0.5'],
    'copy=0.25x': ['--copy', '0.25'],
    'host=2x': ['--host', '2'],
    'launch=2x,host=0.5x': ['--launch', '2', '--host', '0.5'],
    'rank1:gpu=0.5x': ['--slow', '1:2'],
    'gpu=4x,network=4x': ['--gpu', '4', '--net', '4'],
}
# For messages of several sizes on each communicator.
SPLIT = CHANGES | {
    'network.latency=4x': ['--latency', '4'],
    'network.latency=0.25x': ['--latency', '0.25'],
    'network.bandwidth=0.5x': ['--bandwidth', '0.5'],
    'network.bandwidth=4x': ['--bandwidth', '4'],
}
NETWORK = {k: v for k, v in CHANGES.items() if k.startswith('network=')}
OVERLAP = CHANGES | {'overlap=off': ['--overlap', 'off'], 'overlap=off,gpu=2x': ['--overlap', 'off', '--gpu', '2']}
# Bounds of the errors of steps, on average and at worst, in percent; the changes that are predicted
# less well are not listed.
PLANS = {
    'ddp': (0.5, 2, OVERLAP),
    'buckets': (1, 2, SPLIT),
    'tensor': (0.5, 2, CHANGES),
    'pipeline': (0.5, 2, CHANGES),
    'grid': (0.5, 2, OVERLAP),
    'stalls': (0.5, 2, CHANGES),
    'schedule': (0.5, 2, CHANGES),
    'interleaved': (0.5, 2, CHANGES),
    'ddp-us': (0.5, 2, NETWORK),  # files without names of groups
    'stalls-us': (0.5, 2, NETWORK),
}

# Largest clock error of a rank, in us.
SKEW = {'ddp': 3000, 'pipeline': 3000, 'schedule': 700000, 'ddp-us': 3000, 'stalls-us': 3000}


def make(name, plan, arguments):
    skew = str(SKEW.get(plan, 20))
    folder = os.path.join(FOLDER, name)
    plan, _, dialect = plan.partition('-')
    subprocess.run([sys.executable, MAKE_RUN, '--plan', plan, '--ranks', '4', '--steps', '2', '--skew', skew,
                    '--dialect', dialect or 'ns', '-o', folder] + arguments, check=True)
    return [os.path.join(folder, f) for f in sorted(os.listdir(folder))]


def steps(files):
    """The durations of the steps in microseconds, by number of step and rank."""
    ret = {}
    for rank, name in enumerate(files):
        with open(name, encoding='utf-8') as f:
            for e in json.load(f)['traceEvents']:
                if e['name'].startswith('ProfilerStep#'):
                    ret[int(e['name'][13:]), rank] = e['dur']
    return ret


def predict(trace, specs):
    arguments = [a for s in specs for a in ('--what-if', s)]
    out = subprocess.run(['gpureplay', '--emulate', '--json'] + arguments + [trace], check=True,
                         capture_output=True, text=True).stdout
    return {w['what_if']: ({(i['iteration'], g['gpu']): g['predicted']['step_ns'] / 1000
                            for i in w['iterations'] for g in i['gpus']}, w['error_bar']['ns'] / 1000)
            for w in json.loads(out)}


def errors(predicted, true):
    assert predicted.keys() == true.keys(), (predicted.keys(), true.keys())
    of = [abs(100 * (predicted[k] / true[k] - 1)) for k in true]
    return sum(of) / len(of), max(of)


def main():
    bad = []
    inside = cases = 0
    for plan, (mean, worst, changes) in PLANS.items():
        trace = os.path.join(FOLDER, plan + '.gputrace')
        subprocess.run(['gputrace', 'import', '-o', trace] + make(plan, plan, []), check=True,
                       stdout=subprocess.DEVNULL)
        predicted = predict(trace, changes)
        for number, (spec, arguments) in enumerate(changes.items()):
            (steps_us, bar_us), true = predicted[spec], steps(make(f'{plan}-{number}', plan, arguments))
            got = errors(steps_us, true)
            off_us = abs(sum(steps_us.values()) - sum(true.values())) / len(true)
            inside += off_us <= bar_us
            cases += 1
            print(f'{plan} {spec}: {got[0]:.2f} % on average, {got[1]:.2f} % at worst; '
                  f'the mean is off by {off_us:.2f} us of {bar_us:.2f}')
            if got[0] > mean or got[1] > worst:
                bad.append((plan, spec))
    print(f'{inside} of {cases} means are within their error bar')
    assert inside >= 0.9 * cases, inside
    assert not bad, bad


main()
