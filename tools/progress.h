/* SPDX-License-Identifier: Apache-2.0 */

/* The line on a terminal that says how far a command is, once it takes longer than a second;
 * nothing where stderr is no terminal. It has a line of its own. For main threads. */
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

/* `what` in one word: "reading". Cheap enough for every slice. `total` 0: not known; then `done`
 * counts bytes. */
void progress_show(struct progress *p, const char *what, uint64_t done, uint64_t total);

/* Takes the line away. */
void progress_end(struct progress *p);

/* For struct fmt_part: `context` is the struct progress. */
void progress_reading(void *context, uint64_t done, uint64_t total);
