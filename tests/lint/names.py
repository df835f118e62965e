#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exported names: those of a folder carry its prefix, and no two modules export the same one. Static helpers have names
that say what they do.

A struct, union or enum of a header is exported, and so is a function that is not static. Functions
that stand in for those of other libraries (CUDA, NCCL, NVML, ...) may have several definitions.
"""
import collections
import pathlib
import re
import subprocess
import sys

PREFIXES = {
    'formats/api': ('api_', 'fmt_', 'API_'),
    'formats/raw': ('cap_', 'rec_'),
    'formats/run/gpucapture': ('rec_',),
    'formats/run/infer': ('infer_', 'fmt_'),
    'formats/run/kineto': ('kineto_',),
    'formats': ('fmt_',),
    'fs': ('fs_',),
    'capture': ('cap_', 'rec_', 'gd128', 'gpucapture_'),
    'replay/cost': ('cost',),
    'replay/device': ('rex_',),
    'replay/emugpu': ('emu_', 'gpuemu_'),
    'replay/emugpu/runtime': ('rt_',),
}
STAND_IN = re.compile(r'(__)?(cu|p?nccl|nvml|cublas|cupti|cuda|Nv)|main$|wait|posix_spawn|gpuemu_register_kernel$|'
                      r'gpucapture_wrap_driver$|InitializeInjection|_ZN|'
                      # the C library
                      r'dl(v?sym|open)$|_?_[eE]xit$|abort$|f?exec[vl]|clock_|nano|u?sleep$|p?(poll|select)$|epoll_|system$|'
                      r'popen$|pthread_|sem_|time$|timespec_get$|gettimeofday$')
FOLDERS = ('base', 'include', 'formats', 'fs', 'capture', 'replay')
TAG = re.compile(r'^(?:typedef )?(struct|union|enum) (\w+) \{', re.M)
VAGUE = re.compile(r'^static (?!const\b)[\w\s\*]*?\b(look|tell|settle|put|find|give|come)\(', re.M)
FUNCTION = re.compile(r'^(?!static|typedef|extern|struct \w+ \{|#|\s|\}|return)[\w][\w\s\*]*?\b(\w+)\([^;{}]*\)\n\{', re.M)


def without_comments(text):
    return re.sub(r'/\*.*?\*/', lambda m: re.sub(r'[^\n]', ' ', m[0]), text, flags=re.S)


def exported(root):
    """(name, kind, file, line) of each exported name."""
    listed = subprocess.run(['git', 'ls-files', *FOLDERS], cwd=root, capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        path = root / name
        if path.suffix not in ('.c', '.h') or not path.exists():
            continue
        text = without_comments(path.read_text())
        if path.suffix == '.h':
            for m in TAG.finditer(text):
                yield m[2], m[1], name, text.count('\n', 0, m.start()) + 1
        else:
            for m in FUNCTION.finditer(text):
                yield m[1], 'function', name, text.count('\n', 0, m.start()) + 1


def vague(root):
    listed = subprocess.run(['git', 'ls-files', '*.c', '*.h', '*.cu'], cwd=root, capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        if (root / name).exists():
            text = without_comments((root / name).read_text())
            for m in VAGUE.finditer(text):
                yield f'{name}:{text.count(chr(10), 0, m.start()) + 1}: static function {m[1]}: say what it does'


def prefix_of(name):
    for folder in sorted(PREFIXES, key=len, reverse=True):
        if name.startswith(folder + '/'):
            return PREFIXES[folder]
    return None


def check(root):
    seen = collections.defaultdict(list)
    for name, kind, file, line in exported(root):
        if STAND_IN.match(name):
            continue
        seen[name, kind if kind == 'function' else 'tag'].append(f'{file}:{line}')
        prefixes = prefix_of(file)
        if prefixes and not name.startswith(prefixes):
            yield f'{file}:{line}: {kind} {name} does not begin with {" or ".join(prefixes)}'
    for (name, _), places in seen.items():
        if len({place.split(':')[0] for place in places}) > 1:
            yield f'{places[0]}: {name} is exported by {", ".join(places[1:])} too'


if __name__ == '__main__':
    root = pathlib.Path(sys.argv[1])
    problems = [*check(root), *vague(root)]
    print('\n'.join(problems))
    sys.exit(1 if problems else 0)
