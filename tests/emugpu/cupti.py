#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUPTI's activity and callback API, on calls whose operations are known."""
import collections
import ctypes

from cuda import Library, cu, load_kernel, new_stream, structure, unload, use_device

BYTES = 4096
# CUpti_ActivityKind, and the structs of their records
MEMCPY, MEMSET, DRIVER, KERNEL, SAMPLING, SYNCHRONIZATION, EXTERNAL = 1, 2, 4, 10, 30, 38, 39
KINDS = KERNEL, MEMCPY, MEMSET, DRIVER, SYNCHRONIZATION, EXTERNAL
Memcpy = structure('kind I, copy B, source B, more B*2, bytes Q, start Q, end Q, device I, context I, stream I')
Memset = structure('kind I, value I, bytes Q, start Q, end Q, device I, context I, stream I')
Kernel = structure('kind I, more I*3, start Q, end Q, completed Q, device I, context I, stream I, grid I*3, block I*3, '
                   'static_shared I, dynamic_shared I, local I*2, correlation I, grid_id q, name P')
Call = structure('kind I, call I, start Q, end Q, pid I, tid I, correlation I, result I')
External = structure('kind I, source I, id Q, correlation I')
Synchronization = structure('kind I, type I')
CallbackData = structure('site I, name P, params P, result P, symbol P, context P, context_id I, data P')
LAUNCH_KERNEL, GET_CURRENT, RUNTIME_LAUNCH = 307, 304, 211  # CUpti_CallbackId
DRIVER_API, RUNTIME_API, ENTER, CUSTOM = 1, 2, 0, 3
QUEUE_EMPTY, NOT_SUPPORTED = 18, 27

cupti = Library('libcupti.so.13')
ref = ctypes.byref
user_data = ctypes.c_int()


class Seen:
    def __init__(self):
        self.n = collections.Counter()
        self.stream = self.external_of = self.last_end = self.begun = self.finalise = 0
        self.subscriber = None


seen, buffers = Seen(), {}


@ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t))
def request(ret, size, most):
    size[0], most[0] = 512, 0  # a few records, so that buffers fill
    buffer = (ctypes.c_uint64 * 64)()
    ret[0] = ctypes.addressof(buffer)
    buffers[ret[0]] = buffer
    seen.n['requested'] += 1


def see_operation(op):
    assert op.device == 0 and max(seen.begun, seen.last_end) <= op.start < op.end
    assert op.stream == (seen.stream or op.stream)
    seen.stream, seen.last_end = op.stream, op.end


def see(at):
    kind = ctypes.c_uint32.from_address(at).value
    if kind == KERNEL:
        k = Kernel.from_address(at)
        assert (ctypes.string_at(k.name), k.grid[0], k.grid[1], k.block[0]) == (b'nothing', 3, 2, 32)
        assert (k.dynamic_shared, k.correlation) == (64, seen.external_of)
        see_operation(k)
    elif kind == MEMCPY:
        c = Memcpy.from_address(at)
        assert (c.bytes, c.copy, c.source) == (BYTES, 1, 1)  # to the device, pageable
        see_operation(c)
    elif kind == MEMSET:
        s = Memset.from_address(at)
        assert (s.bytes, s.value) == (BYTES, 7)
        see_operation(s)
    elif kind == EXTERNAL:
        x = External.from_address(at)
        assert (x.source, x.id) == (CUSTOM, 42)
        seen.external_of = x.correlation
    elif kind == SYNCHRONIZATION:
        assert Synchronization.from_address(at).type == 3  # of a stream
    else:
        a = Call.from_address(at)
        assert kind == DRIVER and a.start <= a.end and a.result == 0
        assert seen.finalise or a.call != GET_CURRENT
    seen.n[kind] += 1


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
def complete(_context, _stream, buffer, _size, valid):
    seen.n['completed'] += 1
    record = ctypes.c_void_p()
    while cupti.library.cuptiActivityGetNextRecord(ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ref(record)) == 0:
        see(record.value)
    del buffers[buffer]


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(CallbackData))
def called(data, domain, _call, what):
    c = what.contents
    assert (data, domain) == (ctypes.addressof(user_data), DRIVER_API)
    assert ctypes.string_at(c.name) == b'cuLaunchKernel'
    if c.site == ENTER and seen.finalise > 1:
        cupti.cuptiFinalize()
    elif c.site == ENTER:
        ctypes.c_uint64.from_address(c.data).value = 5
        seen.n['enters'] += 1
    elif seen.finalise:
        cupti.cuptiUnsubscribe(seen.subscriber)
        cupti.cuptiFinalize()
    else:
        assert ctypes.c_uint64.from_address(c.data).value == 5 and ctypes.c_int.from_address(c.result).value == 0
        cu.cuDriverGetVersion(ref(ctypes.c_int()))  # within the launch: it has no record
        seen.n['exits'] += 1


