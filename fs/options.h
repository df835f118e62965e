/* SPDX-License-Identifier: Apache-2.0 */

/* Options chosen by the program that mounts a trace. */
#pragma once

#include "formats/trace/store/trace.h"

#include <stddef.h>

/* Emulates a trace, changed by `spec` unless it is NULL; the mount owns the result. Called once for
 * each run, on first access to emulated/ or what-if/SPEC/, for one run at a time. With `ret` NULL,
 * only checks the spec, and may be called at any time: returns 0, or -EINVAL and the reason in
 * err->what. */
typedef int fs_emulate(void *context, struct fmt_trace *trace, const char *spec,
		       struct fmt_trace **ret, struct fmt_error *err);

struct fs_options {
	size_t cache_bytes;  /* limit for memory in use; 0: 64 MiB */
	fs_emulate *emulate; /* NULL: neither emulated/ nor what-if/ */
	void *context;	     /* for emulate */
};

struct fs_mount {
	const char *options; /* of the mount, comma-separated: "fsname=x,allow_other" */
	const char *dir;     /* absolute */
	int debug;
	/* Called after the first answer to the kernel; may be NULL. */
	void (*ready)(void *context);
	void *context;
};
