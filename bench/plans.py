# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a synthetic run do in a step: a generator for each rank, which yields the
operations that the host waits for."""
US = 1000
MS = 1000 * US


def copy_batch(rank, thread):
    return rank.operator(thread, 'aten::copy_', lambda: rank.launch(
        thread, 7, 'Memcpy HtoD (Pinned -> Device)', 90 * US, 'gpu_memcpy', {'bytes': 1 << 20}))


def optimizer(rank, thread):
    for _ in range(4):
        rank.kernel(thread, 'multi_tensor_apply', 60 * US)


def ddp(rank, thread, options):
    world = {'name': '0', 'ranks': list(range(options.ranks))}
    slow = 1 + 0.05 * rank.number / max(1, options.ranks - 1)
    copy_batch(rank, thread)
    for layer in range(options.layers):
        rank.kernel(thread, f'gemm{layer % 3}', int(150 * US * slow))
        rank.kernel(thread, 'relu', 30 * US)
        yield None
    works = []
    for layer in range(options.layers):
        rank.kernel(thread, f'gemm_backward{layer % 3}', int(280 * US * slow))
        if layer % 4 == 3:
            works.append(rank.communicate(thread, world, 'AllReduce', 32 << 20, 20, back=False))
        yield None
    for work in works:
        rank.wait(thread, 7, work)
    optimizer(rank, thread)


def buckets(rank, thread, options):
    """Collectives of several sizes and kinds, which every rank waits for."""
    world = {'name': 'world', 'ranks': list(range(options.ranks))}
    copy_batch(rank, thread)
    for layer in range(options.layers):
        rank.kernel(thread, f'gemm{layer % 3}', 120 * US + rank.number * 3 * US)
        kind = ['AllReduce', 'AllGather', 'ReduceScatter'][layer % 3]
        rank.communicate(thread, world, kind, (64 << 10) << layer % 8, 20)
        yield None
    optimizer(rank, thread)


def tensor(rank, thread, options):
    world = {'name': 'tp', 'ranks': list(range(options.ranks))}
    copy_batch(rank, thread)
    for layer in range(options.layers):
        rank.kernel(thread, f'gemm{layer % 3}', 120 * US + rank.number * 3 * US)
        rank.communicate(thread, world, 'AllReduce', 4 << 20, 20)
        yield None
    optimizer(rank, thread)


def pipeline(rank, thread, options):
    half = options.ranks // 2
    stage, peer = rank.number // half, (rank.number + half) % options.ranks
    group = {'name': f'tp{stage}', 'ranks': list(range(stage * half, (stage + 1) * half))}
    pair = {'name': f'pp{min(rank.number, peer)}', 'ranks': sorted([rank.number, peer])}
    data = {'name': 'dp', 'ranks': list(range(options.ranks))}
    for _ in range(options.microbatches):
        if stage == 1:
            rank.communicate(thread, pair, 'SendRecv', 8 << 20, 24)
        for layer in range(options.layers):
            rank.kernel(thread, f'gemm{layer % 3}', 140 * US)
            rank.communicate(thread, group, 'AllReduce', 4 << 20, 20)
            yield None
        if stage == 0:
            rank.communicate(thread, pair, 'SendRecv', 8 << 20, 24)
    rank.communicate(thread, data, 'AllReduce', 64 << 20, 28)
    optimizer(rank, thread)


def device_synchronize(rank, thread):
    ops = [op for op in rank.last.values() if op is not None]
    for op in ops:
        if op.end is None:
            yield op
    call = rank.call(thread, 'cudaDeviceSynchronize', 5 * US,
                     max((op.end for op in ops), default=0) + rank.jitter(6 * US, 'return'))
    rank.note('Context Sync', -1, None)
    rank.awaited[call] = ops


def schedule(rank, thread, options):
    """Pipeline stages of two tensor-parallel ranks; one microbatch forward, one backward, as in
    Megatron-LM."""
    stages, stage, side = options.ranks // 2, rank.number // 2, rank.number % 2
    group = {'name': f'tp{stage}', 'ranks': [stage * 2, stage * 2 + 1]}
    world = {'name': 'world', 'ranks': list(range(options.ranks))}
    microbatches = options.microbatches * 2
    warmup = min(stages - stage - 1, microbatches)

    def exchange(other):
        if 0 <= other < stages:
            low, high = sorted([stage, other])
            pair = {'name': f'pp{low}.{side}', 'ranks': [low * 2 + side, high * 2 + side]}
            rank.communicate(thread, pair, 'SendRecv', 8 << 20, 24)
            yield from device_synchronize(rank, thread)

    def layers(times):
        for layer in range(options.layers // 2):
            rank.kernel(thread, f'gemm{layer % 3}', times * (140 + 7 * stage) * US)
            rank.communicate(thread, group, 'AllReduce', 4 << 20, 20)
            yield None

    for _ in range(warmup):
        yield from exchange(stage - 1)
        yield from layers(1)
        yield from exchange(stage + 1)
    if microbatches > warmup:
        yield from exchange(stage - 1)
    for _ in range(microbatches - warmup):
        yield from layers(1)
        yield from exchange(stage + 1)
        yield from layers(2)
        yield from exchange(stage - 1)
    for _ in range(warmup):
        yield from exchange(stage + 1)
        yield from layers(2)
        yield from exchange(stage - 1)
    rank.communicate(thread, world, 'AllReduce', 1 << 12, 28)
    optimizer(rank, thread)


def grid(rank, thread, options):
    """Tensor parallel in pairs, data parallel across pairs; the backward pass on its own thread,
    with gradient buckets that the optimizer waits for."""
    pair = rank.number // 2
    inner = {'name': f'tp{pair}', 'ranks': [pair * 2, pair * 2 + 1]}
    outer = {'name': f'dp{rank.number % 2}', 'ranks': list(range(rank.number % 2, options.ranks, 2))}
    worker, works = rank.worker, []
    copy_batch(rank, thread)
    for layer in range(options.layers):
        rank.kernel(thread, f'gemm{layer % 3}', (150 + 5 * rank.number) * US)
        rank.communicate(thread, inner, 'AllReduce', 2 << 20, 20)
        yield None
    rank.hand_over(thread, worker, 30 * US)
    for layer in range(options.layers):
        rank.kernel(worker, f'gemm_backward{layer % 3}', (280 + 5 * rank.number) * US)
        rank.communicate(worker, inner, 'AllReduce', 2 << 20, 20)
        rank.kernel(worker, f'grad{layer % 3}', 120 * US)
        if layer % 4 == 3:
            works.append(rank.communicate(worker, outer, 'AllReduce', 32 << 20, 28, back=False))
        yield None
    for work in works:
        rank.wait(worker, 7, work)
    rank.kernel(worker, 'copy_bucket', 15 * US)
    rank.hand_over(worker, thread, 40 * US)
    optimizer(rank, thread)
    yield from rank.item(thread)


def fsdp(rank, thread, options):
    """Fully sharded: parameters are gathered a layer ahead on their own streams, at most two layers
    ahead of the device; gradients are reduce-scattered after each layer's backward pass."""
    world = {'name': 'fsdp', 'ranks': list(range(options.ranks))}
    gathers, scatters, worker = 13, 17, rank.worker
    slow = 1 + 0.08 * (rank.number == 1)

    def gather(host, layer):
        rank.kernel(host, f'copy_in{layer % 2}', 12 * US, stream=gathers)
        return rank.communicate(host, world, 'AllGather', 24 << 20, 20, current=gathers)

    def scatter(host, layer):
        rank.join(host, scatters, 7)
        rank.kernel(host, f'chunk_cat{layer % 2}', 20 * US, stream=scatters)
        rank.communicate(host, world, 'ReduceScatter', 24 << 20, 20, current=scatters)
        rank.kernel(host, f'to_float{layer % 2}', 10 * US, stream=scatters)

    done = []

    def compute(host, name, duration, ahead):
        rank.join(host, 7, gathers)
        rank.kernel(host, 'split', 14 * US)
        if ahead is not None:
            if len(done) > 1:
                other = options.unstable and rank.step == 2 and len(done) == options.layers // 2
                yield from rank.block(host, 'cudaEventSynchronize', done[-3 if other else -2])
            gather(host, ahead)
        for part in range(3):
            last = rank.kernel(host, f'{name}{part}', int(duration * slow))
        rank.record(host, 7)
        done.append(last)

    gather(thread, 0)
    for layer in range(options.layers):
        yield from compute(thread, 'gemm', 130 * US, layer + 1 if layer + 1 < options.layers else None)
        yield None
    rank.hand_over(thread, worker, 30 * US)
    gather(worker, options.layers - 1)
    for layer in reversed(range(options.layers)):
        yield from compute(worker, 'gemm_backward', 220 * US, layer - 1 if layer else None)
        scatter(worker, layer)
        yield None
    rank.join(worker, 7, scatters)
    rank.hand_over(worker, thread, 40 * US)
    optimizer(rank, thread)
    yield from rank.item(thread)


