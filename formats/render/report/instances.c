/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/instances.h"

#include "base/array.h"

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

static struct fmt_hash_slot *find_slot(const struct fmt_instances *all, int64_t comm, int64_t seq)
{
	return fmt_hash_find(&all->table, fmt_hash_numbers((uint64_t)comm, (uint64_t)seq), i,
			     all->items[i].comm == comm && all->items[i].seq == seq);
}

int fmt_collective_detail(const struct fmt_names *names, uint32_t number)
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
	struct fmt_hash_slot *slot;

	if (fmt_hash_reserve(&all->table) < 0 ||
	    array_reserve(&all->items, all->n + 1, &all->cap) < 0)
		return -ENOMEM;
	slot = find_slot(all, comm, seq);
	if (!slot->number) {
		all->items[all->n] = (struct fmt_instance){
			.comm = comm, .seq = seq, .shortest_ns = duration_ns, .template = template};
		fmt_hash_set(&all->table, slot, fmt_hash_numbers((uint64_t)comm, (uint64_t)seq),
			     (uint32_t)all->n++);
	}
	i = &all->items[slot->number - 1];
	if (duration_ns < i->shortest_ns)
		i->shortest_ns = duration_ns;
	if (template != i->template &&
	    fmt_collective_detail(names, template) > fmt_collective_detail(names, i->template))
		i->template = template;
	i->n++;
	*ret = i;
	return 0;
}

const struct fmt_instance *fmt_instances_find(const struct fmt_instances *all, int64_t comm,
					      int64_t seq)
{
	const struct fmt_hash_slot *slot = find_slot(all, comm, seq);

	return slot->number ? &all->items[slot->number - 1] : NULL;
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
	free(all->items);
	fmt_hash_done(&all->table);
	*all = (struct fmt_instances){0};
}
