# SPDX-License-Identifier: Apache-2.0
"""A discrete-event simulation of host threads, streams, events and collectives on several GPUs, by
the rules of CUDA and of PyTorch's process groups. Random numbers are drawn by the names of events,
so runs with other speeds draw the same ones."""
import fnmatch
import hashlib
import heapq
import math

from plans import US

PID = 4000


class Op:
    """An operation on a stream. It starts when its dependencies have ended and its launch has
    reached the device."""

    def __init__(self, rank, stream, name, duration, kind, launch, args=None, collective=None):
        self.rank, self.stream, self.name, self.kind = rank, stream, name, kind
        self.duration, self.launch, self.args = duration, launch, args or {}
        self.collective = collective
        self.waiting, self.ready, self.waits = 0, 0, []
        self.event = None  # recorded behind it: its stream, and the call
        self.number = rank.count('op')
        self.start = self.end = None
        self.then = []

    def after(self, other):
        if other is None:
            return
        self.waits.append(other)
        if other.end is not None:
            self.ready = max(self.ready, other.end + self.gap(other))
        else:
            self.waiting += 1
            other.then.append(self)

    def gap(self, other):
        return other.rank.draw(US, 2 * US, 'gap', other.number, self.rank.number, self.number)

    def waited(self):
        """The operations of other streams that it waits for, those of barriers included."""
        ret, left = set(), list(self.waits)
        while left:
            other = left.pop()
            if other.kind == 'barrier':
                left += other.waits
            elif other.stream != self.stream or other.rank != self.rank:
                ret.add(other)
        return ret

    def dependency_ended(self, other):
        self.ready = max(self.ready, other.end + self.gap(other))
        self.waiting -= 1
        self.settle()

    def settle(self):
        if self.waiting or self.start is not None:
            return
        self.start = max(self.ready, self.launch)
        if self.collective:
            self.collective.arrived(self)
        else:
            self.finish(self.start + self.duration)

    def finish(self, end):
        self.end = end
        for other in self.then:
            other.dependency_ended(self)
        self.rank.run.wake(self)


class Collective:
    """A collective of one communicator. All participants end together, one transfer time after the
    last has started; if `uneven`, each ends when its own part has arrived."""

    def __init__(self, members, transfer, uneven):
        self.members, self.transfer, self.uneven, self.ops = members, transfer, uneven, []

    def arrived(self, op):
        self.ops.append(op)
        if len(self.ops) == len(self.members):
            end = max(o.start for o in self.ops) + self.transfer
            for o in self.ops:
                part = o.rank.draw(0, 1 << 20, 'part', o.number) / (1 << 20)
                o.finish(end + o.rank.draw(0, 8 * US, 'leave', o.number) +
                         int(self.transfer * self.uneven * part))


class Thread:
    """A host thread: runs a generator that yields the operations it waits for."""

    def __init__(self, rank, tid, at):
        self.rank, self.tid, self.now, self.program = rank, tid, at, None


