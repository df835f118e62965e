#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graph nodes: found in clones, queried, changed in a graph and in an executable graph; event nodes."""
import ctypes
import signal

from cuda import (INVALID_HANDLE, INVALID_VALUE, NOT_READY, NOT_SUPPORTED, Held, cu, new_stream, read, structure,
                  use_device)

BYTES = 1 << 20
USED, USED_HIGH, RESERVED, RESERVED_HIGH = range(4)  # CUgraphMem_attribute
AUTO_FREE = 1
HOST, DEVICE = 1, 2  # CUmemorytype

Memset = structure('dst Q, pitch Q, value I, element_bytes I, width Q, height Q')
PoolProps = 'allocation i, handles i, location i, device i, security P, most Q, usage H, reserved B*54'
MemAlloc = structure(PoolProps + ', access P, n_access Q, bytes Q, dptr Q')
END = 'x Q, y Q, z Q, lod Q, type Q, host P, device Q, array P, reserved P, pitch Q, height Q'
Memcpy = structure(', '.join(f'{end}_{field.strip()}' for end in ('src', 'dst') for field in END.split(',')) +
                   ', width Q, height Q, depth Q')
ref = ctypes.byref
context = use_device(0)
stream = new_stream()
at = cu.new('cuMemAlloc_v2', BYTES)


def new_memset(value, dst=at):
    return Memset(dst=dst, value=value, element_bytes=1, width=BYTES, height=1)


def new_graph():
    return cu.new('cuGraphCreate', 0)


def add(kind, graph, *args, after=0):
    """Adds a node, after another one."""
    before = ctypes.c_uint64(after)
    return cu.new(f'cuGraphAdd{kind}Node', graph, ref(before) if after else None, 1 if after else 0, *args)


def add_memset(graph, params, after=0):
    return add('Memset', graph, ref(params), context, after=after)


def instantiate(graph, flags=0):
    return cu.new('cuGraphInstantiateWithFlags', graph, flags)


def byte_at(address):
    return read(ctypes.c_ubyte, address).value


def first_byte():
    cu.cuStreamSynchronize(stream)
    return byte_at(at)


def test_clones():
    graph = new_graph()
    a = add_memset(graph, new_memset(1))
    b = add('Empty', graph, after=a)
    clone = cu.new('cuGraphClone', graph)
    other = cu.new('cuGraphClone', clone)
    found = cu.new('cuGraphNodeFindInClone', b, clone)
    assert found != b
    before, n = ctypes.c_uint64(), ctypes.c_size_t(1)
    cu.cuGraphNodeGetDependencies_v2(found, ref(before), None, ref(n))
    assert (n.value, before.value) == (1, cu.new('cuGraphNodeFindInClone', a, clone))
    cu.new('cuGraphNodeFindInClone', a, graph, expected=INVALID_VALUE)
    cu.new('cuGraphNodeFindInClone', a, other, expected=INVALID_VALUE)
    cu.new('cuGraphNodeFindInClone', add('Empty', graph), clone, expected=INVALID_VALUE)
    for each in other, clone, graph:
        cu.cuGraphDestroy(each)


def test_allocations_are_not_cloned():
    cu.cuStreamBeginCapture_v2(stream, 2)
    cu.cuMemFreeAsync(cu.new('cuMemAllocAsync', 1024, stream), stream)
    graph = cu.new('cuStreamEndCapture', stream, ...)
    cu.new('cuGraphClone', graph, expected=NOT_SUPPORTED)
    cu.cuGraphDestroy(graph)


def graph_bytes(what):
    return cu.new('cuDeviceGetGraphMemAttribute', 0, what, ...)


def free_bytes():
    total = ctypes.c_size_t()
    return cu.new('cuMemGetInfo_v2', ..., ref(total))


def graph_with_memory():
    """A graph that allocates BYTES bytes twice, fills both and frees the first. Returns the second, too."""
    graph = new_graph()
    memory = MemAlloc(allocation=1, location=1, bytes=BYTES)
    node = add('MemAlloc', graph, ref(memory))
    node = add_memset(graph, new_memset(7, memory.dptr), after=node)
    node = add('MemFree', graph, memory.dptr, after=node)
    assert cu.new('cuGraphMemFreeNodeGetParams', node, ...) == memory.dptr
    cu.new('cuGraphAddMemFreeNode', graph, None, 0, at, expected=INVALID_VALUE)
    Params = type('Params', (ctypes.Structure,), {'_fields_': [('type', ctypes.c_int * 4), ('alloc', MemAlloc),
                                                               ('reserved', ctypes.c_char * 120)]})
    params = Params((ctypes.c_int * 4)(10), MemAlloc(allocation=1, location=1, bytes=BYTES))
    before = ctypes.c_uint64(node)
    node = cu.new('cuGraphAddNode_v2', graph, ref(before), None, 1, ref(params))
    cu.cuGraphMemAllocNodeGetParams(node, ref(memory))
    assert (memory.dptr, memory.bytes) == (params.alloc.dptr, BYTES)
    add_memset(graph, new_memset(7, memory.dptr), after=node)
    return graph, memory.dptr


