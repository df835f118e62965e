/* SPDX-License-Identifier: Apache-2.0 */

/* Records programs while they run, and makes a trace of the raw recording. Functions print what
 * goes wrong, and return an exit status. For main threads. */
#pragma once

#include "capture/recorder/recorder.h"
#include "tools/recordings.h"

struct capture_trace {
	struct rec_recorder *recorder;
	struct recording *recording;
	const char *program; /* that is recorded */
	const char *output;
	int force;
	int raw;  /* the raw recording is all that is made */
	int json; /* a report on stderr for programs */
};

/* Records while the program runs. A byte from `fd` says that it has ended; the end of `fd` without
 * one, that nobody waits for it any more: then all that it started is recorded. Makes the trace, if
 * this is the last part of the run to complete. Above 128: a signal ended that, and the raw
 * recording stays. */
int capture_trace(const struct capture_trace *t, int fd);
