/* SPDX-License-Identifier: Apache-2.0 */

/* Ranges and marks of the program: written while paused, too. */
#pragma once

#include "capture/library/state.h"

struct cap_text {
	const char *text;   /* NULL: none */
	const char *domain; /* NULL: none */
	uint32_t color, category;
};

/* Returns the id of the thread's next call; 0 when nothing was written. */
uint64_t cap_put_range(enum cap_range_what what, uint64_t key, const struct cap_text *text);

/* In a forked child: another thread of the parent may have been keeping a name for NVTX. */
void cap_nvtx_forked(void);

/* Iteration `iteration` of the process begins. Exported: <gputrace.h> calls it. */
CAP_API void gpucapture_mark_iteration(void);
