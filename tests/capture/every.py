#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a library with every call that formats/api describes, and a program that makes them all.

    every.py LINES.py LIBRARY.c PROGRAM.c CALLS.api...

Each function of the library counts its calls and returns 0. The program makes call number i (i % 3 + 1) times with all
arguments zero and prints the library's counts. LINES.py is formats/api/lines.py.
"""
import importlib.util
import sys

LIBRARY = '''/* Made by tests/capture/every.py. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t counts[{n}];
static const char *const names[{n}] = {{
{names}}};

void every_forget(void);
void every_print(void);

void every_forget(void)
{{
	memset(counts, 0, sizeof(counts));
}}

void every_print(void)
{{
	for (int i = 0; i < {n}; i++)
		printf("made %s %d\\n", names[i], (int)counts[i]);
}}

'''

PROGRAM = '''/* Made by tests/capture/every.py. */
#include <stdint.h>

void every_forget(void);
void every_print(void);
{prototypes}
int main(void)
{{
	/* The library asks the driver about its devices when it has been initialised. */
	cuInit(0);
	every_forget();
{calls}	every_print();
	return 0;
}}
'''


def c_type(a):
    if a.wire == 'void':
        return 'void'
    if a.wire[0] == 's':
        return f'struct by_value_{a.bytes}'
    return {'ptr': 'void *', 'f4': 'float', 'f8': 'double', 'c8': 'float _Complex', 'c16': 'double _Complex'}.get(
        a.wire, f'{"u" if a.wire[0] == "u" else ""}int{8 * a.bytes}_t')


def zero(a):
    return f'(struct by_value_{a.bytes}){{0}}' if a.wire[0] == 's' else '0'


def main():
    spec = importlib.util.spec_from_file_location('lines', sys.argv[1])
    lines = importlib.util.module_from_spec(spec)
    sys.modules['lines'] = lines
    spec.loader.exec_module(lines)
    calls = lines.read(sys.argv[4:]).calls
    sizes = sorted({a.bytes for c in calls for a in c.args if a.wire[0] == 's'})
    structs = ''.join(f'struct by_value_{n} {{\n\tuint8_t bytes[{n}];\n}};\n' for n in sizes)
    bodies = made = prototypes = ''
    for i, c in enumerate(calls):
        head = f'{c_type(c.result)} {c.name}({", ".join(f"{c_type(a)} a{j}" for j, a in enumerate(c.args)) or "void"})'
        answer = '' if c.result.wire == 'void' else '\treturn 0;\n'
        prototypes += f'{head};\n'
        bodies += f'{head};\n{head}\n{{\n\tcounts[{i}]++;\n{answer}}}\n'
        made += f'\tfor (int i = 0; i < {i % 3 + 1}; i++)\n\t\t{c.name}({", ".join(map(zero, c.args))});\n'
    with open(sys.argv[2], 'w', encoding='utf-8') as out:
        out.write(LIBRARY.format(n=len(calls), names=''.join(f'\t"{c.name}",\n' for c in calls)) + structs + bodies)
    with open(sys.argv[3], 'w', encoding='utf-8') as out:
        out.write(PROGRAM.format(prototypes=structs + prototypes, calls=made))


if __name__ == '__main__':
    main()
