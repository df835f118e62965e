# SPDX-License-Identifier: Apache-2.0
"""Headers as the compiler of this machine reads them: calls, layouts, and the sizes of types."""
import subprocess
import sys
import tempfile

import layouts
import prototypes

COMPLEX = ('cuComplex', 'cuDoubleComplex', 'cuFloatComplex', 'float2', 'double2')

GUESS = ('u8', 8, 'to be asked')


class Types(dict):
    """{type: (wire, bytes)}; a guess for what the compiler was not yet asked about."""

    def __missing__(self, name):
        self[name] = GUESS
        return self[name]


def wire_of(name, kind, size, sort):
    """(wire, bytes) from gcc's class of a type, its size, and what _Generic chose."""
    if kind == 5:
        return 'ptr', size
    if kind in (12, 13):
        return f'{"c" if name in COMPLEX else "s"}{size}', size
    return ('u', 'f', 'i')[sort] + str(size), size


class Headers:
    """One unit of headers, preprocessed, and what the compiler says about its types."""

    def __init__(self, library, unit, args, foreign):
        self.options = [*args.cc, '-x', 'c', '-w', *(f'-D{d}' for d in library['defines']),
                        *(f'-I{i}' for i in args.include), '-idirafter', foreign]
        self.top = ''.join(f'#include <{h}>\n' for h in unit) + library.get('unions', '')
        text = prototypes.preprocess(unit, args.cc, args.include, library['defines'], ['-idirafter', foreign])
        self.calls = prototypes.prototypes(text, library['names'])
        self.layouts = layouts.Layouts(text + library.get('unions', ''))
        self.types, self.known = Types(), {}  # asked for; answered from the second time on

    def value(self, expression):
        """The value of a constant expression."""
        return self.known.setdefault(expression, None) or 0

    def settle(self):
        """Asks the compiler for what was wanted since the last time; False when that was nothing."""
        types = [t for t, known in self.types.items() if known == GUESS]
        values = [e for e, value in self.known.items() if value is None]
        body = ''
        for name in types:
            body += (f'\t{{ static {"char" if name == "void" else name} x;'
                     f' printf("%d %zu %d\\n", (int)__builtin_classify_type(x), sizeof(x), '
                     f'_Generic(x, float: 1, double: 1, signed char: 2, short: 2, int: 2, long: 2, long long: 2, '
                     f'default: 0)); }}\n')
        body += ''.join(f'\tprintf("%lld\\n", (long long)({e}));\n' for e in values)
        answers = self.run(body) if types or values else []
        for name, line in zip(types, answers):
            self.types[name] = wire_of(name, *map(int, line.split()))
        for expression, line in zip(values, answers[len(types):]):
            self.known[expression] = int(line)
        return bool(answers)

    def run(self, body):
        """Builds and runs a program of the headers; returns the lines that it prints."""
        with tempfile.TemporaryDirectory() as folder:
            program = f'{folder}/a'
            source = (f'#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n{self.top}\n'
                      f'int main(void)\n{{\n{body}\treturn 0;\n}}\n')
            made = subprocess.run([*self.options, '-', '-o', program], input=source, capture_output=True, text=True,
                                  check=False)
            if made.returncode:
                sys.exit(f'{" ".join(self.options)}: {made.stderr.strip()}')
            return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
