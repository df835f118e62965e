/* SPDX-License-Identifier: Apache-2.0 */

/* Shows the progress of a command that takes longer than a second, on a line of stderr. Prints
 * nothing if stderr is not a terminal. For main threads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct progress {
	struct timespec from;
	double shown; /* seconds after `from` */
	bool wanted, there;
};

void progress_begin(struct progress *p);

/* `what` is one word: "reading". Cheap enough to call for every slice. `total` 0: unknown; then
 * `done` is a number of bytes. */
void progress_show(struct progress *p, const char *what, uint64_t done, uint64_t total);

/* Erases the line. */
void progress_end(struct progress *p);

/* For struct fmt_part: `context` is the struct progress. */
void progress_reading(void *context, uint64_t done, uint64_t total);
