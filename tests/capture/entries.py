#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a program that calls every public function of the emulated libraries: entries.py OUT.c EXPORTS.map... CALLS.api...

Each function is found by dlsym(), as programs do, and called one to three times with harmless arguments: zero, the empty
string, and zeroed memory where the description says that the call reads or writes memory. Results are ignored. Functions
that the emulated library does not export are left out, and so are those of LEFT_OUT.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'formats/api'))
import lines  # noqa: E402  pylint: disable=wrong-import-position

LEFT_OUT = {
    'cuInit': 'is called first, by hand',
}

# Calls that need an order; the others are made in alphabetical order.
FIRST = ['ncclGroupStart', 'ncclGroupEnd', 'pncclGroupStart', 'pncclGroupEnd']

TOP = '''/* Made by tests/capture/entries.py. */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char zeroes[1 << 16];
static const char *volatile now = "nothing";

static void crashed(int s)
{
	static const char text[] = "entries: a signal in ";

	(void)!write(2, text, sizeof(text) - 1);
	(void)!write(2, now, strlen(now));
	(void)!write(2, "\\n", 1);
	signal(s, SIG_DFL);
	raise(s);
}

static void nothing(void)
{
}

/* The function, with its memory zeroed; NULL ends the program: the library lost it. */
static void *find(void *library, const char *name)
{
	void *f = dlsym(library, name);

	if (!f) {
		fprintf(stderr, "entries: no %s\\n", name);
		exit(2);
	}
	now = name;
	memset(zeroes, 0, sizeof(zeroes));
	return f;
}

static void *library(const char *soname)
{
	void *l = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (!l) {
		fprintf(stderr, "entries: %s\\n", dlerror());
		exit(2);
	}
	return l;
}

'''

MAIN = '''int main(void)
{{
	void *l;

	signal(SIGSEGV, crashed);
	signal(SIGBUS, crashed);
	signal(SIGABRT, crashed);
	signal(SIGFPE, crashed);
{calls}	printf("%d functions\\n", {n});
	return 0;
}}
'''


def c_type(a):
    if a.wire[0] in 'iu':
        return f'{"u" if a.wire[0] == "u" else ""}int{8 * a.bytes}_t'
    if a.wire[0] == 'f':
        return {4: 'float', 8: 'double'}[a.bytes]
    if a.wire[0] == 'c':
        return {8: 'float _Complex', 16: 'double _Complex'}[a.bytes]
    return {'p': 'void *', 's': f'struct by_value_{a.bytes}', 'v': 'void'}[a.wire[0]]


def value(a):
    if a.wire[0] == 's':
        return f'(struct by_value_{a.bytes}){{{{0}}}}'
    if a.wire != 'ptr':
        return '0'
    if a.meaning == 'callback' and not a.direction:
        return '(void *)nothing'
    return 'zeroes' if a.direction in ('in', 'out', 'inout') and a.length not in ('params', 'extra') else '(void *)0'


def times(name):
    return 1 + sum(name.encode()) % 3


def statement(call):
    types = ', '.join(c_type(a) for a in call.args) or 'void'
    values = ', '.join(value(a) for a in call.args)
    calls = f'((({c_type(call.result)}(*)({types}))f)({values}))'
    return (f'static void call_{call.name}(void *l)\n{{\n\tvoid *f = find(l, "{call.name}");\n\n'
            f'\tfor (int i = 0; i < {times(call.name)}; i++)\n\t\t{calls};\n}}\n\n')


def place(call):
    return (FIRST.index(call.name) if call.name in FIRST else len(FIRST), call.name)


def main():
    described = lines.read(a for a in sys.argv[2:] if a.endswith('.api'))
    exported = set()
    for path in (a for a in sys.argv[2:] if a.endswith('.map')):
        exported.update(re.findall(r'^\t\t(\w+);', pathlib.Path(path).read_text(encoding='utf-8'), re.MULTILINE))
    calls = sorted((c for c in described.calls if c.name in exported and c.name not in LEFT_OUT), key=place)
    out = TOP
    for size in sorted({a.bytes for c in calls for a in c.args if a.wire[0] == 's'}):
        out += f'struct by_value_{size} {{\n\tchar bytes[{size}];\n}};\n'
    out += ''.join(map(statement, calls))
    body = ''
    for name, soname, _ in described.libraries:
        body += f'\tl = library("{soname}");\n'
        if name == 'cuda':
            body += '\t((int (*)(unsigned))find(l, "cuInit"))(0);\n'
        body += ''.join(f'\tcall_{c.name}(l);\n' for c in calls if c.library == name)
    out += MAIN.format(calls=body, n=len(calls))
    pathlib.Path(sys.argv[1]).write_text(out, encoding='utf-8')


if __name__ == '__main__':
    main()