def subscribe():
    seen.subscriber = cupti.new('cuptiSubscribe', ..., called, ref(user_data))
    cupti.cuptiEnableCallback(1, seen.subscriber, DRIVER_API, LAUNCH_KERNEL)


def work(kernel, stream, to):
    """Three calls with an operation each, and one that waits."""
    cu.cuMemcpyHtoDAsync_v2(to, bytes(BYTES), BYTES, stream)
    cu.cuMemsetD8Async(to, 7, BYTES, stream)
    cupti.cuptiActivityPushExternalCorrelationId(CUSTOM, 42)
    cu.cuLaunchKernel(kernel, 3, 2, 1, 32, 1, 1, 64, stream, None, None)
    cupti.cuptiActivityPopExternalCorrelationId(CUSTOM, None)
    cu.new('cuCtxGetCurrent')
    cu.cuStreamSynchronize(stream)


def test_activities(*on):
    cupti.cuptiActivityRegisterCallbacks(request, complete)
    subscribe()
    cupti.new('cuptiSubscribe', ..., called, ref(user_data), expected=39)  # one subscriber at a time
    for kind in KINDS:
        cupti.cuptiActivityEnable(kind)
    cupti.cuptiActivityEnableDriverApi(GET_CURRENT, 0)
    seen.begun = cupti.new('cuptiGetTimestamp')
    work(*on)
    ended = cupti.new('cuptiGetTimestamp')
    for kind in KINDS:
        cupti.cuptiActivityDisable(kind)
    cupti.cuptiUnsubscribe(seen.subscriber)
    work(*on)  # not recorded
    cupti.cuptiActivityFlushAll(0)
    requested, completed = seen.n.pop('requested'), seen.n.pop('completed')
    assert requested == completed > 1, (requested, completed)
    assert seen.n == {KERNEL: 1, MEMCPY: 1, MEMSET: 1, DRIVER: 4, EXTERNAL: 1, SYNCHRONIZATION: 1, 'enters': 1,
                      'exits': 1}, seen.n
    assert seen.last_end <= ended
    cupti.cuptiActivityEnableDriverApi(GET_CURRENT, 1)


def test_finalise_in_a_call(*on):
    """A client may finalise in a callback, at the exit of a call or at its begin, and begin again."""
    for seen.finalise in 1, 2:
        calls = seen.n[DRIVER]
        subscribe()
        work(*on)
        cupti.cuptiActivityEnable(DRIVER)
        work(*on)
        cupti.cuptiActivityDisable(DRIVER)
        cupti.cuptiActivityFlushAll(0)
        assert seen.n[DRIVER] == calls + 5  # with cuCtxGetCurrent


def test_refusals():
    cupti.fails(NOT_SUPPORTED, 'cuptiActivityEnable', SAMPLING)
    cupti.new('cuptiActivityPopExternalCorrelationId', CUSTOM, ..., expected=QUEUE_EMPTY)
    assert ctypes.string_at(cupti.new('cuptiGetResultString', NOT_SUPPORTED, ...)) == b'CUPTI_ERROR_NOT_SUPPORTED'
    name = ctypes.string_at(cupti.new('cuptiGetCallbackName', RUNTIME_API, RUNTIME_LAUNCH, ...))
    assert name.startswith(b'cudaLaunchKernel'), name


if __name__ == '__main__':
    use_device(0)
    launched = load_kernel('nothing()')
    everything = launched, new_stream(), cu.new('cuMemAlloc_v2', BYTES)
    test_refusals()
    test_activities(*everything)
    test_finalise_in_a_call(*everything)
    unload(launched)
