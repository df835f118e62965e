#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Describes every public call of the driver, NCCL, cuBLAS and cuBLASLt: one line each, from headers, meaning.py and structs.py.

    describe.py [--include DIR] [--cc CC] [--check] [LIBRARY...]

Writes LIBRARY.api beside itself; with --check compares instead, and exits 77 where there are no headers of the version that
is committed. doc/add-a-call.md explains a line. Sizes come from a program that the compiler builds of the headers.
"""
import argparse
import os
import pathlib
import re
import sys
import tempfile

import headers as reading
import meaning
import prototypes
import structs

HERE = pathlib.Path(__file__).resolve().parent

# Stand-ins for headers of other projects, so that these need not be installed.
FOREIGN = {
    'GL/gl.h': 'typedef unsigned GLuint; typedef unsigned GLenum;',
    'EGL/egl.h': '#include <stdint.h>\ntypedef int32_t EGLint;',
    'EGL/eglext.h': 'typedef void *EGLImageKHR; typedef void *EGLStreamKHR; typedef void *EGLSyncKHR;',
    'vdpau/vdpau.h': '#include <stdint.h>\ntypedef uint32_t VdpDevice; typedef uint32_t VdpVideoSurface;'
                     'typedef uint32_t VdpOutputSurface; typedef int VdpGetProcAddress(VdpDevice, uint32_t, void **);',
}

# `units`: headers that cannot be read together are read apart. A later one does not redefine what an earlier one declared.
LIBRARIES = {
    'cuda': {
        'soname': 'libcuda.so.1',
        'units': [['cuda.h', 'cudaProfiler.h', 'vdpau/vdpau.h', 'cudaGL.h', 'cudaEGL.h', 'cudaVDPAU.h']],
        'names': r'cu[A-Z]\w*',
        'defines': ['__CUDA_API_VERSION_INTERNAL'],
        'version': 'CUDA_VERSION',
    },
    'nccl': {
        'soname': 'libnccl.so.2',
        'units': [['nccl.h']],
        'names': r'p?nccl[A-Z]\w*',
        'defines': [],
        'version': 'NCCL_VERSION_CODE',
    },
    'cublas': {
        'soname': 'libcublas.so.13',
        'units': [['cublas_v2.h', 'cublas_api.h', 'cublasXt.h'], ['cublas.h']],
        'names': r'cublas[A-Z]\w*',
        'defines': [],
        'version': 'CUBLAS_VERSION',
    },
    'cublasLt': {
        'soname': 'libcublasLt.so.13',
        'units': [['cublasLt.h']],
        'names': r'cublasLt[A-Z]\w*',
        'defines': [],
        'unions': structs.LT_UNIONS,
        'version': 'CUBLAS_VERSION',
    },
}

VERSION_SUFFIX = re.compile(r'(_v\d+)?(_64)?(_pt[sd][sz])?$')
DIRECTIONS = ('in', 'out', 'inout', 'reads', 'writes', 'updates')


def spelling(parameter):
    """(base type without const, pointer depth, whether what it points to is const, whether it is a function)."""
    if '(' in parameter:
        return 'void', 1, False, True
    declared = re.sub(r'(\w+)\s*((\[\w*\])*)$', lambda m: '*' * m[2].count('['), parameter, count=1)
    if re.fullmatch(r'\s*', declared):
        declared = parameter
    depth = declared.count('*')
    const = bool(re.match(r'\s*const\b', declared)) and depth > 0
    base = ' '.join(w for w in re.split(r'[\s*]+', declared) if w not in ('', 'const', '__restrict__'))
    return base.removeprefix('struct '), depth, const, False


def by_type(headers, library, call, name, base, depth, const, function):
    """(meaning, direction, length) that the type and the name of a parameter suggest."""
    if function or base in meaning.CALLBACKS:
        return ('callback', 'out', '8') if depth and not function else ('callback', '', '')
    what = meaning.TYPES.get(base)
    wire, size = headers.types[base][:2]
    if not what:
        what = f'enum:{base}' if headers.layouts.is_enum(base) else f'struct:{base}' if wire[0] == 's' else 'number'
    if depth == 0:
        for pattern, word in meaning.NAMES:
            if what == 'number' and re.fullmatch(pattern, name):
                return word, '', ''
        return 'number' if what == 'bytes' else what, '', ''
    if library in ('cublas', 'cublasLt') and re.fullmatch(meaning.SCALARS, name) and depth == 1:
        return 'scalar', 'in' if const else 'out' if name == 'result' else 'inout', '?' if base == 'void' else str(size)
    if library in ('cublas', 'cublasLt') and (base in meaning.ELEMENTS or re.fullmatch(meaning.ON_DEVICE, name)):
        return 'host' if call.startswith('cublasXt') else 'devptr', 'reads' if const else 'updates', '?'
    if depth == 1 and base == 'char' and const:
        return 'string', 'in', 'nul'
    if depth > 1:
        return ('string-address' if base == 'char' else 'address'), 'out', '8'
    if base in meaning.OPAQUE:
        return 'address', '', ''
    return what, 'in' if const else 'out', str(size)


def length_text(length, element):
    """`length` counts elements in meaning.py and bytes in a line: multiplied by the size of an element."""
    if length in ('?', 'nul', 'image', 'params', 'extra', '') or element == 1:
        return length
    if re.fullmatch(r'\d+', length):
        return str(int(length) * element)
    return f'{element}*{length}'


def annotate(line, words, headers, base, depth):
    """One argument's (meaning, direction, length) after what meaning.py says of it: [MEANING] [DIRECTION [LENGTH]]."""
    what, direction, length = line
    words = words.split()
    if words and words[0] not in DIRECTIONS:
        what = words.pop(0)
        if not words:
            return what, '', ''
    if words:
        direction = words.pop(0)
        element = headers.types[base][1] if depth == 1 and base != 'void' else 1 if depth < 2 else 8
        if words:
            length = length_text(words.pop(0), element)
        elif not length:
            length = '?'
    return what, direction, length


