#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports, timelines and pictures of a training run whose waiting is known.

    rendered.py GPUTRACE
"""
import json
import os
import pty
import re
import subprocess
import xml.dom.minidom

from profiler import KERNELS, TRANSFER_NS, GPUTRACE, Run, Training, gputrace, run_tests

RANKS, ITERATIONS, LAYERS = 4, 3, 8


def run_of(**options):
    return Run(Training(RANKS, **({'iterations': ITERATIONS, 'layers': LAYERS} | options)).files())


def rows(info):
    return [row for iteration in info['iterations'] for row in iteration['gpus']]


# ---- reports

def test_the_last_rank_never_waits():
    with run_of() as run:
        assert len(rows(run.info())) == ITERATIONS * RANKS
        for row in rows(run.info()):
            assert (row['waiting_ns'] == 0) == (row['gpu'] == RANKS - 1), row
            assert row['compute_ns'] + row['exposed_ns'] + row['idle_ns'] == row['device_ns'], row
            assert row['gpu'] == RANKS - 1 or row['waiting_ns'] > LAYERS * 50000, row


def test_simultaneous_waits_count_once():
    with run_of(overlaps=True, late_ns=300000) as run:
        for row in rows(run.info()):
            assert row['waiting_ns'] <= row['exposed_ns'] + row['hidden_ns'], row
            assert row['waiting_ns'] >= (0 if row['gpu'] == RANKS - 1 else 50000), row


def test_collectives():
    """Wait time in a part of the run takes the other ranks into account."""
    with run_of() as run:
        for part, count, operations in [
                ((), ITERATIONS * LAYERS, ITERATIONS * LAYERS * RANKS),
                (('--iteration', '5'), LAYERS, LAYERS * RANKS), (('--iteration', '5', '--gpu', '1'), LAYERS, LAYERS)]:
            row, = json.loads(gputrace('info', '--json', *part, run.trace).stdout)['collectives']
            want = {'kind': 'all_reduce', 'bytes': 16 << 20, 'ranks': RANKS, 'count': count, 'operations': operations,
                    'transfer_ns': count * TRANSFER_NS, 'waiting_ns': row['total_ns'] - operations * TRANSFER_NS}
            assert row | want == row, f'{part}: {row}'


def test_sizes_by_rank():
    """Collectives whose sizes differ between ranks have a row for each size."""
    with run_of(root=RANKS * (16 << 20)) as run:
        found = {row['bytes']: row for row in run.info()['collectives']}
        assert found.keys() == {16 << 20, RANKS * (16 << 20)}, found
        for size, row in found.items():
            n = ITERATIONS * LAYERS
            want = {'count': n, 'operations': n * (RANKS - 1 if size == 16 << 20 else 1),
                    'transfer_ns': n * TRANSFER_NS}
            assert row | want == row, row


def test_operations():
    with run_of() as run:
        info = run.info()
        totals = [row['total_ns'] for row in info['kernels']]
        assert totals == sorted(totals, reverse=True) and len(totals) == len(KERNELS)
        assert {row['count'] for row in info['kernels']} == {ITERATIONS * RANKS * LAYERS}
        assert all(row['min_ns'] <= row['max_ns'] for row in info['kernels'])
        assert [row['bytes'] for row in info['copies']] == [4096 * ITERATIONS * RANKS]


def test_size_of_communicators():
    """A communicator that may have ranks outside the trace has no known size, and no bus bandwidth."""
    for options, size in [({}, RANKS), ({'world_size': 8}, 0), ({'world_size': 8, 'grouped': True}, RANKS),
                          ({'members': '"gputrace.communicators":[{"ranks":8,"communicator":0}],'}, 8)]:
        with run_of(**({'iterations': 1, 'grouped': False} | options)) as run:
            row, = run.info()['collectives']
            assert row['ranks'] == size and (row['busbw_bytes_per_second'] is None) == (size == 0), f'{options}: {row}'


def on_terminal(*args):
    primary, secondary = pty.openpty()
    with subprocess.Popen([GPUTRACE, *args], stdout=secondary, env=os.environ | {'TERM': 'xterm'}) as command:
        os.close(secondary)
        text = b''
        try:
            while block := os.read(primary, 4096):
                text += block
        except OSError:  # the other end was closed
            pass
    os.close(primary)
    assert command.returncode == 0
    return text.decode()


def test_printing():
    for iterations in 1, ITERATIONS, 100:
        with run_of(iterations=iterations) as run:
            text = gputrace('info', run.trace).stdout
            assert not re.search('[\x00-\x09\x0b-\x1f\x7f]', text), text
            assert '4 x NVIDIA H100 80GB HBM3' in text
            assert ('; the slowest 16 of 100 iterations:' in text) == (iterations == 100)
            text = on_terminal('info', '--top', '2', run.trace)
            assert '\033[1m' in text and '2 more; --top=4 shows all' in text, text


# ---- timelines

def exported(run, *part):
    text = gputrace('export', *part, run.trace).stdout
    json.loads(text)
    return text


def test_every_event_is_in_the_timeline():
    launches = LAYERS * (len(KERNELS) + 1) + 1
    events = 2 * launches + 2  # a synchronisation and a range
    with run_of() as run:
        for part, slices in [((), RANKS * ITERATIONS), (('--gpu', '1'), ITERATIONS),
                             (('--iteration', '5', '--gpu', '2'), 1)]:
            text = exported(run, *part)
            for phase, n in {'X': events, 'i': 1, 's': launches, 'f': launches}.items():
                assert text.count(f'{{"ph":"{phase}"') == slices * n, (part, phase)


def test_lines_of_the_timeline():
    """Invalid UTF-8 is replaced; other special characters are escaped. Inferred arguments have a prefix."""
    with run_of() as run:
        files = os.path.join(run.folder, 'files')
        gputrace('export', '--format=chrome', '-o', files, run.trace)
        with open(os.path.join(files, 'rank-1.json'), encoding='utf-8') as f:
            text = f.read()
        for line in [r'"name":"void k<\"a\\b\">(&amp;\u0001\u001b[31m' '\ufffd\ufffd' r') ]]>\n\t€"',
                     r'"s":"t","args":{"Total Allocated":-5,"note":"void k', '"shape":[[2,3],[]]}}',
                     '"args":{"gputrace comm":0,"gputrace seq":3,"gputrace collective":"all_reduce",'
                     '"gputrace dtype":"BFloat16","gputrace message_bytes":16777216,"correlation":20',
                     '"bytes":4096,"correlation":41,"memory bandwidth (GB/s)":1.6384}}',
                     '"pid":4001,"tid":4001,"ts":', r'"hostile \"\u0002' '\ufffd": "] broken"']:
            assert line in text, f'no {line} in {text[:10000]}'


def test_processes_of_ranks_differ():
    with Run(Training(3, 1, 1).files()) as run:
        text = exported(run)
        for i in range(3):
            assert text.count(f'"pids": [[{1000 * i + 1000}, {4000 + i}], [{1000 * i + 1001}, {i}]]') == 1, text[:5000]
        assert '"pid":4000' not in text and '"pid":3001,"tid":20' in text


# ---- pictures

def picture(run, *part):
    text = gputrace('export', '--format=svg', *part, run.trace).stdout
    xml.dom.minidom.parseString(text)
    return text


def test_contents_of_a_picture():
    with run_of() as run:
        text = picture(run)
        for part in ('>4 GPUs · NVIDIA H100 80GB HBM3 · ', '>GPU 3</text>', '>iteration 6</text>',
                     '>stream 20</text>', 'of it waiting for the last GPU</title>'):
            assert part in text, part
        assert '<script' not in text and text.endswith('</svg>\n') and text == picture(run)
        text = picture(run, '--iteration', '5', '--gpu', '2')
        assert '>Iteration 5 · GPU 2 · ' in text and 'waiting for the last GPU</title>' in text
        assert '>GPU 1</text>' not in text


def test_other_iterations_are_pale():
    with run_of(iterations=6, layers=4, ahead=True) as run:
        text = picture(run, '--iteration', '6')
        assert '<rect class="p" x="' in text[text.index('>other iterations<'):]
        assert '; of iteration 5</title>' in text and '; of iteration 7</title>' in text
        text = picture(run)
        assert '<rect class="p" x="' not in text and '>other iterations<' not in text


def test_the_size_of_a_picture_is_bounded():
    for ranks, iterations, layers in (8, 3, 400), (300, 1, 5):
        with Run(Training(ranks, iterations, layers).files()) as run:
            text = picture(run)
            assert len(text) < 2000000
            assert ('>the first 256 of 300 GPUs<' in text) == (ranks == 300)


if __name__ == '__main__':
    run_tests(globals())
