/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/join/parts.h"

#include "base/array.h"
#include "base/scope.h"

int join_names_init(struct join_part *p)
{
	const struct fmt_names *n = fmt_trace_names(p->trace);

	p->strings = calloc(fmt_n_strings(n) + (size_t)1, sizeof(*p->strings));
	p->templates = calloc(fmt_n_templates(n) + (size_t)1, sizeof(*p->templates));
	return p->strings && p->templates ? 0 : -ENOMEM;
}

static int string_of(struct join *j, struct join_part *p, fmt_str s, fmt_str *ret)
{
	const struct fmt_names *n = fmt_trace_names(p->trace);
	size_t len;
	const char *bytes;
	int r;

	*ret = 0;
	if (s == 0 || s > fmt_n_strings(n))
		return 0;
	if (p->strings[s] == 0) {
		bytes = fmt_string(n, s, &len);
		r = fmt_names_string(j->names, bytes, len, &p->strings[s]);
		if (r < 0)
			return r;
	}
	*ret = p->strings[s];
	return 0;
}

static bool is_text(const struct fmt_arg *a)
{
	return a->type == FMT_STRING || a->type == FMT_JSON;
}

static int text_value(struct join *j, struct join_part *p, int64_t *value)
{
	fmt_str s;
	int r = *value > 0 && *value <= UINT32_MAX ? string_of(j, p, (fmt_str)*value, &s)
						   : (s = 0, 0);

	if (r == 0)
		*value = s;
	return r;
}

/* Whether a collective begins with what each does (model.h); joining relies on it. */
static bool is_whole(const struct fmt_template *s)
{
	return s->kind != FMT_COLLECTIVE ||
	       (s->n_args >= FMT_COLLECTIVE_ARGS && s->args[FMT_COLLECTIVE_COMM].varies &&
		s->args[FMT_COLLECTIVE_SEQ].varies && !s->args[FMT_COLLECTIVE_OP].varies);
}

int join_template(struct join *j, struct join_part *p, uint32_t template, uint32_t *ret)
{
	const struct fmt_template *from = fmt_template(fmt_trace_names(p->trace), template);
	scoped(free_ptr) struct fmt_arg *args = NULL;
	struct fmt_template made;
	int r;

	if (!from || !is_whole(from))
		return fmt_fail(j->err, -EBADMSG, fmt_trace_path(p->trace), FMT_NO_OFFSET,
				"an event of no kind that there is");
	if (p->templates[template]) {
		*ret = p->templates[template] - 1;
		return 0;
	}
	args = malloc((from->n_args + (size_t)1) * sizeof(*args));
	if (!args)
		return -ENOMEM;
	made = *from;
	made.args = args;
	r = string_of(j, p, from->name, &made.name);
	if (r == 0)
		r = string_of(j, p, from->category, &made.category);
	for (uint32_t i = 0; i < from->n_args && r == 0; i++) {
		args[i] = from->args[i];
		r = string_of(j, p, from->args[i].key, &args[i].key);
		if (r == 0 && is_text(&args[i]) && !args[i].varies)
			r = text_value(j, p, &args[i].value);
	}
	if (r == 0)
		r = fmt_names_template(j->names, &made, ret);
	if (r == 0)
		p->templates[template] = *ret + 1;
	return r;
}

int join_values(struct join *j, struct join_part *p, uint32_t template, int64_t *values)
{
	const struct fmt_template *s = fmt_template(fmt_trace_names(p->trace), template);
	int r = 0;

	for (uint32_t i = 0; i < s->n_args && r == 0; i++) {
		if (!s->args[i].varies)
			continue;
		if (is_text(&s->args[i]))
			r = text_value(j, p, values);
		values++;
	}
	return r;
}

static int put_tracks(struct join *j, struct join_part *p, uint32_t from, uint32_t rank)
{
	const struct fmt_names *n = fmt_trace_names(p->trace);
	int r = 0;

	for (uint32_t i = 0; i < fmt_n_tracks(n, from) && r == 0; i++) {
		struct fmt_track track = *fmt_track(n, from, i);
		uint32_t number = 0;

		r = string_of(j, p, track.pid_text, &track.pid_text);
		if (r == 0)
			r = string_of(j, p, track.tid_text, &track.tid_text);
		if (r == 0)
			r = string_of(j, p, track.name, &track.name);
		if (r == 0)
			r = fmt_names_track(j->names, rank, &track, &number);
		if (r == 0 && number != i)
			r = -EBADMSG;
	}
	return r;
}

/* The fact of the part's rank that numbers its process; NULL: it shares none. */
static const char *process_of(const struct join *j, uint32_t rank)
{
	const struct join_rank *of = &j->ranks[rank];

	return fmt_fact_value(fmt_trace_names(j->parts[of->part].trace), of->index,
			      FMT_FACT_PROCESS);
}

/* Parts number their processes each for itself: here a process has the number of its first rank,
 * counted from 1. */
static int put_process(struct join *j, uint32_t rank)
{
	const char *process = process_of(j, rank);
	uint32_t first = 0;
	char text[16];

	if (!process)
		return 0;
	for (; first < rank; first++) {
		const char *other = process_of(j, first);

		if (j->ranks[first].part == j->ranks[rank].part && other &&
		    strcmp(other, process) == 0)
			break;
	}
	j->run.ranks[rank].process = first + 1;
	snprintf(text, sizeof(text), "%u", first + 1);
	return fmt_names_fact_json(j->names, rank, FMT_FACT_PROCESS, text, strlen(text));
}

int join_rank_names(struct join *j, uint32_t rank)
{
	const struct join_rank *of = &j->ranks[rank];
	struct join_part *p = &j->parts[of->part];
	const struct fmt_names *n = fmt_trace_names(p->trace);
	const struct fmt_device *device;
	const struct fmt_fact *fact;
	int r = put_tracks(j, p, of->index, rank);

	for (uint32_t i = 0; r == 0 && (device = fmt_device(n, of->index, i)); i++) {
		struct fmt_device made = *device;

		r = string_of(j, p, device->name, &made.name);
		if (r == 0)
			r = string_of(j, p, device->properties, &made.properties);
		if (r == 0)
			r = fmt_names_device(j->names, rank, &made);
	}
	for (uint32_t i = 0; r == 0 && (fact = fmt_fact(n, of->index, i)); i++) {
		fmt_str value;

		r = string_of(j, p, fact->value, &value);
		if (r == 0)
			r = fmt_names_fact(j->names, rank, fmt_string(n, fact->key, NULL), value);
	}
	return r < 0 ? r : put_process(j, rank);
}
