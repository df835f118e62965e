#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs in recordings of gpucapture: captured, added by hand, changed, as the driver reports them, and with
collectives.

    recorded_graphs.py GPUTRACE RECORDED     the latter is recorded.c
"""
import re
import struct

from profiler import run_tests
from rings import COMM, CONTEXT, EXEC, FLOAT, GRAPH, KERNEL, NODE, STREAM, made_of, one

KERNEL_NODE, SET_NODE, HOST_NODE, CHILD_NODE, EMPTY_NODE = 0, 2, 3, 4, 5
OTHER, FORKED, JOINED = 0x2200, 0x4100, 0x4200
STEP = {'kind': 'kernel', 'name': 'step', 'grid': [4, 1, 1], 'block': [32, 1, 1]}
SET = {'kind': 'memset', 'name': 'Memset (Device)'}
EMPTY = {'kind': 'empty'}


def kernel_params(grid, shared=0):
    return struct.pack('<Q7I4x4Q', KERNEL, grid, 1, 1, 32, 1, 1, shared, 0, 0, 0, 0)


def set_params(width, value=7):
    return struct.pack('<QQIIQQ', 0x100, 0, value, 4, width, 2)


def add_node(ring, number, n, kind, after, grid):
    """A node that the driver reports: `after` lists nodes; a kernel node is identified by its grid."""
    params = kernel_params(grid, 8) if kind == KERNEL_NODE else b''
    ring.raw(NODE, kind, struct.pack(f'<4IQQ{len(after)}I', number, n, len(after), len(params), ring.next_id(),
                                     0xa00 + number, *after) + params)


def report(ring, nodes):
    for i, node in enumerate(nodes):
        add_node(ring, i, len(nodes), *node)


def with_graph():
    ring = one()
    ring.out(0, GRAPH)
    ring.call('cuGraphCreate', 0x100, 0)
    return ring


def with_other_stream():
    ring = one()
    ring.out(0, OTHER)
    ring.call('cuStreamCreate', 0x100, 1)
    return ring


def instantiate(ring, nodes=(), graph=GRAPH):
    report(ring, nodes)
    ring.out(0, EXEC)
    ring.call('cuGraphInstantiateWithFlags', 0x100, graph, 0)


def add_empty(ring, node, *after, graph=GRAPH):
    ring.out(0, node)
    if after:
        ring.blob(2, struct.pack(f'<{len(after)}Q', *after))
    ring.call('cuGraphAddEmptyNode', 0x100, graph, 0x200 if after else 0, len(after))


def add_memset(ring, node, width=25):
    ring.out(0, node)
    ring.blob(4, set_params(width))
    return ring.call('cuGraphAddMemsetNode', 0x100, GRAPH, 0, 0, 0x300, CONTEXT)


def set_width(ring, width, value=7):
    ring.blob(2, set_params(width, value))
    return ring.call('cuGraphExecMemsetNodeSetParams', EXEC, 0xa0, 0x300, CONTEXT)


def end_capture(ring, graph=GRAPH, result=0):
    if result == 0:
        ring.out(1, graph)
    ring.call('cuStreamEndCapture', STREAM, 0x100, result=result)


def check_graphs(ring, *wanted):
    """Compares the graphs, without calls and handles. Returns the process."""
    process = made_of(ring)
    graphs = [{k: v for k, v in graph.items() if k not in ('calls', 'handles')} for graph in process['graphs']]
    assert graphs == list(wanted), f'{graphs}\ninstead of\n{list(wanted)}'
    return process


def graph_of(number, *nodes, **more):
    """Nodes as (description, nodes that it waits for)."""
    return {'graph': number, **more, 'nodes': [node | {'after': list(after)} for node, *after in nodes]}


def fork_and_join(ring, result=0):
    """A fork, work on both branches, and a join."""
    ring.call('cuStreamBeginCapture_v2', STREAM, 0)
    ring.launch()
    ring.call('cuEventRecord', FORKED, STREAM)
    ring.call('cuStreamWaitEvent', OTHER, FORKED, 0)
    ring.call('cuMemsetD32Async', 0x100, 0, 16, OTHER)
    ring.launch()
    ring.call('cuEventRecord', JOINED, OTHER)
    ring.call('cuStreamWaitEvent', STREAM, JOINED, 0)
    ring.call('cuLaunchHostFunc', STREAM, 1, 2)
    end_capture(ring, result=result)
    # Both streams no longer capture.
    ring.launch()
    ring.launch(stream=OTHER)


def test_captures_record_nodes_and_dependencies():
    ring = with_other_stream()
    fork_and_join(ring)
    process = check_graphs(ring, graph_of(1, [STEP], [SET | {'bytes': 64}, 0], [STEP, 0], [{'kind': 'host'}, 1, 2]))
    assert process['ops'] == 2


def test_a_failed_capture_ends():
    ring = with_other_stream()
    fork_and_join(ring, result=901)
    assert check_graphs(ring)['ops'] == 2


def test_nodes_are_added_by_hand():
    ring = with_graph()
    a, b, c = 0xa0, 0xb0, 0xc0
    add_empty(ring, a)
    add_memset(ring, b)
    ring.out(0, c)
    ring.blob(2, struct.pack('<2Q', a, b))
    ring.blob(4, kernel_params(4))
    ring.call('cuGraphAddKernelNode_v2', 0x100, GRAPH, 0x200, 2, 0x300)
    for call, source, to in ('cuGraphAddDependencies', a, b), ('cuGraphRemoveDependencies', a, c):
        ring.blob(1, struct.pack('<Q', source))
        ring.blob(2, struct.pack('<Q', to))
        ring.call(call, GRAPH, 0x200, 0x300, 1)
    instantiate(ring)
    ring.call('cuGraphLaunch', EXEC, STREAM)
    process = check_graphs(ring, graph_of(1, [EMPTY], [SET | {'bytes': 200}, 0], [STEP, 1]))
    assert process['ops'] == 1 and process['executables'] == [[1, 0], [0, 0]], process


def test_clones_have_the_same_nodes():
    ring = with_graph()
    add_empty(ring, 0xa0)
    add_empty(ring, 0xb0, 0xa0, 0xdead)
    ring.out(0, GRAPH + 16)
    ring.call('cuGraphClone', 0x100, GRAPH)
    check_graphs(ring, *(graph_of(number, [EMPTY], [EMPTY, 0]) for number in (1, 2)))


def test_changed_nodes():
    ring = with_graph()
    add_memset(ring, 0xa0)
    ring.blob(1, set_params(30))
    ring.call('cuGraphMemsetNodeSetParams', 0xa0, 0x300)
    check_graphs(ring, graph_of(1, [SET | {'bytes': 240}]))


def versions(process):
    """The versions of graphs that were launched."""
    return [int(re.search(r' graph.version=(\d+) ', f' {e["args"]} graph.version=0 ')[1])
            for e in process['events'] if 'graph' in e['args'] and e['kind'] not in ('call', 'sync')]


def test_changed_executable_graphs():
    """Changing an executable graph does not change its source graph; each launch refers to the version launched."""
    ring = with_graph()
    add_memset(ring, 0xa0)
    add_empty(ring, 0xb0)
    instantiate(ring)
    ring.call('cuGraphLaunch', EXEC, STREAM)
    for width, disabled in (40, None), (25, None), (40, 0xb0), (41, 0xdead):
        set_width(ring, width)
        if disabled:
            ring.call('cuGraphNodeSetEnabled', EXEC, disabled, 0)
        ring.call('cuGraphLaunch', EXEC, STREAM)
    off = EMPTY | {'enabled': False}
    process = check_graphs(ring, graph_of(1, [SET | {'bytes': 200}], [EMPTY]),
                           graph_of(1, [SET | {'bytes': 320}], [EMPTY], version=1),
                           graph_of(1, [SET | {'bytes': 320}], [off], version=2),
                           graph_of(1, [SET | {'bytes': 328}], [off], version=3))
    assert versions(process) == [0, 1, 0, 2, 3], versions(process)
    assert process['graph_changes'] == 1  # that of an unknown node cannot be applied


def capture_info(ring):
    ring.out(3, GRAPH)
    ring.call('cuStreamGetCaptureInfo_v2', STREAM, 1, 2, 3, 4, 5)


def test_nodes_added_during_a_capture():
    """The stream continues after the node, first beside its earlier dependencies, then instead of them."""
    ring = with_other_stream()
    ring.call('cuStreamBeginCapture_v2', STREAM, 0)
    ring.launch()
    capture_info(ring)
    for flags, node in (0, 0xa0), (1, 0xb0):
        add_empty(ring, node)
        ring.blob(1, struct.pack('<Q', node))
        ring.call('cuStreamUpdateCaptureDependencies', STREAM, 0x200, 1, flags)
        ring.launch()
    end_capture(ring)
    process = check_graphs(ring, graph_of(1, [STEP], [EMPTY], [STEP, 0, 1], [EMPTY], [STEP, 3]))
    assert process['unknown_handles'] == 0


def test_captures_into_an_existing_graph():
    """Nodes added to a failed capture do not make a graph. A capture into a graph begins after the given nodes."""
    ring = with_other_stream()
    ring.call('cuStreamBeginCapture_v2', STREAM, 0)
    capture_info(ring)
    end_capture(ring, result=901)
    check_graphs(ring)
    graph, node = GRAPH + 16, 0xa0
    ring.out(0, graph)
    ring.call('cuGraphCreate', 0x100, 0)
    add_empty(ring, node, graph=graph)
    ring.blob(2, struct.pack('<Q', node))
    ring.call('cuStreamBeginCaptureToGraph', STREAM, graph, 0x200, 0, 1, 0)
    ring.launch()
    end_capture(ring, graph)
    instantiate(ring, graph=graph)
    process = check_graphs(ring, graph_of(2, [EMPTY], [STEP, 0]))
    assert process['executables'][0][0] == 2, process


def test_nodes_name_the_calls_that_describe_them():
    """A change of an argument alone, such as the value of a fill, makes a version too."""
    ring = with_graph()
    made = add_memset(ring, 0xa0)
    instantiate(ring)
    changed = set_width(ring, 25, value=8)
    ring.call('cuGraphLaunch', EXEC, STREAM)
    set_width(ring, 25)
    ring.call('cuGraphLaunch', EXEC, STREAM)
    process = made_of(ring)
    assert versions(process) == [1, 0], process['events']
    assert [(graph['calls'], graph['handles']) for graph in process['graphs']] == [
        ([made + 1], [0xa0]), ([changed + 1], [0xa0])], process['graphs']


# ---- graphs as the driver reports them

def edges(ring):
    return [node['after'] for graph in made_of(ring)['graphs'] for node in graph['nodes']]


def test_the_last_report_defines_a_graph():
    """A graph is what the driver reports at each instantiation or update. Nodes whose creation was not recorded have
    handles; an identical report is the same version."""
    ring = with_graph()
    nodes = [[KERNEL_NODE, [], 4], [SET_NODE, [0], 0]]
    instantiate(ring, nodes)

    def version():
        return made_of(ring)['executables'][0][1]

    def update(grid):
        nodes[0][2] = grid
        report(ring, nodes)
        ring.call('cuGraphExecUpdate_v2', EXEC, GRAPH, 0)

    assert version() == 0
    update(5)
    assert version() == 1
    ring.blob(2, kernel_params(6))
    ring.call('cuGraphExecKernelNodeSetParams_v2', EXEC, 0xa00, 0x100)
    assert version() == 2
    update(4)
    assert version() == 0
    ring.call('cuGraphLaunch', EXEC, STREAM)
    process = made_of(ring)
    assert (process['ops'], process['graph_changes']) == (1, 0), process


def test_incomplete_and_repeated_reports():
    """If the ring had no space for some nodes, the graph is reconstructed from calls. If the nodes were reported twice,
    the last report counts. Invalid dependencies are dropped."""
    ring = with_graph()
    add_node(ring, 0, 2, KERNEL_NODE, [], 4)
    instantiate(ring)
    ring.look()
    assert edges(ring) == [], edges(ring)
    report(ring, [(KERNEL_NODE, [], 4), (KERNEL_NODE, [], 4)])
    instantiate(ring, [(KERNEL_NODE, [], 4), (KERNEL_NODE, [0, 7], 4)])
    ring.call('cuGraphLaunch', EXEC, STREAM)
    assert made_of(ring)['ops'] == 1 and edges(ring) == [[], [0]], edges(ring)


# ---- collectives in graphs

def captured(ring, handle, call, *words):
    """A NCCL call whose kernel became the node `handle`; 0: the capture library did not query the node."""
    def launch():
        if handle:
            ring.raw(NODE, 0, struct.pack('<4IQQ', 0, 0, 0, 0, ring.next_id(), handle))
        return ring.kernel_of_nccl()

    ring.within(call, *words, inner=launch)


def all_reduce(ring, handle, count):
    captured(ring, handle, 'ncclAllReduce', 0x10000, 0x10000, count, FLOAT, 0, COMM, STREAM)


def capture_nccl(ring, count=256, handles=False, graph=GRAPH):
    """A kernel, an all-reduce, a send and receive, an all-reduce."""
    first, second, third = (0xa03, 0xa02, 0xa01) if handles else (0, 0, 0)
    ring.call('cuStreamBeginCapture_v2', STREAM, 0)
    ring.launch()
    all_reduce(ring, first, count)
    ring.call('ncclGroupStart')
    ring.messages('ncclSend', 1)
    ring.messages('ncclRecv', 1)
    captured(ring, second, 'ncclGroupEnd')
    all_reduce(ring, third, 64)
    end_capture(ring, graph)


def with_collectives(handles=False):
    ring = one()
    ring.join_comm(2, 0)
    capture_nccl(ring, handles=handles)
    return ring


# In the driver's order, which is reversed here, and in capture order.
BACKWARDS = [(KERNEL_NODE, [], 1), (KERNEL_NODE, [2], 8), (KERNEL_NODE, [3], 8), (KERNEL_NODE, [0], 8)]
AS_CAPTURED = [(KERNEL_NODE, [], 1), (KERNEL_NODE, [0], 8), (KERNEL_NODE, [1], 8), (KERNEL_NODE, [2], 8)]


def test_a_launch_counts_its_collectives():
    """It is one operation: its collectives have no times."""
    for nodes, handles in ([], False), (BACKWARDS, True), (AS_CAPTURED, False):
        ring = with_collectives(handles)
        instantiate(ring, nodes)
        ring.call('cuGraphLaunch', EXEC, STREAM)
        ring.call('cuGraphNodeSetEnabled', EXEC, 0xa03, 0)
        ring.call('cuGraphLaunch', EXEC, STREAM)
        process = made_of(ring)
        assert not process['collectives'] and process['lost_collectives'] == 0, process
        assert process['graph_collectives'] == (5 if nodes else 6), process
        kinds = [node.get('collective', '-') for node in process['graphs'][0]['nodes']]
        assert kinds == ['-', 'all_reduce', 'send_recv', 'all_reduce'], kinds
        op = next(e for e in process['events'] if e['kind'] == 'kernel')
        assert ' graph.collectives=3 ' in f' {op["args"]} ', op


def test_updated_graphs():
    """Updating an executable graph makes a new version; an identical update does not."""
    ring = with_collectives()
    instantiate(ring)
    for count in 256, 128:
        capture_nccl(ring, count, graph=GRAPH + count)
        ring.call('cuGraphExecUpdate_v2', EXEC, GRAPH + count, 0)
    ring.call('cuGraphLaunch', EXEC, STREAM)
    process = made_of(ring)
    assert process['executables'][0][0] == 3 and process['graph_collectives'] == 3, process


def test_child_graphs():
    """A graph within a graph within a third, as recorded or as reported."""
    for nodes in [], [(EMPTY_NODE, [], 0), (CHILD_NODE, [2], 0), (CHILD_NODE, [6], 0), (KERNEL_NODE, [0], 1),
                      (KERNEL_NODE, [3], 8), (KERNEL_NODE, [4], 8), (KERNEL_NODE, [5], 8)]:
        ring = with_collectives(handles=True)
        ring.out(0, GRAPH + 1)
        ring.call('cuGraphCreate', 0x100, 0)
        ring.out(0, 0xb00)
        ring.call('cuGraphAddChildGraphNode', 0x100, GRAPH + 1, 0, 0, GRAPH)
        ring.call('cuGraphDestroy', GRAPH)
        ring.out(0, GRAPH)
        ring.call('cuGraphCreate', 0x100, 0)
        add_empty(ring, 0xb01)
        ring.out(0, 0xb02)
        ring.call('cuGraphAddChildGraphNode', 0x100, GRAPH, 0, 0, GRAPH + 1)
        instantiate(ring, nodes)
        ring.call('cuGraphLaunch', EXEC, STREAM)
        process = made_of(ring)
        assert (process['lost_collectives'], process['graph_collectives']) == (0, 3), process


def test_unknown_nodes():
    """The driver reports nodes that do not include the collective's."""
    for nodes, lost in ([(KERNEL_NODE, [], 1)], 3), ([(SET_NODE, [], 0), (SET_NODE, [0], 0), (KERNEL_NODE, [1], 1)], 2):
        ring = with_collectives()
        instantiate(ring, nodes)
        ring.call('cuGraphLaunch', EXEC, STREAM)
        assert made_of(ring)['lost_collectives'] == lost, nodes


if __name__ == '__main__':
    run_tests(globals())