class Rank:
    def __init__(self, run, number):
        self.run, self.number = run, number
        self.counts = {}
        self.last = {}
        self.events, self.ops, self.syncs = [], [], []
        self.awaited = {}  # by correlation of a call: the operations that it waited for
        self.correlation, self.external = 1000, 1
        self.instances = {}
        self.worker = Thread(self, PID + number + 500, 0)
        self.step = 0
        self.gathered = []  # plan sharded: collectives of the previous step
        self.passed, self.taken, self.batches = [], [], {}  # plan loader: by number of batch
        self.skew = self.draw(-run.skew, run.skew + 1, 'skew')
        self.drift = self.draw(-run.drift, run.drift + 1, 'drift') / 1e6

    # ---- draws: the same one for the same thing, however fast the machine is ---------------------
    def count(self, what):
        self.counts[what] = self.counts.get(what, -1) + 1
        return self.counts[what]

    def draw(self, low, high, *key):
        """A number from low to high - 1."""
        return low + int(self.run.uniform(self.number, *key) * (high - low))

    def jitter(self, duration, what, number=None, share=0.08):
        key = (self.number, what, self.count(what) if number is None else number)
        return max(1, int(duration + duration * share * self.run.normal(*key)))

    # ---- host ----------------------------------------------------------------------------------
    def host(self, thread, name, duration, category, args=None, blocking_end=None):
        start = thread.now
        thread.now = max(start + duration, blocking_end or 0)
        self.events.append({'cat': category, 'name': name, 'tid': thread.tid, 'start': start,
                            'end': thread.now, 'args': args or {}})

    def call(self, thread, name, duration, blocking_end=None):
        counter = self.run.ranks[0] if self.run.one_process else self
        draw = counter.draw(0, 4, 'correlation', counter.count('correlation'))
        counter.correlation += [1, 1, 2, 3][draw]
        duration = self.jitter(duration, 'call')
        if blocking_end is None:
            duration = int(duration / self.run.launch)
        self.host(thread, name, duration, 'cuda_runtime',
                  {'cbid': 211, 'correlation': counter.correlation}, blocking_end)
        return counter.correlation

    def record(self, thread, stream):
        """Records an event on a stream: returns the stream and the call."""
        event = stream, self.call(thread, 'cudaEventRecord', 2 * US)
        if self.last.get(stream):
            self.last[stream].event = event
        return event

    def note(self, kind, stream, event):
        """The profiler's record of the last call, which made a stream or the host wait."""
        call, (wait_on, record) = self.events[-1], event or (-1, -1)
        self.syncs.append({'name': kind, 'stream': stream, 'start': call['start'], 'end': call['end'], 'args': {
            'cuda_sync_kind': kind, 'wait_on_stream': wait_on, 'wait_on_cuda_event_record_corr_id': record,
            'wait_on_cuda_event_id': record, 'stream': stream,
            'correlation': call['args']['correlation']}})

    def think(self, thread, duration):
        thread.now += int(self.jitter(duration, 'think') / self.run.host)

    def hand_over(self, thread, other, duration):
        """`other` continues some time after `thread` stopped."""
        other.now = thread.now + int(duration / self.run.host)

    def receive(self, thread, passed, duration):
        """`thread` continues some time after it was passed something, or at once."""
        if passed.end is None:
            yield passed
        if passed.end > thread.now:
            thread.now = passed.end + int(duration / self.run.host)

    def launch(self, thread, stream, name, duration, kind='kernel', args=None, collective=None,
               waits=(), blocks=False):
        api = {'gpu_memcpy': 'cudaMemcpyAsync', 'gpu_memset': 'cudaMemsetAsync'}
        issued = thread.now + int(5 * US / (1 if blocks else self.run.launch))
        correlation = self.call(thread, api.get(kind, 'cudaLaunchKernel'), 6 * US, 0 if blocks else None)
        op = Op(self, stream, name, 0, kind, 0, args, collective)
        op.duration = int(self.jitter(duration, 'duration', op.number, 0.02) / self.speed(kind, name) *
                          self.run.even.get((self.number, name), 1))
        op.launch = issued + self.jitter(3 * US, 'latency', op.number)
        op.args = dict(op.args, correlation=correlation)
        op.after(self.last.get(stream))
        for other in waits:
            op.after(other)
        if collective and self.run.overlap == 'full' and op.waited():
            op.launch = 0  # only its data delay it
        self.last[stream] = op
        self.ops.append(op)
        op.settle()
        return op

    def speed(self, kind, name):
        if kind == 'gpu_memcpy':
            return self.run.copy
        for pattern, factor in self.run.kernel:
            if fnmatch.fnmatchcase(name, pattern):
                return factor * self.run.gpu / self.run.slow.get(self.number, 1)
        return self.run.gpu / self.run.slow.get(self.number, 1)

    def operator(self, thread, name, body):
        """A framework operator: a range around the work of body()."""
        mark = {'cat': 'cpu_op', 'name': name, 'tid': thread.tid, 'start': thread.now,
                'args': {'External id': self.external}}
        self.external += 1
        self.events.append(mark)
        self.think(thread, 4 * US)
        result = body()
        self.think(thread, 3 * US)
        mark['end'] = thread.now
        return result

    def kernel(self, thread, name, duration, stream=7):
        return self.operator(thread, 'aten::' + name, lambda: self.launch(
            thread, stream, f'void at::native::{name}_kernel<float>(int, float*)', duration,
            args={'grid': [64, 1, 1], 'block': [256, 1, 1], 'registers per thread': 32,
                  'shared memory': 0}))

    def communicate(self, thread, group, kind, nbytes, stream, back=True, current=7, uneven=0):
        """A collective on its own stream: it waits for the current stream, and the current stream
        waits for it if `back`."""
        key = (group['name'], kind if kind == 'SendRecv' else '')
        number = self.instances.get(key, 0)
        self.instances[key] = number + 1
        transfer = (12 * US / self.run.latency + nbytes * 1000 // (self.run.gigabytes * 1000) /
                    self.run.bandwidth) / self.run.net
        if self.run.ring:
            transfer *= (1 - 1 / len(group['ranks'])) / 0.75
        collective = self.run.collective((key, number), group['ranks'], transfer, uneven)
        names = {'AllReduce': 'AllReduce_RING_LL_Sum_half', 'SendRecv': 'SendRecv', 'AllToAll': 'SendRecv',
                 'AllGather': 'AllGather_RING_LL', 'ReduceScatter': 'ReduceScatter_RING_LL_Sum_half'}
        prefix = 'ncclDevKernel_' if self.run.ns else 'ncclKernel_'
        args = {'grid': [8, 1, 1], 'block': [544, 1, 1], 'registers per thread': 96,
                'shared memory': 47056}
        told = {}
        if self.run.groups:
            told = {'Collective name': {'AllToAll': 'all_to_allv'}.get(kind, kind.lower()), 'In msg nelems': nbytes // 2,
                    'Out msg nelems': nbytes // 2, 'Group size': len(group['ranks']), 'dtype': 'Half',
                    'Process Group Name': group['name'], 'Process Group Ranks': str(group['ranks'])}
            if self.run.numbered:
                told['Seq'] = number + 1
        if not self.run.params:
            args.update(told)

        def launch():
            self.stream_wait(thread, stream, self.record(thread, current))
            self.own_wait(thread)
            op = self.launch(thread, stream, prefix + names[kind], 0, args=args,
                             collective=collective, waits=[self.last.get(current)])
            self.own_wait(thread)
            self.record(thread, stream)
            if back or self.run.overlap == 'off':
                self.wait(thread, current, op)
            return op

        def body():
            start = thread.now
            op = launch()
            if self.run.params:
                self.events.append({'cat': 'cpu_op', 'name': 'record_param_comms', 'tid': thread.tid,
                                    'start': start, 'end': thread.now, 'args': told})
            return op
        return self.operator(thread, 'nccl:' + kind.lower(), body)

    def own_wait(self, thread):
        """NCCL records an event of its own and waits for it, before and behind each launch."""
        if self.run.own_waits:
            self.call(thread, 'cudaEventRecord', 2 * US)
            self.call(thread, 'cudaStreamWaitEvent', 2 * US)

    def stream_wait(self, thread, stream, event):
        self.call(thread, 'cudaStreamWaitEvent', 2 * US)
        self.note('Stream Wait Event', stream, event)

    def wait(self, thread, stream, op):
        """Makes the stream's next operation wait for `op`."""
        self.stream_wait(thread, stream, op.event if op else None)
        barrier = Op(self, stream, None, 0, 'barrier', 0)
        barrier.after(self.last.get(stream))
        barrier.after(op)
        self.last[stream] = barrier
        barrier.settle()

    def join(self, thread, stream, other):
        """Records an event on `other` and makes `stream` wait for it."""
        self.record(thread, other)
        self.wait(thread, stream, self.last.get(other))

    def block(self, thread, name, op):
        """A call that returns when `op` has ended; a generator, because the end may not be known
        yet."""
        if op is not None and op.end is None:
            yield op
        while self.run.polls and op and thread.now < op.end + 4 * US:
            self.correlation += 1
            self.host(thread, 'cudaEventQuery', 1 * US, 'cuda_runtime', {'cbid': 213, 'correlation': self.correlation})
            thread.now += 2 * US
        call = self.call(thread, name, 5 * US, (op.end + self.jitter(6 * US, 'return')) if op else None)
        if name == 'cudaEventSynchronize':
            self.note('Event Sync', -1, op.event)
            self.awaited[call] = [op]
        elif op:
            self.note('Stream Sync', op.stream, None)
            self.awaited[call] = [op]

    def item(self, thread, stream=7):
        """tensor.item(): a synchronous copy to pageable memory."""
        op = self.launch(thread, stream, 'Memcpy DtoH (Device -> Pageable)', 2 * US, 'gpu_memcpy',
                         {'bytes': 4}, blocks=True)
        if op.end is None:
            yield op
        call = self.events[-1]
        thread.now = max(thread.now, op.end + self.jitter(6 * US, 'return'))
        call['end'] = thread.now
        yield from self.synchronize(thread, stream)

    def synchronize(self, thread, stream):
        return self.block(thread, 'cudaStreamSynchronize', self.last.get(stream))


