/* SPDX-License-Identifier: Apache-2.0 */

/* Nondeterministic operations of a run: executed again, they wrote other bytes although they read
 * the same. One thread. */
#pragma once

#include "formats/trace/json.h"
#include "formats/trace/names.h"

struct fmt_unordered_op {
	uint32_t rank; /* index */
	fmt_number number;
	uint32_t template;
};

struct fmt_unordered {
	struct fmt_unordered_op *ops; /* owned; by rank and number */
	size_t n, cap;
};

void fmt_unordered_done(struct fmt_unordered *u);

/* Adds an operation unless already present. Returns 0 or -ENOMEM. */
int fmt_unordered_add(struct fmt_unordered *u, const struct fmt_unordered_op *op);
bool fmt_unordered_has(const struct fmt_unordered *u, uint32_t rank, fmt_number number);

/* Appends a line for each name, sorted by number of operations: "  8 kernel scale". `names` are
 * those of the run. Returns 0 or -ENOMEM. */
int fmt_unordered_text(const struct fmt_unordered *u, const struct fmt_names *names,
		       struct text *out);

/* Adds the member "unordered", an array of {"kind", "name", "operations"} in the same order.
 * Returns 0 or -ENOMEM. */
int fmt_unordered_json(const struct fmt_unordered *u, const struct fmt_names *names,
		       struct fmt_json *j);
