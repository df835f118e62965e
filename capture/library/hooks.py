#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the hooks of the capture library from the descriptions of formats/api.

    hooks.py LINES.py HOOKS.c EXPORTS.map CALLS.api...

A hook takes its arguments as they are passed: integers and pointers as 64-bit words (the upper half of a narrow argument
is undefined, and is passed on unchanged), floating-point numbers and structs by value as such. LINES.py is
formats/api/lines.py, the reader.
"""
import importlib.util
import re
import sys

# Classes of calls that are not recorded while recording is paused. All others are: they create or destroy objects.
BRIEF = {'query', 'launch', 'copy', 'set', 'prefetch', 'host-call', 'memory-op', 'graph-launch', 'event-record',
         'event-wait', 'event-query', 'stream-query', 'sync', 'gemm', 'blas', 'profile'}

# Classes that change nothing; and the number of arguments in the record of polls: CAP_POLLS_WORDS.
QUERIES = {'query', 'stream-query', 'event-query'}
MOST_WORDS = 2

# Objects with code: when one is destroyed, layouts of kernel parameters are invalid.
HOLDS_CODE = {'module', 'library', 'context'}

# entry/launch.h forwards these.
KERNEL = {'cuLaunchKernel', 'cuLaunchKernel_ptsz'}

# Results that a plan does more with than copy them.
HANDLED = {'kernel', 'function', 'scalar'}

BEFORE = {'in', 'inout'}
AFTER = {'out', 'inout'}

TOP = '''/* Made by capture/library/hooks.py. */
#include "capture/library/call/call.h"
#include "capture/library/entry/hooks.h"
#include "capture/library/entry/launch.h"
#include "capture/library/find/real.h"
#include "capture/library/graphs/graphs.h"

#include <string.h>

'''

HOOK = '''{steps}CAP_API {result} {name}({parameters});
CAP_API {result} {name}({parameters})
{{
	{result} (*real)({types}) = ({result} (*)({types}))cap_real_of({index});
	uint64_t words[{n_words}];
	struct cap_call c;
{first}{words}	bool on = cap_call_enter(&c, {index}, CAP_TRAITS(API_CLASS_{verb}, {n}, {how}), {plan}, words);
{call}
	if (on)
		cap_call_leave(&c, {as_result});
{more}{leave}}}

'''

# The length of a variable is recorded even if the program does not want it, as NVIDIA's runtime.
VARIABLES = {'cuModuleGetGlobal_v2', 'cuLibraryGetGlobal', 'cuLibraryGetManaged'}
VARIABLE_LENGTH = '''	uint64_t length;
	a1 = a1 ? a1 : (uintptr_t)&length;
'''

KERNEL_HOOK = '''{steps}CAP_API int {name}({parameters});
CAP_API int {name}({parameters})
{{
	cap_launch_fn *real = (cap_launch_fn *)cap_real_of({index});

	return cap_launch({index}, CAP_TRAITS(API_CLASS_{verb}, {n}, {how}), {plan}, real, {passed});
}}

'''

# Code that runs after these calls, whether or not they are recorded.
MORE = {
    'cuInit': '\tcap_after_cu_init(r);\n',
    'cuGetProcAddress': '\tcap_after_get_proc_address(r, (const char *)a0, (void **)a1, a3);\n',
    'cublasSetPointerMode_v2': '\tcap_plan_set_pointer_mode((int)a1);\n',
    'cuGetProcAddress_v2': '\tcap_after_get_proc_address(r, (const char *)a0, (void **)a1, a3);\n',
}


# Calls with a graph whose structure is recorded: the graph is their second argument.
RECORDS_GRAPH = re.compile(r'cuGraph(Instantiate|ExecUpdate)')

# Calls that return handles of nodes, or change nodes: the graph's structure is then asked of the driver.
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


def copied(call, directions):
    """(number, argument) of the arguments whose memory is copied."""
    for i, a in enumerate(call.args):
        if a.wire == 'ptr' and a.direction in directions and a.length not in ('', '?', 'extra'):
            yield i, a


def step(kind, arg=0, word=0, flags=(), factor='NONE', by=0, less=0, size=0):
    flags = ' | '.join(f'CAP_PLAN_{f}' for f in flags) or '0'
    return f'{{CAP_PLAN_{kind}, {arg}, {word}, {flags}, CAP_FACTOR_{factor}, {by}, {less}, {size}}}'


def copy_step(call, i, a, flags):
    """A COPY: the length is a number of bytes, times at most one factor."""
    numbers = [int(p) for p in a.length.split('*') if p.isdigit()]
    factors = [p for p in a.length.split('*') if not p.isdigit()]
    if len(factors) > 1 or len(numbers) > 1 or any(f[0] == '{' for f in factors):
        raise ValueError(f'{call.name}: {a.name}: length {a.length}')
    size = numbers[0] if numbers else 1
    if not factors:
        return step('COPY', i, a.word, flags, size=size)
    name, _, less = factors[0].strip('[]').partition('-')
    by = next(b for b in call.args if b.name == name)
    factor = 'WORD' if factors[0][0] != '[' else 'POINTED_4' if by.length.split('*')[0] == '4' else 'POINTED_8'
    return step('COPY', i, a.word, flags, factor, by.word, less or 0, size)


def is_scalar(call, a):
    """Whether the pointer mode of a cuBLAS handle says where the argument is."""
    return a.meaning == 'scalar' and call.args[0].meaning == 'blas'


def is_untyped(call, a):
    """Whether the argument is a scalar whose type another argument says."""
    return a.meaning == 'scalar' and a.length == '?' and a.name != 'param'


def scalar_step(call, i, a):
    """A SCALAR: its type is that of a descriptor, of the computation, or the next type among the arguments."""
    by = {b.type or b.meaning: b.word for b in reversed(call.args)}
    types = [b.word for b in call.args[i:] if b.type in ('cudaDataType', 'cudaDataType_t')]
    if call.library == 'nccl':
        return step('SCALAR', i, a.word, factor='REDUCTION', by=by['ncclDataType_t'], less=by['ncclScalarResidence_t'])
    for name, factor in (('lt-matmul', 'MATMUL'), ('lt-transform', 'TRANSFORM')):
        if name in by:
            return step('SCALAR', i, a.word, factor=factor, by=by[name])
    if 'cublasComputeType_t' in by:
        return step('SCALAR', i, a.word, ['ON_HOST'], 'COMPUTE', by['cublasComputeType_t'], types[-1])
    return step('SCALAR', i, a.word, ['ON_HOST'], 'TYPE', types[0])


def params_step(call, i, a):
    function = next((b.word for b in call.args if b.meaning in ('function', 'kernel')), 0)
    extra = call.args[i + 1].word if i + 1 < len(call.args) and call.args[i + 1].length == 'extra' else 0
    return step('PARAMS', i, a.word, by=function, size=extra)


def has_fields(a, structs):
    """Whether the argument is a struct with pointers to more."""
    return a.direction in BEFORE and a.meaning == 'struct' and any(f.direction == 'in' for f in structs[a.type].fields)


def steps_before(call, structs):
    if ends_code(call):
        yield step('UNLOAD')
    if call.verb == 'group-end':
        yield step('GROUP_LEAVE')
    for i, a in enumerate(call.args):
        if a.direction in BEFORE and is_untyped(call, a):
            yield scalar_step(call, i, a)
    for i, a in copied(call, BEFORE):
        if a.length == 'params':
            yield params_step(call, i, a)
        elif a.length == 'image':
            yield step('IMAGE', i, a.word)
        elif a.length == 'nul':
            yield step('STRING', i, a.word)
            if call.verb == 'module-load' and a.meaning == 'string':
                yield step('FILE', i, a.word)
        else:
            yield copy_step(call, i, a, [flag for flag, on in (
                ('ON_HOST', is_scalar(call, a)), ('FIELDS', has_fields(a, structs)),
                ('SIZED', a.type == 'ncclConfig_t')) if on])


def is_import(call):
    """Whether the call returns memory whose size is not one of its arguments."""
    return call.verb == 'alloc' and not {'bytesize', 'pPitch'} & {a.name for a in call.args}


def steps_after(call):
    if call.verb in ('group-begin', 'group-end'):
        yield step(call.verb.upper().replace('-', '_'))
    for i, a in copied(call, AFTER):
        if a.name == 'dependencies_out':
            number = next(b.word for b in call.args if b.name == 'numDependencies_out')
            yield step('NODES', i, a.word, by=number)
        if is_import(call):
            yield step('BYTES', i, a.word)
        if a.name == 'newcomm' and any(b.name == 'comm' for b in call.args):
            yield step('COMM', i, a.word, size=8)
        elif a.length not in ('nul', 'params', 'image'):
            yield copy_step(call, i, a, [flag for flag, on in (
                ('ON_HOST', is_scalar(call, a)), ('FUNCTIONS', a.meaning == 'function'),
                ('KERNELS', a.meaning == 'kernel')) if on])


def plan(call, structs):
    """The steps of a call (call/plan.h), before and after it; None: there is nothing to copy."""
    before, after = list(steps_before(call, structs)), list(steps_after(call))
    end = [step('END')]
    return before + end + after + end if (before or after) and only_output(call) < 0 else None


def only_output(call):
    """The number of the argument that points to all there is to copy, a result of 4 or 8 bytes; -1: there is more to do."""
    after = list(copied(call, AFTER))
    untyped = any(a.direction in BEFORE and is_untyped(call, a) for a in call.args)
    if untyped or list(copied(call, BEFORE)) or len(after) != 1 or is_import(call) or call.result.meaning != 'status' or result_type(call.result) != 'int':
        return -1
    i, a = after[0]
    plain = a.length in ('4', '8') and a.meaning not in HANDLED
    return i if plain and a.word == i and i < 32 and not ends_code(call) else -1


def ends_code(call):
    return call.verb == 'destroy' and call.args and call.args[0].meaning in HOLDS_CODE


def how(call, steps):
    flags = []
    if call.verb not in BRIEF:
        flags.append('CAP_TRAITS_ALWAYS')
    if steps:
        flags.append('CAP_TRAITS_COPIES')
    elif only_output(call) >= 0:
        out = only_output(call)
        flags.append(f'CAP_TRAITS_OUTPUT({out}, {call.args[out].length})')
    if call.verb in ('capture-begin', 'capture-end'):
        flags.append('CAP_TRAITS_CAPTURES')
    if call.verb in QUERIES and 'CAP_TRAITS_COPIES' not in flags and call.words <= MOST_WORDS and result_type(call.result) == 'int':
        flags.append('CAP_TRAITS_QUERY')
    if call.per_thread:
        flags.append('CAP_TRAITS_PER_THREAD')
    if result_type(call.result) == 'uint64_t':
        flags.append('CAP_TRAITS_WIDE')
    return ' | '.join(flags) or '0'


def touches(call):
    return call.library == 'cuda' and TOUCHES.match(call.name) and not call.name.startswith('cuGraphExec')


def forward(call, passed, void):
    """The call itself."""
    if RECORDS_GRAPH.match(call.name):
        return f'	cap_graphs_record(on ? &c : NULL, (void *)a1);\n	int r = real({passed});'
    return f'	real({passed});' if void else f'	{result_type(call.result)} r = real({passed});'


def hook(index, call, structs):
    steps = plan(call, structs)
    result = result_type(call.result)
    parameters = ', '.join(f'{c_type(a)} a{i}' for i, a in enumerate(call.args))
    passed = ', '.join(f'a{i}' for i in range(len(call.args)))
    void = result == 'void'
    recorded = {'void': '0', 'int': 'r', 'uint64_t': '(int64_t)r'}.get(result, '0')
    made = KERNEL_HOOK if call.name in KERNEL else HOOK
    text = f'static const struct cap_plan_step plan_{index}[] = {{\n' + ''.join(f'\t{t},\n' for t in steps or []) + '};\n'
    first = VARIABLE_LENGTH if call.name in VARIABLES else ''
    return made.format(first=first, steps=text if steps else '', plan=f'plan_{index}' if steps else 'NULL', result=result, passed=passed, name=call.name, parameters=parameters or 'void', index=index,
                       types=', '.join(c_type(a) for a in call.args) or 'void', n_words=max(call.words, 1),
                       words=''.join(to_words(i, a) for i, a in enumerate(call.args)), verb=call.verb.upper().replace('-', '_'),
                       n=call.words, how=how(call, steps), call=forward(call, passed, void),
                       as_result=recorded, more=MORE.get(call.name, '\tcap_graphs_touched();\n' if touches(call) else ''), leave='' if void else '\treturn r;\n')


def main():
    spec = importlib.util.spec_from_file_location('lines', sys.argv[1])
    lines = importlib.util.module_from_spec(spec)
    sys.modules['lines'] = lines
    spec.loader.exec_module(lines)
    description = lines.read(sys.argv[4:])
    calls = description.calls
    sizes = sorted({a.bytes for c in calls for a in c.args if a.wire[0] == 's'})
    with open(sys.argv[2], 'w', encoding='utf-8') as out:
        out.write(TOP)
        for size in sizes:
            out.write(f'struct by_value_{size} {{\n\tuint64_t words[{(size + 7) // 8}];\n}};\n')
        for i, c in enumerate(calls):
            out.write(hook(i, c, description.structs))
        out.write(f'_Static_assert({len(calls)} <= CAP_MAX_CALLS, "cap_reals");\n\nvoid *const cap_hooks[] = {{\n')
        out.write(''.join(f'\t(void *){c.name},\n' for c in calls))
        out.write('};\n')
    with open(sys.argv[3], 'w', encoding='utf-8') as out:
        own = ['dlopen', 'dlsym', 'dlvsym', '_exit', '_Exit', 'abort', 'execve', 'execv', 'execvp', 'execvpe',
               'execl', 'execle', 'execlp', 'execveat', 'fexecve', 'posix_spawn', 'posix_spawnp',
               'wait', 'wait3', 'wait4', 'waitid', 'waitpid',
               'InitializeInjectionNvtx2', 'gpucapture_mark_iteration',
               'gpucapture_mark_numbered']
        out.write('{\nglobal:\n' + ''.join(f'\t{n};\n' for n in own + [c.name for c in calls]) + 'local:\n\t*;\n};\n')


if __name__ == '__main__':
    main()