class Run:
    def __init__(self, options):
        self.seed = options.seed
        self.net, self.gpu, self.copy = options.net, options.gpu, options.copy
        self.latency, self.bandwidth = options.latency, options.bandwidth
        self.host, self.launch, self.slow = options.host, options.launch, dict(options.slow)
        self.ns = options.dialect == 'ns'
        self.polls = options.polls
        self.own_waits, self.records = options.own_waits, options.records
        self.groups = self.ns if options.groups is None else options.groups
        self.lost = options.lost
        self.numbered, self.params = options.numbered, options.params
        self.kernel, self.overlap, self.ring = options.kernel, options.overlap, options.ring
        self.even = {}  # by rank and name: factor of the durations of kernels
        self.one_process = options.file == 'process'
        self.gigabytes, self.skew, self.drift = options.gigabytes, options.skew * US, options.drift
        self.collectives, self.sleeping, self.runnable = {}, {}, []
        self.ranks = [Rank(self, i) for i in range(options.ranks)]
        if self.one_process:
            for rank in self.ranks:
                rank.skew, rank.drift = self.ranks[0].skew, self.ranks[0].drift
        self.base = 1700000000 * 10**9

    def uniform(self, *key):
        digest = hashlib.blake2b(repr((self.seed,) + key).encode(), digest_size=8).digest()
        return (int.from_bytes(digest, 'little') >> 11) / (1 << 53)

    def normal(self, *key):
        radius = math.sqrt(-2 * math.log(1 - self.uniform(*key)))
        return radius * math.cos(2 * math.pi * self.uniform('angle', *key))

    def collective(self, key, ranks, transfer, uneven):
        if key not in self.collectives:
            self.collectives[key] = Collective(
                ranks, int(transfer + transfer * 0.03 * self.normal(*key)), uneven)
        return self.collectives[key]

    def wake(self, op):
        for thread in self.sleeping.pop(op, []):
            self.start(thread)

    def start(self, thread):
        heapq.heappush(self.runnable, (thread.now, thread.rank.number, thread.tid, thread))

    def run(self, threads):
        for thread in threads:
            self.start(thread)
        while self.runnable:
            thread = heapq.heappop(self.runnable)[3]
            try:
                op = next(thread.program)
            except StopIteration:
                continue
            if op is None or op.end is not None:
                self.start(thread)
            else:
                self.sleeping.setdefault(op, []).append(thread)
        assert not self.sleeping, 'the plan waits for itself'
