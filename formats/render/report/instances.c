/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/instances.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool fmt_collective_ids(const struct fmt_slice *slice, const struct fmt_template *template,
			const struct fmt_event *e, int64_t *comm, int64_t *seq)
{
	if (template->kind != FMT_COLLECTIVE || template->n_args < FMT_COLLECTIVE_ARGS ||
	    !template->args[FMT_COLLECTIVE_COMM].varies ||
	    !template->args[FMT_COLLECTIVE_SEQ].varies ||
	    e->first_value + UINT64_C(2) > slice->n_values)
		return false;
	*comm = slice->values[e->first_value];
	*seq = slice->values[e->first_value + 1];
	return *comm >= 0;
}

/* The place of an instance, or the free one where it would be. */
static struct fmt_instance *place(struct fmt_instance *table, size_t cap, int64_t comm, int64_t seq)
{
	uint64_t hash = ((uint64_t)comm * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)seq) *
			UINT64_C(0xd6e8feb86659fd93);

	for (size_t at = (size_t)(hash >> 24);; at++) {
		struct fmt_instance *i = &table[at & (cap - 1)];

		if (i->n == 0 || (i->comm == comm && i->seq == seq))
			return i;
	}
}

static int grow(struct fmt_instances *all)
{
	size_t cap = all->cap ? all->cap * 2 : 256;
	struct fmt_instance *table = calloc(cap, sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < all->cap; i++) {
		const struct fmt_instance *old = &all->table[i];

		if (old->n)
			*place(table, cap, old->comm, old->seq) = *old;
	}
	free(all->table);
	all->table = table;
	all->cap = cap;
	return 0;
}

int fmt_collective_told(const struct fmt_names *names, uint32_t number)
{
	const struct fmt_template *template = fmt_template(names, number);
	int64_t op;

	if (!template || template->kind != FMT_COLLECTIVE || template->n_args < FMT_COLLECTIVE_ARGS)
		return 0;
	op = template->args[FMT_COLLECTIVE_OP].value;
	return 4 * (template->args[FMT_COLLECTIVE_BYTES].value >= 0) +
	       2 * (template->args[FMT_COLLECTIVE_DTYPE].value != 0) +
	       (op != 0 && strcmp(fmt_string(names, (fmt_str)op, NULL), "send_recv") != 0);
}

int fmt_instances_add(struct fmt_instances *all, const struct fmt_names *names, uint32_t template,
		      int64_t comm, int64_t seq, int64_t duration_ns, struct fmt_instance **ret)
{
	struct fmt_instance *i;

	if (all->n * 2 >= all->cap && grow(all) < 0)
		return -ENOMEM;
	i = place(all->table, all->cap, comm, seq);
	if (i->n == 0) {
		*i = (struct fmt_instance){
			.comm = comm, .seq = seq, .shortest_ns = duration_ns, .template = template};
		all->n++;
	}
	if (duration_ns < i->shortest_ns)
		i->shortest_ns = duration_ns;
	if (template != i->template &&
	    fmt_collective_told(names, template) > fmt_collective_told(names, i->template))
		i->template = template;
	i->n++;
	*ret = i;
	return 0;
}

const struct fmt_instance *fmt_instances_find(const struct fmt_instances *all, int64_t comm,
					      int64_t seq)
{
	const struct fmt_instance *i;

	if (!all->cap)
		return NULL;
	i = place(all->table, all->cap, comm, seq);
	return i->n ? i : NULL;
}

int fmt_instances_collect(struct fmt_instances *all, const struct fmt_names *names,
			  const struct fmt_slice *slice)
{
	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_template *template = fmt_template(names, e->template);
		struct fmt_instance *instance;
		int64_t comm, seq;

		if (!template || !fmt_collective_ids(slice, template, e, &comm, &seq))
			continue;
		if (fmt_instances_add(all, names, e->template, comm, seq, e->duration_ns,
				      &instance) < 0)
			return -ENOMEM;
	}
	return 0;
}

void fmt_instances_done(struct fmt_instances *all)
{
	free(all->table);
	*all = (struct fmt_instances){0};
}
