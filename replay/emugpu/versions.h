/* SPDX-License-Identifier: Apache-2.0 */

/* The driver's entry points as cuGetProcAddress names them, made by gen/stubs.py from
 * cudaTypedefs.h. Ordered by name, version, per_thread. */
#pragma once

struct emu_version {
	const char *name; /* "cuMemAlloc" */
	int version;	  /* CUDA version in which this form appeared: 3020 */
	int per_thread;	  /* 1: stream 0 is the thread's own */
	void *function;	  /* cuMemAlloc_v2 */
};

extern const struct emu_version emu_versions[];
extern const unsigned emu_n_versions;

/* The values of the library's status, from its header. */
struct emu_name {
	int value;
	const char *name;  /* "CUDA_ERROR_INVALID_DEVICE" */
	const char *words; /* "invalid device" */
};

extern const struct emu_name emu_results[];
extern const unsigned emu_n_results;
