#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the hooks of the capture library from the descriptions of formats/api.

    hooks.py LINES.py HOOKS.c EXPORTS.map CALLS.api...

A hook takes its arguments as they are passed: integers and pointers as 64-bit words (what the upper half of a narrow one
holds is the caller's, and is handed on as it came), floating-point numbers and structs by value as such. LINES.py is
formats/api/lines.py, the reader.
"""
import importlib.util
import re
import sys

# Classes that come even while recording is paused: objects, and what counts along.
BRIEF = {'query', 'launch', 'copy', 'set', 'prefetch', 'host-call', 'memory-op', 'graph-launch', 'event-record',
         'event-wait', 'event-query', 'stream-query', 'sync', 'gemm', 'blas', 'profile'}

# Classes that change nothing; and how many arguments the record of many such calls in a row has space for: CAP_POLLS_WORDS.
ASKS = {'query', 'stream-query', 'event-query'}
MOST_ASKED = 2

# Of whose ends the layouts of kernel parameters end, too.
HOLDS_CODE = {'module', 'library', 'context'}

# Their parameters are copied without looking at the description.
KERNEL = {'cuLaunchKernel', 'cuLaunchKernel_ptsz'}

# Results of which args.c must know more than their bytes.
LOOKED_AT = {'kernel', 'function', 'scalar'}

BEFORE = {'in', 'inout'}
AFTER = {'out', 'inout'}

TOP = '''/* Made by capture/library/hooks.py. */
#include "capture/library/call.h"
#include "capture/library/driver.h"
#include "capture/library/launch.h"
#include "capture/library/times/nodes.h"
#include "capture/library/find/real.h"
#include "capture/library/rich.h"
#include "formats/api/words.h"

#include <string.h>

'''

HOOK = '''CAP_API {result} {name}({parameters});
CAP_API {result} {name}({parameters})
{{
	{result} (*real)({types}) = ({result} (*)({types}))cap_real_of({index});
	uint64_t words[{n_words}];
	struct cap_call c;
{words}	bool on = cap_enter(&c, {index}, CAP_HOW(API_CLASS_{verb}, {n}, {how}), words);
{call}
	if (on)
		cap_leave(&c, {as_result});
{more}{leave}}}

'''

# cuLaunchKernel: launch.h does it all.
KERNEL_HOOK = '''CAP_API int {name}({parameters});
CAP_API int {name}({parameters})
{{
	cap_launch_fn *real = (cap_launch_fn *)cap_real_of({index});

	return cap_launch({index}, CAP_HOW(API_CLASS_{verb}, {n}, {how}), real, {passed});
}}

'''

# CUBLASLT_*_DESC_POINTER_MODE, read from what a2 points to.
LT_MODE = '\tif ((int)a1 == {} && a2 && a3 >= 4)\n\t\tcap_scalars_mode(*(const int *)a2);\n'

# What the library itself does besides, recorded or not.
MORE = {
    'cuInit': '\tcap_driver_began(r);\n',
    'cuGetProcAddress': '\tcap_proc_address(r, (const char *)a0, (void **)a1, a3);\n',
    'cublasSetPointerMode_v2': '\tcap_scalars_mode((int)a1);\n',
    'cublasLtMatmulDescSetAttribute': LT_MODE.format(2),
    'cublasLtMatrixTransformDescSetAttribute': LT_MODE.format(1),
    'cuGetProcAddress_v2': '\tcap_proc_address(r, (const char *)a0, (void **)a1, a3);\n',
}


# What an executable graph is made of.
INSTANTIATE = '''	struct cap_instance instance;
	uint64_t graph = cap_instantiate(&instance, on ? &c : NULL, a1, {flags});
	int r = real({passed});
	if (cap_instantiated(&instance, r, a0))
		r = real({again});'''

UPDATE = '''	struct cap_instance instance;
	uint64_t graph = cap_update(&instance, on ? &c : NULL, a0, a1);
	int r = real({passed});
	cap_updated(&instance, r, (const uint64_t[2]){{{nodes}}});'''

CHILD = '''	struct cap_instance instance;
	int r = real(a0, cap_node_in(a0, a1), cap_child(&instance, a0, a1, a2));
	cap_child_done(&instance);'''

NODE_PARAMS = '''	struct cap_instance instance;
	uint64_t room[CAP_PARAMS_WORDS];
	int r = real(a0, cap_node_in(a0, a1), cap_node_params(&instance, a0, a1, a2, room));
	cap_child_done(&instance);'''

LAUNCH = '''	cap_node_launch(on ? &c : NULL, a0);
	int r = real({passed});'''

DESTROY = '''	struct cap_exec *exec = cap_exec_take(a0);
	int r = real({passed});
	cap_exec_gone(exec, r);'''

# Where the flags of an instantiation are.
FLAGS = {
    'cuGraphInstantiateWithFlags': 'a2',
    'cuGraphInstantiateWithParams': 'a2 ? *(const uint64_t *)a2 : 0',
    'cuGraphInstantiateWithParams_ptsz': 'a2 ? *(const uint64_t *)a2 : 0',
}

# Results that name nodes: CUgraphExecUpdateResultInfo has two.
NODES = {'cuGraphExecUpdate': 'a2, 0', 'cuGraphExecUpdate_v2': 'a2 ? a2 + 8 : 0, a2 ? a2 + 16 : 0'}

# Handles of nodes that no other call gives, and changes of nodes and graphs that other calls do not show.
TOUCHES = re.compile(r'cuGraph(GetNodes|GetRootNodes|GetEdges|Node(GetDepend|FindInClone|SetParams)|DestroyNode|'
                     r'ChildGraphNodeGetGraph|[A-Z][A-Za-z0-9]*Node(SetParams|SetEvent))|cuStreamUpdateCaptureDependencies')


def c_type(a):
    if a.wire[0] == 'f':
        return {4: 'float', 8: 'double'}[a.bytes]
    if a.wire[0] == 'c':
        return {8: 'float _Complex', 16: 'double _Complex'}[a.bytes]
    return f'struct by_value_{a.bytes}' if a.wire[0] == 's' else 'uint64_t'


def result_type(a):
    if a.wire == 'void':
        return 'void'
    if a.wire[0] in 'iu' and a.bytes <= 4:
        return 'int'
    return c_type(a)


def to_words(i, a):
    """Statements that put argument i into its words."""
    if a.wire[0] in 'iu' and a.bytes < 8:
        kind = f'{"u" if a.wire[0] == "u" else ""}int{8 * a.bytes}_t'
        return f'\twords[{a.word}] = (uint64_t)({kind})a{i};\n'
    if c_type(a) == 'uint64_t':
        return f'\twords[{a.word}] = a{i};\n'
    zero = f'\twords[{a.word}] = 0;\n' if a.bytes < 8 else ''
    return zero + f'\tmemcpy(&words[{a.word}], &a{i}, sizeof(a{i}));\n'


def masks(call):
    """(before, after): bits of the arguments that args.c copies."""
    before = after = 0
    for i, a in enumerate(call.args):
        if a.wire != 'ptr' or a.length in ('', '?', 'extra'):
            continue
        before |= (a.direction in BEFORE) << i
        after |= (a.direction in AFTER and a.length != 'nul') << i
    return before, after


def only_output(call, rich):
    """The number of the argument that leads to all there is to copy, 4 or 8 bytes of result; -1: there is more to do."""
    i = rich[1].bit_length() - 1
    if rich[0] or i < 0 or rich[1] != 1 << i or call.result.meaning != 'status' or result_type(call.result) != 'int':
        return -1
    a = call.args[i]
    plain = a.length in ('4', '8') and a.meaning not in LOOKED_AT
    return i if plain and a.word == i and i < 32 and not ends_code(call) else -1


def ends_code(call):
    return call.verb == 'destroy' and call.args and call.args[0].meaning in HOLDS_CODE


def how(call, rich):
    flags = []
    if call.verb not in BRIEF:
        flags.append('CAP_HOW_ALWAYS')
    if call.name in KERNEL:
        flags.append('CAP_HOW_KERNEL')
    elif only_output(call, rich) >= 0:
        out = only_output(call, rich)
        flags.append(f'CAP_HOW_OUTPUT({out}, {call.args[out].length})')
    elif any(rich) or ends_code(call):
        flags.append('CAP_HOW_RICH')
    if call.verb in ('capture-begin', 'capture-end'):
        flags.append('CAP_HOW_CAPTURES')
    if call.verb in ASKS and 'CAP_HOW_RICH' not in flags and call.words <= MOST_ASKED and result_type(call.result) == 'int':
        flags.append('CAP_HOW_ASKS')
    if call.per_thread:
        flags.append('CAP_HOW_PER_THREAD')
    if result_type(call.result) == 'uint64_t':
        flags.append('CAP_HOW_WIDE')
    return ' | '.join(flags) or '0'


def touches(call):
    return call.library == 'cuda' and TOUCHES.match(call.name) and not call.name.startswith('cuGraphExec')


def forward(call, passed, void):
    """The call itself, and what is put in place of its arguments."""
    names = [f'a{i}' for i in range(len(call.args))]
    if call.name.startswith('cuGraphInstantiate'):
        return INSTANTIATE.format(flags=FLAGS.get(call.name, '0'), again=passed, passed=', '.join(['a0', 'graph', *names[2:]]))
    if call.name in NODES:
        return UPDATE.format(nodes=NODES[call.name], passed=', '.join(['a0', 'graph', *names[2:]]))
    if call.name == 'cuGraphExecChildGraphNodeSetParams':
        return CHILD
    if call.name == 'cuGraphExecNodeSetParams':
        return NODE_PARAMS
    if call.verb == 'graph-launch':
        return LAUNCH.format(passed=passed)
    if call.name == 'cuGraphExecDestroy':
        return DESTROY.format(passed=passed)
    if [a.meaning for a in call.args[:2]] == ['graph-exec', 'graph-node']:
        passed = ', '.join(['a0', 'cap_node_in(a0, a1)', *names[2:]])
    return f'	real({passed});' if void else f'	{result_type(call.result)} r = real({passed});'


def hook(index, call, rich):
    result = result_type(call.result)
    parameters = ', '.join(f'{c_type(a)} a{i}' for i, a in enumerate(call.args))
    passed = ', '.join(f'a{i}' for i in range(len(call.args)))
    void = result == 'void'
    recorded = {'void': '0', 'int': 'r', 'uint64_t': '(int64_t)r'}.get(result, '0')
    made = KERNEL_HOOK if call.name in KERNEL else HOOK
    return made.format(result=result, passed=passed, name=call.name, parameters=parameters or 'void', index=index,
                       types=', '.join(c_type(a) for a in call.args) or 'void', n_words=max(call.words, 1),
                       words=''.join(to_words(i, a) for i, a in enumerate(call.args)), verb=call.verb.upper().replace('-', '_'),
                       n=call.words, how=how(call, rich), call=forward(call, passed, void),
                       as_result=recorded, more=MORE.get(call.name, '\tcap_nodes_touched();\n' if touches(call) else ''), leave='' if void else '\treturn r;\n')


def main():
    spec = importlib.util.spec_from_file_location('lines', sys.argv[1])
    lines = importlib.util.module_from_spec(spec)
    sys.modules['lines'] = lines
    spec.loader.exec_module(lines)
    calls = lines.read(sys.argv[4:]).calls
    sizes = sorted({a.bytes for c in calls for a in c.args if a.wire[0] == 's'})
    rich = [masks(c) for c in calls]
    with open(sys.argv[2], 'w', encoding='utf-8') as out:
        out.write(TOP)
        for size in sizes:
            out.write(f'struct by_value_{size} {{\n\tuint64_t words[{(size + 7) // 8}];\n}};\n')
        for i, c in enumerate(calls):
            out.write(hook(i, c, rich[i]))
        out.write(f'void *cap_reals[{len(calls)}];\nvoid *const cap_hooks[] = {{\n')
        out.write(''.join(f'\t(void *){c.name},\n' for c in calls))
        out.write('};\nconst struct cap_rich cap_rich[] = {\n')
        out.write(''.join(f'\t{{{b:#x}, {a:#x}}},\n' for b, a in rich))
        out.write('};\n')
    with open(sys.argv[3], 'w', encoding='utf-8') as out:
        own = ['dlopen', 'dlsym', 'dlvsym', '_exit', '_Exit', 'abort', 'execve', 'execv', 'execvp', 'execvpe',
               'execl', 'execle', 'execlp', 'execveat', 'fexecve', 'posix_spawn', 'posix_spawnp',
               'wait', 'wait3', 'wait4', 'waitid', 'waitpid',
               'InitializeInjectionNvtx2', 'gpucapture_mark_iteration']
        out.write('{\nglobal:\n' + ''.join(f'\t{n};\n' for n in own + [c.name for c in calls]) + 'local:\n\t*;\n};\n')


if __name__ == '__main__':
    main()
