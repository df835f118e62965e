#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""recorder.py TOOLKIT OUT.c: a library that interposes on the emulated libcuda.so.1 under its name, as a recorder does.

Each function counts its calls and forwards to the driver at $RECORDER_DRIVER; the counts are appended to $RECORDER_COUNTS
in the format of $GPUEMU_COUNTS.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'replay/emugpu/gen'))
import stubs  # noqa: E402  pylint: disable=wrong-import-position,import-error

TOP = '''#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define API __attribute__((visibility("default")))

static unsigned long calls[{n}];
static const char *const names[] = {{{names}}};

/* Looked up once, and kept in *found. Opens the driver at the first call: libraries register their
 * kernels in constructors, which may run before one of this library would. */
static void *driver(void **found, const char *name)
{{
	void *f = __atomic_load_n(found, __ATOMIC_RELAXED);
	void *behind = f ? NULL : dlopen(getenv("RECORDER_DRIVER"), RTLD_NOW | RTLD_LOCAL);

	if (behind) {{
		f = dlsym(behind, name);
		__atomic_store_n(found, f, __ATOMIC_RELAXED);
	}}
	return f;
}}

__attribute__((destructor)) static void write_counts(void)
{{
	FILE *to = fopen(getenv("RECORDER_COUNTS"), "a");

	for (unsigned i = 0; to && i < {n}; i++)
		if (calls[i])
			fprintf(to, "libcuda.so.1 %s %lu\\n", names[i], calls[i]);
	if (to)
		fclose(to);
}}

/* The function of this library that bears the name of the driver's at *at. */
static void stand_before(void **at)
{{
	void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	Dl_info info;

	if (*at && dladdr(*at, &info) && info.dli_sname)
		*at = dlsym(self, info.dli_sname);
}}
'''

FUNCTION = '''
API {returns} {name}({parameters})
{{
	static void *found;

	{returns} (*real)({parameters}) = ({returns} (*)({parameters}))driver(&found, "{name}");
	__atomic_fetch_add(&calls[{number}], 1, __ATOMIC_RELAXED);
	{returns} r = real({arguments});
{after}	return r;
}}
'''

# Functions of the emulated driver that are not CUDA's, with which the libraries register kernels, read values of the GPU and
# use the thread's clock: the type, the name, and parameters with and without types.
BESIDE = [
    ('int', 'gpuemu_register_kernel', 'const void *k', 'k'),
    ('int', 'gpuemu_device_value', 'int device, const char *key, double *ret', 'device, key, ret'),
    ('uint64_t', 'gpuemu_host_ns', 'void', ''),
    ('void', 'gpuemu_thread_not_before', 'int64_t ns', 'ns'),
    ('void', 'gpuemu_clock_pause', 'void', ''),
    ('void', 'gpuemu_clock_resume', 'void', ''),
]
FORWARD = '''
{returns} {name}({parameters});
API {returns} {name}({parameters})
{{
	static void *found;

	{give}(({returns} (*)({parameters}))driver(&found, "{name}"))({arguments});
}}
'''


def main():
    toolkit, out = sys.argv[1:]
    library = stubs.LIBRARIES['libcuda.so.1']
    args = type('', (), {'cc': ['cc'], 'include': [pathlib.Path(toolkit) / 'include']})
    declared = stubs.declared_by(library, args)
    text = TOP.format(n=len(declared), names=', '.join(f'"{n}"' for n in declared))
    for number, (name, (returns, parameters)) in enumerate(declared.items()):
        arguments = [stubs.prototypes.argument(p) for p in parameters]
        after = f'\tstand_before({arguments[1]});\n' if name.startswith('cuGetProcAddress') else ''
        text += FUNCTION.format(name=name, number=number, returns=returns, parameters=', '.join(parameters) or 'void',
                                arguments=', '.join(arguments), after=after)
    for returns, name, parameters, arguments in BESIDE:
        text += FORWARD.format(returns=returns, name=name, parameters=parameters, arguments=arguments,
                               give='' if returns == 'void' else 'return ')
    pathlib.Path(out).write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
