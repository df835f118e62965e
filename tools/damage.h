/* SPDX-License-Identifier: Apache-2.0 */

/* Messages about a damaged trace that a command used anyway. */
#pragma once

#include "formats/trace/error.h"

#include <stdint.h>

struct fmt_problem;
struct fmt_trace;

struct damage {
	struct fmt_error first;
	uint64_t n; /* number of problems */
};

/* Adds the damage of an open trace: fmt_trace_damage(). */
void damage_add_trace(struct damage *d, struct fmt_trace *t);
/* For fmt_verify(): `context` is the struct damage. */
int damage_add_problem(void *context, const struct fmt_problem *p);

/* Prints one line: the first problem, the number of others, the consequence, and the command that
 * lists all damage. Returns CLI_FAILED. */
__attribute__((format(printf, 3, 4))) int damage_print(const struct damage *d, const char *path,
						       const char *consequence, ...);
