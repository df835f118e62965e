/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/calls/calls.h"

#include "base/array.h"
#include "formats/raw/iteration_name.h"

static int template_of(struct rec_process *p, enum fmt_kind kind, const struct rec_open_range *o,
		       uint32_t *ret)
{
	struct fmt_template template = {
		.kind = (uint8_t)kind, .name = o->text, .category = o->domain};
	int r = 0;

	if (template.category == 0)
		r = fmt_names_string(p->names, "nvtx", 4, &template.category);
	return r < 0 ? r : fmt_names_template(p->names, &template, ret);
}

/* Returns true if the range may be an iteration; the first reading needs no others. */
static bool is_numbered(const struct fmt_names *names, fmt_str text)
{
	struct cap_iteration_name step;
	size_t len;
	const char *name = fmt_string(names, text, &len);

	return cap_iteration_name(name, len, &step);
}

static int add_range(struct rec_process *p, uint32_t track, enum fmt_kind kind,
		     const struct rec_open_range *o, int64_t end_ns)
{
	struct rec_event e = {.start_ns = o->start_ns,
			      .duration_ns = end_ns > o->start_ns ? end_ns - o->start_ns : 0,
			      .track = track,
			      .call = REC_NONE,
			      .device = -1,
			      .kind = (uint8_t)kind};
	int r;

	if (p->only_plan && !is_numbered(p->names, o->text))
		return 0;
	r = template_of(p, kind, o, &e.template);
	return r < 0 ? r : rec_add_range(p, &e);
}

static int read_text(struct rec_process *p, const struct cap_range_record *r,
		     struct rec_open_range *ret)
{
	int e;

	*ret = (struct rec_open_range){.start_ns = (int64_t)r->at, .key = r->key};
	e = fmt_names_string(p->names, r->data, r->text_len, &ret->text);
	if (e == 0)
		e = fmt_names_string(p->names, r->data + r->text_len, r->domain_len, &ret->domain);
	return e;
}

static int push_range(struct rec_open_range **list, size_t *n, size_t *cap,
		      const struct rec_open_range *o)
{
	if (array_reserve(list, *n + 1, cap) < 0)
		return -ENOMEM;
	(*list)[(*n)++] = *o;
	return 0;
}

/* The innermost of the same domain ends. */
static int end_innermost(struct rec_process *p, struct rec_thread *t,
			 const struct rec_open_range *end)
{
	for (size_t i = t->n_open; i-- > 0;) {
		struct rec_open_range o = t->open[i];

		if (o.domain != end->domain)
			continue;
		memmove(&t->open[i], &t->open[i + 1], (--t->n_open - i) * sizeof(*t->open));
		return add_range(p, t->track, FMT_RANGE, &o, end->start_ns);
	}
	return 0;
}

static int end_range(struct rec_process *p, uint32_t track, const struct rec_open_range *end)
{
	for (size_t i = p->n_open; i-- > 0;) {
		struct rec_open_range o = p->open[i];

		if (o.key != end->key)
			continue;
		p->open[i] = p->open[--p->n_open];
		return add_range(p, track, FMT_RANGE, &o, end->start_ns);
	}
	return 0;
}

static int add_mark(struct rec_process *p, const struct cap_range_record *r)
{
	if (array_reserve(&p->marks, p->n_marks + 1, &p->marks_cap) < 0)
		return -ENOMEM;
	p->marks[p->n_marks++] =
		(struct fmt_iteration){.number = (int64_t)r->key, .start_ns = (int64_t)r->at};
	return 0;
}

int rec_add_annotation(struct rec_process *p, struct rec_thread *t,
		       const struct cap_range_record *r)
{
	struct rec_open_range o;
	int e = read_text(p, r, &o);

	if (e < 0)
		return e;
	p->counts.steps += (r->head.flags & CAP_RANGE_STEP) != 0;
	switch ((enum cap_range_kind)(r->head.flags & ~CAP_RANGE_STEP)) {
	case CAP_RANGE_PUSH:
		return push_range(&t->open, &t->n_open, &t->open_cap, &o);
	case CAP_RANGE_POP:
		return end_innermost(p, t, &o);
	case CAP_RANGE_START:
		return push_range(&p->open, &p->n_open, &p->open_cap, &o);
	case CAP_RANGE_END:
		return end_range(p, t->track, &o);
	case CAP_RANGE_MARK:
		return add_range(p, t->track, FMT_MARK, &o, o.start_ns);
	case CAP_RANGE_ITERATION:
		return add_mark(p, r);
	default:
		return 0;
	}
}
