#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""symbols.py TOOLKIT LIBRARY...: each built library exports the functions of its header and of the toolkit's library.

Reads only the symbol tables of the toolkit's libraries, as a linker does, and only of libraries whose symbols are all
declared by public headers. Leaves out functions for graphics and other interfaces whose headers need more than CUDA's.
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'replay/emugpu/gen'))
import stubs  # noqa: E402  pylint: disable=wrong-import-position,import-error

BEYOND = re.compile(r'(GL|E[Gg][Ll]|VDPAU|NvSci|D3D)|^_|^cudaGetExportTable$|Unified')


WHOLLY_PUBLIC = {'libcuda.so.1', 'libcudart.so.13'}


def exported(path):
    """Returns {name: version node} of a library."""
    run = subprocess.run(['nm', '-D', '--defined-only', str(path)], capture_output=True, text=True, check=True)
    found = {}
    for line in run.stdout.splitlines():
        name, _, node = line.split()[-1].partition('@')
        found[name] = node.lstrip('@')
    return found


def missing(toolkit, built):
    soname = built.name
    library = stubs.LIBRARIES[soname]
    have = exported(built)
    top = pathlib.Path(__file__).resolve().parents[2]
    beside = top / 'build-check/cuda/include'  # for nvml.h; tools/headers installs it
    fallback = top / 'replay/emugpu/nvml/fallback'
    args = type('', (), {'cc': ['cc'], 'include': [toolkit / 'include', beside, fallback]})
    declared = stubs.declared_by(library, args)
    if not declared:
        yield f'{soname}: its header declares nothing'
    for name in declared:
        if name not in have:
            yield f'{soname}: {name} is declared and not there'
    for folder in ('lib64', 'lib64/stubs') if soname in WHOLLY_PUBLIC else ():
        theirs = toolkit / folder / (soname if folder == 'lib64' else soname.rsplit('.so', 1)[0] + '.so')
        if not theirs.exists():
            continue
        for name, node in exported(theirs).items():
            if BEYOND.search(name) or not re.fullmatch(library['names'], name):
                continue
            if name not in have:
                yield f'{soname}: {name} is in {folder} and not here'
            elif node and have[name] != node:
                yield f'{soname}: {name} has version {have[name]}, and {node} in {folder}'


def main():
    toolkit, *built = map(pathlib.Path, sys.argv[1:])
    found = [line for path in built for line in missing(toolkit, path)]
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
