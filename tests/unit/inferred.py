#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dependencies, collectives and constants of the emulation that `gputrace import` infers from the times of events.

    inferred.py GPUTRACE
"""
import collections
import csv
import functools
import glob
import itertools
import os

from profiler import Run, X, document, gputrace, run_tests

LAUNCH, WAIT, RECORD = 'cudaLaunchKernel', 'cudaStreamWaitEvent', 'cudaEventRecord'
ALL_REDUCE = 'ncclKernel_AllReduce_RING_LL_Sum_float'

# An event; times in microseconds. Threads count from 1, streams from 7.
Row = collections.namedtuple('Row', 'cat track name start duration correlation rank args')


def call(start, duration, correlation, name=LAUNCH, thread=1, rank=0):
    return Row('cuda_runtime', thread, name, start, duration, correlation, rank, {})


def kernel(start, duration, correlation, name='k', stream=7, rank=0, **args):
    return Row('kernel', stream, name, start, duration, correlation, rank, args)


def reduction(start, duration, correlation, rank=0, name=ALL_REDUCE, stream=24, **args):
    return kernel(start, duration, correlation, name, stream, rank, **args)


def copy(name, start, duration, correlation):
    return Row('gpu_memcpy', 7, f'Memcpy {name}', start, duration, correlation, 0, {'bytes': 1 << 20})


Edge = collections.namedtuple('Edge', 'rule kind source to lag_us between_ranks')  # `source` and `to` are rows
Collective = collections.namedtuple('Collective', 'comm seq')


class Inferred(Run):
    """Imports rows: a file for each rank, or one file of a process that uses several GPUs."""

    def __init__(self, rows, one_process=False):
        files = collections.defaultdict(list)
        for r in rows:
            pid = 100 + r.rank * (not one_process) if r.cat == 'cuda_runtime' else r.rank
            files[0 if one_process else r.rank].append(
                X(r.cat, r.name, pid, r.track, r.start, r.duration, correlation=r.correlation, **r.args))
        super().__init__({f'rank-{rank}.json': document(*events) for rank, events in files.items()})
        assert not self.error, self.error
        ranks = range(2) if one_process else [None]
        self.rows = {(r.rank if rank is None else rank, r.correlation, r.cat == 'cuda_runtime'): r
                     for r in rows for rank in ranks}

    def table(self, name):
        """The rows of a table over all iterations, as (rank, {column: value})."""
        folder = os.path.join(self.folder, 'tables')
        if not os.path.exists(folder):
            gputrace('export', '--format=tsv', '-o', folder, self.trace)
        for path in sorted(glob.glob(f'{folder}/*/gpu*/{name}') + glob.glob(f'{folder}/*/*/gpu*/{name}')):
            if '/gpus/' not in path:
                with open(path, encoding='utf-8', newline='') as f:
                    yield from ((int(path.split('/')[-2][3:]), row) for row in csv.DictReader(f, delimiter='\t'))

    @functools.cached_property
    def numbers(self):
        return {(rank, row['number']): self.rows[rank, int(row['correlation']), table == 'calls']
                for table in ('calls', 'kernels', 'memcpy', 'collectives') for rank, row in self.table(table)}

    def edges(self, rule=None):
        for rank, row in self.table('syncs'):
            others, source = row['from'].split(':') if ':' in row['from'] else (0, row['from'])
            if rule in (None, row['rule']):
                yield Edge(row['rule'], row['kind'], self.numbers[rank + int(others), source],
                           self.numbers[rank, row['to']], int(row['lag_ns']) / 1000, int(others) != 0)

    def collectives(self, rank):
        return [Collective(row['communicator'], int(row['sequence'])) for of, row in self.table('collectives')
                if of == rank]

    def n_comms(self):
        return len(os.listdir(os.path.join(self.folder, 'tables/communicators')))

    def constants(self):
        return self.info()['ranks'][0]['facts']['gputrace.emulation']


# Launches that take 5 us from the end of the call to the start of the kernel.
CALIBRATE = [row for i in range(4) for row in (call(100 * i, 10, i + 1), kernel(100 * i + 15, 2, i + 1))]


def queries(name, *starts):
    return [call(start, 4 if start == 441 else 2, 6 + i, name) for i, start in enumerate(starts)]


# Rows after CALIBRATE, the edges (rule, indices of two rows, lag in us), and a rule that gives no edge.
SCENES = [
    ('nothing waits', [], [], 'event-wait'),
    ('a collective waits for earlier launches',
     [call(400, 10, 5), kernel(415, 100, 5), call(415, 1, 6, WAIT), call(420, 10, 7, 'cudaLaunchKernelExC'),
      reduction(518, 50, 7)],
     [('comm-wait-compute', 1, 4, None)], 'capacity'),
    ('a stream waits for a collective',
     [call(400, 10, 5, 'cudaLaunchKernelExC'), reduction(415, 200, 5), call(420, 1, 6, WAIT), call(430, 10, 7),
      kernel(618, 9, 7)],
     [('event-wait', 1, 4, None)], None),
    ('an event orders two streams',
     [call(400, 10, 5), kernel(415, 9, 5), call(420, 1, 6, RECORD), call(422, 1, 7, WAIT), call(480, 10, 8),
      kernel(495, 9, 8, stream=20)],
     [('event-wait', 1, 5, None)], None),
    ('a wait behind the record of an event, whatever else was recorded before',
     [call(400, 10, 5), kernel(415, 9, 5), call(420, 1, 6, RECORD), call(440, 1, 9, RECORD), call(442, 1, 7, WAIT),
      call(480, 10, 8), kernel(495, 9, 8, stream=20)],
     [('event-wait', 1, 6, None)], None),
    ('a call waits for a stream; the rest of its duration is its own',
     [call(400, 10, 5), kernel(415, 500, 5), call(420, 510, 6, 'cudaStreamSynchronize')],
     [('sync-stream', 1, 2, 15)], 'sync-device'),
    ('a loop asks whether a stream is complete, until it is',
     [call(400, 10, 5), kernel(415, 29, 5),
      *queries('cudaStreamQuery', 420, 423, 426, 429, 432, 435, 438, 441)],
     [('poll', 1, 2, 1), ('poll', 1, 3, 0), ('poll', 2, 3, 0), ('poll', 1, 9, 0), ('poll', 8, 9, 0)], None),
    ('queries that are not a loop: rare ones',
     [call(400, 10, 5), kernel(415, 74, 5), *queries('cudaEventQuery', 420, 430, 460, 463, 480, 483, 486, 490)],
     [], 'poll'),
    ('a call waits for the device, that is, for both streams',
     [call(400, 10, 5), kernel(415, 500, 5), call(412, 10, 6), kernel(427, 600, 6, stream=20),
      call(430, 610, 7, 'cudaDeviceSynchronize')],
     [('sync-device', 1, 4, 13), ('sync-device', 3, 4, 13)], None),
    ('malloc returns while a kernel runs, so it never waits',
     [call(400, 10, 5), kernel(415, 5000, 5), call(420, 900, 6, 'cudaMalloc'), call(5500, 1000, 7, 'cudaFree'),
      call(6500, 900, 8, 'cudaMalloc')],
     [('sync-device', 1, 3, 1000)], None),
    ('a copy to pageable memory',
     [call(400, 10, 5), kernel(415, 500, 5), call(420, 510, 6, 'cudaMemcpyAsync'),
      copy('DtoH (Device -> Pageable)', 916, 2, 6)],
     [('copy', 3, 2, 12)], None),
    ('one thread hands over to another',
     [call(400, 10, 5, thread=2), kernel(415, 9, 5), call(500, 10, 6, thread=2), kernel(515, 9, 6),
      call(600, 10, 7), kernel(615, 9, 7)],
     [('thread-handover', -2, 0, 90), ('thread-handover', 2, 4, 90)], None),
    ('launched before the recording',
     [kernel(50, 100, 99, stream=30), kernel(152, 9, 98, stream=30)], [('window', 0, 0, 50)], None),
    ('a full device',
     [call(400, 10, 5), kernel(415, 1000, 5, 'big'), call(420, 10, 6), kernel(1400, 9, 6, stream=20)],
     [('capacity', 1, 3, 985)], 'event-wait'),
]
# Two blocks for each of 80 multiprocessors, in ten waves. A delay of more than a wave has another reason.
TEN_WAVES = kernel(415, 1000, 5, 'ten waves of blocks', grid=[800, 2, 1], block=[1024, 1, 1],
                   **{'registers per thread': 32})
SCENES += [
    ('a full device until a wave of blocks ends',
     [call(400, 10, 5), TEN_WAVES, call(600, 10, 6), kernel(715, 9, 6, stream=20)],
     [('capacity', 1, 3, 300)], 'event-wait'),
    ('a delay of more than a wave',
     [call(400, 10, 5), TEN_WAVES, call(600, 10, 6), kernel(815, 9, 6, stream=20)], [], 'capacity'),
]


def test_edges():
    for what, rows, wanted, never in SCENES:
        with Inferred(CALIBRATE + rows) as run:
            edges = list(run.edges())
            for rule, source, to, lag in wanted:
                ends = (CALIBRATE + rows)[len(CALIBRATE) + source], rows[to]
                assert any(e.rule == rule and (e.source, e.to) == ends and lag in (None, e.lag_us) for e in edges), (
                    f'{what}: no edge {rule} {source} -> {to} in {edges}')
            assert never not in {e.rule for e in edges}, f'{what}: {edges}'


def repeated(rows, times, period):
    """The rows again and again, with two correlations each time."""
    return [r._replace(start=r.start + k * period, correlation=r.correlation + 2 * k)
            for k in range(times) for r in rows]


# Repeated rows, and the constants that they give.
CONSTANTS = [
    ('the latency of launches', CALIBRATE, {'anchor_ns': 0, 'launch_ns': 5000, 'clock_ns': 0, 'unexplained': 0}),
    ('if only collectives are launched into an idle stream, they give the launch latency',
     repeated([call(0, 10, 1), reduction(13, 100, 1), call(20, 10, 2), kernel(115, 5, 2, stream=24)], 11, 200),
     {'launch_ns': 3000}),
    ('the same if every operation except the collectives waits',
     repeated([call(0, 10, 1), reduction(13, 300, 1), call(20, 10, 2), kernel(315, 9, 2)], 12, 1000),
     {'launch_ns': 3000}),
    ('pairs of launches, the second 5 us before its turn: short queues without gaps',
     repeated([call(0, 3, 1), kernel(4, 9, 1), call(4, 3, 2), kernel(13, 4, 2)], 12, 200),
     {'launch_ns': 1000, 'gaps_ns': [0]}),
    ('without copies to the host, copies to the device give the latency of copies',
     repeated([call(0, 100, 1, 'cudaMemcpy'), copy('HtoD (Pageable -> Device)', 3, 96, 1)], 12, 200),
     {'copy_ns': 3000}),
    ('if most operations wait for another stream, those that do not give the launch latency',
     [row for i in range(16) for row in (
         call(1000 * i, 10, i + 1), kernel(1000 * i + 14 + (200 + i % 3 if i % 8 else 0), 9, i + 1))],
     {'launch_ns': 4000}),
    ('the durations of calls vary, but operations start 3 us after the start of their calls',
     [row for i in range(16) for row in (call(100 * i, 5 + i * 7 % 13, i + 1), kernel(100 * i + 3, 2, i + 1))],
     {'launch_ns': 3000, 'from_start': 1}),
    ('every second kernel is on a stream that was made to wait, and starts 20 us later than its launch allows',
     [row for i in range(8) for row in (
         call(200 * i, 10, 3 * i + 1), kernel(200 * i + 13, 2, 3 * i + 1), call(200 * i + 90, 1, 3 * i + 2, WAIT),
         call(200 * i + 100, 10, 3 * i + 3), kernel(200 * i + 133, 2, 3 * i + 3))],
     {'launch_ns': 3000}),
    ('a collective starts 1 us after the kernel that it waits for, every second one behind the previous collective',
     [row for i in range(12) for at, n in [(1000 * i, 8 * i + 1)] for row in (
         call(at, 5, n), kernel(at + 300, 30, n), call(at + 10, 1, n + 1, RECORD), call(at + 12, 1, n + 2, WAIT),
         call(at + 20, 5, n + 3, 'cudaLaunchKernelExC'), reduction(at + 331, 60, n + 3),
         call(at + 30, 5, n + 4), kernel(at + 330, 59, n + 4), call(at + 40, 1, n + 5, RECORD),
         call(at + 42, 1, n + 6, WAIT), call(at + 50, 5, n + 7, 'cudaLaunchKernelExC'),
         reduction(at + 391, 60, n + 7))],
     {'event_ns': 1000}),
]


def test_constants():
    for what, rows, wanted in CONSTANTS:
        with Inferred(rows) as run:
            assert run.constants() | wanted == run.constants(), f'{what}: {run.constants()}'


def test_copies_held_back():
    """Loading of code delays the only copy on an idle stream. Copies behind kernels show that they begin sooner."""
    name = 'DtoH (Device -> Pageable)'
    behind = [call(30000, 3, 2), kernel(30004, 30, 2), call(30010, 32, 3, 'cudaMemcpyAsync'), copy(name, 30035, 5, 3)]
    with Inferred([call(0, 22000, 1, 'cudaMemcpyAsync'), copy(name, 21990, 5, 1)] + repeated(behind, 8, 1000)) as run:
        assert run.constants()['copy_ns'] <= 25000, run.constants()


def test_gaps_of_rare_classes():
    """In queues, kernels of 30 us follow each other after 1 us, and collectives after 9 us. Kernels of other
    durations are like the former."""
    rows = [row for i in range(12) for row in (
        call(20 * i, 5, 2 * i + 1), kernel(500 + 31 * i, 30, 2 * i + 1), call(20 * i + 10, 5, 2 * i + 2),
        reduction(500 + 39 * i, 30, 2 * i + 2))]
    with Inferred(rows) as run:
        assert run.constants()['gaps_ns'][0] == 1000, run.constants()


def test_gaps_of_kernels():
    """In a queue, one kernel has a gap of 3 us, and another of 1 us. Event templates are numbered as they appear."""
    for long in range(2):
        rows, at = [], 500
        for i in range(24):
            rows += [call(10 * i, 5, i + 1), kernel(at, 30, i + 1, 'kl'[i % 2])]
            at += 30 + (3 if i % 2 == long else 1)
        with Inferred(rows) as run:
            gaps = [gap for gap in run.info()['facts']['gputrace.gaps'] if gap]
            assert len(gaps) == 2 and 700 < gaps[long] < 1000 and -1100 < gaps[1 - long] < -700, (long, gaps)


def test_capacity_is_a_share_of_the_duration():
    """Kernels that fill the device admit another after 95 % of their duration, once after 97 %. The lag of each edge
    follows from the others and from the duration of the kernel."""
    rows = []
    for i, (duration, start) in enumerate([(1000, 950), (1040, 988), (1020, 989), (1000, 950)]):
        at = 3000 * i
        rows += [call(at, 5, 2 * i + 1), kernel(at + 10, duration, 2 * i + 1, 'big'), call(at + 20, 5, 2 * i + 2),
                 kernel(at + 10 + start, 9, 2 * i + 2, stream=20)]
    with Inferred(rows) as run:
        lags = [(e.lag_us, e.source.duration * 0.95) for e in run.edges('capacity')]
        assert len(lags) == 4 and all(lag == share for lag, share in lags), lags


# ---- links of calls that wait for an event, inferred from all iterations together

def test_the_host_waits():
    """For a kernel; in one iteration another one ends just before the call returns."""
    rows = []
    for i in range(6):
        at, end = 1000 * i, 1000 * i + 310 + 20 * i
        rows += [call(at, 5, 10 * i + 1), kernel(at + 10, end - at - 10, 10 * i + 1, 'awaited'),
                 call(at + 6, 1, 10 * i + 2, RECORD), call(at + 10, 5, 10 * i + 3),
                 kernel(at + 20, (end + 3 if i == 2 else at + 900) - at - 20, 10 * i + 3, 'other', 20),
                 call(at + 16, 1, 10 * i + 4, RECORD),
                 call(at + 20, end + 5 - at - 20, 10 * i + 5, 'cudaEventSynchronize')]
    with Inferred(rows) as run:
        assert [e.source.name for e in run.edges('sync-event')] == ['awaited'] * 6, list(run.edges())


def test_a_stream_waits():
    """In two iterations a kernel delays the stream that waits for it. In two others the stream is late for another
    reason, just after another operation ends."""
    rows = []
    for i in range(6):
        at = 1000 * i
        end = at + (310 + 20 * i if i < 3 else 15)
        start = end + 2 if i < 3 else at + 60
        other = start - 1 if i == 3 else at + 500 + 30 * i
        rows += [call(at, 5, 10 * i + 1), kernel(at + 10, end - at - 10, 10 * i + 1, 'awaited'),
                 call(at + 6, 1, 10 * i + 2, RECORD), call(at + 8, 5, 10 * i + 3),
                 kernel(at + 18, other - at - 18, 10 * i + 3, 'other', 30), call(at + 15, 1, 10 * i + 4, WAIT),
                 call(at + 20, 5, 10 * i + 5), kernel(start, 5, 10 * i + 5, 'waiting', 20)]
    with Inferred(rows) as run:
        first = {}
        for edge in run.edges('event-wait'):
            first.setdefault(edge.to.start, edge.source.name)
        assert list(first.values()) == ['awaited'] * 6, list(run.edges('event-wait'))


def test_queue_of_two_recording_threads():
    """A thread waits for events that one thread records, then another one: they are not a queue of one thread."""
    rows = []
    for i in range(8):
        at, by = 200 * i, 1 + i // 4
        rows += [call(at, 3, 4 * i + 1, thread=by), kernel(at + 6, 20, 4 * i + 1, 'load'),
                 call(at + 5, 2, 4 * i + 2, RECORD, by), call(at + 50, 2, 4 * i + 3, WAIT, 3),
                 call(at + 55, 3, 4 * i + 4, thread=3), kernel(at + 70, 30, 4 * i + 4, 'use', 20)]
    with Inferred(rows) as run:
        lags = [e.lag_us for e in run.edges('event-wait') if e.source.name == 'load' and e.to.name == 'use']
        assert len(lags) == 8, list(run.edges())


def test_calls_of_a_thread_for_two_gpus():
    """They form one sequence."""
    rows = [call(100, 10, 1), kernel(200, 240, 1), call(115, 10, 2, rank=1), kernel(205, 9, 2, rank=1),
            call(130, 10, 3), kernel(441, 200, 3), call(150, 500, 4, 'cudaStreamSynchronize'),
            call(655, 10, 5, rank=1), kernel(700, 9, 5, rank=1)]
    with Inferred(rows, one_process=True) as run:
        edges = [e for e in run.edges() if e.between_ranks]
        assert [e.rule for e in edges] == ['thread-order'] * 3, edges
        assert all(e.lag_us == e.to.start - e.source.start - e.source.duration for e in edges), edges
    with Inferred(rows) as run:
        assert not [e for e in run.edges() if e.between_ranks]


def test_waits_of_the_stream_of_an_event():
    """The event that the host waits for completes what its stream was made to wait for before the event was recorded:
    a kernel of this GPU. Edges from another GPU, or from waits after the call, would be wrong."""
    for gpu, later in itertools.product(range(2), (False, True)):
        at = 560 if later else 457
        rows = CALIBRATE + [
            call(400, 5, 5), kernel(410, 20, 5, 'elsewhere', 20, gpu), call(440, 1, 6, RECORD),
            call(450, 5, 7), kernel(460, 80, 7, 'awaited'), call(459, 1, 8, RECORD),
            call(461, 84, 9, 'cudaEventSynchronize'), call(at, 1, 10, WAIT),
            Row('cuda_sync', 7, 'Stream Wait Event', at, 0, 10, 0,
                {'stream': 7, 'wait_on_stream': 20, 'wait_on_cuda_event_record_corr_id': 6}),
            call(600, 5, 11), kernel(610, 9, 11)]
        with Inferred(rows, one_process=True) as run:
            names = {e.source.name for e in run.edges('sync-event')}
            wanted = {'awaited'} if gpu or later else {'awaited', 'elsewhere'}
            assert names == wanted, f'GPU {gpu}, later: {later}: {names}'


# ---- collectives

def test_ranks_that_communicate():
    """Ranks 0 and 1; rank 2's collectives end at other times. The recording of rank 1 starts one collective later."""
    times = {0: [(100, 500), (1000, 500), (2000, 400), (3000, 300)], 1: [(1210, 300), (1910, 500), (3110, 200)],
             2: [(700, 30), (1600, 30), (2600, 40)]}
    rows = []
    for rank, ops in times.items():
        for i, (start, duration) in enumerate(ops, 1 + (rank > 0)):
            rows += [call((600 if rank else 0) + 20 * (i - 1), 10, i, rank=rank), reduction(start, duration, i, rank)]
    with Inferred(rows) as run:
        zero, one, two = (run.collectives(rank) for rank in range(3))
        assert zero[1:] == one and not {c.comm for c in zero} & {c.comm for c in two}, (zero, one, two)
        with open(f'{run.folder}/tables/communicators/{zero[0].comm}/ranks', encoding='utf-8') as f:
            assert len(f.readlines()) == 1 + 2


