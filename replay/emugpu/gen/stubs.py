#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completes an emulated library: everything its public header declares and nobody wrote by hand.

    stubs.py LIBRARY --include DIR [--cc CC] --out STUBS.c --map EXPORTS.map SOURCE.c...

A function is written by hand when one of the SOURCEs defines it behind EMU_API; there is no other list. Of the rest

  - name_ptsz and name_ptds (per-thread default stream), where `name` is written by hand, become calls of it with
    emu_per_thread raised,
  - all others return the library's own "not supported", and are counted and reported (refuse.h).

A declared function that returns something other than the library's status cannot be refused: it is an error not to write
it. EXPORTS.map is the version script: every public symbol and nothing else.
"""
import argparse
import pathlib
import re
import subprocess
import sys

LIBRARIES = {
    'libcuda.so.1': {
        'headers': ['cuda.h', 'cudaProfiler.h'],
        'names': r'cu[A-Z]\w*',
        'status': 'CUresult',
        'refuse': 'CUDA_ERROR_NOT_SUPPORTED',
        'defines': ['__CUDA_API_VERSION_INTERNAL'],
        'node': '',
        'typedefs': 'cudaTypedefs.h',
        'results': 'CUDA_(?:ERROR_)?',
    },
    'libcudart.so.13': {
        'headers': ['cuda_runtime_api.h', 'cuda_profiler_api.h'],
        'names': r'cuda[A-Z]\w*',
        'status': 'cudaError_t',
        'refuse': 'cudaErrorNotSupported',
        'defines': ['__CUDA_API_VERSION_INTERNAL'],
        'node': 'libcudart.so.13',
        'results': 'cuda(?:Error)?',
    },
    'libcublas.so.13': {
        'headers': ['cublas_v2.h', 'cublas_api.h', 'cublasXt.h'],
        'names': r'cublas[A-Z]\w*',
        'status': 'cublasStatus_t',
        'refuse': 'CUBLAS_STATUS_NOT_SUPPORTED',
        'defines': [],
        'node': 'libcublas.so.13',
    },
    'libcublasLt.so.13': {
        'headers': ['cublasLt.h'],
        'names': r'cublasLt[A-Z]\w*',
        'status': 'cublasStatus_t',
        'refuse': 'CUBLAS_STATUS_NOT_SUPPORTED',
        'defines': [],
        'node': 'libcublasLt.so.13',
    },
    'libnccl.so.2': {
        'headers': ['nccl.h'],
        'names': r'p?nccl[A-Z]\w*',
        'status': 'ncclResult_t',
        'refuse': 'ncclInvalidUsage',
        'defines': [],
        'node': '',
    },
    'libnvidia-ml.so.1': {
        'headers': ['nvml.h'],
        'names': r'nvml[A-Z]\w*',
        'status': 'nvmlReturn_t',
        'refuse': 'NVML_ERROR_NOT_SUPPORTED',
        'defines': ['NVML_NO_UNVERSIONED_FUNC_DEFS'],
        'node': '',
    },
}

PER_THREAD = re.compile(r'_pt[sd][sz]$')


def preprocess(library, headers, args, extra=()):
    source = ''.join(f'#include <{h}>\n' for h in headers)
    command = [*args.cc, '-E', '-P', '-x', 'c', *extra, *(f'-D{d}' for d in library['defines']),
               *(f'-I{i}' for i in args.include), '-']
    run = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f'{" ".join(command)}: {run.stderr.strip()}')
    return run.stdout


def closing(text, at):
    """Where the parenthesis that opens at `at` closes."""
    depth = 0
    for i in range(at, len(text)):
        depth += {'(': 1, ')': -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def without_attributes(text):
    while (found := re.search(r'__attribute__\s*\(', text)):
        text = text[:found.start()] + ' ' + text[closing(text, found.end() - 1) + 1:]
    return text


def statements(text):
    """The declarations of a preprocessed header: split at ; outside of braces, bodies of functions left out."""
    start = depth = 0
    for i, c in enumerate(text):
        if c == '{':
            depth += 1
        elif c == '}':
            depth -= 1
            head = text[start:i]
            if depth == 0 and re.search(r'\)\s*\{', head) and not re.match(r'\s*typedef', head):
                start = i + 1
        elif c == ';' and depth == 0:
            yield ' '.join(text[start:i].split())
            start = i + 1


def split_parameters(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += {'(': 1, ')': -1}.get(c, 0)
        if c == ',' and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [] if parts in ([''], ['void']) else parts


def prototypes(text, names):
    """{name: (return type, [parameter, ...])} of the functions that a preprocessed header declares."""
    found = {}
    for s in statements(without_attributes(text)):
        match = re.match(rf'(?:extern )?((?:const )?\w[\w ]*?[ *]+)\b({names})\s*\(', s)
        if not match or s.startswith('typedef') or closing(s, match.end() - 1) != len(s) - 1:
            continue
        found[match[2]] = (match[1].strip(), split_parameters(s[match.end():-1]))
    return found


def written_by_hand(sources, args):
    """The names defined behind EMU_API, in the text or by a macro."""
    top = pathlib.Path(__file__).resolve().parents[3]
    command = [*args.cc, '-E', '-P', '-D_GNU_SOURCE', '-DEMU_API=EMU_API', f'-I{top}', *(f'-I{i}' for i in args.include)]
    names = set()
    for path in sources:
        run = subprocess.run([*command, path], capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(f'{" ".join(command)} {path}: {run.stderr.strip()}')
        names.update(re.findall(r'\bEMU_API\s+[\w\s*]+?\b(\w+)\s*\(', without_attributes(run.stdout)))
    return names


def argument(parameter):
    """The name of a parameter, which may be an array or a pointer to a function."""
    pointer = re.search(r'\(\s*\w*\s*\*\s*(\w+)\s*\)', parameter)
    return pointer[1] if pointer else re.search(r'(\w+)\s*(\[\w*\])*$', parameter)[1]


def versions(library, symbols, args):
    """Rows (name, version, per thread, symbol) of cuGetProcAddress, from the public typedefs PFN_name_vVERSION[_ptsz]."""
    pattern = re.compile(r'\bPFN_(cu\w+?)_v(\d+)(_pt[sd][sz])?\)')
    text = preprocess(library, [library['typedefs']], args)
    macros = preprocess(library, library['headers'], args, ['-dM'])
    latest = dict(re.findall(r'#define (cu\w+) (cu\w+)$', macros, re.MULTILINE))
    asked = {}
    for base, version, suffix in set(pattern.findall(text)):
        asked.setdefault((base, suffix), []).append(int(version))

    def order(symbol):
        number = re.search(r'_v(\d+)(_pt[sd][sz])?$', symbol)
        return int(number[1]) if number else 1

    rows = []
    for (base, suffix), wanted in asked.items():
        fits = re.compile(rf'{base}(_v\d+)?{suffix}')
        have = sorted((s for s in symbols if fits.fullmatch(s)), key=order)
        if len(have) < len(wanted) and latest.get(base, base) + suffix in symbols:
            have.append(latest.get(base, base) + suffix)
        for version, symbol in zip(reversed(sorted(wanted)), reversed(have)):
            rows.append((base, version, 1 if suffix else 0, symbol))
    return sorted(rows)


def results(library, args):
    """Rows (enumerator, in words) of the library's status type."""
    text = preprocess(library, library['headers'], args)
    body = next(m[1] for m in re.finditer(r'\benum\s*(?:__attribute__\s*\(\([^)]*\)\))?\s*\w*\s*\{([^}]*)\}', text)
                if re.search(rf'^\s*{library["results"]}S[Uu][Cc][Cc][Ee][Ss][Ss]\b', m[1].strip()))
    for name in re.findall(r'(\w+)\s*=', body):
        words = re.sub(library['results'], '', name)
        if not words.isupper():
            words = re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', words)
        yield name, words.replace('_', ' ').lower()


