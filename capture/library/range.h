/* SPDX-License-Identifier: Apache-2.0 */

/* Ranges and marks of the program: written while paused, too. */
#pragma once

#include "capture/library/state.h"

struct cap_text {
	const char *text;   /* NULL: none */
	const char *domain; /* NULL: none */
	uint32_t color, category;
};

/* `flags` are those of the record. Returns the id of the thread's next call; 0 when nothing was
 * written. */
uint64_t cap_put_range(unsigned flags, uint64_t key, const struct cap_text *text);

/* A range begins whose name may say that an iteration does: "train_step 4" (step, iter or batch,
 * and a number at the end) or "ProfilerStep#4". Whether it does; not once the program marks
 * iterations itself. `id` is what cap_put_range() returned. */
bool cap_range_is_step(const char *name, int64_t *ret);
void cap_range_step(int64_t number, uint64_t id);

/* In a forked child: another thread of the parent may have been keeping a name for NVTX. */
void cap_nvtx_forked(void);

/* Iteration `iteration` of the process begins. Exported: <gputrace.h> calls it. */
CAP_API void gpucapture_mark_iteration(void);
