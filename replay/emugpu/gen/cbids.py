#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""C tables of the numbers by which CUPTI identifies functions: cbids.py DRIVER_CBID.h RUNTIME_CBID.h OUT.c

A row is {function, name, number}: {"cudaLaunchKernel", "cudaLaunchKernel_v7000", 211}. Ordered by function.
"""
import re
import sys


def rows(path, prefix):
    with open(path, encoding='utf-8') as header:
        found = re.findall(rf'\b{prefix}_TRACE_CBID_(\w+)\s*=\s*(\d+)', header.read())
    for name, number in found:
        if name not in ('INVALID', 'SIZE') and not name.startswith('__'):
            yield re.sub(r'_v\d{4,5}$', '', name) if prefix == 'CUPTI_RUNTIME' else name, name, int(number)


def table(name, entries):
    # Of two versions of a function, the newer one is what today's headers declare.
    latest = {function: (function, full, number) for function, full, number in sorted(entries, key=lambda e: e[2])}
    lines = ''.join(f'\t{{"{f}", "{full}", {n}}},\n' for f, full, n in (latest[k] for k in sorted(latest)))
    return (f'const struct cupti_cbid {name}[] = {{\n{lines}}};\n'
            f'const unsigned {name}_n = sizeof({name}) / sizeof({name}[0]);\n')


driver, runtime, out = sys.argv[1:]
with open(out, 'w', encoding='utf-8') as file:
    file.write('#include "replay/emugpu/cupti/cupti.h"\n\n'
               + table('cupti_driver_cbids', rows(driver, 'CUPTI_DRIVER'))
               + table('cupti_runtime_cbids', rows(runtime, 'CUPTI_RUNTIME')))
