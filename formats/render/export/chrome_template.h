/* SPDX-License-Identifier: Apache-2.0 */

/* The JSON of the events of one template: the constant text, and between it the values that vary.
 * Made once a template; writing an event is then a few copies and integers. Internal to
 * formats/render/export. */
#pragma once

#include "base/text.h"
#include "formats/trace/names.h"

#include <stdbool.h>

/* The strings of a trace as JSON. Most need no escaping; that is found out once a string. For one
 * thread at a time. */
struct fmt_chrome_values {
	const struct fmt_names *names;
	uint8_t *looks; /* by string */
	size_t n_looks, looks_cap;
};

void fmt_chrome_values_done(struct fmt_chrome_values *v);

struct fmt_chrome_hole {
	uint32_t at;	/* the literal bytes before it end here */
	uint32_t arg;	/* of the template */
	uint32_t value; /* index among those that vary, where it does */
	uint8_t type;	/* enum fmt_type */
};

struct fmt_chrome_template {
	uint8_t kind; /* enum fmt_kind */
	uint32_t n_values;
	char *text; /* the head, from the comma behind the event before up to its pid; then what
		       comes behind the times, up to the closing brace */
	uint32_t head_len;
	uint32_t len;
	struct fmt_chrome_hole *holes; /* in the second part */
	uint32_t n_holes;
};

/* The caller frees *ret with fmt_chrome_template_free(). -ENOMEM. */
int fmt_chrome_template_new(struct fmt_chrome_values *v, const struct fmt_template *template,
			    struct fmt_chrome_template **ret);
void fmt_chrome_template_free(struct fmt_chrome_template *s);

/* The second part for one event. */
void fmt_chrome_template_end(const struct fmt_chrome_template *s, struct fmt_chrome_values *v,
			     const struct fmt_event *e, const int64_t *values, struct text *out);
