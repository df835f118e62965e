#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links between documents lead to files that exist, documents and the tables of files in READMEs
name files that exist, and lines of prose have at most 100 columns."""
import pathlib
import re
import subprocess
import sys

COLUMNS = 100
# A file of the repository, named in text by its path: doc/mount.md, replay/engine, tests/unit/*.py
FOLDERS = 'base|bench|capture|data|doc|examples|formats|fs|include|replay|tests|tools'
PATH = re.compile(rf'(?<![\w./-])((?:{FOLDERS})/[\w./*-]*[\w*])')
LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)]*)?\)')


def documents(top):
    try:
        listed = subprocess.run(['git', '-C', top, 'ls-files', '-z', '*.md'], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return sorted(p for p in top.rglob('*.md') if not p.relative_to(top).parts[0].startswith('build'))
    return [top / name for name in listed.stdout.split('\0') if name and (top / name).exists()]


def missing_files(folder, line):
    """Yields the names in the first cell of a table's row that are no file or folder."""
    for name in re.findall(r'`([^` ]+)`', line.split('|')[1]):
        pattern = name.rstrip('/')
        if not any(folder.rglob(pattern)) and not any(folder.rglob(pattern + '.*')):
            yield name


def missing_paths(top, folder, line):
    """Yields the paths in a line that are no file or folder; their suffix may be omitted."""
    for name in PATH.findall(line):
        if not any(any(base.glob(name)) or any(base.glob(name + '.*')) for base in (top, folder)):
            yield name


def complaints(top, path):
    name = path.relative_to(top)
    is_code = is_list = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith('```'):
            is_code = not is_code
        for target in LINK.findall(line):
            if '://' not in target and not (path.parent / target).exists():
                yield f'{name}:{number}: link to a missing file: {target}'
        for missing in missing_paths(top, path.parent, line):
            yield f'{name}:{number}: missing file: {missing}'
        is_list = path.name == 'README.md' and (bool(re.match(r'\| (file|folder)', line)) or (is_list and line.startswith('|')))
        for missing in missing_files(path.parent, line) if is_list else ():
            yield f'{name}:{number}: missing file: {missing}'
        if len(line) > COLUMNS and not is_code and not line.startswith(('|', '    ')) and '://' not in line:
            yield f'{name}:{number}: {len(line)} columns; at most {COLUMNS}'


def main():
    top = pathlib.Path(sys.argv[1]).resolve()
    found = [complaint for path in documents(top) for complaint in complaints(top, path)]
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
