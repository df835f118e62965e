# SPDX-License-Identifier: Apache-2.0
"""C source of functions that only call another one, with the same parameters in the same order.

A table row is 'NAME TARGET'; or 'NAME 0' for a function that does nothing and succeeds. The target is a function of the same
library; of the runtime, one of the driver. The last parameters of NAME are left out if TARGET has fewer, and those that
TARGET has beyond are 0. Parameters whose types differ are converted:

  cudaStream_t                to the driver's stream (rt_stream)
  const void * to CUfunction  the kernel of a __global__ function (rt_kernel)
  pointers to CUdeviceptr     through uintptr_t
  structs by value            by their bytes
  all others                  by a cast: enums and structs of runtime and driver have the same values and layout
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

BY_VALUE = ('struct cudaMemLocation', 'cudaIpcMemHandle_t', 'cudaIpcEventHandle_t')

C_LOOKUP = '''	CUkernel kernel;
	cudaError_t e = rt_kernel({function}, &kernel);

	if (e)
		return e;
'''


def rows(path):
    """[(name, target), ...] of a table."""
    with open(path, encoding='utf-8') as file:
        return [tuple(line.split()) for line in file if line.strip() and not line.startswith('#')]


def type_of(parameter):
    """The type of a parameter: 'const void *' of 'const void *ptr'; None if it is an array or a function."""
    name = prototypes.argument(parameter)
    match = re.fullmatch(rf'(.*\W){name}', parameter)
    return ' '.join(match[1].split()) if match else None


def converted(parameter, wanted):
    """(argument of type `wanted`, the function to look up a kernel for or None)"""
    name, have = prototypes.argument(parameter), type_of(parameter)
    if have == 'cudaStream_t':
        return f'rt_stream({name})', None
    if wanted == 'CUfunction' and have == 'const void *':
        return '(CUfunction)kernel', name
    if wanted is None or have == wanted:
        return name, None
    if wanted == 'CUdeviceptr':
        return f'(CUdeviceptr)(uintptr_t){name}', None
    if have in BY_VALUE:
        return f'({{ {wanted} bytes_; __builtin_memcpy(&bytes_, &{name}, sizeof(bytes_)); bytes_; }})', None
    return f'({wanted}){name}', None


def function(name, returns, parameters, target, target_parameters, through_driver):
    """The C source of emu_<name>."""
    arguments, lookup, call = [], '', f'({returns})0'
    for i, wanted in enumerate(target_parameters):
        argument, kernel = converted(parameters[i], type_of(wanted)) if i < len(parameters) else ('0', None)
        arguments.append(argument)
        if kernel:
            lookup = C_LOOKUP.format(function=kernel)
    if through_driver:
        call = f'RT({", ".join([target, *arguments])})'
    elif target != '0':
        call = f'emu_{target}({", ".join(arguments)})'
    declaration = '' if through_driver or target == '0' else f'{returns} emu_{target}({", ".join(target_parameters) or "void"});\n'
    return declaration + C_FORWARD.format(name=name, returns=returns, parameters=', '.join(parameters) or 'void', lookup=lookup,
                                          call=call)


def source(table, declared, targets, through_driver):
    """The C source of all functions of a table, from the prototypes of the library and of the targets."""
    out = ''
    for name, target in table:
        if name not in declared or target != '0' and target not in targets:
            sys.exit(f'{name} {target}: not declared')
        out += function(name, *declared[name], target, targets[target][1] if target != '0' else [], through_driver)
    return out
