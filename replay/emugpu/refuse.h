/* SPDX-License-Identifier: Apache-2.0 */

/* What every emulated library shares: how a public function is marked, and the count of calls that
 * are not implemented. gen/stubs.py makes the functions that nobody wrote by hand: they return the
 * library's own "not supported" and are counted here. Any thread.
 */
#pragma once

#include <stdint.h>

/* Stands before the definition of each public function; the generator looks for it. */
#ifndef EMU_API
#define EMU_API __attribute__((visibility("default")))
#endif

/* Raised while a name_ptsz or name_ptds calls `name`: stream 0 is the thread's own default stream.
 * One for each library. */
extern __thread int emu_per_thread __attribute__((tls_model("initial-exec")));

struct emu_refusals {
	const char *library;
	const char *const *names;
	uint64_t **counters; /* of names[i]; NULL before the first call */
	unsigned n;
};

/* Counts a call of names[number]. */
void emu_refused(const struct emu_refusals *r, unsigned number);

/* Counts a call that an implemented function refuses because of its arguments, under the function's
 * name with a remark: "cuMemcpy3D_v2 (arrays)". */
void emu_refused_use(const char *library, const char *use);
