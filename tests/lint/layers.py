#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders depend one way, a source includes its own header first, and some headers have one user."""
import pathlib
import re
import sys

MAY_USE = {
    'base': set(),
    'formats': {'base'},
    'capture': {'base', 'formats'},
    'fs': {'base', 'formats'},
    'replay': {'base', 'formats'},
    'tools': {'base', 'formats', 'capture', 'fs', 'replay'},
}

# A header of another project, and the one place that may include it.
ONLY_IN = {
    r'fuse.*\.h': 'fs/fuse',
    r'zstd\.h': ('formats/', 'replay/emugpu/driver/code/image.c'),
    r'xxhash\.h': ('formats/', 'capture/library/blob.c'),
    r'nettle/.*': 'formats/',
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def complaints(top, path):
    name = path.relative_to(top).as_posix()
    folder = name.split('/')[0]
    own = name[:-2] + '.h' if name.endswith('.c') else None
    first = True
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, included = found.groups()
        if first and own and (top / own).exists() and included != own:
            yield f'{name}:{number}: {own} comes first'
        first = False
        if quote == '<':
            for pattern, place in ONLY_IN.items():
                if re.fullmatch(pattern, included) and not name.startswith(place):
                    yield f'{name}:{number}: <{included}> belongs into {place}'
            continue
        if not (top / included).exists():
            yield f'{name}:{number}: "{included}" is not a path from the top'
        target = included.split('/')[0]
        if target != folder and target not in MAY_USE[folder]:
            yield f'{name}:{number}: {folder}/ may not use {target}/'


def main():
    top = pathlib.Path(sys.argv[1]).resolve()
    found = []
    for folder in MAY_USE:
        for path in sorted((top / folder).rglob('*.[ch]')):
            found += complaints(top, path)
    headers = len(list((top / 'base').glob('*.h')))
    if headers > 5:
        found.append(f'base/: {headers} headers; five are the most')
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
