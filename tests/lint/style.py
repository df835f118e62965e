#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file states its licence, keeps the limits of CONTRIBUTING.md, and is formatted by
clang-format."""
import pathlib
import re
import shutil
import subprocess
import sys

FOLDERS = ['base', 'formats', 'capture', 'replay', 'fs', 'tools', 'tests', 'bench', 'examples', 'include']
COLUMNS = 100
FILE_LINES = 500
HEADER_LINES = 150
FUNCTION_LINES = 60
# Headers with functions, because their users link no library, and headers with tables. Each has its own limit.
TALL_HEADERS = {
    'base/text.h': 300,
    'formats/raw/record.h': 250,
    'formats/run/gpucapture/graphs/graphs_impl.h': 160,
    'formats/run/gpucapture/process/process.h': 210,
    'formats/api/words.h': 170,
    'formats/trace/model.h': 245,
    'replay/emugpu/driver/op.h': 160,
    'include/gpuemu.h': 210,
    'replay/clock/sim.h': 165,
    'tests/unit/made.h': 310,
    'tests/unit/made_run.h': 210,
    'tests/unit/rings.h': 360,
}
# Tests that are not named after a source file, and what they test.
WIDE_TESTS = {
    'damage': 'formats/trace/store: every byte of a trace damaged',
    'devices': 'formats/run/gpucapture/trace/ranks.c (test_ranks.c is of replay/emugpu)',
    'extremes': 'formats: values at the ends of their ranges through every reader',
    'gd128_kernel': 'capture/digest/gd128.cu on the CPU',
    'kineto_time': 'formats/run/kineto: time stamps',
}
LICENCE = 'SPDX-License-Identifier: Apache-2.0'


def functions(lines):
    """Yields (line, length) of each function body, from a brace in the first column to the next."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith('{'):
            start = number
        elif line.startswith('}') and start:
            yield start, number - start - 1
            start = None


def limits(name, lines):
    """Reports lines, functions and files over the limits, in C, C++ and assembly."""
    most = TALL_HEADERS.get(name, HEADER_LINES) if name.endswith('.h') else FILE_LINES
    if len(lines) > most:
        yield f'{name}: {len(lines)} lines; at most {most}'
    for number, length in functions(lines):
        if length > FUNCTION_LINES:
            yield f'{name}:{number}: a function of {length} lines; at most {FUNCTION_LINES}'
    for number, line in enumerate(lines, 1):
        if len(line.expandtabs(8)) > COLUMNS:
            yield f'{name}:{number}: {len(line.expandtabs(8))} columns; at most {COLUMNS}'


def complaints(path, name):
    text = path.read_text()
    lines = text.splitlines()
    if LICENCE not in '\n'.join(lines[:3]):
        yield f'{name}:1: missing "{LICENCE}"'
    if path.suffix in ('.c', '.h', '.cu', '.cuh', '.S'):
        yield from limits(name, lines)
    for number, line in enumerate(lines, 1):
        if re.search(r'[ \t]+$', line):
            yield f'{name}:{number}: trailing white space'


def test_nouns(top):
    """One test file for each noun: tests/unit/test_NOUN.c tests NOUN.c or NOUN.h, or parts of
    them."""
    nouns = {path.stem for folder in FOLDERS[:6] for path in (top / folder).rglob('*.[ch]')}
    listed = (top / 'tests/unit/meson.build').read_text(encoding='utf-8')
    for path in sorted((top / 'tests/unit').glob('test_*.c')):
        noun = path.stem.removeprefix('test_')
        if noun not in nouns and noun not in WIDE_TESTS:
            yield f'tests/unit/{path.name}: no source file is called {noun}'
        if f"'noun': '{noun}'" not in listed:
            yield f'tests/unit/{path.name}: not listed in tests/unit/meson.build'


def main():
    top = pathlib.Path(sys.argv[1]).resolve()
    paths = [p for f in FOLDERS for s in ('*.c', '*.h', '*.cu', '*.cuh', '*.S', '*.py', '*.sh', 'meson.build')
             for p in sorted((top / f).rglob(s)) if 'corpus' not in p.parts]
    found = list(test_nouns(top))
    found += [f'{name}: no such file, but it is in TALL_HEADERS' for name in TALL_HEADERS if not (top / name).exists()]
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
