/* SPDX-License-Identifier: Apache-2.0 */

/* The hot path of the tables: rows from templates. */
#include "formats/render/export/row_template.h"

#include "formats/trace/value.h"

/* A rate is made by whoever knows how: fmt_value_bare(). */
static size_t rate_text(const struct fmt_row *row, uint32_t arg, char ret[FMT_RATE_TEXT])
{
	struct text t = {0};
	size_t len;

	fmt_value_bare(&t, row->names, row->event, row->template, row->values, arg);
	len = t.len < FMT_RATE_TEXT ? t.len : FMT_RATE_TEXT;
	memcpy(ret, t.data, len);
	text_done(&t);
	return len;
}

/* The text of a part that is neither literal nor an integer, or NULL where it is an integer: then
 * *number is set. `rate` is where it may be made. */
static const char *part_text(const struct fmt_row_template_part *part, const struct fmt_row *row,
			     char rate[FMT_RATE_TEXT], size_t *len, int64_t *number)
{
	const struct fmt_track *track = row->track;

	switch (part->field) {
	case FMT_FIELD_START:
		*number = row->event->start_ns;
		return NULL;
	case FMT_FIELD_DURATION:
		*number = row->event->duration_ns;
		return NULL;
	case FMT_FIELD_OWNER:
		*number = track->pid;
		return track->text_ids & 1 ? fmt_string(row->names, track->pid_text, len) : NULL;
	case FMT_FIELD_TRACK:
		*number = track->tid;
		return track->text_ids & 2 ? fmt_string(row->names, track->tid_text, len) : NULL;
	case FMT_FIELD_STRING:
		return fmt_string(row->names, (fmt_str)row->values[part->index], len);
	case FMT_FIELD_RATE:
		*len = rate_text(row, part->index, rate);
		return rate;
	default:
		*number = row->values[part->index];
		return NULL;
	}
}

/* Fields that are unsigned, and so can't go through an int64_t. */
static int part_unsigned(const struct fmt_row_template_part *part, const struct fmt_row *row,
			 uint64_t *ret)
{
	if (part->field == FMT_FIELD_NUMBER)
		*ret = row->number;
	else if (part->field == FMT_FIELD_CORRELATION)
		*ret = row->event->correlation;
	else
		return 0;
	return 1;
}

void fmt_row_template_row(const struct fmt_row_template *m, const struct fmt_row *row,
			  struct text *out)
{
	size_t space = m->fixed + m->n_numbers * TEXT_NUMBER;
	char *at = text_reserve(out, space);

	for (size_t i = 0; at && i < m->n_parts; i++) {
		const struct fmt_row_template_part *part = &m->parts[i];
		char rate[FMT_RATE_TEXT];
		const char *bytes;
		int64_t number = 0;
		uint64_t u;
		size_t len;

		if (part->field == FMT_FIELD_TEXT) {
			at = text_put(at, m->text + part->at, part->len);
		} else if (part_unsigned(part, row, &u)) {
			at = text_put_u64(at, u);
		} else if (!(bytes = part_text(part, row, rate, &len, &number))) {
			at = text_put_i64(at, number);
		} else {
			text_end(out, at);
			fmt_field_text(out, bytes, len, part->special);
			at = text_reserve(out, space);
		}
	}
	text_end(out, at);
}
