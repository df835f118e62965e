/* SPDX-License-Identifier: Apache-2.0 */

/* Reads what programs record while they run, and makes a trace of it that gets its name. Functions
 * print what goes wrong, and return an exit status. For main threads. */
#pragma once

#include "capture/recorder/recorder.h"
#include "tools/gpucapture/capture_place.h"

struct capture_trace {
	struct rec_recorder *recorder;
	struct capture_place *at;
	const char *program;  /* that is recorded */
	const char *recovers; /* a folder that was left; NULL: it is recorded now */
	size_t stretch;	      /* calls and operations that are written at once; 0: many */
	bool json;	      /* a report on stderr for programs */
};

/* While the program runs, of which a byte from `fd` says that it has ended; the end of `fd` without
 * one, that nobody waits for it any more, but all that it started is read. Another process makes
 * the trace meanwhile; when that is killed, this one does. Above 128: it was told to end, and what
 * was read is kept. */
int capture_trace(const struct capture_trace *t, int fd);

/* Of what was left. */
int capture_trace_recover(const struct capture_trace *t);