def said_of(library, name):
    """(class, {argument: words}) of meaning.py: what fits the whole name goes before what fits it without its version."""
    table = meaning.CALLS[library]
    base = VERSION_SUFFIX.sub('', name.removeprefix('p') if library == 'nccl' else name)
    text = table.get(name) or table.get(re.sub(r'_pt[sd][sz]$', '', name)) or table.get(base)
    if text is None:
        text = next((words for pattern, words in meaning.PATTERNS[library] if re.fullmatch(pattern, base)), None)
        if text is None:
            return 'query' if re.search(r'(Get|Query|Is|Occupancy)([A-Z]|$)', base) else 'state', {}
    verb, *arguments = [part.strip() for part in text.split(';')]
    return verb, dict(part.split(' ', 1) for part in arguments if part)


def describe(library, name, returns, parameters, headers):
    verb, said = said_of(library, name)
    arguments = []
    for parameter in parameters:
        argument = prototypes.argument(parameter)
        base, depth, const, function = spelling(parameter)
        wire = 'ptr' if depth or function or base in meaning.CALLBACKS else headers.types[base][0]
        line = by_type(headers, library, name, argument, base, depth, const, function)
        if argument in said:
            line = annotate(line, said[argument], headers, base, depth)
        arguments.append(' '.join(w for w in (argument, wire, *line) if w))
    base, depth, const, _ = spelling(returns + ' x')
    if returns == 'void':
        result = 'void none'
    elif depth:
        result = 'ptr string' if base == 'char' else 'ptr address'
    else:
        result = f'{headers.types[base][0]} {meaning.RESULTS.get(base, "number")}'
    return f'{name}: {verb} {result} ({", ".join(arguments)})'


def fields_of(library, name, headers):
    """The fields of a struct, as arguments are but with an offset after the name."""
    said = dict(part.strip().split(' ', 1) for part in structs.STRUCTS.get(name, '').split(';') if part)
    when = structs.WHEN.get(name, {})
    values = {key: [str(headers.value(v)) for v in names] for key, (_, names) in when.items()}
    for path, declaration, count, choice in headers.layouts.leaves(name):
        offset = headers.value(f'offsetof({name}, {path})')
        base, depth, const, function = spelling(declaration)
        if said.get(path) == 'left out':
            continue
        wire = 'ptr' if depth or function or base in meaning.CALLBACKS else headers.types[base][0]
        if depth and path not in said:
            line = ('callback' if function else 'address'), '', ''
        else:
            line = by_type(headers, library, '', path.rpartition('.')[2], base, depth, const, function)
        if path in said:
            line = annotate(line, said[path], headers, base, depth)
        conditions = [f'if:{when[key][0]}={"|".join(values[key])}' for key in {choice: 0, path: 0} if key in when]
        yield ' '.join(w for w in (path + (f'[{count}]' if count > 1 else ''), str(offset), wire, *line, *conditions) if w)


