/* SPDX-License-Identifier: Apache-2.0 */

/* How the rows of one template look in one table: text that is the same in each row, and between it
 * the values that vary. Made once a template; a row is then a few copies and integers.
 *
 * Immutable once made. Internal to formats/render/export.
 */
#pragma once

#include "formats/render/export/table.h"
#include "formats/trace/names.h"

struct fmt_row_template_part {
	enum fmt_field field;
	uint32_t index;	     /* of the value that varies, or of the argument of FMT_FIELD_RATE */
	uint32_t at, len;    /* literal bytes, in text */
	const char *special; /* what else to escape in a string; a literal */
};

struct fmt_row_template {
	char *text;
	struct fmt_row_template_part *parts;
	size_t n_parts;
	size_t fixed;	  /* bytes that are the same in each row */
	size_t n_numbers; /* parts that print an integer */
};

int fmt_row_template_new(const struct fmt_names *names, const struct fmt_template *template,
			 enum fmt_table table, struct fmt_row_template **ret);
void fmt_row_template_free(struct fmt_row_template *m);

/* The event of a row. `values` has the template's n_values items. */
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

/* Appends `s` as a field; bytes of `special` (may be "") are escaped too. */
void fmt_field_text(struct text *out, const char *s, size_t len, const char *special);

/* A pid, tid, device or stream as a field. */
void fmt_field_id(struct text *out, const struct fmt_names *names, int is_text, fmt_str text,
		  int64_t number);
