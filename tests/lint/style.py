#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each source says its licence, keeps the limits of CONTRIBUTING.md, and is formatted by clang-format."""
import pathlib
import re
import shutil
import subprocess
import sys

FOLDERS = ['base', 'formats', 'capture', 'replay', 'fs', 'tools', 'tests', 'bench', 'examples']
FILE_LINES = 500
FUNCTION_LINES = 60
LICENCE = 'SPDX-License-Identifier: Apache-2.0'


def functions(lines):
    """(line, length) of each function body: from a brace in the first column to the next one."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith('{'):
            start = number
        elif line.startswith('}') and start:
            yield start, number - start - 1
            start = None


def complaints(path, name):
    text = path.read_text()
    lines = text.splitlines()
    if LICENCE not in '\n'.join(lines[:3]):
        yield f'{name}:1: no "{LICENCE}"'
    if path.suffix in ('.c', '.h', '.cu'):
        if len(lines) > FILE_LINES:
            yield f'{name}: {len(lines)} lines; {FILE_LINES} are the most'
        for number, length in functions(lines):
            if length > FUNCTION_LINES:
                yield f'{name}:{number}: a function of {length} lines; {FUNCTION_LINES} are the most'
    for number, line in enumerate(lines, 1):
        if re.search(r'[ \t]+$', line):
            yield f'{name}:{number}: white space at the end'


def main():
    top = pathlib.Path(sys.argv[1]).resolve()
    paths = [p for f in FOLDERS for s in ('*.c', '*.h', '*.cc', '*.py', '*.sh', 'meson.build')
             for p in sorted((top / f).rglob(s)) if 'corpus' not in p.parts]
    found = []
    for path in paths:
        found += complaints(path, path.relative_to(top).as_posix())
    sources = [str(p) for p in paths if p.suffix in ('.c', '.h')]
    if not shutil.which('clang-format'):
        print('clang-format is not installed: formatting was not checked')
        return 77 if not found else 1
    run = subprocess.run(['clang-format', '--dry-run', '--Werror', *sources],
                         capture_output=True, text=True, check=False)
    found += [line for line in run.stderr.splitlines() if 'error:' in line]
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
