/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/row_template.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/export/allocation.h"
#include "formats/trace/value.h"

#include <assert.h>

#define MAX_COLUMNS 32

/* Inputs of a row template, and the part built so far. */
struct making {
	const struct fmt_names *names;
	const struct fmt_template *template;
	const struct fmt_table_columns *columns;
	uint32_t shown[MAX_COLUMNS]; /* by column: index of the shown argument, or n_args */
	struct text text;
	struct fmt_row_template_part *parts;
	size_t n_parts, parts_cap;
	uint32_t literal_from; /* offset in text of the current literal */
	int error;
};

static void making_done(struct making *m)
{
	text_done(&m->text);
	free(m->parts);
}

define_cleanup(row_template_freep, struct fmt_row_template *, fmt_row_template_free);

void fmt_row_template_free(struct fmt_row_template *m)
{
	if (!m)
		return;
	free(m->text);
	free(m->parts);
	free(m);
}

static void append_part(struct making *m, struct fmt_row_template_part part)
{
	if (m->error)
		return;
	m->error = array_reserve(&m->parts, m->n_parts + 1, &m->parts_cap);
	if (!m->error)
		m->parts[m->n_parts++] = part;
}

static void end_literal(struct making *m)
{
	if (m->text.len > m->literal_from)
		append_part(m, (struct fmt_row_template_part){
				       .field = FMT_FIELD_TEXT,
				       .at = m->literal_from,
				       .len = (uint32_t)m->text.len - m->literal_from,
			       });
	m->literal_from = (uint32_t)m->text.len;
}

static void add_field(struct making *m, enum fmt_field field, uint32_t index, const char *special)
{
	end_literal(m);
	append_part(m, (struct fmt_row_template_part){
			       .field = field, .index = index, .special = special});
}

static void add_string(struct making *m, fmt_str s, const char *special)
{
	size_t len;
	const char *bytes = fmt_string(m->names, s, &len);

	fmt_field_text(&m->text, bytes, len, special);
}

/* Returns 1 if an inferred argument of a collective has the value for "unknown". */
static int is_unknown(const struct making *m, uint32_t i)
{
	const struct fmt_arg *arg = &m->template->args[i];

	if (m->template->kind != FMT_COLLECTIVE || i >= FMT_COLLECTIVE_ARGS || arg->varies)
		return 0;
	return arg->type == FMT_INT ? arg->value < 0 : arg->value == 0;
}

/* Adds the value of args[i], from the template or from each row. */
static void add_value(struct making *m, uint32_t i, const char *special)
{
	const struct fmt_arg *arg = &m->template->args[i];
	uint32_t index = 0;

	for (uint32_t j = 0; j < i; j++)
		index += m->template->args[j].varies;
	if (arg->type == FMT_CORRELATION)
		add_field(m, FMT_FIELD_CORRELATION, 0, special);
	else if (arg->type == FMT_RATE)
		add_field(m, FMT_FIELD_RATE, i, special);
	else if (arg->varies)
		add_field(m, arg->type == FMT_INT ? FMT_FIELD_INT : FMT_FIELD_STRING, index,
			  special);
	else if (is_unknown(m, i))
		text_char(&m->text, '-');
	else if (arg->type == FMT_INT)
		text_i64(&m->text, arg->value);
	else
		add_string(m, (fmt_str)arg->value, special);
}

static int has_key(const struct making *m, const struct fmt_table_column *column, uint32_t arg)
{
	const char *key = fmt_string(m->names, m->template->args[arg].key, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(column->keys) && column->keys[i]; i++)
		if (strcmp(column->keys[i], key) == 0)
			return 1;
	return 0;
}

/* Returns the argument that `column` shows, or n_args. */
static uint32_t find_arg(const struct making *m, const struct fmt_table_column *column)
{
	struct fmt_table_column keyed = *column;
	char key[FMT_ALLOCATION_KEY_BYTES];
	uint32_t i = 0;

	if (column->field == FMT_FIELD_ADDRESS && m->template->kind == FMT_CALL &&
	    fmt_allocation_address(fmt_string(m->names, m->template->name, NULL), key)) {
		keyed.keys[0] = key;
		keyed.keys[1] = NULL;
	} else if (column->field != FMT_FIELD_ARG && column->field != FMT_FIELD_ADDRESS) {
		return m->template->n_args;
	}
	while (i < m->template->n_args && !has_key(m, &keyed, i))
		i++;
	return i;
}

