/* SPDX-License-Identifier: Apache-2.0 */

/* The JSON of the events of one template: constant text, and between it the values that vary. Made
 * once per template; writing an event then copies text and formats integers. Internal to
 * formats/render/export. */
#pragma once

#include "base/text.h"
#include "formats/trace/names.h"

#include <stdbool.h>

/* The strings of a trace as JSON. Caches for each string whether it needs escaping. Thread-safe. */
struct fmt_chrome_values {
	const struct fmt_names *names;
	_Atomic uint8_t *escape_flags; /* owned; by string */
	uint32_t n_strings;
};

/* Returns 0 or -ENOMEM. */
int fmt_chrome_values_init(struct fmt_chrome_values *v, const struct fmt_names *names);
void fmt_chrome_values_done(struct fmt_chrome_values *v);

struct fmt_chrome_placeholder {
	uint32_t at;	/* offset: end of the literal bytes before it */
	uint32_t arg;	/* index in the template */
	uint32_t value; /* if it varies: index among the varying values */
	uint8_t type;	/* enum fmt_type */
};

struct fmt_chrome_template {
	uint8_t kind; /* enum fmt_kind */
	uint32_t n_values;
	char *text; /* the head, from the comma after the previous event to the pid; then the rest
		       after the times, up to the closing brace */
	uint32_t head_len;
	uint32_t len;
	struct fmt_chrome_placeholder *holes; /* in the rest */
	uint32_t n_holes;
};

/* The caller frees *ret with fmt_chrome_template_free(). Returns 0 or -ENOMEM. */
int fmt_chrome_template_new(struct fmt_chrome_values *v, const struct fmt_template *template,
			    struct fmt_chrome_template **ret);
void fmt_chrome_template_free(struct fmt_chrome_template *s);

/* Appends the rest for one event. */
void fmt_chrome_template_put(const struct fmt_chrome_template *s, struct fmt_chrome_values *v,
			     const struct fmt_event *e, const int64_t *values, struct text *out);
