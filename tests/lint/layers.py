#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders depend one way, so do the sources of some; a source includes its own header first; some headers have one user."""
import collections
import pathlib
import re
import sys

# A folder, and the folders that it and its subfolders may include. The longest matching entry
# counts.
MAY_USE = {
    'base': set(),
    'formats/api': {'base'},
    'formats/trace': {'base'},
    'formats/raw': {'base', 'formats/trace'},
    'formats/run': {'base', 'formats/api', 'formats/raw', 'formats/trace'},
    'formats/render': {'base', 'formats/api', 'formats/trace'},
    'capture': {'base', 'formats'},
    'fs': {'base', 'formats'},
    'replay': {'base', 'formats'},
    'tools': {'base', 'formats', 'capture', 'fs', 'replay'},
    'tests': {'base', 'formats', 'capture', 'fs', 'replay', 'tools'},
    'bench': {'base', 'formats', 'capture', 'fs', 'replay', 'tests'},
}

# Pairs of folders that still include each other.
KNOWN_CIRCLES = set()

# Folders, with their subfolders, in which no sources may include each other in a circle: x.c, x.h and x_impl.h count as
# one source.
NO_FILE_CIRCLES = ('base/', 'bench/', 'capture/', 'formats/', 'fs/', 'replay/', 'tests/', 'tools/')

# A header of another project, and the one place that may include it.
ONLY_IN = {
    r'fuse.*\.h': ('fs/fuse', 'fs/mount'),
    r'zstd\.h': ('formats/', 'replay/emugpu/driver/code/image.c'),
    r'xxhash\.h': ('formats/', 'capture/library/ring/blob.c', 'tests/unit/'),
    r'nettle/.*': 'formats/',
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def within(name, folder):
    return name == folder or name.startswith(folder + '/')


def layer(name):
    """Returns the longest entry of MAY_USE that contains a file or folder."""
    return max((folder for folder in MAY_USE if within(name, folder)), key=len, default=None)


def source(name):
    return name.rsplit('.', 1)[0].removesuffix('_impl')


def complaints(top, path, edges, files):
    name = path.relative_to(top).as_posix()
    own = name[:-2] + '.h' if name.endswith('.c') else None
    first = True
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, included = found.groups()
        if first and own and (top / own).exists() and included != own:
            yield f'{name}:{number}: include {own} first'
        first = False
        if quote == '<':
            for pattern, place in ONLY_IN.items():
                if re.fullmatch(pattern, included) and not name.startswith(place):
                    yield f'{name}:{number}: only {place} may include <{included}>'
            continue
        if not (top / included).exists():
            yield f'{name}:{number}: "{included}" must be a path from the top folder'
        files[source(name)].add(source(included))
        here = layer(name)
        if not within(included, here) and not any(within(included, folder) for folder in MAY_USE[here]):
            yield f'{name}:{number}: {here}/ may not use {included}'
        edges[str(path.relative_to(top).parent), str(pathlib.PurePath(included).parent)].append(f'{name}:{number}')


def circles(edges):
    """Yields the pairs of folders that include each other, with the places."""
    for (a, b), there in sorted(edges.items()):
        back = edges.get((b, a))
        if a < b and back and (a, b) not in KNOWN_CIRCLES:
            yield f'{a}/ and {b}/ include each other: {min(there, back, key=len)[0]}'
    for a, b in sorted(KNOWN_CIRCLES):
        if (a, b) not in edges or (b, a) not in edges:
            yield f'tests/lint/layers.py: {a}/ and {b}/ no longer include each other: remove the pair'


def file_circle(start, files):
    """A chain of includes from `start` back to it; empty if there is none."""
    came_from, queue = {}, [start]
    for name in queue:
        for to in sorted(files.get(name, set()) - {name}):
            if to in came_from:
                continue
            came_from[to] = name
            if to != start:
                queue.append(to)
                continue
            chain = [start]
            while len(chain) == 1 or chain[0] != start:
                chain.insert(0, came_from[chain[0]])
            return chain
    return []


def file_circles(files):
    reported = set()
    for name in sorted(n for n in files if n.startswith(NO_FILE_CIRCLES)):
        chain = file_circle(name, files)
        if chain and not reported & set(chain):
            reported |= set(chain)
            yield 'sources include each other: ' + ' -> '.join(chain)


def main():
    top = pathlib.Path(sys.argv[1]).resolve()
    found = []
    edges = collections.defaultdict(list)
    files = collections.defaultdict(set)
    for folder in sorted({name.split('/')[0] for name in MAY_USE}):
        for path in sorted((top / folder).rglob('*.[ch]')):
            found += complaints(top, path, edges, files)
    found += circles(edges)
    found += file_circles(files)
    headers = len(list((top / 'base').glob('*.h')))
    if headers > 5:
        found.append(f'base/: {headers} headers; five are the most')
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
