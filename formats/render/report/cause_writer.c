/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause_writer.h"

#include "base/scope.h"
#include "formats/api/api.h"
#include "formats/render/grid.h"
#include "formats/render/report/cause_side.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/value.h"

#include <stdio.h>

#define PAGE_BYTES 65536
#define NAME_BYTES 120

struct search {
	const struct fmt_digest *buffer;
	uint64_t first_byte;
	int64_t before_ns, best_ns;
	struct fmt_cause_writer *ret;
};

static bool contains_bytes(const struct search *f, uint64_t allocation, uint64_t offset,
			   uint64_t bytes)
{
	return allocation == f->buffer->allocation && offset <= f->first_byte &&
	       f->first_byte - offset < bytes;
}

/* An argument KEY.MEMBER of the call. */
static bool int_argument(const struct fmt_cause_side *s, const struct fmt_cause_call *c,
			 const char *key, const char *member, int64_t *ret)
{
	const struct fmt_template *t = fmt_template(s->names, c->event->template);
	char whole[64];

	snprintf(whole, sizeof(whole), "%s.%s", key, member);
	return fmt_value_int(s->names, c->event, t, fmt_event_values(c->slice, c->event), whole,
			     ret);
}

/* Returns true if the copy or memset wrote the buffer. */
static bool is_copied(const struct search *f, const struct fmt_cause_side *s,
		      const struct fmt_cause_item *x)
{
	const struct fmt_template *t = fmt_template(s->names, x->call->event->template);
	int index = t ? api_find(fmt_string(s->names, t->name, NULL)) : -1;
	const struct api_call *call = index < 0 ? NULL : api_call((unsigned)index);
	int64_t bytes = fmt_cause_side_bytes(s, x), id, offset;

	if (!call || bytes < 0 || (call->class != API_CLASS_COPY && call->class != API_CLASS_SET))
		return false;
	for (unsigned i = 0; i < call->n_args; i++)
		if (call->args[i].direction == API_DIRECTION_WRITES &&
		    int_argument(s, x->call, call->args[i].name, "id", &id) &&
		    int_argument(s, x->call, call->args[i].name, "offset", &offset))
			return contains_bytes(f, (uint64_t)id, (uint64_t)offset, (uint64_t)bytes);
	return false;
}

/* Returns true if a digest shows that the operation wrote the buffer. */
static bool is_digested(const struct search *f, const struct fmt_cause_side *s,
			const struct fmt_cause_item *x)
{
	size_t n;
	const struct fmt_cause_digest *d = fmt_cause_side_digests(s, x, &n);

	for (size_t i = 0; i < n; i++)
		if (d[i].digest->access == FMT_WRITTEN &&
		    contains_bytes(f, d[i].digest->allocation, d[i].digest->offset_bytes,
				   d[i].digest->length_bytes))
			return true;
	return false;
}

static void check_item(struct search *f, const struct fmt_cause_side *s, int64_t rank,
		       const struct fmt_cause_item *x)
{
	bool copied = x->call && is_copied(f, s, x);
	size_t len;
	const char *name;

	if (x->event->start_ns >= f->before_ns || x->event->start_ns < f->best_ns ||
	    (!copied && !is_digested(f, s, x)))
		return;
	f->best_ns = x->event->start_ns;
	f->ret->rank = copied ? rank : -1; /* writes of other operations were compared */
	f->ret->iteration = x->slice->iteration.number;
	f->ret->number = fmt_cause_number(x);
	f->ret->what.len = 0;
	name = fmt_string(s->names, x->template->name, &len);
	text_printf(&f->ret->what, "%s ", fmt_kind_name((enum fmt_kind)x->template->kind));
	fmt_text_sanitised(&f->ret->what, name, len, NAME_BYTES);
}

int fmt_cause_writer_find(struct fmt_trace *t, uint32_t rank, const struct fmt_digest *buffer,
			  uint32_t page, int64_t before_ns, struct fmt_cause_writer *ret,
			  struct fmt_error *err)
{
	struct search f = {buffer, buffer->offset_bytes + (uint64_t)page * PAGE_BYTES, before_ns,
			   INT64_MIN, ret};
	int r = 0;

	ret->rank = -1;
	for (uint32_t i = 0; i < fmt_trace_n_ranks(t) && r == 0; i++) {
		scoped(fmt_cause_side_done) struct fmt_cause_side s = {0};

		if (!fmt_same_process(fmt_trace_names(t), i, rank))
			continue;
		r = fmt_cause_side_read(t, i, &FMT_CAUSE_ALL(false), &s, err);
		for (uint32_t k = 0; r == 0 && k < s.n_tracks; k++)
			for (size_t n = 0; n < s.tracks[k].n; n++)
				check_item(&f, &s, fmt_trace_rank(t, i)->number,
					   &s.tracks[k].items[n]);
	}
	return r;
}