def enum_text(name, headers):
    """The values of an enum, without what their names have in common."""
    names = headers.layouts.enumerators(name)
    common = os.path.commonprefix(names) if len(names) > 1 else names[0].rpartition('_')[0] + '_'
    while common and not (common.endswith('_') or re.search(r'[a-z]$', common) and all(
            n[len(common):len(common) + 1].isupper() for n in names)):
        common = common[:-1]
    pairs = [(n[len(common):], v) for n, v in zip(names, map(headers.value, names)) if v != 0x7fffffff]
    return f'enum {name} ({", ".join(f"{n}={v}" for n, v in pairs)})'


def types_text(library, lines, headers):
    """{name: line} of the structs and enums that lines speak of, and those that these speak of."""
    found, text = {}, ' '.join(lines)
    while True:
        wanted = {(kind, name) for kind, name in re.findall(r'\b(enum|struct):(\w+)', text) if name not in found}
        for kind, name in sorted(wanted):
            if kind == 'enum':
                found[name] = enum_text(name, headers)
            else:
                found[name] = f'struct {name} {headers.types[name][1]} ({", ".join(fields_of(library, name, headers))})'
        if not wanted:
            return found
        text = ' '.join(found.values())


def complain_of_strangers(library, calls):
    """What meaning.py says of calls and arguments that no header has."""
    bases = {}
    for name, (_, parameters) in calls.items():
        have = {prototypes.argument(p) for p in parameters}
        for key in {name, re.sub(r'_pt[sd][sz]$', '', name), VERSION_SUFFIX.sub('', name)}:
            bases.setdefault(key, set()).update(have)
    wrong = [n for n in meaning.CALLS[library] if n not in bases]
    wrong += [f'{n}({a})' for n in meaning.CALLS[library] if n in bases
              for a in said_of(library, n)[1] if a not in bases[n]]
    if wrong:
        sys.exit(f'meaning.py: no header of {library} has {", ".join(wrong)}')


def text_of(library, args, foreign):
    """(version, text of LIBRARY.api)"""
    row = LIBRARIES[library]
    lines, types, calls, version = {}, {}, {}, 0
    for unit in row['units']:
        headers = reading.Headers(row, unit, args, foreign)
        while True:
            own = {n: describe(library, n, *c, headers) for n, c in headers.calls.items() if n not in calls}
            own_types = types_text(library, own.values(), headers)
            own_version = headers.value(row['version'])
            if not headers.settle():
                break
        lines, types, calls = {**own, **lines}, {**own_types, **types}, {**headers.calls, **calls}
        version = version or own_version
    complain_of_strangers(library, calls)
    top = (f'# SPDX-License-Identifier: Apache-2.0\n'
           f'# Made by formats/api/describe.py from NVIDIA\'s public headers and from meaning.py. Annotate there, not here.\n'
           f'library {library} {row["soname"]} {version}\n')
    return version, top + ''.join(table[n] + '\n' for table in (lines, types) for n in sorted(table))


def committed_version(library):
    match = re.search(rf'^library {library} \S+ (\d+)$', (HERE / f'{library}.api').read_text(), re.MULTILINE)
    return int(match[1])


def check(library, version, text):
    """0 the committed file is what the headers give, 1 it is not, 77 these headers are of another version."""
    have = committed_version(library)
    if have != version:
        print(f'{library}.api describes version {have}; the headers here are of {version}')
        return 77
    if (HERE / f'{library}.api').read_text() != text:
        print(f'{library}.api is not what describe.py gives: run formats/api/describe.py {library}')
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--include', action='append')
    parser.add_argument('--cc', default='cc', type=str.split)
    parser.add_argument('--check', action='store_true')
    parser.add_argument('libraries', nargs='*', metavar='LIBRARY', choices=[*LIBRARIES, []])
    args = parser.parse_args()
    args.include = args.include or ['/usr/local/cuda/include']
    results = set()
    with tempfile.TemporaryDirectory() as foreign:
        for path, text in FOREIGN.items():
            (pathlib.Path(foreign) / path).parent.mkdir(exist_ok=True)
            (pathlib.Path(foreign) / path).write_text(text + '\n')
        for library in args.libraries or LIBRARIES:
            main_header = LIBRARIES[library]['units'][0][0]
            if not any((pathlib.Path(i) / main_header).exists() for i in args.include):
                print(f'{library}: no {main_header} in {", ".join(args.include)}')
                results.add(77)
                continue
            version, text = text_of(library, args, foreign)
            if args.check:
                results.add(check(library, version, text))
            else:
                (HERE / f'{library}.api').write_text(text)
    return 1 if 1 in results else max(results, default=0)


if __name__ == '__main__':
    sys.exit(main())
