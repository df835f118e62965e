# SPDX-License-Identifier: Apache-2.0
"""C source of functions of one library that only call a function of the driver, with the same parameters in the same order.

A table row is 'runtimeName driverName'. Parameters whose types differ are converted:

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
{lookup}	return RT({arguments});
}}
'''

BY_VALUE = ('struct cudaMemLocation', 'cudaIpcMemHandle_t', 'cudaIpcEventHandle_t')

C_LOOKUP = '''	CUkernel kernel;
	cudaError_t e = rt_kernel({function}, &kernel);

	if (e)
		return e;
'''


def rows(path):
    """[(runtime name, driver name), ...] of a table."""
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


def function(name, returns, parameters, driver_name, driver_parameters):
    """The C source of emu_<name>."""
    if len(parameters) != len(driver_parameters):
        sys.exit(f'{name} has {len(parameters)} parameters, {driver_name} {len(driver_parameters)}: write it by hand')
    arguments, lookup = [driver_name], ''
    for have, wanted in zip(parameters, driver_parameters):
        argument, kernel = converted(have, type_of(wanted))
        arguments.append(argument)
        if kernel:
            lookup = C_LOOKUP.format(function=kernel)
    return C_FORWARD.format(name=name, returns=returns, parameters=', '.join(parameters) or 'void', lookup=lookup,
                            arguments=', '.join(arguments))


def source(table, declared, driver):
    """The C source of all functions of a table, from the prototypes of the library and of the driver."""
    out = ''
    for name, driver_name in table:
        if name not in declared or driver_name not in driver:
            sys.exit(f'{name} {driver_name}: not declared')
        out += function(name, *declared[name], driver_name, driver[driver_name][1])
    return out