def combined(rank, thread, options):
    """Tensor parallel in pairs, with kernels on a second stream beside collectives; data parallel
    across pairs; a small all-reduce of all ranks directly behind the gradients."""
    pair, side = rank.number // 2, rank.number % 2
    inner = {'name': f'tp{pair}', 'ranks': [pair * 2, pair * 2 + 1]}
    outer = {'name': f'dp{side}', 'ranks': list(range(side, options.ranks, 2))}
    world = {'name': 'world', 'ranks': list(range(options.ranks))}
    for layer in range(options.layers // 2):
        rank.kernel(thread, f'gemm{layer % 3}', 180 * US)
        work = rank.communicate(thread, inner, 'AllReduce', 20 << 20, 20, back=False)
        rank.join(thread, 13, 7)
        rank.kernel(thread, 'shared_expert', 150 * US, stream=13)
        rank.record(thread, 13)
        rank.wait(thread, 7, work)
        rank.kernel(thread, 'experts', 200 * US)
        rank.communicate(thread, inner, 'AllReduce', 4 << 20, 20)
        rank.wait(thread, 7, rank.last[13])
        rank.kernel(thread, 'combine', 25 * US)
        yield None
    for _ in range(2):
        rank.communicate(thread, outer, 'AllReduce', 32 << 20, 28)
    rank.kernel(thread, 'norm', 20 * US)
    rank.communicate(thread, world, 'AllReduce', 8, 36)
    yield from rank.item(thread)
    optimizer(rank, thread)


def experts(rank, thread, options):
    """Experts on all ranks: the host reads how much goes where, then the parts are exchanged in
    different sizes."""
    world = {'name': 'ep', 'ranks': list(range(options.ranks))}
    copy_batch(rank, thread)
    for layer in range(options.layers // 2):
        rank.kernel(thread, 'attention', 240 * US)
        rank.kernel(thread, 'router', 15 * US)
        rank.communicate(thread, world, 'AllToAll', 1 << 12, 20)
        yield from rank.item(thread)
        rank.communicate(thread, world, 'AllToAll', 24 << 20, 20, uneven=1)
        rank.kernel(thread, 'grouped_gemm', rank.draw(200, 600, 'tokens', rank.count('tokens')) * US)
        rank.communicate(thread, world, 'AllToAll', 24 << 20, 20, uneven=1)
        rank.kernel(thread, 'combine', 30 * US)
        yield None
    rank.communicate(thread, world, 'AllReduce', 64 << 20, 24)
    optimizer(rank, thread)


def interleaved(rank, thread, options):
    """Two chunks of the model on each stage: neighbours in a ring exchange messages, for which the
    compute stream waits and the host does not."""
    n = options.ranks

    def exchange(other):
        low, high = sorted([rank.number, other % n])
        rank.communicate(thread, {'name': f'pp{low}.{high}', 'ranks': [low, high]}, 'SendRecv',
                         8 << 20, 24)

    def chunk(times):
        for layer in range(options.layers // 4):
            rank.kernel(thread, f'gemm{layer % 3}', times * (140 + 4 * rank.number) * US)
            rank.kernel(thread, 'norm', 9 * US)

    microbatches = min(options.microbatches, n - 1)
    for number in range(2 * microbatches):
        if rank.number or number >= microbatches:
            exchange(rank.number - 1)
        chunk(1)
        if rank.number < n - 1 or number < microbatches:
            exchange(rank.number + 1)
        yield None
    for number in range(2 * microbatches):
        if rank.number < n - 1 or number >= microbatches:
            exchange(rank.number + 1)
        chunk(2)
        if rank.number or number < microbatches:
            exchange(rank.number - 1)
        yield None
    rank.communicate(thread, {'name': 'world', 'ranks': list(range(n))}, 'AllReduce', 1 << 12, 28)
    optimizer(rank, thread)


def embeddings(rank, thread, options):
    """A recommendation model: batches are copied on their own stream; lookups are exchanged while
    dense layers run, and gradients of the dense layers are reduced meanwhile."""
    world = {'name': '0', 'ranks': list(range(options.ranks))}
    worker = rank.worker

    def exchange(host, nbytes, back):
        return rank.communicate(host, world, 'AllToAll', nbytes, 20, back=back)

    rank.launch(thread, 15, 'Memcpy HtoD (Pinned -> Device)', 60 * US, 'gpu_memcpy', {'bytes': 1 << 20})
    rank.join(thread, 7, 15)
    exchange(thread, 1 << 14, True)
    yield from rank.item(thread)
    lookups = exchange(thread, 9 << 20, False)
    for layer in range(options.layers // 4):
        rank.kernel(thread, f'dense{layer % 3}', 50 * US)
    rank.wait(thread, 7, lookups)
    for layer in range(options.layers // 2):
        rank.kernel(thread, f'top{layer % 3}', (55 + rank.number) * US)
        yield None
    rank.hand_over(thread, worker, 20 * US)
    rank.kernel(worker, 'interaction_backward', 120 * US)
    lookups = exchange(worker, 9 << 20, False)
    for layer in range(options.layers // 2):
        rank.kernel(worker, f'dense_backward{layer % 3}', 35 * US)
    dense = rank.communicate(worker, world, 'AllReduce', 2 << 20, 24, back=False)
    rank.wait(worker, 7, lookups)
    rank.kernel(worker, 'update', (300 + 40 * rank.number) * US)
    rank.wait(worker, 7, dense)
    rank.hand_over(worker, thread, 40 * US)
    optimizer(rank, thread)


def sharded(rank, thread, options):
    """A distributed optimizer: gradients are reduce-scattered during the backward pass; the
    optimizer waits for one after another, and the next forward pass for the gathered parameters."""
    world = {'name': '0', 'ranks': list(range(options.ranks))}
    worker, layers = rank.worker, range(options.layers // 2)
    copy_batch(rank, thread)
    for layer in layers:
        if rank.gathered:
            rank.wait(thread, 7, rank.gathered.pop(0))
        rank.kernel(thread, f'gemm{layer % 3}', (250 + 4 * rank.number) * US)
        yield None
    rank.hand_over(thread, worker, 20 * US)
    gradients = []
    for layer in layers:
        rank.kernel(worker, f'gemm_backward{layer % 3}', 480 * US)
        gradients.append(rank.communicate(worker, world, 'ReduceScatter', 16 << 20, 20, back=False))
        yield None
    rank.hand_over(worker, thread, 40 * US)
    for gradient in gradients:
        rank.wait(thread, 7, gradient)
        rank.kernel(thread, 'multi_tensor_apply', 25 * US)
    rank.gathered = [rank.communicate(thread, world, 'AllGather', 16 << 20, 24, back=False)
                     for _ in layers]


def offload(rank, thread, options):
    """The optimizer runs on the host: gradients are copied to it behind their all-reduce, waited for
    one by one, and parameters are copied back."""
    world = {'name': '0', 'ranks': list(range(options.ranks))}
    layers, copied = range(options.layers // 2), []
    for layer in layers:
        rank.kernel(thread, f'gemm{layer % 3}', (120 + 4 * rank.number) * US)
    for layer in layers:
        rank.kernel(thread, f'gemm_backward{layer % 3}', 230 * US)
        work = rank.communicate(thread, world, 'AllReduce', 8 << 20, 20, back=False)
        rank.wait(thread, 30, work)
        copied.append(rank.launch(thread, 30, 'Memcpy DtoH (Device -> Pinned)', 150 * US, 'gpu_memcpy',
                                  {'bytes': 8 << 20}))
        rank.record(thread, 30)
        yield None
    for copy in copied:
        yield from rank.block(thread, 'cudaEventSynchronize', copy)
        rank.think(thread, 110 * US)
        rank.launch(thread, 31, 'Memcpy HtoD (Pinned -> Device)', 140 * US, 'gpu_memcpy', {'bytes': 8 << 20})
    rank.join(thread, 7, 31)
    rank.kernel(thread, 'cast', 18 * US)


def prefetch(rank, thread, options):
    """Parameters are gathered two layers ahead, on the stream on which gradients are reduced."""
    world = {'name': '0', 'ranks': list(range(options.ranks))}
    worker, layers, gathered, reduced = rank.worker, range(options.layers // 2), {}, []

    def gather(host, layer):
        if layer in layers:
            gathered[layer] = rank.communicate(host, world, 'AllGather', (12 + 6 * (layer % 3)) << 20, 20, back=False)

    def reduce(host):
        rank.wait(host, 7, reduced.pop(0))
        rank.kernel(host, 'accumulate', 9 * US)

    gather(thread, 0)
    gather(thread, 1)
    for layer in layers:
        rank.wait(thread, 7, gathered[layer])
        rank.kernel(thread, 'norm', 7 * US)
        gather(thread, layer + 2)
        rank.kernel(thread, f'gemm{layer % 3}', (330 + 4 * rank.number) * US)
        yield None
    rank.hand_over(thread, worker, 30 * US)
    gather(worker, layers[-1])
    gather(worker, layers[-2])
    for layer in reversed(layers):
        rank.wait(worker, 7, gathered[layer])
        gather(worker, layer - 2)
        rank.kernel(worker, f'gemm_backward{layer % 3}', 620 * US)
        reduced.append(rank.communicate(worker, world, 'ReduceScatter', (12 + 6 * (layer % 3)) << 20, 20, back=False))
        if len(reduced) > 2:
            reduce(worker)
        yield None
    while reduced:
        reduce(worker)
    rank.hand_over(worker, thread, 40 * US)
    optimizer(rank, thread)
    yield from rank.item(thread)


def sequence(rank, thread, options):
    """Sequence parallel in pairs: each layer gathers and reduce-scatters, the latter beside a kernel,
    while gradients are reduced across pairs; the optimizer waits for these behind the last layer's own
    wait, the host for a collective that its stream waits for."""
    pair = rank.number // 2
    inner = {'name': f'tp{pair}', 'ranks': [pair * 2, pair * 2 + 1]}
    outer = {'name': f'dp{rank.number % 2}', 'ranks': list(range(rank.number % 2, options.ranks, 2))}
    works = []
    copy_batch(rank, thread)
    for layer in range(options.layers // 2):
        rank.communicate(thread, inner, 'AllGather', 5 << 20, 20)
        rank.kernel(thread, f'gemm{layer % 3}', (330 + 3 * rank.number) * US)
        scattered = rank.communicate(thread, inner, 'ReduceScatter', 5 << 20, 20, back=False)
        rank.kernel(thread, f'wgrad{layer % 3}', (40 + 90 * (layer % 2)) * US)
        rank.wait(thread, 7, scattered)
        if layer % 4 == 2:
            works.append(rank.communicate(thread, outer, 'AllReduce', 30 << 20, 28, back=False))
        yield None
    for work in works:
        rank.wait(thread, 7, work)
    optimizer(rank, thread)
    rank.communicate(thread, outer, 'AllReduce', 6 << 20, 28)


def stalls(rank, thread, options):
    """The host waits for its data, which are copied on their own stream; the optimizer runs beside
    the next batch; one rank's host is slow."""
    world = {'name': '0', 'ranks': list(range(options.ranks))}
    side = 14
    rank.think(thread, [20 * US, 20 * US, 3 * MS, 8 * MS][rank.draw(0, 4, 'batch', rank.count('batch'))])
    rank.launch(thread, 15, 'Memcpy HtoD (Pinned -> Device)', 400 * US, 'gpu_memcpy',
                {'bytes': 8 << 20})
    rank.join(thread, 7, 15)
    for layer in range(options.layers):
        for _ in range(3):
            rank.kernel(thread, f'elementwise{layer % 3}', 40 * US)
        if rank.number == options.ranks - 1:
            rank.think(thread, 150 * US)
        yield None
    work = rank.communicate(thread, world, 'AllReduce', 16 << 20, 20, back=False)
    rank.wait(thread, side, work)
    rank.join(thread, side, 7)
    for _ in range(4):
        rank.kernel(thread, 'adam', 70 * US, stream=side)
    rank.record(thread, side)
    yield from rank.block(thread, 'cudaEventSynchronize', rank.last[side])
    rank.join(thread, 7, side)


class Passed:
    """Something that a host thread passes to another one, or its space in a queue."""

    def __init__(self):
        self.end = None  # when; threads may yield it

    def give(self, run, now):
        self.end = now
        run.wake(self)


def load(rank, options):
    """Copies a batch for each step, at most two before the first one is used. Draws are numbered
    apart from those of the other thread."""
    counts = {}
    for number in range(options.steps):
        if number >= 2:
            yield from rank.receive(rank.worker, rank.taken[number - 2], 8 * US)
        rank.counts, counts = counts, rank.counts
        rank.think(rank.worker, rank.draw(1000, 5000, 'decode', number) * US)
        rank.batches[number] = rank.launch(rank.worker, 15, 'Memcpy HtoD (Pinned -> Device)', 400 * US,
                                           'gpu_memcpy', {'bytes': 8 << 20})
        rank.record(rank.worker, 15)
        rank.counts, counts = counts, rank.counts
        rank.passed[number].give(rank.run, rank.worker.now)


def loader(rank, thread, options):
    """Another thread prepares batches and copies them on its own stream; a queue for two batches is
    between both threads. In two steps of three, the GPU is slower than that."""
    if rank.step == 0:
        rank.passed, rank.taken = ([Passed() for _ in range(options.steps)] for _ in range(2))
        rank.worker.now, rank.worker.program = thread.now, load(rank, options)
        rank.run.start(rank.worker)
    yield from rank.receive(thread, rank.passed[rank.step], 8 * US)
    rank.taken[rank.step].give(rank.run, thread.now)
    rank.wait(thread, 7, rank.batches[rank.step])
    for layer in range(options.layers):
        rank.kernel(thread, f'gemm{layer % 3}', (300 if rank.step % 3 else 120) * US)
        yield None
    rank.communicate(thread, {'name': '0', 'ranks': list(range(options.ranks))}, 'AllReduce', 32 << 20, 20)
    optimizer(rank, thread)


def small(rank, thread, options):
    """Many short kernels: the run is limited by how fast the host launches them."""
    world = {'name': '0', 'ranks': list(range(options.ranks))}
    for layer in range(options.layers * 20):
        rank.kernel(thread, f'tiny{layer % 7}', (3 + layer % 5) * US)
        if layer % 64 == 63:
            rank.communicate(thread, world, 'AllReduce', 1 << 16, 20)
            yield None
    yield from rank.item(thread)


def parallel(rank, thread, options):
    """One thread drives all GPUs: parameters are broadcast; the GPUs get parts of the batch and
    compute their layers in turn; each GPU's first layer needs the output of the previous GPU's
    middle layer; GPU 0 collects the results."""
    gpus = rank.run.ranks
    world = {'name': '0', 'ranks': list(range(len(gpus)))}
    for gpu in gpus:
        gpu.communicate(thread, world, 'AllGather', 8 << 20, 20)
    passed = None
    for gpu in gpus:
        copy_batch(gpu, thread)
        for layer in range(options.layers):
            if layer == 1 and passed:
                gpu.wait(thread, 7, passed)
            gpu.kernel(thread, f'gemm{layer % 3}', (120 + 9 * gpu.number) * US)
            if layer == options.layers // 2:
                passed = gpu.last[7]
            yield None
    yield from gpus[0].item(thread)
    for gpu in gpus:
        for layer in range(options.layers):
            gpu.kernel(thread, f'gemm_backward{layer % 3}', 250 * US)
            yield None
        gpu.communicate(thread, world, 'AllReduce', 16 << 20, 20)
    for gpu in gpus:
        optimizer(gpu, thread)
    for gpu in gpus:
        yield from gpu.synchronize(thread, 7)


PLANS = {plan.__name__: plan for plan in (
    ddp, buckets, tensor, pipeline, schedule, grid, combined, fsdp, experts, interleaved, embeddings, sharded, offload,
    prefetch, sequence, stalls, loader, small, parallel)}