/* Returns 1 if the argument has its own column. */
static int has_column(const struct making *m, uint32_t arg)
{
	const struct fmt_arg *a = &m->template->args[arg];

	if (a->type == FMT_CORRELATION &&
	    !strcmp(fmt_string(m->names, a->key, NULL), "correlation"))
		return 1;
	for (size_t i = 0; i < m->columns->n; i++)
		if (m->shown[i] == arg)
			return 1;
	return 0;
}

static void add_args(struct making *m)
{
	int any = 0;

	for (uint32_t i = 0; i < m->template->n_args; i++) {
		if (has_column(m, i))
			continue;
		if (any++)
			text_char(&m->text, ';');
		add_string(m, m->template->args[i].key, ";=");
		text_char(&m->text, '=');
		add_value(m, i, ";");
	}
	if (!any)
		text_char(&m->text, '-');
}

static void add_column(struct making *m, size_t index)
{
	const struct fmt_table_column *column = &m->columns->columns[index];

	switch (column->field) {
	case FMT_FIELD_TEXT:
		text_str(&m->text, column->keys[0]);
		break;
	case FMT_FIELD_NAME:
		add_string(m, m->template->name, "");
		break;
	case FMT_FIELD_CATEGORY:
		if (m->template->category)
			add_string(m, m->template->category, "");
		else
			text_char(&m->text, '-');
		break;
	case FMT_FIELD_ARG:
	case FMT_FIELD_ADDRESS:
		if (m->shown[index] < m->template->n_args)
			add_value(m, m->shown[index], "");
		else
			text_char(&m->text, '-');
		break;
	case FMT_FIELD_ARGS:
		add_args(m);
		break;
	default:
		add_field(m, column->field, 0, "");
	}
}

int fmt_row_template_new(const struct fmt_names *names, const struct fmt_template *template,
			 enum fmt_table table, struct fmt_row_template **ret)
{
	scoped(making_done) struct making m = {
		.names = names, .template = template, .columns = fmt_table_columns(table)};

	assert(m.columns->n <= MAX_COLUMNS);
	for (size_t i = 0; i < m.columns->n; i++)
		m.shown[i] = find_arg(&m, &m.columns->columns[i]);
	for (size_t i = 0; i < m.columns->n; i++) {
		if (i > 0)
			text_char(&m.text, '\t');
		add_column(&m, i);
	}
	text_char(&m.text, '\n');
	if (m.text.len > UINT32_MAX)
		return -EOVERFLOW;
	end_literal(&m);
	if (m.text.error || m.error)
		return m.text.error ? m.text.error : m.error;

	scoped(row_template_freep) struct fmt_row_template *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < m.n_parts; i++) {
		t->fixed += m.parts[i].len;
		t->n_numbers += m.parts[i].field != FMT_FIELD_TEXT;
	}
	t->n_parts = m.n_parts;
	t->parts = take(m.parts);
	t->text = take(m.text.data);
	*ret = take(t);
	return 0;
}

/* ---- rows: the hot path of the tables */

/* Only fmt_value_text() can format a rate. */
static size_t rate_text(const struct fmt_row *row, uint32_t arg, char ret[FMT_RATE_TEXT])
{
	struct text t = {0};
	size_t len;

	fmt_value_text(&t, row->names, row->event, row->template, row->values, arg);
	len = t.len < FMT_RATE_TEXT ? t.len : FMT_RATE_TEXT;
	memcpy(ret, t.data, len);
	text_done(&t);
	return len;
}

/* Returns the text of a part that is neither literal nor an integer; for an integer returns NULL
 * and sets *number. `rate` is a buffer. */
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

/* Fields that are unsigned, so they do not fit into an int64_t. */
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

/* ---- fields */

/* Returns the letter that represents `c` after a backslash, or 0 if c is not escaped. */
static char escape_letter(char c)
{
	switch (c) {
	case '\t':
		return 't';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\0':
		return '0';
	case '\\':
		return '\\';
	default:
		return 0;
	}
}

void fmt_field_text(struct text *out, const char *s, size_t len, const char *special)
{
	size_t from = 0;

	for (size_t i = 0; i < len; i++) {
		char pair[2] = {'\\', escape_letter(s[i])};

		if (!pair[1] && *special && strchr(special, s[i]))
			pair[1] = s[i];
		if (!pair[1])
			continue;
		text_bytes(out, s + from, i - from);
		text_bytes(out, pair, 2);
		from = i + 1;
	}
	text_bytes(out, s + from, len - from);
}

void fmt_field_id(struct text *out, const struct fmt_names *names, int is_text, fmt_str text,
		  int64_t number)
{
	size_t len;
	const char *bytes;

	if (!is_text) {
		text_i64(out, number);
		return;
	}
	bytes = fmt_string(names, text, &len);
	fmt_field_text(out, bytes, len, "");
}
