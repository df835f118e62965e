/* SPDX-License-Identifier: Apache-2.0 */

/* The emulated runs that a mount shows: traces in a temporary directory ($TMPDIR, else /tmp), which
 * is removed when the mount ends. The next gputracefs that emulates removes the directory of a
 * killed one.
 */
#pragma once

#include "formats/trace/store/trace.h"
#include "tools/work_folder.h"

struct emulated {
	struct work_folder folder; /* made at the first use */
	unsigned n;		   /* runs */
};

/* Emulates `in`, changed by `spec` if it is not NULL; for fs_options.emulate, with a struct
 * emulated as context. */
int emulated_make(void *context, struct fmt_trace *in, const char *spec, struct fmt_trace **ret,
		  struct fmt_error *err);

/* Removes the files. If their trace is still open, it cannot be read any more. */
void emulated_done(struct emulated *e);
