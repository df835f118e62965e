#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The driver API as a program uses it: contexts, memory, streams, events, launches of a kernel with a host kernel and of
one without."""
import ctypes
import struct
import threading

from cuda import (HOST_FUNCTION, INVALID_CONTEXT, INVALID_IMAGE, INVALID_VALUE, NOT_FOUND, NOT_INITIALIZED, NOT_READY,
                  NOT_SUPPORTED, OUT_OF_MEMORY, cu, new_stream, read, structure)
from host_kernels import parameter, register

INVALID_DEVICE, ILLEGAL_ADDRESS, OUT_OF_RESOURCES, INVALID_CLUSTER_SIZE = 101, 700, 701, 912
PTX, CUBIN, LIBRARY = 1, 0, 4  # CUjitInputType
HEAD = '.version 8.0\n.target sm_90\n.address_size 64\n'
IMAGE = (HEAD + '''.visible .global .align 4 .b8 table[64];
.visible .entry saxpy(.param .u32 n, .param .f32 a,
 .param .u64 .ptr .align 1 x, .param .u64 y)
.maxntid 256, 1, 1
{ ret; }
.visible .entry nothing() { ret; }
''').encode()
CUDA_VERSION = 13000
ref = ctypes.byref


def saxpy(_, args):
    n, a = parameter(args, 0, ctypes.c_int), parameter(args, 1, ctypes.c_float)
    x, y = ((ctypes.c_float * n).from_address(parameter(args, i)) for i in (2, 3))
    y[:] = [to + a * value for value, to in zip(x, y)]


def saxpy_cost(_, args, cost):
    """Many times the real size, so that the host's own time is negligible."""
    cost.contents.bytes = 192e3 * parameter(args, 0, ctypes.c_int)


def fault(launch, _):
    launch.contents.error = ILLEGAL_ADDRESS


def function(module, name, expected=0):
    return cu.new('cuModuleGetFunction', module, name.encode(), expected=expected)


def launch(kernel, args=None, extra=None, grid=1, block=1, stream=0, expected=0):
    cu.fails(expected, 'cuLaunchKernel', kernel, grid, 1, 1, block, 1, 1, 0, stream, args, extra)


def test_fault(device):
    """A fault in a kernel is a sticky error of its context."""
    context = cu.new('cuCtxCreate_v4', None, 0, device)
    lost = cu.new('cuModuleLoadData', b'.version 8.0\n.target sm_90\n.entry faulty() { ret; }\n')
    kernel = function(lost, 'faulty')
    register('faulty', fault)
    cu.library.cuLaunchKernel(ctypes.c_void_p(kernel), 1, 1, 1, 1, 1, 1, 0, None, None, None)
    cu.fails(ILLEGAL_ADDRESS, 'cuCtxSynchronize')
    cu.new('cuMemAlloc_v2', 1, expected=ILLEGAL_ADDRESS)
    cu.fails(ILLEGAL_ADDRESS, 'cuStreamQuery', 0)
    cu.cuCtxDestroy_v2(context)
    cu.library.cuModuleUnload(ctypes.c_void_p(lost))  # for LeakSanitizer: the driver keeps it to recognise its handle


def memory_info():
    total = ctypes.c_size_t()
    return cu.new('cuMemGetInfo_v2', ..., ref(total)), total.value


def test_memory():
    before, total = memory_info()
    p = cu.new('cuMemAlloc_v2', 1 << 20)
    free, _ = memory_info()
    assert before - free == 1 << 20
    for size, error in (total, OUT_OF_MEMORY), (0, INVALID_VALUE):
        cu.new('cuMemAlloc_v2', size, expected=error)
    q = cu.new('cuMemAlloc_v2', free)
    cu.new('cuMemAlloc_v2', 1, expected=OUT_OF_MEMORY)
    cu.cuMemFree_v2(q)
    cu.fails(INVALID_VALUE, 'cuMemFree_v2', q)
    cu.cuMemcpyHtoD_v2(p + 100, b'hello', 6)
    assert read(ctypes.c_char * 6, p + 100).value == b'hello'
    cu.cuMemsetD32_v2(p, 0x01020304, 4)
    text = read(ctypes.c_ubyte * 16, p)
    assert (text[0], text[15]) == (4, 1)
    cu.fails(INVALID_VALUE, 'cuMemsetD32_v2', p + 1, 0, 4)
    cu.cuMemFree_v2(p)