def test_short_collectives_do_not_misalign_long_ones():
    """Two ranks reduce on one communicator twelve times, and once on another in between, for a shorter time."""
    rows = []
    for rank in range(2):
        for i in range(12):
            rows += [call(10 * i, 5, i + 1, rank=rank),
                     reduction(1000 + 100 * i + 3 * rank, 80 - 3 * rank, i + 1, rank)]
        rows += [call(500, 5, 50, rank=rank), reduction(1320, 70, 50, rank, stream=28)]
    with Inferred(rows) as run:
        assert run.collectives(0) == run.collectives(1) and len(run.collectives(0)) == 13
        assert run.n_comms() == 2


def group(op, seq=None):
    return {'Process Group Name': 'ep', 'Collective name': op} | ({'Seq': seq} if seq else {})


def test_named_groups():
    """An all-to-all of parts of different sizes, with the kernel of sends, on ranks whose clocks are milliseconds
    apart. The recording of rank 1 begins one collective later. The name of the group and the order suffice."""
    gaps, rows = [900, 1700, 1100, 2300, 1300], []
    for rank, clock in enumerate([0, 4100, -3300]):
        for i in range(rank == 1, 10):
            start = 5000 + sum(gaps[k % 5] for k in range(i)) + clock
            rows += [call(start - 50, 5, i + 1, rank=rank),
                     reduction(start, 300 + (i + rank) % 3 * 200, i + 1, rank, 'ncclDevKernel_SendRecv',
                               **group('all_to_all'))]
    with Inferred(rows) as run:
        zero, one, two = (run.collectives(rank) for rank in range(3))
        assert zero == two and zero[1:] == one and [c.seq for c in zero] == [*range(10)], (zero, one, two)
        assert run.n_comms() == 1


