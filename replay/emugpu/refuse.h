/* SPDX-License-Identifier: Apache-2.0 */

/* Shared by all emulated libraries: the mark of public functions, and counters of unsupported
 * calls. gen/stubs.py generates the functions that are not implemented: they return the library's
 * "not supported" and count the call here. Any thread. */
#pragma once

#include <stdint.h>

/* Precedes the definition of each public function; the generator searches for it. */
#ifndef EMU_API
#define EMU_API __attribute__((visibility("default")))
#endif

/* Set while name_ptsz or name_ptds calls `name`: stream 0 is then the per-thread default stream.
 * One in each library. */
extern __thread int emu_per_thread __attribute__((tls_model("initial-exec")));

struct emu_refusals {
	const char *library;
	const char *const *names;
	uint64_t **counters; /* of names[i]; NULL before the first call */
	unsigned n;
};

/* Counts a call of names[number]. */
void emu_refuse_call(const struct emu_refusals *r, unsigned number);

/* Counts a call that an implemented function refuses because of its arguments. `use` is the
 * function's name and a remark: "cuMemcpy3D_v2 (arrays)". */
void emu_refuse_use(const char *library, const char *use);