def test_memory():
    """Launches allocate; memory that a launch leaves allocated must be freed before the next one. The device's memory is
    used from the first launch until the memory is trimmed."""
    before = free_bytes()
    graph, kept = graph_with_memory()
    launched, freeing = instantiate(graph), instantiate(graph, AUTO_FREE)
    cu.cuGraphDestroy(graph)
    assert free_bytes() == before
    cu.fails(INVALID_VALUE, 'cuMemFree_v2', kept)
    cu.cuGraphLaunch(launched, stream)
    cu.cuStreamSynchronize(stream)
    assert (byte_at(kept + BYTES - 1), free_bytes()) == (7, before - BYTES)
    assert graph_bytes(USED) == BYTES
    cu.fails(INVALID_VALUE, 'cuGraphLaunch', launched, stream)
    cu.cuGraphLaunch(freeing, stream)
    cu.cuMemFreeAsync(kept, stream)
    cu.fails(INVALID_VALUE, 'cuMemFreeAsync', kept, stream)
    cu.cuGraphLaunch(launched, stream)
    cu.cuGraphExecDestroy(launched)
    cu.cuGraphExecDestroy(freeing)
    cu.cuDeviceGraphMemTrim(0)
    assert free_bytes() == before - BYTES  # `kept` is still allocated
    cu.cuMemFree_v2(kept)
    assert graph_bytes(RESERVED) == BYTES
    cu.cuDeviceGraphMemTrim(0)
    assert (graph_bytes(RESERVED), free_bytes(), graph_bytes(RESERVED_HIGH)) == (0, before, BYTES)
    cu.cuDeviceSetGraphMemAttribute(0, RESERVED_HIGH, ref(ctypes.c_uint64()))
    assert graph_bytes(USED_HIGH) == 0


def test_pending_free():
    """The graph is destroyed: freeing its memory releases the address, after earlier operations."""
    graph, kept = graph_with_memory()
    launched = instantiate(graph)
    cu.cuGraphDestroy(graph)
    cu.cuGraphLaunch(launched, stream)
    cu.cuStreamSynchronize(stream)
    cu.cuGraphExecDestroy(launched)
    first = cu.new('cuMemAlloc_v2', BYTES)  # reuses the memory that the graph freed
    held = Held()
    held.hold(stream)
    cu.cuMemsetD8Async(kept, 9, BYTES, stream)
    cu.cuMemFreeAsync(kept, stream)
    other = cu.new('cuMemAlloc_v2', BYTES)
    cu.cuMemsetD8_v2(other, 5, BYTES)
    held.release()
    cu.cuStreamSynchronize(stream)
    assert byte_at(other) == 5
    cu.cuMemFree_v2(other)
    cu.cuMemFree_v2(first)
    cu.cuDeviceGraphMemTrim(0)


def test_exported_pool():
    """The address of freed memory of an exported pool is allocated again, outside of the pool."""
    pool = cu.new('cuMemPoolCreate', ref(structure(PoolProps)(allocation=1, handles=1, location=1)))
    data = ctypes.create_string_buffer(64)
    for _ in range(100):
        pooled = cu.new('cuMemAllocFromPoolAsync', BYTES, pool, stream)
        cu.cuMemPoolExportPointer(data, pooled)
        cu.cuMemFreeAsync(pooled, stream)
        cu.cuStreamSynchronize(stream)
    cu.fails(INVALID_VALUE, 'cuMemPoolExportPointer', data, pooled)
    other = cu.new('cuMemAlloc_v2', BYTES)
    assert other == pooled
    cu.fails(INVALID_VALUE, 'cuMemPoolExportPointer', data, other)
    cu.cuMemFree_v2(other)
    cu.cuMemPoolDestroy(pool)


def enabled(launched, node):
    ret = ctypes.c_uint(7)
    cu.cuGraphNodeGetEnabled(launched, node, ref(ret))
    return ret.value


