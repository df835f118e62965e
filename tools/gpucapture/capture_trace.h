/* SPDX-License-Identifier: Apache-2.0 */

/* Records programs while they run, and makes a trace of the raw recording. Functions print errors
 * and return an exit status. For main threads. */
#pragma once

#include "capture/recorder/recorder.h"
#include "tools/recordings.h"

struct capture_trace {
	struct rec_recorder *recorder;
	struct recording *recording;
	const char *program; /* the recorded program */
	const char *output;
	int force;
	int raw;  /* keep the raw recording; make no trace */
	int json; /* print a JSON report on stderr */
	bool wants_keyframes;
};

/* Records while the program runs. A byte from `fd` reports its end. If `fd` ends without one, the
 * waiting process was killed: then all processes that the program started are recorded. Makes the
 * trace, if this is the last part of the run to complete. Returns above 128 if a signal ended that;
 * the raw recording is kept. */
int capture_trace(const struct capture_trace *t, int fd);