def test_recorded_numbers_come_before_the_order():
    """Collectives of one size follow each other regularly; the fourth one of rank 1 was not recorded."""
    for numbered in False, True:
        rows = [row for rank in range(3) for i in range(10) if (rank, i) != (1, 3) for row in (
            call(4950 + 500 * i, 5, i + 1, rank=rank),
            reduction(5000 + 500 * i, 300, i + 1, rank, **group('all_reduce', 41 + i if numbered else None)))]
        with Inferred(rows) as run:
            zero, one, two = (run.collectives(rank) for rank in range(3))
            right = sum(a == b for a, b in zip(zero, two)) + sum(a == b for a, b in zip(zero[:3] + zero[4:], one))
            assert (right == 19) == numbered, (zero, one, two)
            if numbered:
                assert run.n_comms() == 1 and [c.seq for c in zero] == [*range(41, 51)], zero


def test_transfers():
    """Ranks 0 and 1 leave one at a time: each has its own transfer time after both have begun. Rank 1's clock is 10 us
    ahead, as the end times of most collectives show."""
    rows = []
    for rank, i in itertools.product(range(2), range(11)):
        start = 1000 + 200 * i + 30 * rank
        end = 1080 + 200 * i + (10 if rank else 40 if i == 10 else 0)
        rows += [call(10 * i, 5, i + 1, rank=rank), reduction(start, end - start, i + 1, rank)]
    with Inferred(rows) as run:
        edges = list(run.edges('transfer'))
        assert all(e.source == e.to and e.kind == 'return' for e in edges), edges
        lags = [[e.lag_us for e in edges if e.to.rank == rank] for rank in range(2)]
        assert lags == [[60] * 10 + [100], [60] * 11], lags