def test_params():
    host, graph = (ctypes.c_ubyte * 16)(), new_graph()
    fill, got = new_memset(3), Memset()
    copy, copied = Memcpy(src_type=DEVICE, src_device=at, dst_type=HOST, dst_host=ctypes.addressof(host), width=16,
                          height=1, depth=1), Memcpy()
    a = add_memset(graph, fill)
    b = add('Memcpy', graph, ref(copy), context, after=a)
    cu.cuGraphMemsetNodeGetParams(a, ref(got))
    assert (got.dst, got.value, got.width, got.element_bytes) == (at, 3, BYTES, 1)
    cu.cuGraphMemcpyNodeGetParams(b, ref(copied))
    assert (copied.src_type, copied.src_device) == (DEVICE, at)
    assert (copied.dst_type, copied.dst_host) == (HOST, ctypes.addressof(host))
    assert (copied.width, copied.height, copied.depth) == (16, 1, 1)
    cu.fails(INVALID_VALUE, 'cuGraphMemcpyNodeGetParams', a, ref(copied))
    cu.cuGraphMemsetNodeSetParams(a, ref(new_memset(4)))
    launched = instantiate(graph)
    cu.cuGraphMemsetNodeSetParams(a, ref(new_memset(5)))  # affects the next instantiation only
    cu.cuGraphLaunch(launched, stream)
    assert (first_byte(), host[0]) == (4, 4)

    cu.cuGraphExecMemsetNodeSetParams(launched, a, ref(new_memset(6)), context)
    copy.width = 1
    cu.cuGraphExecMemcpyNodeSetParams(launched, b, ref(copy), context)
    cu.cuGraphLaunch(launched, stream)
    assert (first_byte(), host[0], host[1]) == (6, 6, 4)
    cu.cuGraphNodeSetEnabled(launched, a, 0)
    assert enabled(launched, a) == 0
    cu.cuMemsetD8_v2(at, 9, BYTES)
    cu.cuGraphLaunch(launched, stream)
    assert (first_byte(), host[0]) == (9, 9)

    # An update must have the same nodes; they stay enabled or disabled.
    cu.cuGraphExecUpdate_v2(launched, graph, None)
    assert enabled(launched, a) == 0
    cu.cuGraphNodeSetEnabled(launched, a, 1)
    cu.cuGraphLaunch(launched, stream)
    assert (first_byte(), host[1]) == (5, 5)
    cu.cuGraphExecDestroy(launched)
    cu.cuGraphDestroy(graph)


def test_child():
    """A child graph is a copy; nodes of other graphs are not found in it."""
    graph = new_graph()
    a = add_memset(graph, new_memset(3))
    launched = instantiate(graph)
    cu.fails(INVALID_VALUE, 'cuGraphKernelNodeGetAttribute', a, 8, bytes(64))
    node = add('ChildGraph', graph, graph)
    assert cu.new('cuGraphChildGraphNodeGetGraph', node, ...) != graph
    cu.fails(INVALID_VALUE, 'cuGraphNodeSetEnabled', launched, node, 0)
    cu.cuGraphExecDestroy(launched)
    cu.cuGraphDestroy(graph)


def ms_between(first, second, expected=0):
    ret = ctypes.c_float()
    cu.fails(expected, 'cuEventElapsedTime_v2', ref(ret), first, second)
    return ret.value


def test_later_changes():
    """A launch runs the graph as it was at the launch, however late it starts."""
    before, first, second = (cu.new('cuEventCreate', 0) for _ in range(3))
    graph = new_graph()
    a = add_memset(graph, new_memset(1))
    leaf = add('EventRecord', graph, first, after=a)
    launched = instantiate(graph)
    cu.cuEventRecord(before, stream)
    held = Held()
    held.hold(stream)
    cu.cuGraphLaunch(launched, stream)
    cu.cuGraphExecMemsetNodeSetParams(launched, a, ref(new_memset(2)), context)
    cu.fails(INVALID_VALUE, 'cuGraphExecEventRecordNodeSetEvent', launched, a, second)
    cu.cuGraphExecEventRecordNodeSetEvent(launched, leaf, second)
    ms_between(before, first, NOT_READY)
    held.release()
    assert first_byte() == 1
    ms_between(before, second, INVALID_HANDLE)
    cu.cuGraphLaunch(launched, stream)
    cu.cuGraphExecDestroy(launched)
    assert first_byte() == 2
    assert 0 < ms_between(before, first) < ms_between(before, second)
    cu.cuGraphDestroy(graph)
    for event in before, first, second:
        cu.cuEventDestroy_v2(event)


def graph_between(before, after):
    """An executable graph that waits for `before` and then records `after`."""
    graph = new_graph()
    add('EventRecord', graph, after, after=add('EventWait', graph, before))
    ret = instantiate(graph)
    cu.cuGraphDestroy(graph)
    return ret


def test_event_ring():
    """A node waits for the record that precedes its launch, not for a record of its own graph or of a later launch."""
    other = new_stream()
    a, b = cu.new('cuEventCreate', 0), cu.new('cuEventCreate', 0)
    alone, forth, back = graph_between(a, a), graph_between(a, b), graph_between(b, a)
    signal.alarm(20)  # a wait that never ends fails
    held = Held()
    held.hold(stream)
    for launched, on in (alone, stream), (alone, stream), *[(forth, stream), (back, other)] * 2:
        cu.cuGraphLaunch(launched, on)
    cu.fails(NOT_READY, 'cuStreamQuery', other)
    cu.fails(NOT_READY, 'cuEventQuery', a)
    held.release()
    cu.cuStreamSynchronize(stream)
    cu.cuStreamSynchronize(other)
    signal.alarm(0)
    cu.cuEventQuery(a)
    for launched in alone, forth, back:
        cu.cuGraphExecDestroy(launched)
    cu.cuEventDestroy_v2(a)
    cu.cuEventDestroy_v2(b)
    cu.cuStreamDestroy_v2(other)


if __name__ == '__main__':
    for name, test in list(globals().items()):
        if name.startswith('test_'):
            print(name, flush=True)
            test()
