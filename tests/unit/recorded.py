#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the importer of gpucapture makes of records: calls and their arguments, operations, and
traces of several processes.

    recorded.py GPUTRACE RECORDED     the latter is recorded.c
"""
import json
import math
import struct

from profiler import run_tests
from rings import (COMM, CONTEXT, EVENT, FLOAT, KERNEL, LAYOUT, MEMORY, OTHER_STREAM, PARAMETERS, PARAMS, STREAM,
                   Recording, Trace, made_of, named, one)


# ---- calls and operations

def test_a_launch_is_a_call_and_an_operation():
    ring = one(device=3)
    launch = ring.launch()
    process = made_of(ring)
    assert (process['calls'], process['ops'], process['unknown_handles']) == (5, 1, 0), process
    call, op = process['events'][4:]
    assert (call['kind'], call['name']) == ('call', 'cuLaunchKernel'), call
    wanted = {'kind': 'kernel', 'name': 'step', 'call': 4, 'device': 3, 'correlation': launch + 1, 'on_stream': True}
    assert op | wanted == op, op


def test_reused_handles_are_distinct():
    ring = one()
    ring.call('cuStreamDestroy_v2', STREAM)
    ring.out(0, STREAM)
    ring.call('cuStreamCreateWithPriority', 0x100, 1, 0)
    ring.call('cuStreamQuery', STREAM)
    ring.call('cuEventQuery', 0xdead)
    process = made_of(ring)
    assert f' phStream.out={STREAM} phStream.id=1 ' in named(process, 'cuStreamCreate'), process
    assert ' hStream.id=1 ' in named(process, 'cuStreamDestroy_v2'), process
    assert ' hStream.id=2 ' in named(process, 'cuStreamQuery'), process
    assert f' hEvent={0xdead} hEvent.id=0 ' in named(process, 'cuEventQuery'), process


def test_memory_belongs_to_its_call():
    """Memory records between the records of nested calls: cublasSgemm reads alpha before the launch."""
    ring = one()
    ring.blob(6, struct.pack('<f', 1.5))
    ring.blob(11, struct.pack('<f', 0))

    def launch_inside():
        ring.launch(depth=1)
        ring.look()  # the outer call has not returned yet

    ring.within('cublasSgemm_v2', 0x9000, 0, 0, 1, 1, 1, 0x100, 0, 1, 0, 1, 0x100, 0, 1, inner=launch_inside)
    ring.call('cuStreamQuery', STREAM)
    ring.look()
    process = made_of(ring)
    assert ' alpha.in=1.5 ' in named(process, 'cublasSgemm_v2') and ' beta.in=0 ' in named(process, 'cublasSgemm_v2')
    assert '.in=' not in named(process, 'cuLaunchKernel') + named(process, 'cuStreamQuery'), process


def test_failed_calls_launch_nothing():
    ring = one()
    ring.launch(result=700)
    process = made_of(ring)
    assert (process['failed'], process['ops']) == (1, 0), process
    assert ' result=700 ' in named(process, 'cuLaunchKernel')


def test_copies_are_named_by_direction():
    ring = one()
    ring.out(0, 0x10000)
    ring.call('cuMemAlloc_v2', 0x100, 0x1000)
    ring.out(0, 0x20000)
    ring.call('cuMemHostAlloc', 0x100, 0x1000, 0)
    rows = [
        ('Memcpy HtoD (Pageable -> Device)', 'cuMemcpyHtoDAsync_v2', 0x10000, 0x99, 64, STREAM),
        ('Memcpy HtoD (Pinned -> Device)', 'cuMemcpyHtoDAsync_v2', 0x10000, 0x20010, 64, STREAM),
        ('Memcpy DtoH (Device -> Pageable)', 'cuMemcpyDtoH_v2', 0x99, 0x10000, 64),
        ('Memcpy DtoD (Device -> Device)', 'cuMemcpyDtoDAsync_v2', 0x10000, 0x10040, 64, STREAM),
        ('Memcpy HtoD (Pinned -> Device)', 'cuMemcpyAsync', 0x10010, 0x20010, 64, STREAM),
        ('Memcpy DtoH (Device -> Pageable)', 'cuMemcpy', 0x99, 0x10010, 64),
        ('Memcpy PtoP (Device -> Device)', 'cuMemcpyPeerAsync', 0x10000, CONTEXT, 0x10040, CONTEXT, 64, STREAM),
    ]
    for _, call, *words in rows:
        ring.call(call, *words)
    copies = [e for e in made_of(ring)['events'] if e['kind'] == 'memcpy']
    assert [e['name'] for e in copies] == [name for name, *_ in rows], copies
    assert all(' bytes=64 ' in f' {e["args"]} ' for e in copies), copies


def test_waits_of_streams_are_recorded():
    ring = one()
    ring.second_stream()
    ring.out(0, EVENT)
    ring.call('cuEventCreate', 0x100, 0)
    ring.launch()
    recorded = ring.call('cuEventRecord', EVENT, STREAM)
    ring.call('cuStreamWaitEvent', OTHER_STREAM, EVENT, 0)
    ring.call('cuStreamSynchronize', OTHER_STREAM)
    process = made_of(ring)
    for part in ' stream=2 ', ' wait_on_stream=1 ', f' wait_on_cuda_event_record_corr_id={recorded + 1} ':
        assert part in named(process, 'Stream Wait Event'), process
    assert ' stream=2 ' in named(process, 'Stream Sync'), process


def test_launches_without_parameters_are_counted():
    """The driver does not report parameter offsets."""
    ring = one()
    ring.launch(params=0x7000)
    ring.launch()
    ring.blob(9, bytes(8), PARAMS)
    ring.launch(params=0x7000)
    ring.launch(extra=0x7000)
    assert made_of(ring)['without_parameters'] == 2


# ---- arguments

def check_arguments(ring, wanted):
    """Of the last call."""
    call = [e for e in made_of(ring)['events'] if e['kind'] == 'call'][-1]
    assert call['args'] == wanted, f'{call["args"]}\ninstead of\n{wanted}'


def with_memory():
    ring = one()
    ring.out(0, MEMORY)
    ring.call('cuMemAlloc_v2', 0x100, 4096)
    return ring


LAUNCHED = ('f=12288 f.id=1 gridDimX=4 gridDimY=1 gridDimZ=1 blockDimX=32 blockDimY=1 blockDimZ=1 sharedMemBytes=0 '
            'hStream=8192 hStream.id=1 kernelParams=0 extra=0 ')
ZEROS = '0' * 256


def test_configurations_of_launches():
    ring = with_memory()
    ring.blob(0, struct.pack('<7I4xQQQ', 4, 5, 6, 32, 1, 1, 99, STREAM, 0x700, 3))
    attributes = ((4, 2, 1, 1), (2, 1), (77, 5))
    ring.field(0, 'cuLaunchKernelEx', 'attrs',
               b''.join(struct.pack('<II16I', a, 0, *value, *[0] * (16 - len(value))) for a, *value in attributes))
    ring.blob(2, struct.pack('<7I4x4Q', 3, 0, 4, 8, 8, 16, 16, 7, MEMORY + 16, 0xffffffffffffffff, MEMORY), PARAMS)
    ring.call('cuLaunchKernelEx', 0x500, KERNEL, 0x600, 0)
    check_arguments(ring, (
        'config=1280 f=12288 f.id=1 kernelParams=1536 extra=0 config.gridDimX=4 config.gridDimY=5 config.gridDimZ=6 '
        'config.blockDimX=32 config.blockDimY=1 config.blockDimZ=1 config.sharedMemBytes=99 config.hStream=8192 '
        'config.hStream.id=1 config.attrs[0].id=CLUSTER_DIMENSION config.attrs[0].value.clusterDim.x=2 '
        'config.attrs[0].value.clusterDim.y=1 config.attrs[0].value.clusterDim.z=1 config.attrs[1].id=COOPERATIVE '
        'config.attrs[1].value.cooperative=1 config.attrs[2].id=77 config.numAttrs=3 kernelParams[0]=7 '
        'kernelParams[1]=1048592 kernelParams[1].id=1 kernelParams[1].offset=16 kernelParams[2].0=-1 '
        'kernelParams[2].8=1048576 kernelParams[2].8.id=1 kernelParams[2].8.offset=0 '
        'kernelParams.layout=0:4 8:8 16:16 result=0'))
    assert made_of(ring)['ops'] == 1


def test_layouts():
    """Parameters are decoded by the layout that preceded them in the ring, even if the layout number was reused before
    the launch returned. Parameters without a layout are damage."""
    ring = with_memory()
    params = struct.pack('<3Q', ring.next_id(), 7, MEMORY + 16)
    ring.raw(PARAMETERS, 5, params, depth=9)
    ring.raw(LAYOUT, 5, struct.pack('<II4I', 0, 2, 0, 4, 8, 8))
    ring.raw(PARAMETERS, 5, params, depth=9)
    ring.raw(LAYOUT, 5, struct.pack('<II4I', 0, 2, 0, 1, 1, 1))
    ring.launch()
    check_arguments(ring, LAUNCHED + 'kernelParams[0]=7 kernelParams[1]=1048592 kernelParams[1].id=1 '
                    'kernelParams[1].offset=16 kernelParams.layout=0:4 8:8 result=0')
    assert made_of(ring)['damaged'] == 1


def test_long_parameters():
    """A struct of many bytes is stored as one string; of a NCCL kernel only its length is stored."""
    for kernel, wanted in ((b'_Z5scaleP6struct\0', 'kernelParams[0]=' + ZEROS + '0' * 8),
                           (b'_Z18ncclDevKernel_Reduce\0', 'kernelParams[0].bytes=132')):
        ring = with_memory()
        ring.out(0, 0x3100)
        ring.blob(2, kernel)
        ring.call('cuModuleGetFunction', 0x100, 0x77, 0x200)
        ring.blob(9, struct.pack('<4I', 1, 0, 132, 0) + bytes(132), PARAMS)
        ring.launch(kernel=0x3100)
        check_arguments(ring, LAUNCHED.replace('f=12288 f.id=1', 'f=12544 f.id=2') + wanted +
                        ' kernelParams.layout=0:132 result=0')


def test_short_structs():
    """The program was compiled with older headers: the missing fields are not read."""
    ring = with_memory()
    ring.blob(4, struct.pack('<QIIiiiiQ', 40, 0xcafebeef, 21800, 1, -5, 0, 7, 0x900))
    ring.field(4, 'ncclCommInitRankConfig', 'netName', b'Socket')
    ring.call('ncclCommInitRankConfig', 0x500, 2, *[0] * 16, 1, 0x600)
    check_arguments(ring, f'comm=1280 nranks=2 commId={ZEROS} rank=1 config=1536 config.size=40 '
                    'config.magic=3405692655 config.version=21800 config.blocking=1 config.cgaClusterSize=-5 '
                    'config.minCTAs=0 config.maxCTAs=7 '
                    'config.netName=Socket result=0')


def test_arrays():
    ring = with_memory()
    ring.blob(2, struct.pack('<6I', 1, 0, 3, 1, 1, 1))
    ring.call('cuMemSetAccess', MEMORY, 4096, 0x500, 2)
    check_arguments(ring, 'ptr=1048576 ptr.id=1 ptr.offset=0 size=4096 desc=1280 count=2 desc[0].location.type=DEVICE '
                    'desc[0].location.id=0 desc[0].flags=READWRITE desc[1].location.type=DEVICE '
                    'desc[1].location.id=1 desc[1].flags=READ result=0')
    ring.out(0, 0x20)
    ring.call('cuGraphAddEmptyNode', 0x100, 0x400, 0, 0)
    ring.out(0, 0x40)
    ring.blob(2, struct.pack('<3Q', 0x10, 0x20, 0x30))
    ring.call('cuGraphAddEmptyNode', 0x100, 0x400, 0x500, 3)
    check_arguments(ring, 'phGraphNode=256 hGraph=1024 hGraph.id=1 dependencies=1280 numDependencies=3 '
                    'phGraphNode.out=64 phGraphNode.id=2 dependencies.in=[16, 32, 48] dependencies.in.id=[0, 1, 0] '
                    'result=0')


def test_unions():
    """Another argument selects the member of the union."""
    ring = with_memory()
    ring.blob(2, struct.pack('<QQfII36x', MEMORY + 256, 1024, 0.5, 2, 1))
    ring.call('cuStreamSetAttribute', STREAM, 1, 0x500)
    check_arguments(ring, 'hStream=8192 hStream.id=1 attr=ACCESS_POLICY_WINDOW param=1280 '
                    'param.accessPolicyWindow.base_ptr=1048832 param.accessPolicyWindow.base_ptr.id=1 '
                    'param.accessPolicyWindow.base_ptr.offset=256 param.accessPolicyWindow.num_bytes=1024 '
                    'param.accessPolicyWindow.hitRatio=0.5 param.accessPolicyWindow.hitProp=PERSISTING '
                    'param.accessPolicyWindow.missProp=STREAMING result=0')


def test_scalars():
    for call, values, wanted in (
            ('cublasDscal_v2', (0.1,), 'alpha.in=0.10000000000000001 '),
            ('cublasZscal_v2', (0.1, -2), 'alpha.in.re=0.10000000000000001 alpha.in.im=-2 '),
            ('cublasDscal_v2', (math.inf,), 'alpha.in=inf '), ('cublasZdscal_v2', (3,), 'alpha.in=3 ')):
        ring = with_memory()
        ring.blob(2, struct.pack(f'<{len(values)}d', *values))
        ring.call(call, 0x9, 4, 0x500, MEMORY + 8, 1)
        check_arguments(ring, 'handle=9 handle.id=0 n=4 alpha=1280 x=1048584 x.id=1 x.offset=8 incx=1 '
                        f'{wanted}result=0')


def test_invalid_layouts():
    """The traced program may overwrite its ring: a layout must never read beyond the parameters."""
    most = 0xffffffff
    for layout in (most, 0, 4), (1, most, most), (1, 24, 4), (1, 20, most - 8), (3, 0, 4, 4, 4):
        words = struct.pack('<8I', *layout, *[0] * (8 - len(layout)))
        for size in range(0, len(words) + 1, 4):
            ring = with_memory()
            ring.blob(9, words[:size], PARAMS)
            ring.launch()
            made_of(ring)


def test_attributes():
    """cuBLASLt attributes have the type of the attribute; an unknown attribute is stored as a number."""
    for call, number, data, wanted in (
            ('cublasLtMatmulDescSetAttribute', 7, struct.pack('<I', 6),
             'matmulDesc=1280 matmulDesc.id=0 attr=EPILOGUE buf=1536 sizeInBytes=4 buf.EPILOGUE=RELU_BIAS result=0'),
            ('cublasLtMatmulDescSetAttribute', 8, struct.pack('<Q', MEMORY + 512),
             'matmulDesc=1280 matmulDesc.id=0 attr=BIAS_POINTER buf=1536 sizeInBytes=8 buf.BIAS_POINTER=1049088 '
             'buf.BIAS_POINTER.id=1 buf.BIAS_POINTER.offset=512 result=0'),
            ('cublasLtMatmulPreferenceSetAttribute', 9, struct.pack('<f', 1.5),
             'pref=1280 pref.id=0 attr=MAX_WAVES_COUNT buf=1536 sizeInBytes=4 buf.MAX_WAVES_COUNT=1.5 result=0'),
            ('cublasLtMatmulDescSetAttribute', 60, struct.pack('<I', 5),
             'matmulDesc=1280 matmulDesc.id=0 attr=60 buf=1536 sizeInBytes=4 buf.in=5 result=0')):
        ring = with_memory()
        ring.blob(2, data)
        ring.call(call, 0x500, number, 0x600, len(data))
        check_arguments(ring, wanted)


def test_symbols_are_demangled():
    """If the importer was built with a C++ ABI library."""
    names = {'step': 'step', '_Znonsense': '_Znonsense', '_Z': '_Z', 'cutlass_80_tensorop': 'cutlass_80_tensorop'}
    if one().recording.run()['demangles']:
        names |= {'_Z4stepPfi': 'step(float*, int)',
                  '_ZN2at6native5scaleIfLi4EEEvPT_': 'void at::native::scale<float, 4>(float*)'}
    for symbol, name in names.items():
        ring = one()
        ring.out(0, 0x77)
        ring.blob(2, symbol.encode())
        ring.call('cuModuleGetFunction', 0x100, 0x77, 0x200)
        ring.launch(kernel=0x77)
        op = made_of(ring)['events'][-1]
        assert op['name'] == name, op
        assert (f'symbol={symbol}' in op['args']) == (symbol != name), op


# ---- traces of several processes

def test_collectives_are_matched_by_order():
    """Of three ranks, 0 sends to 1 and then to 2, between two all-reduces. Rank 0 is the last process."""
    recording = Recording()
    rings = recording.processes(3)
    for i, ring in enumerate(rings):
        ring.join_comm(3, 2 - i)
        ring.reduce(1100000 + i, 1200000)
    rings[2].exchange('ncclSend', 1, 1210000, 1220000)
    rings[1].exchange('ncclRecv', 0, 1210000, 1220000)
    rings[2].exchange('ncclSend', 2, 1230000, 1240000)
    rings[0].exchange('ncclRecv', 0, 1230000, 1240000)
    for i, ring in enumerate(rings):
        ring.reduce(1300000 + i, 1400000)
    trace = Trace(recording)
    assert (trace.counts['collectives'], trace.counts['unmatched'], len(trace.ranks)) == (10, 0, 3), trace.counts
    assert {row['ranks'] for row in trace.info['collectives']} == {3}, trace.info
    assert [[c['gputrace seq'] for c in trace.collectives(rank)] for rank in range(3)] == [
        [0, 1, 2, 3], [0, 1, 3], [0, 2, 3]]


def test_a_kernel_is_of_all_streams_of_its_group():
    """NCCL launches one kernel for a group, on one of its streams."""
    ring = one()
    ring.second_stream()
    ring.join_comm(2, 0)
    ring.call('ncclGroupStart')
    ring.call('ncclAllReduce', 0x10000, 0x10000, 256, FLOAT, 0, COMM, OTHER_STREAM)
    ring.call('ncclAllReduce', 0x10000, 0x10000, 512, FLOAT, 0, COMM, STREAM)
    ring.end_group(1100000, 1200000)
    collective, = made_of(ring)['collectives']
    assert collective['bytes'] == 4 * (256 + 512), collective
    assert [part['message_bytes'] for part in json.loads(collective['parts'])] == [1024, 2048], collective


def test_missing_ranks_are_named():
    """Of a communicator of three ranks, 0 and 2 were recorded."""
    recording = Recording()
    for i, ring in enumerate(recording.processes(2)):
        ring.join_comm(3, 2 * i)
        ring.reduce(1100000 + i, 1200000)
        ring.exchange('ncclRecv' if i else 'ncclSend', 2 - 2 * i, 1210000, 1220000)
    info = Trace(recording).info
    assert info['facts']['missing_ranks'] == [1], info['facts']
    member, = info['ranks'][1]['facts']['gputrace.communicators']
    assert member | {'rank': 2, 'ranks': 3, 'communicator': 0} == member and 'parent' not in member, member


def test_threads_with_the_same_id_share_a_track():
    """A thread reuses the id of one that has ended."""
    recording = Recording()
    rings = [recording.ring(), recording.ring('ring')]
    rings[1].command('same_track')
    for i in range(300):
        rings[i // 150].now = 1000000 + 5000 * i
        rings[i // 150].call('cuEventQuery', 1000 + i)
    events = Trace(recording).ranks[0]
    assert [e['args']['hEvent'] for e in events] == [*range(1000, 1300)], events
    assert len({e['tid'] for e in events}) == 1, events


def test_operations_without_times_are_counted():
    ring = one()
    ring.launch()
    ring.times(ring.launch(), ring.now, ring.now + 1000)
    trace = Trace(ring.recording)
    assert (trace.counts['ops'], trace.counts['without_times']) == (1, 1), trace.counts
    assert trace.info['facts']['capture.operations_without_times'] == 1, trace.info


def test_an_operation_begins_after_its_launch():
    ring = one()
    launched = ring.now
    ring.times(ring.launch(), launched - 400, launched + 3000)
    op, = [e for e in Trace(ring.recording).ranks[0] if e['cat'] == 'kernel']
    assert (round(1000 * op['ts']), round(1000 * op['dur'])) == (launched, 3000), op


def test_each_device_of_a_process_is_a_rank():
    """Whether one thread or two use the two devices; each has its own calls."""
    for threads in 1, 2:
        recording = Recording()
        rings = [recording.ring('ring' if i else 'process') for i in range(threads)]
        for i in range(2):
            ring = rings[i % threads]
            ring.begin(i, i)
            ring.times(ring.launch(KERNEL + i, STREAM + 16 * i), ring.now + 1000, ring.now + 5000)
        trace = Trace(recording)
        assert (len(trace.ranks), trace.counts['ops']) == (2, 2), trace.counts
        assert trace.counts['calls'] == trace.counts['processes'][0]['calls'], trace.counts
        for events in trace.ranks:
            assert [e['name'] for e in events].count('cuLaunchKernel') == 1, events
            assert [e['cat'] for e in events].count('kernel') == 1, events
        assert [r['facts']['shared_process'] for r in trace.info['ranks']] == [1, 1], trace.info


def test_ranks_outside_the_communicator_come_last():
    """A process without communicator and launcher rank, and a second GPU of a process with one, are numbered after the
    communicator's ranks."""
    recording = Recording()
    rings = recording.processes(3)
    for i, rank in (1, 1), (2, 0):
        rings[i].join_comm(2, rank)
    rings[1].begin(1, 1)
    for i, gpu in (0, 0), (1, 0), (2, 0), (1, 1):
        rings[i].times(rings[i].launch(KERNEL + gpu, STREAM + 16 * gpu), rings[i].now + 1000, rings[i].now + 5000)
    trace = Trace(recording)
    processes = [r['facts']['process'] for r in trace.info['ranks']]
    gpus = [{e['pid'] for e in events if e['cat'] == 'kernel'} for events in trace.ranks]
    assert (processes, gpus) == ([102, 101, 100, 101], [{0}, {0}, {0}, {1}]), (processes, gpus)
    assert [r['rank'] for r in trace.info['ranks']] == [0, 1, 2, 3], trace.info


