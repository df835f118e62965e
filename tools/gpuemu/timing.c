/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpuemu/timing.h"
#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/value.h"

#include <inttypes.h>
#include <stdio.h>

/* Values that identify an operation in addition to its name: grid and block; the size of a copy;
 * ranks, size, communicator and number of a collective. */
enum { RANKS, BYTES, COMM, SEQ, KEYS = 6 };

struct row {
	uint8_t kind; /* enum fmt_kind */
	const char *name;
	int64_t key[KEYS];
	int64_t ns;
};

struct rows {
	struct row *items;
	size_t n, cap;
};

static void rows_done(struct rows *r)
{
	free(r->items);
}

/* Reads an argument that is a list of three numbers; zeroes if missing. */
static void read_dims(const struct fmt_names *names, const struct fmt_slice *slice,
		      const struct fmt_event *e, const struct fmt_template *template,
		      const char *key, int64_t *ret)
{
	int64_t value = 0;
	uint32_t index;
	uint32_t dims[3];

	if (fmt_template_varying(names, template, key, &index) &&
	    e->first_value + index < slice->n_values)
		value = slice->values[e->first_value + index];
	else
		fmt_template_const(names, template, key, &value);
	fmt_value_dims(fmt_string(names, (fmt_str)value, NULL), dims);
	for (int i = 0; i < 3; i++)
		ret[i] = dims[i];
}

/* The name of a kind of copy here, from the name in recordings; NULL: unknown. */
static const char *copy_name(const char *name)
{
	static const char *const kinds[][3] = {
		{"HtoD", "in", "pageable in"},	 {"HostToDevice", "in", "pageable in"},
		{"DtoH", "out", "pageable out"}, {"DeviceToHost", "out", "pageable out"},
		{"DtoD", "within", "within"},	 {"DeviceToDevice", "within", "within"},
		{"PtoP", "peer", "peer"},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(name, kinds[i][0]))
			return kinds[i][strstr(name, "Pageable") ? 2 : 1];
	return NULL;
}

static int collective(const struct fmt_names *names, const struct fmt_event *e,
		      const struct fmt_template *template, const int64_t *values, struct row *ret)
{
	int64_t op = 0, comm = -1, group, peers;

	fmt_template_const(names, template, FMT_KEY_OP, &op);
	if (!op || !fmt_value_int(names, e, template, values, FMT_KEY_BYTES, &ret->key[BYTES]) ||
	    !fmt_value_int(names, e, template, values, FMT_KEY_COMM, &comm) ||
	    !fmt_value_int(names, e, template, values, FMT_KEY_SEQ, &ret->key[SEQ]) ||
	    ret->key[BYTES] < 0 || comm < 0 || comm >= fmt_n_comms(names))
		return 0;
	ret->name = fmt_string(names, (fmt_str)op, NULL);
	/* Includes an all-to-all made of sends and receives: the program will make it in the same
	 * way. */
	if (fmt_template_const(names, template, FMT_KEY_TO, &peers) ||
	    fmt_template_const(names, template, FMT_KEY_FROM, &peers))
		ret->name = "send_recv";
	ret->key[COMM] = comm;
	ret->key[RANKS] = fmt_comm(names, (uint32_t)comm)->n_ranks;
	/* The trace may have some of the ranks only. */
	if (fmt_value_int(names, e, template, values, "Group size", &group) && group > 0)
		ret->key[RANKS] = group;
	return 1;
}

/* Fills the row of an event; 0: events of this kind are not written. */
static int row_of(const struct fmt_names *names, const struct fmt_slice *slice,
		  const struct fmt_event *e, struct row *ret)
{
	const struct fmt_template *template = fmt_template(names, e->template);
	const int64_t *values = fmt_event_values(slice, e);
	int64_t symbol;

	*ret = (struct row){.ns = e->duration_ns};
	if (!template || e->duration_ns < 0)
		return 0;
	ret->kind = template->kind;
	if (!fmt_template_const(names, template, FMT_KEY_SYMBOL, &symbol))
		symbol = template->name;
	ret->name = fmt_string(names, (fmt_str)symbol, NULL);
	switch (template->kind) {
	case FMT_KERNEL:
		read_dims(names, slice, e, template, "grid", ret->key);
		read_dims(names, slice, e, template, "block", ret->key + 3);
		return 1;
	case FMT_MEMCPY:
		ret->name = copy_name(ret->name);
		return ret->name &&
		       fmt_value_int(names, e, template, values, "bytes", &ret->key[BYTES]) &&
		       ret->key[BYTES] >= 0;
	case FMT_COLLECTIVE:
		return collective(names, e, template, values, ret);
	default:
		return 0;
	}
}

