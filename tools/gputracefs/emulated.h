/* SPDX-License-Identifier: Apache-2.0 */

/* The emulated runs that a mount shows: traces in a temporary directory ($TMPDIR, else /tmp), which
 * is removed when the mount ends. If a gputracefs was killed, the next one that emulates removes
 * its directory. */
#pragma once

#include "formats/trace/store/trace.h"
#include "tools/work_folder.h"

struct emulated {
	struct work_folder folder; /* created on first use */
	unsigned n;		   /* number of runs */
};

/* Emulates `in`, changed by `spec` if not NULL; for fs_options.emulate, with a struct emulated as
 * context. */
int emulated_make(void *context, struct fmt_trace *in, const char *spec, struct fmt_trace **ret,
		  struct fmt_error *err);

/* Removes the files. Their traces, if still open, become unreadable. */
void emulated_done(struct emulated *e);