C_TOP = '''/* Made by replay/emugpu/gen/stubs.py from {headers}. */
{defines}#include "replay/emugpu/refuse.h"

{includes}
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* f() in a header is none */

static const char *const names[] = {{
{names}}};

static unsigned counts[sizeof(names) / sizeof(names[0])];
static struct emu_refusals refusals = {{"{soname}", names, counts, sizeof(names) / sizeof(names[0])}};

__attribute__((destructor)) static void report(void)
{{
	emu_refusals_report(&refusals);
}}
'''

C_STUB = '''
EMU_API {returns} {name}({parameters})
{{
	emu_refused(&refusals, {number});
	return {refuse};
}}
'''

C_PER_THREAD = '''
EMU_API {returns} {name}({parameters})
{{
	emu_per_thread++;
	{returns} r = {base}({arguments});
	emu_per_thread--;
	return r;
}}
'''

C_RESULTS = '''
#include "replay/emugpu/versions.h"

const struct emu_name emu_results[] = {{
{rows}}};
const unsigned emu_n_results = sizeof(emu_results) / sizeof(emu_results[0]);
'''

C_VERSIONS = '''
const struct emu_version emu_versions[] = {{
{rows}}};
const unsigned emu_n_versions = sizeof(emu_versions) / sizeof(emu_versions[0]);
'''


