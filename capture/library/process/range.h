/* SPDX-License-Identifier: Apache-2.0 */

/* Ranges and instants of the program; also recorded while paused. Any thread. */
#pragma once

#include "capture/library/attributes.h"

#include <stdbool.h>
#include <stdint.h>

struct cap_text {
	const char *text;   /* NULL: none */
	const char *domain; /* NULL: none */
	uint32_t color, category;
};

/* Writes a range record. `flags` are those of the record. Returns the id of the thread's next call;
 * 0: nothing was written. */
uint64_t cap_put_range(unsigned flags, uint64_t key, const struct cap_text *text);

/* Returns true if the name of a range marks an iteration: "train_step 4" (step, iter or batch, and
 * a number at the end) or "ProfilerStep#4". Always false once the program marks iterations
 * itself. */
bool cap_range_is_iteration(const char *name, int64_t *ret);
/* Puts the range that begins that iteration. */
void cap_range_begin_iteration(int64_t number, unsigned flags, uint64_t key,
			       const struct cap_text *text);

/* Begins the next iteration of the process. Exported: <gputrace.h> calls it. */
CAP_API void gpucapture_mark_iteration(void);
/* Begins iteration `number`. Exported: gpureplay keeps recorded numbers. */
CAP_API void gpucapture_mark_numbered(int64_t number);
