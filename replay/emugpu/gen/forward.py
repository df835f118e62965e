# SPDX-License-Identifier: Apache-2.0
"""C source of functions that are one expression, and of those that only call another one.

A table row is 'NAME EXPRESSION', which may continue on indented lines: NAME returns the value of this C expression of the
parameters, which are named as in the public header; the row's header (--forward-header) declares all else. Braces in NAME
list alternatives, as in a shell: 'cublas{S,D}scal{,_64}' are four functions with the same expression.

A row 'NAME TARGET' calls a function with the same parameters in the same order; 'NAME 0' does nothing and succeeds. The
target is a function of the same library; of the runtime, one of the driver. The last parameters of NAME are left out if
TARGET has fewer, and those that TARGET has beyond are 0. Parameters whose types differ are converted:

  cudaStream_t                to the driver's stream (rt_stream)
  those of LOOKUPS            by a function that can fail
  pointers to CUdeviceptr     through uintptr_t
  structs by value            by their bytes
  all others                  by a cast: enums and structs of runtime and driver have the same values and layout

A CUcontext that only a function of the driver has is the current one.
"""
import re
import sys

import prototypes

C_FORWARD = '''
{returns} emu_{name}({parameters});
EMU_API {returns} emu_{name}({parameters})
{{
{lookup}	return {call};
}}
'''

C_EXPRESSION = '''{declarations}
{returns} emu_{name}({parameters});
EMU_API {returns} emu_{name}({parameters})
{{
	{give}{expression};
}}
'''

BY_VALUE = ('struct cudaMemLocation', 'cudaIpcMemHandle_t', 'cudaIpcEventHandle_t')

C_LOOKUP = '''	{kind} {variable};

	e = {convert}({name}, &{variable});
	if (e)
		return e;
'''

# (type of the runtime, type of the driver): (type of the local variable, function that sets it, argument for the driver).
LOOKUPS = {
    ('const void *', 'CUfunction'): ('CUkernel', 'rt_kernel', '(CUfunction){}'),
    ('const void *', 'CUkernel'): ('CUkernel', 'rt_kernel', '{}'),
    ('int', 'CUcontext'): ('CUcontext', 'rt_context', '{}'),
    ('const cudaLaunchConfig_t *', 'const CUlaunchConfig *'): ('CUlaunchConfig', 'rt_launch_config', '&{}'),
    ('const struct cudaMemcpy3DParms *', 'const CUDA_MEMCPY3D *'): ('CUDA_MEMCPY3D', 'rt_copy_params', '&{}'),
    ('const struct cudaMemcpy3DPeerParms *', 'const CUDA_MEMCPY3D *'): ('CUDA_MEMCPY3D', 'rt_peer_copy_params', '&{}'),
    ('const struct cudaKernelNodeParams *', 'const CUDA_KERNEL_NODE_PARAMS *'):
        ('CUDA_KERNEL_NODE_PARAMS', 'rt_kernel_params', '&{}'),
    ('struct cudaGraphNodeParams *', 'CUgraphNodeParams *'): ('CUgraphNodeParams', 'rt_node_params', '&{}'),
}


def alternatives(name):
    """The names that a name with braces stands for."""
    braces = re.search(r'{([^{}]*)}', name)
    if not braces:
        return [name]
    return [n for choice in braces[1].split(',') for n in alternatives(name[:braces.start()] + choice + name[braces.end():])]


def rows(path):
    """[(name, target or expression), ...] of a table."""
    joined = []
    with open(path, encoding='utf-8') as file:
        for line in file:
            if line.startswith((' ', '\t')):
                joined[-1] += line
            elif line.strip() and not line.startswith('#'):
                joined.append(line)
    split = [line.split(None, 1) for line in joined]
    return [(name, ' '.join(right.split())) for names, right in split for name in alternatives(names)]


def type_of(parameter):
    """The type of a parameter: 'const void *' of 'const void *ptr'; None if it is an array or a function."""
    name = prototypes.argument(parameter)
    match = re.fullmatch(rf'(.*\W){name}', parameter)
    return ' '.join(match[1].replace('*', ' * ').split()).replace('* *', '**') if match else None


def converted(parameter, wanted):
    """(argument of type `wanted`, C code that prepares it)"""
    name, have = prototypes.argument(parameter), type_of(parameter)
    if have == 'cudaStream_t':
        return f'rt_stream({name})', ''
    if (have, wanted) in LOOKUPS:
        kind, convert, argument = LOOKUPS[have, wanted]
        return argument.format(f'driver_{name}'), C_LOOKUP.format(kind=kind, variable=f'driver_{name}', convert=convert, name=name)
    if wanted is None or have == wanted:
        return name, ''
    if wanted == 'CUdeviceptr':
        return f'(CUdeviceptr)(uintptr_t){name}', ''
    if have in BY_VALUE:
        return f'({{ {wanted} bytes_; __builtin_memcpy(&bytes_, &{name}, sizeof(bytes_)); bytes_; }})', ''
    return f'({wanted}){name}', ''


def function(name, returns, parameters, target, target_parameters, through_driver):
    """The C source of emu_<name>."""
    arguments, lookup, call = [], '', f'({returns})0'
    for i, wanted in enumerate(map(type_of, target_parameters)):
        absent = 'rt_current()' if through_driver and wanted == 'CUcontext' else '0'
        argument, prepare = converted(parameters[i], wanted) if i < len(parameters) else (absent, '')
        arguments.append(argument)
        lookup += prepare
    if lookup:
        lookup = f'\t{returns} e;\n' + lookup
    if through_driver:
        call = f'RT({", ".join([target, *arguments])})'
    elif target != '0':
        call = f'emu_{target}({", ".join(arguments)})'
    declaration = '' if through_driver or target == '0' else f'{returns} emu_{target}({", ".join(target_parameters) or "void"});\n'
    return declaration + C_FORWARD.format(name=name, returns=returns, parameters=', '.join(parameters) or 'void', lookup=lookup,
                                          call=call)


def prototype(name, declared):
    returns, parameters = declared[name]
    return f'{returns} emu_{name}({", ".join(parameters) or "void"});\n'


def expression(name, value, declared):
    """The C source of emu_<name>, which returns `value`. Functions of the library that it calls are not counted."""
    token = re.compile(r'"[^"]*"|\w+')  # a string is one token, so that words in it keep their names
    called = sorted(declared.keys() & set(token.findall(value)))
    value = token.sub(lambda found: f'emu_{found[0]}' if found[0] in declared else found[0], value)
    returns, parameters = declared[name]
    return C_EXPRESSION.format(name=name, returns=returns, parameters=', '.join(parameters) or 'void', expression=value,
                               declarations=''.join(prototype(word, declared) for word in called),
                               give='' if returns == 'void' else 'return ')


def source(table, declared, targets, through_driver):
    """The C source of all functions of a table, from the prototypes of the library and of the targets."""
    out = ''
    for name, target in table:
        if name in declared and not re.fullmatch(r'0|[a-z]\w*', target):
            out += expression(name, target, declared)
            continue
        if name not in declared or target != '0' and target not in targets:
            sys.exit(f'{name} {target}: not declared')
        out += function(name, *declared[name], target, targets[target][1] if target != '0' else [], through_driver)
    return out
