/* SPDX-License-Identifier: Apache-2.0 */

/* The rows of one template in one table: constant text, and between it the values that vary. Made
 * once per template; writing a row then copies text and formats integers.
 *
 * Immutable once made. Internal to formats/render/export. */
#pragma once

#include "formats/render/export/table.h"
#include "formats/trace/names.h"

struct fmt_row_template_part {
	enum fmt_field field;
	uint32_t index;	     /* of the varying value, or of the argument of FMT_FIELD_RATE */
	uint32_t at, len;    /* literal bytes, in text */
	const char *special; /* additional characters to escape in a string; a literal */
};

struct fmt_row_template {
	char *text;
	struct fmt_row_template_part *parts;
	size_t n_parts;
	size_t fixed;	  /* number of constant bytes in a row */
	size_t n_numbers; /* parts that print an integer */
};

int fmt_row_template_new(const struct fmt_names *names, const struct fmt_template *template,
			 enum fmt_table table, struct fmt_row_template **ret);
void fmt_row_template_free(struct fmt_row_template *m);

/* The event of a row. `values` has template->n_values items. */
struct fmt_row {
	const struct fmt_names *names;
	const struct fmt_template *template;
	const struct fmt_track *track;
	const struct fmt_event *event;
	const int64_t *values;
	fmt_number number;
};

/* Appends the row. */
void fmt_row_template_row(const struct fmt_row_template *m, const struct fmt_row *row,
			  struct text *out);

/* Appends `s` as a field; also escapes the characters of `special` (may be ""). */
void fmt_field_text(struct text *out, const char *s, size_t len, const char *special);

/* Appends a pid, tid, device or stream as a field. */
void fmt_field_id(struct text *out, const struct fmt_names *names, int is_text, fmt_str text,
		  int64_t number);
