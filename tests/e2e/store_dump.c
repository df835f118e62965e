/* SPDX-License-Identifier: Apache-2.0 */

/* store_dump TRACE: prints everything in a trace, one item a line. Golden traces are compared by
 * this. */
#include "formats/trace/store/trace.h"

#include <inttypes.h>
#include <stdio.h>

static void dump_names(const struct fmt_names *n, uint32_t n_ranks)
{
	const struct fmt_comm *c;
	const struct fmt_rule *rule;
	const struct fmt_fact *f;

	for (uint32_t i = 0; i < fmt_n_strings(n); i++)
		printf("string %u %s\n", i, fmt_string(n, i, NULL));
	for (uint32_t i = 0; i < fmt_n_templates(n); i++) {
		const struct fmt_template *s = fmt_template(n, i);

		printf("template %u %s name %u category %u:", i, fmt_kind_name(s->kind), s->name,
		       s->category);
		for (uint32_t k = 0; k < s->n_args; k++)
			printf(" %u/%u%s=%" PRId64, s->args[k].key, s->args[k].type,
			       s->args[k].varies ? "v" : "", s->args[k].value);
		printf("\n");
	}
	for (uint32_t i = 0; (c = fmt_comm(n, i)); i++) {
		printf("comm %u %u %u:", i, c->name, c->description);
		for (uint32_t k = 0; k < c->n_ranks; k++)
			printf(" %u", c->ranks[k]);
		printf("\n");
	}
	for (uint32_t i = 0; (rule = fmt_rule(n, i)); i++)
		printf("rule %u %u %d\n", i, rule->name, rule->inferred);
	for (uint32_t i = 0; (f = fmt_fact(n, FMT_WHOLE_TRACE, i)); i++)
		printf("fact %u %u\n", f->key, f->value);
	for (uint32_t r = 0; r < n_ranks; r++) {
		const struct fmt_device *d;
		const struct fmt_track *l;

		for (uint32_t i = 0; (l = fmt_track(n, r, i)); i++)
			printf("rank %u track %u: %u %u %" PRId64 " %" PRId64 " %u %u %u\n", r, i,
			       l->kind, l->text_ids, l->pid, l->tid, l->pid_text, l->tid_text,
			       l->name);
		for (uint32_t i = 0; (d = fmt_device(n, r, i)); i++)
			printf("rank %u device %" PRId64 " %u %u\n", r, d->ordinal, d->name,
			       d->properties);
		for (uint32_t i = 0; (f = fmt_fact(n, r, i)); i++)
			printf("rank %u fact %u %u\n", r, f->key, f->value);
	}
}

static void dump_events(const struct fmt_names *n, const struct fmt_slice *s, const char *what,
			const struct fmt_event *e, size_t n_events)
{
	for (size_t i = 0; i < n_events; i++) {
		const struct fmt_template *template = fmt_template(n, e[i].template);

		printf("%s track %u template %u at %" PRId64 " for %" PRId64
		       " correlation %" PRIu64,
		       what, e[i].track, e[i].template, e[i].start_ns, e[i].duration_ns,
		       e[i].correlation);
		for (uint32_t k = 0; k < template->n_values; k++)
			printf(" %" PRId64, s->values[e[i].first_value + k]);
		printf("\n");
	}
}

static void dump_slice(const struct fmt_names *n, const struct fmt_slice *s)
{
	printf("slice %u of rank %u: iteration %" PRId64 " at %" PRId64 " for %" PRId64
	       " first %" PRIu64 "\n",
	       s->index, s->rank, s->iteration.number, s->iteration.start_ns,
	       s->iteration.duration_ns, s->first_number);
	dump_events(n, s, "event", s->events, s->n_events);
	dump_events(n, s, "range", s->ranges, s->n_ranges);
	for (size_t i = 0; i < s->n_edges; i++)
		printf("edge %" PRIu64 " -> %" PRIu64 " lag %" PRId64 " kind %u rule %u\n",
		       s->edges[i].from, s->edges[i].to, s->edges[i].lag_ns, s->edges[i].kind,
		       s->edges[i].rule);
}

int main(int argc, char **argv)
{
	struct fmt_trace *t;
	struct fmt_error err;

	if (argc != 2)
		return 2;
	if (fmt_trace_open(argv[1], &t, &err) < 0) {
		fprintf(stderr, "%s: %s\n", err.file, err.what);
		return 3;
	}
	printf("id %s\n", fmt_trace_id(t));
	dump_names(fmt_trace_names(t), fmt_trace_n_ranks(t));
	for (uint32_t r = 0; r < fmt_trace_n_ranks(t); r++)
		for (uint32_t k = 0; k < fmt_trace_rank(t, r)->n_slices; k++) {
			struct fmt_slice *s;

			if (fmt_slice_load(t, r, k, FMT_WANT_ALL, &s, &err) < 0) {
				printf("slice %u of rank %u is damaged: %s\n", k, r, err.what);
				continue;
			}
			dump_slice(fmt_trace_names(t), s);
			fmt_slice_free(s);
		}
	fmt_trace_close(t);
	return 0;
}
