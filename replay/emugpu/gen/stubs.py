#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completes an emulated library: writes every function of its public header that is not written by hand.

    stubs.py LIBRARY --include DIR [--cc CC] --out STUBS.c --map EXPORTS.map --names NAMES.h SOURCE.c...

A function is written by hand when one of the SOURCEs defines it behind EMU_API; there is no other list. Functions that are
one expression, or call another one, are rows of the table --forward (forward.py), and count as written by hand below. NAMES.h, included before
each SOURCE, renames a function to emu_<name>; the function under its own name counts the call (counts.h) and calls
emu_<name>. Both are exported: recorders call emu_<name>, so that their own calls are not counted. Of the rest

  - ncclName, if pncclName is written by hand, is a weak alias of it, so that tools can interpose it,
  - name_ptsz and name_ptds (per-thread default stream), if `name` is written by hand, call it with emu_per_thread raised,
  - names that newer headers declare ('later') are refused, whatever their parameters,
  - functions of half precision, which headers declare for C++ only ('half'), have the parameters of others, 16 bits wide,
  - all others return the library's own "not supported", and are counted and reported (refuse.h).

A declared function that does not return the library's status cannot be refused: it must be written by hand. EXPORTS.map is
the version script: every public symbol, its uncounted form, and nothing else.
"""
import argparse
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / 'formats/api'))
import forward  # pylint: disable=wrong-import-position
import prototypes  # pylint: disable=wrong-import-position

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
        'observed': True,
    },
    'libcudart.so.13': {
        'headers': ['cuda_runtime_api.h', 'cuda_profiler_api.h'],
        'names': r'cuda[A-Z]\w*',
        'status': 'cudaError_t',
        'refuse': 'cudaErrorNotSupported',
        'defines': ['__CUDA_API_VERSION_INTERNAL'],
        'node': 'libcudart.so.13',
        'through_driver': True,
        'results': 'cuda(?:Error)?',
        'observed': True,
    },
    'libcublas.so.13': {
        'headers': ['cublas_v2.h', 'cublas_api.h', 'cublasXt.h'],
        'names': r'cublas[A-Z]\w*',
        'status': 'cublasStatus_t',
        'refuse': 'CUBLAS_STATUS_NOT_SUPPORTED',
        'defines': [],
        'results': 'CUBLAS_STATUS_',
        'node': 'libcublas.so.13',
        'half': {f'cublasHgemm{kind}{size}': f'cublasSgemm{kind or "_v2"}{size}'
                 for kind in ('', 'Batched', 'StridedBatched') for size in ('', '_64')},
    },
    'libcublasLt.so.13': {
        'headers': ['cublasLt.h'],
        'names': r'cublasLt[A-Z]\w*',
        'status': 'cublasStatus_t',
        'refuse': 'CUBLAS_STATUS_NOT_SUPPORTED',
        'defines': [],
        'results': 'CUBLAS_STATUS_',
        'node': 'libcublasLt.so.13',
    },
    'libnccl.so.2': {
        'headers': ['nccl.h'],
        'names': r'p?nccl[A-Z]\w*',
        'status': 'ncclResult_t',
        'refuse': 'ncclInvalidUsage',
        'defines': [],
        'node': '',
        'later': 'ncclCommGetUniqueId ncclCommGrow ncclCommMemStats ncclCommResume ncclCommSuspend ncclDevCommCreate '
                 'ncclDevCommDestroy ncclGetLsaMultimemDevicePointer ncclGetPeerDevicePointer ncclPutSignal ncclSignal '
                 'ncclWaitSignal ncclWinGetUserPtr',
    },
    'libcudnn.so.9': {
        'headers': ['cudnn.h'],
        'names': r'cudnn[A-Z]\w*',
        'status': 'cudnnStatus_t',
        'refuse': 'CUDNN_STATUS_NOT_SUPPORTED',
        'defines': [],
        'results': 'CUDNN_STATUS_',
        'node': 'libcudnn.so.9',
    },
    'libcupti.so.13': {
        'headers': ['cupti.h'],
        'names': r'cupti[A-Z]\w*',
        'status': 'CUptiResult',
        'refuse': 'CUPTI_ERROR_NOT_SUPPORTED',
        'defines': [],
        'node': 'libcupti.so.13',
        'results': 'CUPTI_(?:ERROR_)?',
    },
    'libcufft.so.12': {
        'headers': ['cufft.h', 'cufftXt.h'],
        'names': r'cufft[A-Z]\w*',
        'status': 'cufftResult',
        'refuse': 'CUFFT_NOT_SUPPORTED',
        'defines': [],
        'node': 'libcufft.so.12',
    },
    'libcusolver.so.12': {
        'headers': ['cusolverDn.h', 'cusolverRf.h', 'cusolverSp.h'],
        'names': r'cusolver[A-Z]\w*',
        'status': 'cusolverStatus_t',
        'refuse': 'CUSOLVER_STATUS_NOT_SUPPORTED',
        'defines': [],
        'node': 'libcusolver.so.12',
    },
    'libcusparse.so.12': {
        'headers': ['cusparse.h'],
        'names': r'cusparse[A-Z]\w*',
        'status': 'cusparseStatus_t',
        'refuse': 'CUSPARSE_STATUS_NOT_SUPPORTED',
        'defines': [],
        'results': 'CUSPARSE_STATUS_',
        'node': 'libcusparse.so.12',
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
    return prototypes.preprocess(headers, args.cc, args.include, library['defines'], extra)


def declared_by(library, args):
    """{name: (return type, [parameter, ...])} of what the library's headers declare."""
    return prototypes.prototypes(preprocess(library, library['headers'], args), library['names'])