def test_few_collectives_agree_less():
    """Two all-reduces of a group without a name; rank 2 leaves one of them last and the other first."""
    rows = [row for rank, late in enumerate([(0, 4), (1, 5), (7, 0)]) for i in range(2) for row in (
        call(4950 + 9000 * i, 5, i + 1, rank=rank), reduction(5000 + 9000 * i, 300 + late[i], i + 1, rank))]
    with Inferred(rows) as run:
        assert list(run.table('collectives')) and run.n_comms() == 1


def test_messages_of_a_chain():
    """Rank 1 exchanges messages with ranks 0 and 2 on one stream. Its partners leave them at different times, and have
    half as many messages."""
    rows, pairs = [], []
    for i in range(12):
        for first, start, late in (0, 1000 + 400 * i, 0), (1, 1200 + 400 * i, i % 3 * 15):
            for k in range(2):
                rows += [call(start - 50, 5, len(rows) + 1, rank=first + k),
                         reduction(start, 100 + k * late, len(rows) + 1, first + k, 'ncclKernel_SendRecv')]
            pairs.append(first)
    with Inferred(rows) as run:
        left = {rank: iter(run.collectives(rank)) for rank in range(3)}
        for first in pairs:
            assert next(left[first]).seq == next(left[first + 1]).seq
        assert run.n_comms() == 1


if __name__ == '__main__':
    run_tests(globals())