def test_launch(module):
    n, offset, size = 1 << 16, ctypes.c_size_t(), ctypes.c_size_t()
    kernel = function(module, 'saxpy')
    cu.cuFuncGetParamInfo(kernel, 2, ref(offset), ref(size))
    assert (offset.value, size.value) == (8, 8)
    cu.fails(INVALID_VALUE, 'cuFuncGetParamInfo', kernel, 4, ref(offset), ref(size))
    x, y = (cu.new('cuMemAlloc_v2', 4 * n) for _ in range(2))
    cu.cuMemcpyHtoD_v2(x, (ctypes.c_float * n)(*range(n)), 4 * n)
    cu.cuMemsetD32_v2(y, 0, n)
    values = [ctypes.c_int(n), ctypes.c_float(2), ctypes.c_uint64(x), ctypes.c_uint64(y)]
    args = (ctypes.c_void_p * 4)(*map(ctypes.addressof, values))
    stream, begin, end = new_stream(), cu.new('cuEventCreate', 0), cu.new('cuEventCreate', 0)
    cu.cuCtxSynchronize()
    cu.cuEventRecord(begin, stream)
    for _ in range(10):
        launch(kernel, args, grid=n // 256, block=256, stream=stream)
    cu.cuEventRecord(end, stream)
    cu.fails(NOT_READY, 'cuEventQuery', end)
    launch(kernel, args, block=512, stream=stream, expected=OUT_OF_RESOURCES)
    launch(kernel, args, grid=0, stream=stream, expected=INVALID_VALUE)
    cu.cuEventSynchronize(end)
    ms = ctypes.c_float()
    cu.cuEventElapsedTime_v2(ref(ms), begin, end)
    # Ten times 12 GB: at 0.77 TB/s on the slowest model, at 4.1 TB/s on the fastest.
    assert 30 < ms.value < 170, ms
    assert read(ctypes.c_float * n, y)[:] == [20.0 * i for i in range(n)]
    cu.cuStreamDestroy_v2(stream)
    cu.cuEventDestroy_v2(begin)
    cu.cuEventDestroy_v2(end)
    cu.cuMemFree_v2(x)
    cu.cuMemFree_v2(y)


def test_buffer(module):
    kernel, x, y = function(module, 'saxpy'), cu.new('cuMemAlloc_v2', 16), cu.new('cuMemAlloc_v2', 16)
    packed = ctypes.create_string_buffer(struct.pack('<ifQQ', 4, 3, x, y), 24)
    size = ctypes.c_size_t(24)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(size), 0)
    cu.cuMemcpyHtoD_v2(x, struct.pack('<4f', 1, 2, 3, 4), 16)
    cu.cuMemsetD8_v2(y, 0, 16)
    launch(kernel, extra=extra, block=4)
    assert read(ctypes.c_float * 4, y)[3] == 12
    size.value = 8
    launch(kernel, extra=extra, block=4, expected=INVALID_VALUE)
    function(module, 'absent', expected=NOT_FOUND)


def test_host_function():
    """Host functions run in stream order, and other streams wait for them through events."""
    order = []
    note = HOST_FUNCTION(order.append)
    a, b, event = new_stream(), new_stream(), cu.new('cuEventCreate', 2)
    cu.cuLaunchHostFunc(a, note, 1)
    cu.cuLaunchHostFunc(a, note, 2)
    cu.cuEventRecord(event, a)
    cu.cuStreamWaitEvent(b, event, 0)
    cu.cuLaunchHostFunc(b, note, 3)
    cu.cuStreamSynchronize(b)
    assert order == [1, 2, 3], order
    cu.cuStreamDestroy_v2(a)
    cu.cuStreamDestroy_v2(b)
    cu.cuEventDestroy_v2(event)