def test_a_process_without_work_is_no_rank():
    """A launcher that only queries the driver version; its calls are kept."""
    recording = Recording()
    ring = recording.processes(2)[1]
    ring.times(ring.launch(), ring.now + 1000, ring.now + 5000)
    trace = Trace(recording)
    assert (len(trace.ranks), trace.counts['ops']) == (1, 1), trace.counts
    assert trace.counts['calls'] == sum(p['calls'] for p in trace.counts['processes']), trace.counts


def test_members_of_a_star_wait_for_its_centre():
    """Sends and receives of each of three ranks, and the peers of their operations. Collectives of all ranks have none;
    a ring of three is an all-to-all."""
    for sends, receives, peers in [
            (([1, 2], [], []), ([], [0], [0]), ([1, 2], [0], [0])),
            (([0, 1, 2], [], []), ([0], [0], [0]), ([1, 2], [0], [0])),  # sends to itself as well
            (([], [0], [0]), ([1, 2], [], []), ([1, 2], [0], [0])),
            (([1, 2], [0, 2], [0, 1]), ([1, 2], [0, 2], [0, 1]), (None, None, None)),
            (([1], [2], [0]), ([2], [0], [1]), (None, None, None))]:
        recording = Recording()
        for i, ring in enumerate(recording.processes(3)):
            ring.join_comm(3, i)
            ring.call('ncclGroupStart')
            ring.messages('ncclSend', *sends[i])
            ring.messages('ncclRecv', *receives[i])
            ring.end_group(1100000, 1200000)
        trace = Trace(recording)
        found = tuple(trace.collectives(rank)[0].get('peers') for rank in range(3))
        assert found == peers, f'{sends}, {receives}: {trace.collectives(0)}'


def test_only_destroy_ends_a_communicator():
    for call, *words in (('ncclCommDeregister', COMM, 0x7000), ('ncclCommWindowDeregister', COMM, 0x7000),
                         ('ncclRedOpDestroy', 5, COMM), ('ncclCommDestroy', COMM)):
        ring = one()
        ring.join_comm(1, 0)
        ring.call(call, *words)
        assert made_of(ring)['live_comms'] == (call != 'ncclCommDestroy'), call


def test_non_blocking_communicators():
    """They return ncclInProgress, 7, and are recorded like any other."""
    for result, comms, failed in (0, 1, 0), (7, 1, 0), (5, 0, 1):
        ring = one()
        ring.join_comm(1, 0, result)
        process = made_of(ring)
        assert (process['comms'], process['failed']) == (comms, failed), process


if __name__ == '__main__':
    run_tests(globals())
