/* SPDX-License-Identifier: Apache-2.0 */

/* The emulated run that a mount shows: a trace in a temporary directory ($TMPDIR, else /tmp), which
 * is removed when the mount ends. What a killed gputracefs left there goes when the next one makes
 * its own.
 */
#pragma once

#include "formats/trace/store/trace.h"

struct emulated {
	char *folder; /* owned; NULL until there is one */
	int lock_fd;  /* of the folder; 0 until there is one */
};

/* Emulates `in`; for fs_options.emulate, with a struct emulated as context. */
int emulated_make(void *context, struct fmt_trace *in, struct fmt_trace **ret,
		  struct fmt_error *err);

/* Removes the files. The trace in them may be open still, and can then not be read any more. */
void emulated_done(struct emulated *e);