def entry(name, version, flags=0):
    """The address of a function, and a CUdriverProcAddressQueryResult."""
    address, status = ctypes.c_void_p(), ctypes.c_int()
    cu.cuGetProcAddress_v2(name, ref(address), version, flags, ref(status))
    return address.value, status.value


def test_entry_points():
    old, (now, status) = entry(b'cuMemAlloc', 2000)[0], entry(b'cuMemAlloc', CUDA_VERSION)
    assert (old != now, status) == (True, 0)
    now, mine = (entry(b'cuLaunchKernel', CUDA_VERSION, flags)[0] for flags in (0, 2))  # 2: per-thread default stream
    assert now == ctypes.cast(cu.library.cuLaunchKernel, ctypes.c_void_p).value != mine
    assert entry(b'cuNothing', CUDA_VERSION) == (None, 1)
    assert entry(b'cuGraphAddNode', 11000) == (None, 2)


def test_first_launches(context):
    """Several threads launch many kernels for the first time: each launch finds its code, however long loading takes."""
    threads, others, runs = 4, 20000, []
    register('counted', lambda *_: runs.append(1))
    for _ in range(others):
        register('another', lambda *_: runs.append(1))
    modules = [cu.new('cuModuleLoadData', b'.version 8.0\n.target sm_90\n.entry counted() { ret; }\n')
               for _ in range(200)]
    kernels = [function(module, 'counted') for module in modules]
    at_once = threading.Barrier(threads)

    def launch_all():
        cu.cuCtxSetCurrent(context)
        stream = new_stream()
        for kernel in kernels:
            at_once.wait()
            launch(kernel, stream=stream)
        cu.cuStreamSynchronize(stream)
        cu.cuStreamDestroy_v2(stream)

    started = [threading.Thread(target=launch_all) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert len(runs) == threads * len(modules)
    for module in modules:
        cu.cuModuleUnload(module)


def test_link():
    """Two images are linked into one; invalid images, and images without code for the device, are refused."""
    more = (HEAD + '.visible .entry another() { ret; }\n').encode()
    link = cu.new('cuLinkCreate_v2', 0, None, None, ...)
    for error, kind, image, size in ((0, PTX, IMAGE, len(IMAGE) + 1), (0, PTX, more, len(more)),
                                     (INVALID_IMAGE, CUBIN, b'\177ELF', 4), (NOT_SUPPORTED, LIBRARY, more, 8)):
        cu.fails(error, 'cuLinkAddData_v2', link, kind, image, size, b'name', 0, None, None)
    size = ctypes.c_size_t()
    linked = cu.new('cuModuleLoadData', cu.new('cuLinkComplete', link, ..., ref(size)))
    cu.cuLinkDestroy(link)
    function(linked, 'saxpy')
    launch(function(linked, 'another'), block=32)
    function(linked, 'a third', expected=NOT_FOUND)
    cu.cuModuleUnload(linked)


def test_tensor_map():
    def encode(to, address, box, expected=0):
        cu.fails(expected, 'cuTensorMapEncodeTiled', to, 7, 2, address, struct.pack('<2Q', 64, 32),
                 struct.pack('<Q', 256), struct.pack('<2I', *box), struct.pack('<2I', 1, 1), 0, 0, 0, 0)

    p = cu.new('cuMemAlloc_v2', 64 * 32 * 4 + 256)
    buffer = ctypes.create_string_buffer(384)
    start = (ctypes.addressof(buffer) + 127) // 128 * 128  # a CUtensorMap is aligned
    one, two = ((ctypes.c_char * 128).from_address(start + 128 * i) for i in range(2))
    encode(one, p, (16, 16))
    encode(two, p + 256, (16, 16))
    assert one.raw != two.raw
    cu.cuTensorMapReplaceAddress(two, p)
    assert one.raw == two.raw
    encode(one, p + 4, (16, 16), INVALID_VALUE)
    encode(one, p, (16, 257), INVALID_VALUE)
    cu.cuMemFree_v2(p)


def test_pool(device):
    """Settable attributes are stored. Usage counters are read-only; their high-water marks can only be reset."""
    opportunistic, threshold, used, used_high = 2, 4, 7, 8
    pool = cu.new('cuDeviceGetDefaultMemPool', device)

    def get(what):
        return cu.new('cuMemPoolGetAttribute', pool, what, ...)

    cu.cuMemPoolSetAttribute(pool, threshold, ref(ctypes.c_uint64(1 << 20)))
    assert get(threshold) == 1 << 20
    cu.cuMemPoolSetAttribute(pool, opportunistic, ref(ctypes.c_int(0)))
    kept = ctypes.c_int(1)
    cu.cuMemPoolGetAttribute(pool, opportunistic, ref(kept))
    assert kept.value == 0
    cu.fails(INVALID_VALUE, 'cuMemPoolSetAttribute', pool, used, ref(ctypes.c_uint64(7)))
    cu.cuMemPoolSetAttribute(pool, used_high, ref(ctypes.c_uint64(7)))
    assert get(used_high) == get(used)
    cu.fails(INVALID_VALUE, 'cuMemPoolGetAttribute', pool, 0, ref(ctypes.c_uint64()))
    cu.fails(INVALID_VALUE, 'cuMemPoolGetAttribute', pool, used_high, None)


def test_clusters(module):
    config = structure('grid I*3, block I*3, shared I, stream P, attrs P, n_attrs I')((4, 1, 1), (1024, 1, 1))
    four = structure('id i, pad I, cluster I*3, more I*13')(4, 0, (4, 1, 1))  # CUlaunchAttribute
    kernel = function(module, 'nothing')

    def clusters(call, expected=0):
        ret = ctypes.c_int()
        cu.fails(expected, call, ref(ret), kernel, ref(config))
        return ret.value

    has = ctypes.c_int()
    cu.cuDeviceGetAttribute(ref(has), 120, 0)
    assert clusters('cuOccupancyMaxPotentialClusterSize') == (8 if has.value else 1)
    if not has.value:
        return
    alone = clusters('cuOccupancyMaxActiveClusters')
    config.attrs, config.n_attrs = ctypes.addressof(four), 1
    assert alone > 0 and clusters('cuOccupancyMaxActiveClusters') == alone // 4
    four.cluster[0] = 9
    clusters('cuOccupancyMaxActiveClusters', INVALID_CLUSTER_SIZE)


def main():
    register('saxpy', saxpy, saxpy_cost)
    count, device, size = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    cu.fails(NOT_INITIALIZED, 'cuDeviceGetCount', ref(count))
    cu.cuInit(0)
    cu.cuDeviceGetCount(ref(count))
    assert count.value >= 1
    cu.cuDeviceGet(ref(device), 0)
    cu.fails(INVALID_DEVICE, 'cuDeviceGet', ref(ctypes.c_int()), count.value)
    cu.new('cuMemAlloc_v2', 1, expected=INVALID_CONTEXT)
    context = cu.new('cuCtxCreate_v4', None, 0, device.value)
    cu.new('cuModuleLoadData', b'not an image', expected=INVALID_IMAGE)
    module = cu.new('cuModuleLoadData', IMAGE)
    table = cu.new('cuModuleGetGlobal_v2', ..., ref(size), module, b'table')
    assert table and size.value == 64
    launch(function(module, 'nothing'))
    test_memory()
    test_launch(module)
    test_buffer(module)
    test_host_function()
    test_entry_points()
    test_first_launches(context)
    test_link()
    test_tensor_map()
    test_pool(device.value)
    test_clusters(module)
    test_fault(device.value)
    cu.new('cuMemAlloc_v2', 1)
    cu.cuModuleUnload(module)
    cu.cuCtxDestroy_v2(context)
    cu.fails(INVALID_CONTEXT, 'cuCtxSynchronize')


if __name__ == '__main__':
    main()