def complete(soname, library, args):
    """(C source, version script)"""
    declared = prototypes(preprocess(library, library['headers'], args), library['names'])
    if not declared:
        sys.exit(f'{soname}: {", ".join(library["headers"])} declares nothing')
    hand = written_by_hand(args.sources, args)
    wrappers, refused = [], []
    for name in sorted(set(declared) - hand):
        base = PER_THREAD.sub('', name)
        if base != name and base in hand:
            wrappers.append(name)
        elif declared[name][0] == library['status']:
            refused.append(name)
        else:
            sys.exit(f'{soname}: {name} returns {declared[name][0]}, so it has to be written by hand')

    out = C_TOP.format(headers=', '.join(library['headers']), soname=soname,
                       defines=''.join(f'#define {d}\n' for d in library['defines']),
                       includes=''.join(f'#include <{h}>\n' for h in library['headers']),
                       names=''.join(f'\t"{n}",\n' for n in refused) or '\t"",\n')
    for number, name in enumerate(refused):
        out += C_STUB.format(name=name, number=number, refuse=library['refuse'], returns=library['status'],
                             parameters=', '.join(declared[name][1]) or 'void')
    for name in wrappers:
        returns, parameters = declared[name]
        out += C_PER_THREAD.format(name=name, base=PER_THREAD.sub('', name), returns=returns,
                                   parameters=', '.join(parameters) or 'void',
                                   arguments=', '.join(map(argument, parameters)))
    if 'results' in library:
        out += C_RESULTS.format(rows=''.join(f'\t{{{n}, "{n}", "{w}"}},\n' for n, w in results(library, args)))
    if 'typedefs' in library:
        rows = versions(library, set(declared) | hand, args)
        out += C_VERSIONS.format(rows=''.join(
            f'\t{{"{base}", {version}, {per_thread}, (void *){symbol}}},\n' for base, version, per_thread, symbol in rows))
    exports = ''.join(f'\t\t{n};\n' for n in sorted(set(declared) | hand))
    return out, f'{library["node"]} {{\n\tglobal:\n{exports}\tlocal:\n\t\t*;\n}};\n'.lstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('library', choices=LIBRARIES)
    parser.add_argument('--cc', default='cc', type=str.split)
    parser.add_argument('--include', action='append', required=True)
    parser.add_argument('--out', required=True)
    parser.add_argument('--map', required=True)
    parser.add_argument('sources', nargs='*')
    args = parser.parse_intermixed_args()
    source, exports = complete(args.library, LIBRARIES[args.library], args)
    for path, text in ((args.out, source), (args.map, exports)):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)


if __name__ == '__main__':
    main()
