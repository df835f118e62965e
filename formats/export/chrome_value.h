/* SPDX-License-Identifier: Apache-2.0 */

/* The values that vary of an event, as JSON. Most strings stand in JSON as they are: which ones do
 * is found out once a string. For one thread at a time; an error is kept in made.error. Internal to
 * formats/export. */
#pragma once

#include "formats/export/sink.h"

#include <stdbool.h>

struct fmt_chrome_values {
	const struct fmt_names *names;
	uint8_t *looks; /* by string */
	size_t n_looks, looks_cap;
	struct text made;
};

void fmt_chrome_values_done(struct fmt_chrome_values *v);

/* A string, quoted; or of FMT_JSON, which is a value already. */
void fmt_chrome_string(struct fmt_chrome_values *v, fmt_str s, bool is_json, struct fmt_sink *out);

/* Argument `arg` of `e`, of any type; `values` are fmt_event_values(). */
void fmt_chrome_value(struct fmt_chrome_values *v, const struct fmt_event *e, const int64_t *values,
		      uint32_t arg, struct fmt_sink *out);