def written_by_hand(sources, args):
    """{name: (return type, [parameter, ...])} of what is defined behind EMU_API, in the text or by a macro."""
    command = [*args.cc, '-E', '-P', '-D_GNU_SOURCE', '-DEMU_API=EMU_API', f'-I{TOP}', f'-I{TOP}/include', *(f'-I{i}' for i in args.include)]
    found = {}
    for path in sources:
        run = subprocess.run([*command, path], capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(f'{" ".join(command)} {path}: {run.stderr.strip()}')
        text = prototypes.without_attributes(run.stdout)
        for match in re.finditer(r'\bEMU_API\s+([\w\s*]+?)\b(\w+)\s*\(', text):
            parameters = text[match.end():prototypes.closing(text, match.end() - 1)]
            found[match[2]] = (match[1].strip(), prototypes.split_parameters(' '.join(parameters.split())))
    return found


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
{defines}#include "replay/emugpu/counts.h"
#include "replay/emugpu/observe.h"
#include "replay/emugpu/refuse.h"

{includes}
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* f() in a header is none */

static const char *const names[] = {{
{names}}};

static uint64_t *counters[sizeof(names) / sizeof(names[0])];
static const struct emu_refusals refusals = {{"{soname}", names, counters, sizeof(names) / sizeof(names[0])}};

static const char *const public_names[] = {{
{public}}};

static uint64_t calls[sizeof(public_names) / sizeof(public_names[0])];
static const struct emu_counts all_counts = {{"{soname}", public_names, calls,
	sizeof(calls) / sizeof(calls[0])}};

__attribute__((constructor)) static void start(void)
{{
	emu_counts_start(&all_counts);
}}

__attribute__((destructor)) static void report(void)
{{
	emu_counts_write(&all_counts);
}}
'''

C_COUNTED = '''
{returns} emu_{base}({parameters});
EMU_API {weak}{returns} {name}({parameters})
{{
	emu_count(&calls[{call}]);
	{give}emu_{base}({arguments});
}}
'''

C_OBSERVED = '''
{returns} emu_{base}({parameters});

static __attribute__((noinline)) {returns} observe_{name}({parameters})
{{
	emu_count(&calls[{call}]);
	const struct emu_observer *o_ = emu_observe_enter(public_names[{call}]);
	{returns} r = emu_{base}({arguments});
	emu_observe_leave(o_, (int)r);
	return r;
}}

EMU_API {returns} {name}({parameters})
{{
	if (__builtin_expect(emu_counting, 0))
		return observe_{name}({arguments});
	return emu_{base}({arguments});
}}
'''

C_STUB = '''
EMU_API {returns} {name}({parameters})
{{
	emu_count(&calls[{call}]);
	emu_refuse_call(&refusals, {number});
	return {refuse};
}}
'''

C_PER_THREAD = '''
EMU_API {returns} {name}({parameters})
{{
	emu_count(&calls[{call}]);
	const struct emu_observer *o_ = emu_observe_enter(public_names[{call}]);
	emu_per_thread++;
	{returns} r = emu_{base}({arguments});
	emu_per_thread--;
	emu_observe_leave(o_, (int)r);
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


def is_counted(library, name):
    return re.fullmatch(library['names'], name) or name.startswith('__cuda')


def bodies(library, declared, hand, public):
    """(the functions behind the public names, the names of those that are refused)"""
    out, refused = '', []
    for call, name in enumerate(public):
        base = PER_THREAD.sub('', name)
        written = next((n for n in (name, base, 'p' + name) if n in hand), None)
        returns, parameters = hand[written] if written in (name, 'p' + name) else declared[name]
        row = {'name': name, 'base': written, 'call': call, 'returns': returns,
               'parameters': ', '.join(parameters) or 'void', 'arguments': ', '.join(map(prototypes.argument, parameters))}
        if not written and returns != library['status']:
            sys.exit(f'{name} returns {returns}, so it has to be written by hand')
        if not written:
            out += C_STUB.format(**row, number=len(refused), refuse=library['refuse'])
            refused.append(name)
        elif written == base and base != name:
            out += C_PER_THREAD.format(**row)
        elif library.get('observed') and returns == library['status']:
            out += C_OBSERVED.format(**row)
        else:
            out += C_COUNTED.format(**row, give='' if returns == 'void' else 'return ',
                                    weak='' if written == name else '__attribute__((weak)) ')
    return out, refused


def complete(soname, library, args):
    """(C source, version script, header of names)"""
    declared = declared_by(library, args)
    if not declared:
        sys.exit(f'{soname}: {", ".join(library["headers"])} declares nothing')
    for name in library.get('later', '').split():
        declared.setdefault(name, (library['status'], []))
    for name, like in library.get('half', {}).items():
        returns, parameters = declared[like]
        declared[name] = returns, [re.sub(r'\bfloat\b', 'uint16_t', p) for p in parameters]
    hand = written_by_hand(args.sources, args)
    table = forward.rows(args.forward) if args.forward else []
    twice = sorted(name for name, _ in table if name in hand)
    if twice:
        sys.exit(f'{args.forward}: written by hand as well: {", ".join(twice)}')
    hand.update((name, declared[name]) for name, _ in table)
    counted = sorted(n for n in hand if is_counted(library, n))
    public = sorted(set(declared) | set(counted))
    functions, refused = bodies(library, declared, hand, public)

    def strings(names):
        return ''.join(f'\t"{n}",\n' for n in names) or '\t"",\n'

    out = C_TOP.format(headers=', '.join(library['headers']), soname=soname,
                       defines=''.join(f'#define {d}\n' for d in library['defines']),
                       includes=''.join(f'#include <{h}>\n' for h in library['headers']),
                       names=strings(refused), public=strings(public))
    if table:
        if args.forward_header:
            out += f'#include "{args.forward_header}"\n'
        through_driver = library.get('through_driver', False)
        targets = declared_by(LIBRARIES['libcuda.so.1'], args) if through_driver else declared
        out += forward.source(table, declared, targets, through_driver)
    out += functions
    if 'results' in library:
        out += C_RESULTS.format(rows=''.join(f'\t{{{n}, "{n}", "{w}"}},\n' for n, w in results(library, args)))
    if 'typedefs' in library:
        rows = versions(library, set(public), args)
        out += C_VERSIONS.format(rows=''.join(
            f'\t{{"{base}", {version}, {per_thread}, (void *){symbol}}},\n' for base, version, per_thread, symbol in rows))
    exports = ''.join(f'\t\t{n};\n' for n in sorted(set(declared) | set(hand) | {f'emu_{n}' for n in counted}))
    script = f'{library["node"]} {{\n\tglobal:\n{exports}\tlocal:\n\t\t*;\n}};\n'.lstrip()
    return out, script, ''.join(f'#pragma redefine_extname {n} emu_{n}\n' for n in counted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('library', choices=LIBRARIES)
    parser.add_argument('--cc', default='cc', type=str.split)
    parser.add_argument('--include', action='append', required=True)
    parser.add_argument('--out', required=True)
    parser.add_argument('--map', required=True)
    parser.add_argument('--names', required=True)
    parser.add_argument('--forward', help='table of functions that are one expression (forward.py)')
    parser.add_argument('--forward-header', help='declares what the expressions of the table use')
    parser.add_argument('sources', nargs='*')
    args = parser.parse_intermixed_args()
    made = complete(args.library, LIBRARIES[args.library], args)
    for path, text in zip((args.out, args.map, args.names), made):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)


if __name__ == '__main__':
    main()
