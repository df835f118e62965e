/* SPDX-License-Identifier: Apache-2.0 */

/* What every emulated library shares: how a public function is marked, and the account of the ones
 * that are not implemented.
 *
 * gen/stubs.py makes the functions that nobody wrote by hand: they return the library's own "not
 * supported" and end up here. The first call of each is noted at once (a process may be killed),
 * the counts follow when the process ends: as lines "refused LIBRARY NAME PID COUNT" appended to
 * the file $GPUEMU_REPORT, or, without it, as one line on stderr. Any thread.
 */
#pragma once

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
	unsigned *counts; /* calls of names[i] */
	unsigned n;
};

/* Once, before the first call: a forked child then accounts for its own alone. */
void emu_refusals_start(struct emu_refusals *r);
void emu_refused(struct emu_refusals *r, unsigned number);
void emu_refusals_report(const struct emu_refusals *r);

/* Counts a call that an implemented function refuses because of what it was asked for, under the
 * function's name (a string literal) with a remark: "cuMemcpy3D_v2 (arrays)". */
void emu_refused_use(const char *library, const char *use);