static int collect_rows(struct rows *l, const struct fmt_names *names,
			const struct fmt_slice *slice)
{
	for (size_t i = 0; i < slice->n_events; i++) {
		struct row row;

		/* Names must not break rows (newline) or fields (tab). */
		if (!row_of(names, slice, &slice->events[i], &row) || strpbrk(row.name, "\t\n"))
			continue;
		if (array_reserve(&l->items, l->n + 1, &l->cap) < 0)
			return -ENOMEM;
		l->items[l->n++] = row;
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = x->kind != y->kind ? x->kind - y->kind : strcmp(x->name, y->name);

	for (int i = 0; i < KEYS && order == 0; i++)
		order = (x->key[i] > y->key[i]) - (x->key[i] < y->key[i]);
	return order;
}

static void sort_rows(struct rows *l)
{
	if (l->n > 0)
		qsort(l->items, l->n, sizeof(l->items[0]), by_key);
}

/* One row for all participants of a collective: the shortest, because the others include wait
 * time. */
static void join_ranks(struct rows *l)
{
	size_t n = 0;

	sort_rows(l);
	for (size_t i = 0; i < l->n; i++) {
		if (n > 0 && l->items[i].kind == FMT_COLLECTIVE &&
		    by_key(&l->items[n - 1], &l->items[i]) == 0) {
			if (l->items[i].ns < l->items[n - 1].ns)
				l->items[n - 1].ns = l->items[i].ns;
			continue;
		}
		l->items[n++] = l->items[i];
	}
	l->n = n;
	for (size_t i = 0; i < n; i++)
		if (l->items[i].kind == FMT_COLLECTIVE)
			l->items[i].key[COMM] = l->items[i].key[SEQ] = 0;
	sort_rows(l);
}

static void write_row(FILE *out, const struct row *r, int64_t ns)
{
	if (r->kind != FMT_KERNEL) {
		fprintf(out, "sized\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n", r->name,
			r->key[RANKS], r->key[BYTES], ns);
		return;
	}
	fprintf(out, "kernel\t%s", r->name);
	for (int i = 0; i < KEYS; i++)
		fprintf(out, "\t%" PRId64, r->key[i]);
	fprintf(out, "\t%" PRId64 "\n", ns);
}

static void write_rows(FILE *out, const struct rows *l)
{
	for (size_t at = 0, end; at < l->n; at = end) {
		uint64_t sum = 0;

		for (end = at; end < l->n && by_key(&l->items[at], &l->items[end]) == 0; end++)
			sum += (uint64_t)l->items[end].ns;
		write_row(out, &l->items[at], (int64_t)(sum / (end - at)));
	}
}

int gpuemu_timing_write(struct fmt_trace *trace, int fd, struct fmt_error *err)
{
	scoped(rows_done) struct rows l = {0};
	const struct fmt_names *names = fmt_trace_names(trace);

	for (uint32_t rank = 0; rank < fmt_trace_n_ranks(trace); rank++) {
		const struct fmt_rank *about = fmt_trace_rank(trace, rank);

		for (uint32_t i = 0; i < about->n_slices; i++) {
			scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;
			int r = fmt_slice_load(trace, rank, i, FMT_WANT_OPS, &slice, err);

			if (r == 0)
				r = collect_rows(&l, names, slice);
			if (r < 0)
				return r;
		}
	}
	join_ranks(&l);

	FILE *out = fdopen(dup(fd), "w");

	if (!out)
		return -errno;
	write_rows(out, &l);
	return fclose(out) == 0 ? 0 : -errno;
}
