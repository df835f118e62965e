#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `gputrace import` makes of profiler files: the rules of formats/run/kineto/README.md, invalid
files, invalid JSON that is read nevertheless, and tokens at the boundaries of the windows in which a
file is read.

    kineto.py GPUTRACE
"""
import collections
import re

from profiler import X, Run, compact, document, gputrace, kernel, launch, pairs, run_tests, step

TENSORS = {'Input Dims': [[[2, 3], [4]], []], 'Input type': ['TensorList']}
HALF = {'Input Dims': [[2, 5]], 'Input type': ['c10::Half']}
TWO_HALVES = {'Input Dims': [[8, 10], [2, 5], []], 'Input type': ['c10::Half']}
ALL_TO_ALL = ('user_annotation', 'nccl:all_to_all', 1, 2, 11, 8)


def shape(op, dtype, size):
    """What inference adds to the arguments of a collective; None: unknown."""
    return compact({'gputrace collective': op, 'gputrace dtype': dtype, 'gputrace message_bytes': size})[1:-1]


CASES = [
    ('an operation belongs to the iteration of its call',
     [kernel('k', 5, 30, 4, grid=[1, 1, 1]), step(4, 10, 10), step(5, 20, 10), launch(5, 12)],
     ['iteration 4: 10000+10000\n' + launch(5, 12), kernel('k', 5, 30, 4, grid=[1, 1, 1]) + '\n' + step(4, 10, 10),
      'iteration 5: 20000+10000\n' + step(5, 20, 10)]),
    ('operations launched before the window, and by a graph',
     [step(1, 10, 10), launch(7, 11), kernel('a', 6, 5, 2), kernel('b', 7, 21), kernel('c', 7, 22)],
     ['before: 1 records', 'iteration 1: 10000+10000\n' + launch(7, 11),
      kernel('b', 7, 21) + '\n' + kernel('c', 7, 22) + '\n' + step(1, 10, 10)]),
    ('old dialect: "External id" is the correlation',
     [X('cuda_runtime', 'cudaMalloc', 1, 2, 1, 1, **{'External id': 9, 'cbid': 20, 'correlation': 9})], []),
    ('oldest dialect: other categories, names of streams',
     [X('Runtime', 'cudaMemcpyAsync', 1, '2', 1, 1, cbid=41, correlation=9),
      X('Memcpy', 'Memcpy DtoD (Device -> Device)', 0, 'stream 7', 3, 1, correlation=9),
      X('Kernel', 'k', 0, 'stream 7', 5, 1), X('Memset', 'Memset (Device)', 0, 'stream 7', 7, 1)],
     ['1 call 1 kernel 1 memcpy 1 memset\n', 'iteration 0: 1000+7000\n']),
    ('bandwidth is recomputed from bytes',
     [X('gpu_memcpy', 'Memcpy HtoD (Pageable -> Device)', 0, 7, 1, 1, bytes=2048,
        **{'memory bandwidth (GB/s)': 1.2549019607843137})], []),
    ('collectives: sizes from their own arguments',
     [kernel('ncclDevKernel_AllReduce_Sum_f32_RING_LL', 1, 1,
             **{'In msg nelems': 4, 'Out msg nelems': 8, 'dtype': 'Float'})],
     [shape('all_reduce', 'Float', 32)]),
    ('... from record_param_comms around the launch',
     [X('cpu_op', 'record_param_comms', 1, 2, 10, 10,
        **{'Collective name': '_allgather_base', 'In msg nelems': 4, 'Out msg nelems': 8, 'dtype': 'BFloat16'}),
      launch(3, 15), kernel('ncclDevKernel_Generic', 3, 16)],
     [shape('all_gather', 'BFloat16', 16)]),
    ('... and from shapes (older profilers)',
     [X('cpu_op', 'record_param_comms', 1, 2, 10, 10, **TENSORS), X(*ALL_TO_ALL, **HALF), launch(3, 15),
      kernel('ncclKernel_SendRecv_RING', 3, 16)],
     [shape('all_to_all', 'Half', 20)]),
    ('the operator lists its output too: the larger tensor is the message',
     [X('cpu_op', 'c10d::_allgather_base_', 1, 2, 10, 10, **TWO_HALVES),
      X('user_annotation', 'nccl:_all_gather_base', 1, 2, 11, 8, **HALF), launch(3, 15),
      kernel('ncclKernel_AllGather_RING_LL_Sum_int8_t', 3, 16)],
     [shape('all_gather', 'Half', 160)]),
    ('without shapes, the annotation gives the kind; the size is unknown',
     [X(*ALL_TO_ALL), launch(3, 15), kernel('ncclDevKernel_SendRecv(ncclDevComm*)', 3, 16)],
     [shape('all_to_all', '', -1)]),
    ('the name of a reduction kernel contains the data type; that of a copy does not',
     [kernel('ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(a)', 1, 1),
      kernel('ncclKernel_AllReduce_RING_LL_Sum_float(a)', 2, 2),
      kernel('ncclKernel_Broadcast_RING_LL_Sum_int8_t(a)', 3, 3)],
     [shape('reduce_scatter', 'BFloat16', -1), shape('all_reduce', 'Float', -1), shape('broadcast', '', -1)]),
    ("NCCL's symmetric-memory kernels, MSCCL's kernels in RCCL, and kernels of other libraries",
     [kernel('ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32(ncclSymkDevWorkArgs4K)', 1, 1),
      kernel('mscclKernel_Sum_half_Simple_false', 2, 2), kernel('nvshmem_barrier', 3, 3)],
     ['1 kernel 2 collective ', shape('all_reduce', 'Float', -1)]),
    ('the copy of an annotation on the GPU is not an iteration',
     [step(1, 10, 10), X('gpu_user_annotation', 'ProfilerStep#1', 0, 7, 12, 30), launch(1, 12), kernel('k', 1, 13)],
     ['iteration 1: 10000+10000\n']),
    ('a last step without launches is not an iteration of its own',
     [step(1, 10, 1000), step(2, 1010, 1000), step(3, 2010, 2)],
     ['iteration 2: 1010000+1000000\n', 'after: 1 records\n']),
    ('synchronisations as the profiler recorded them',
     [X('cuda_sync', 'Stream Wait Event', 0, 24, 5, 0, wait_on_stream=20, wait_on_cuda_event_record_corr_id=54,
        correlation=3)],
     ['1 sync\n']),
    ('ROCm',
     [X('cuda_runtime', 'hipLaunchKernel', 1, 2, 1, 1, kernel='k', cid=107, correlation=2),
      X('gpu_memcpy', 'CopyDeviceToDevice', 2, 0, 3, 1, device=2, stream=0, correlation=2, kind='DtoD')],
     ['1 call 1 memcpy\n']),
    ('ids that are texts, instants, members beside "args", keys with dots',
     ['{"ph":"i","name":"Record Window End","pid":"","tid":"x","ts":7,"s":"g"}',
      '{"name":"c","pid":1,"tid":"","ts":7,"ph":"C","args":{"v":1.50}}', X('cpu_op', 'a', 1, 2, 1, 0, **{'.s': 1})],
     ['1 range 2 mark\n']),
    ('iterations without the steps of the profiler: numbered annotations',
     [X('user_annotation', 'iteration 7', 1, 2, 0, 40), X('user_annotation', 'iteration 8', 1, 2, 50, 40)],
     ['iteration 7: 0+40000\n', 'iteration 8: 50000+40000\n']),
    ('... repeated launches',
     [*pairs(*'abcabcabc')],
     ['iteration 0: 10000+10000\n', 'iteration 1: 20000+10000\n', 'iteration 2: 30000+3000\n']),
    ('... or one iteration for the whole run', [kernel('a', 1, 12, 5)], ['iteration 0: 12000+5000\n']),
]




def test_rules():
    for what, events, expected in CASES:
        with Run({'trace.json': document(*events)}) as run:
            text = run.text()
            missing = [part for part in expected + events if part not in text]
            assert not missing, f'{what}: {missing} is not in\n{text}'


def test_base_time():
    text = document(kernel('k', 5, 0.001, 1.25)).removesuffix('}') + ',"baseTimeNanoseconds":1711964646000000001}'
    with Run({'a.json': text}) as run:
        assert 'iteration 0: 1711964646000000002+1250\n' in run.text(), run.text()


def test_external_id_is_a_correlation():
    """In the old dialect. Flows of other categories are not kept."""
    old = {'External id': 9, 'cbid': 20, 'correlation': 9}
    flow = '{"ph":"%s","id":9,"pid":1,"tid":2,"ts":1,"cat":"%s","name":"a","bp":"e"}'
    with Run({'a.json': document(
            X('cuda_runtime', 'cudaLaunch', 1, 2, 1, 1, **old), X('kernel', 'k', 0, 7, 3, 1, **old),
            flow % ('s', 'async_gpu'), flow % ('f', 'forward_backward'))}) as run:
        assert run.flows() == ['9', '9'] and run.report()['rebuilt'] == 2, run.text()


def test_the_order_of_events_does_not_matter():
    events = [launch(1, 1), launch(2, 1), kernel('k', 1, 2), step(1, 0, 9)]
    with Run({'a.json': document(*events)}) as one, Run({'b.json': document(*reversed(events))}) as two:
        assert one.report()['id'] == two.report()['id']


def test_sizes_among_many_shapes():
    """Operators have so many different shapes that shapes are stored with each event."""
    events = [X('cpu_op', 'aten::add', 1, 2, 2 * i, 1, **{'Input Dims': [[i]], 'Input type': ['float']})
              for i in range(40000)]
    events += [X('cpu_op', 'c10d::_allgather_base_', 1, 2, 90000, 10, **TWO_HALVES), launch(3, 90005),
               kernel('ncclDevKernel_AllGather_RING_LL', 3, 90006)]
    with Run({'a.json': document(*events)}) as run:
        assert run.info()['collectives'][0]['bytes'] == 160, run.info()['collectives']


def of_rank(info, ts):
    return f'{{"distributedInfo":{compact(info)},"traceEvents":[{launch(1, ts)}]}}'


def test_ranks_of_files():
    """From the file itself, else from its name. The host of the last file has a clock with a large offset."""
    with Run({'a_rank3.json': document(launch(1, 1)), 'rank-1.json': of_rank({'rank': 2}, 1),
              'c.json': of_rank({'rank': 0, 'world_size': 4}, 7000001)}) as run:
        assert [r['rank'] for r in run.info()['ranks']] == [0, 2, 3]
    for name, rank in {'x/rank0/trace_rank_12.json': 12, 'Rank7.json': 7, 'rank4/trace.json': 0, 'rank.json': 0,
                       'host_123.456.pt.trace.json': 0, 'rank0of8_rank1.json': 1, 'rank9_local_rank1.json': 9,
                       'local_rank1.json': 1, 'rank-99999999999999999999.json': 0}.items():
        with Run({name: document(launch(1, 1))}) as run:
            assert run.rank()['rank'] == rank, f'{name}: {run.report()}'


def test_files_that_do_not_belong_together():
    for a, b, what in [
            (of_rank({'rank': 0}, 1), of_rank({'rank': 0}, 1), 'duplicate rank 0; '),
            (of_rank({'rank': 0, 'world_size': 2}, 1), of_rank({'rank': 1, 'world_size': 4}, 1),
             'its world_size is 4, that of '),
            (of_rank({'rank': 0, 'backend': 'nccl'}, 1), of_rank({'rank': 1, 'backend': 'gloo'}, 1),
             'its backend is "gloo"'),
            (of_rank({'rank': 0}, 1), of_rank({'rank': 1}, 43000001), 'begins 43.000 s after '),
            (of_rank({'rank': 0}, 1), document(), 'no events')]:
        with Run({'a.json': a, 'b.json': b}) as run:
            assert run.error and what in run.error, f'{what}: {run.error}'


def test_skipped_events_are_counted():
    with Run({'a.json': document(
            launch(1, 1), '{"ph":"s","cat":"ac2g","ts":1}', '{"ph":"s","cat":"other","ts":1}',
            '{"ph":"X","name":"n"}', '{"ph":"X","ts":1,"dur":-1}', '{"ph":"X","ts":1e30}', '{"ts":1}',
            '{"ph":"M","name":"process_name"}', '{"ph":"X","ts":1.00001}')}) as run:
        rank = run.rank()
        got = {key: rank[key] for key in ('read', 'names', 'rebuilt', 'skipped', 'no_duration', 'rounded')}
        assert got == {'read': 9, 'names': 1, 'rebuilt': 1, 'skipped': 4, 'no_duration': 1, 'rounded': 1}, got
        kept = {kind: n for kind, n in rank['kept'].items() if n}
        assert kept == {'call': 1, 'mark': 1, 'range': 1}, kept


# ---- JSON

EVENT = '{"ph":"X","cat":"c","name":"n","pid":1,"tid":2,"ts":3,"dur":4}'
HEAD = '{"ph":"X","cat":"c","name":"n","pid":1,"tid":2,"ts":3,"dur":4,'

# A file, and texts in its export; the last two numbers count values that are not numbers, and commas.
DOCUMENTS = [
    (f'[{EVENT}]', [EVENT], 0, 0),
    (f'\ufeff[{EVENT}]', [EVENT], 0, 0),
    (f'[{EVENT}', [EVENT], 0, 0),
    (f'[{EVENT},\n', [EVENT], 0, 0),
    (f'[{EVENT}, ]', [EVENT], 0, 1),
    (f'{{"a":1,"b":"x\\"y","c":[1, 2.50, {{"d": null}}],"traceEvents":[{EVENT}],"e":true}}',
     ['"a": 1,', r'"b": "x\"y",', '"c": [1,2.50,{"d":null}],', '"e": true'], 0, 0),
    (document(EVENT.replace('1,"tid":2', '"p","tid":""')), ['"pid":"p","tid":""'], 0, 0),
    (document(HEAD + '"args":{"i":9223372036854775807,"j":9223372036854775808,"k":-0,"l":1.0,'
              '"m":-9223372036854775808,"s":"5","n":null,"o":[ ],"p":{ }}}'),
     ['"args":{"i":9223372036854775807,"j":9223372036854775808,"k":-0,"l":1.0,'
      '"m":-9223372036854775808,"s":"5","n":null,"o":[],"p":{}}}'], 0, 0),
    (document(HEAD + '"s":"g","args":{"x":1,"x":2},"id":[1]}'), ['"s":"g","id":[1],"args":{"x":1,"x":2}}'], 0, 0),
    (document(EVENT.replace('"n"', r'"a\u00e9\/\\"')), [r'"name":"aé/\\"'], 0, 0),
    (document(EVENT.replace('"n"', '"a\x01\nb"')), ['"name":"a  b"'], 0, 0),
    (document(EVENT.replace('"n"', '"a\xff"')).encode('latin-1'), ['"name":"a\ufffd"'], 0, 0),
    (document(HEAD + '"args":5}'), ['"args":5}'], 0, 0),
    (document(HEAD + '"args":{"a":NaN,"b":-Infinity,"c":inf,"d":-nan(ind),"e":1}}',
              EVENT.replace('"dur":4', '"dur":nan')),
     ['"args":{"a":"NaN","b":"-Infinity","c":"Infinity","d":"NaN","e":1}}'], 5, 0),
    ('{"a":[{"b":[NaN,{"c":+inf}],},],"d":Infinity,"traceEvents":[' + EVENT + '],}',
     ['"a": [{"b":["NaN",{"c":"Infinity"}]}],', '"d": "Infinity",', EVENT], 3, 3),
    (document(HEAD + '"args":{"a":"b, nan, c","d": inf ,}}'), ['"args":{"a":"b, nan, c","d":"Infinity"}}'], 1, 1),
]

# Invalid files, the offset of the error and the reason.
INVALID = [
    ('x', 0, 'not JSON'),
    ('"x"', 0, 'neither an object nor an array'),
    ('{"a":1}', None, 'traceEvents'),
    ('{', 1, 'truncated'),
    ('[{"ph":"X"', 10, 'truncated'),
    ('{"traceEvents":[' + EVENT, 77, 'truncated'),
    ('NaN', 0, 'neither an object nor an array'),
    (f'[{EVENT},}}', 63, 'not JSON'),
    (document('{"ts":nano}'), 22, 'not JSON'),
    (document('{"ts":,}'), 22, 'not JSON'),
    ('[1]', 2, 'not an object'),
    ('[[]]', 2, 'not an object'),
    ('["x"]', 1, 'not an object'),
    (document('{"name":"a"b"}'), 28, 'unescaped quote'),
    (document(EVENT) + 'x', 80, 'not JSON'),
    ('{"traceEvents":[{"args":{"x":' + '[' * 100000, ..., 'nested too deep'),
]

VALID_VALUES = [
    '1', '-0', '-1', '1.50', '1e5', '1E+05', '12345678901234567890', 'true', 'false', 'null', 'NaN', '""', '"x"',
    r'"\u0041"', r'"\""', '"é"', '"a\tb"', '[]', '[ ]', '{ }', '[1 , 2]', '[1,]', '["é"]', '["\x7f"]', '["a\tb"]',
    r'["a\nb"]', '{"a" : [{}], "b":-1.0e-1}', '{"a":1,}', r'{"a\n":1}', '["\udcff"]', '{"args":{"args":1}}', '1,"x":1', '1,',
]
INVALID_VALUES = [
    '01', '-', '+1', '1.', '.5', '1e', '1e+', '1.e1', 'tru', 'nulls', 'True', '"x', '"x\\"', 'x"', '[1 2]', '[,1]',
    '[01]', '[1.]', '[true,nul]', '["a"', '[[]', '[]]', '[}', '{]', '{"a" 1}', '{"a":}', '{a:1}', '{1:1}', '1}', '',
]


def exported(run):
    assert not run.error, run.error
    return gputrace('export', run.trace).stdout


def test_documents():
    for text, expected, not_numbers, commas in DOCUMENTS:
        with Run({'a.json': text}) as run:
            missing = [part for part in expected if part not in exported(run)]
            assert not missing, f'{text}: {missing} is not in\n{exported(run)}'
            assert (run.rank()['not_numbers'], run.rank()['commas']) == (not_numbers, commas), f'{text}: {run.rank()}'


def test_invalid_files_are_refused():
    for text, offset, why in INVALID:
        with Run({'a.json': text}) as run:
            found = re.search(r'at byte (\d+)', run.error or '')
            assert run.error and why in run.error, f'{text[:100]}: {run.error}'
            if offset is not ...:
                assert (found is None) == (offset is None), f'{text}: {run.error}'
                assert found is None or abs(int(found[1]) - offset) <= 1, f'{text}: {run.error}'


def with_value(value, e='a'):
    return f'{HEAD}"e":"{e}","args":{{"v":{value}}}}}'


def test_guesses_change_nothing():
    """Events are read with guesses from the previous event, which an escape prevents."""
    for value in VALID_VALUES:
        events = [with_value(value, r'\u0061'), with_value(value), with_value(value), with_value('"x"'),
                  with_value(value), with_value('[1,2]'), with_value(value)]
        with Run({'a.json': document(*events)}) as run:
            assert not run.error, f'{value}: {run.error}'
            lines = collections.Counter(run.events().splitlines())
            wanted = {with_value('"x"'), with_value('[1,2]')}
            assert len(lines.keys() - wanted) <= 1 and max(lines.values()) >= 5, f'{value}: {lines}'
    for value in INVALID_VALUES:
        for before in [], [with_value('1')], [with_value('"x"')], [with_value('[1,2]')]:
            with Run({'a.json': document(*before, with_value(value), EVENT)}) as run:
                assert run.error, f'{value} after {before}'


def test_tokens_across_windows():
    with Run({'a.json': '[' + ','.join([EVENT] * 5000) + ']'}) as run:
        assert exported(run).count(EVENT) == 5000
    long = EVENT.replace('"n"', r'"\n' + r'[{\"\\},' * 1000000 + '"')
    with Run({'a.json': f'[{EVENT},{long},{EVENT},{EVENT}]'}) as run:
        assert exported(run).count(EVENT) == 3 and len(exported(run)) > 6000000
    end = '],"a":1234567890}'
    for shift in range(len(end)):
        start = '{"traceEvents":[' + EVENT
        with Run({'a.json': start + ' ' * ((256 << 10) - len(start) - shift) + end}) as run:
            assert '"a": 1234567890,' in exported(run), shift


def test_not_numbers_across_windows():
    event = '{"ph":"i","ts":1,"args":{"a": -Infinity ,"b":nan, }},'
    for shift in range(len(event)):
        with Run({'a.json': '[' + ' ' * shift + event * 5000}) as run:
            assert exported(run).count('"args":{"a":"-Infinity","b":"NaN"}') == 5000, shift
            assert (run.rank()['not_numbers'], run.rank()['commas']) == (10000, 5000), shift


if __name__ == '__main__':
    run_tests(globals())
