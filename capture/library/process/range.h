/* SPDX-License-Identifier: Apache-2.0 */

/* Ranges and markers of the program; recorded while paused, too. Any thread. */
#pragma once

#include "capture/library/attributes.h"

#include <stdbool.h>
#include <stdint.h>

struct cap_text {
	const char *text;   /* NULL: none */
	const char *domain; /* NULL: none */
	uint32_t color, category;
};

/* `flags` are those of the record. Returns the id of the thread's next call; 0: nothing was
 * written. */
uint64_t cap_put_range(unsigned flags, uint64_t key, const struct cap_text *text);

/* Whether the name of a range says that an iteration begins: "train_step 4" (step, iter or batch,
 * and a number at the end) or "ProfilerStep#4". Always false once the program marks iterations
 * itself. */
bool cap_range_is_step(const char *name, int64_t *ret);
/* That iteration begins. `id` is the result of cap_put_range(). */
void cap_range_step(int64_t number, uint64_t id);

/* The next iteration of the process begins. Exported: <gputrace.h> calls it. */
CAP_API void gpucapture_mark_iteration(void);
/* Iteration `number` begins. Exported: gpureplay keeps recorded numbers. */
CAP_API void gpucapture_mark_numbered(int64_t number);
