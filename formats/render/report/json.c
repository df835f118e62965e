/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/report.h"

#include "formats/render/report/machine.h"
#include "formats/render/report/page.h"
#include "formats/trace/json.h"

static void put_string(struct fmt_json *j, const char *key, const struct fmt_names *names,
		       fmt_str s)
{
	size_t len;
	const char *bytes = fmt_string(names, s, &len);

	if (s)
		fmt_json_bytes(j, key, bytes, len);
	else
		fmt_json_verbatim(j, key, "null", 4);
}

static void put_facts(struct fmt_json *j, const struct fmt_names *names, uint32_t rank)
{
	const struct fmt_fact *fact;

	fmt_json_open(j, "facts", '{');
	for (uint32_t i = 0; (fact = fmt_fact(names, rank, i)); i++) {
		size_t len;
		const char *value = fmt_string(names, fact->value, &len);

		if (fmt_report_is_shown(names, fact))
			fmt_json_verbatim(j, fmt_string(names, fact->key, NULL), value, len);
	}
	fmt_json_close(j, '}');
}

static void put_rank(struct fmt_json *j, const struct fmt_report *r, uint32_t i)
{
	const struct fmt_trace *t = r->trace;
	const struct fmt_names *names = fmt_trace_names(t);
	const struct fmt_rank *rank = fmt_trace_rank(t, i);
	const struct fmt_device *device = fmt_report_device(t, i);
	struct text versions = {0};

	fmt_report_versions(t, i, &versions);
	fmt_json_open(j, NULL, '{');
	fmt_json_u64(j, "rank", rank->number);
	fmt_json_u64(j, "first_rank_on_gpu", fmt_trace_rank(t, r->first_on_gpu[i])->number);
	put_string(j, "device", names, device ? device->name : 0);
	fmt_json_bytes(j, "versions", versions.data ? versions.data : "", versions.len);
	fmt_json_i64(j, "start_ns", rank->start_ns);
	fmt_json_i64(j, "end_ns", rank->end_ns);
	fmt_json_u64(j, "bytes", rank->bytes);
	put_facts(j, names, i);
	fmt_json_close(j, '}');
	text_done(&versions);
}

/* Adds one GPU in an iteration, or in the whole run. */
static void put_gpu(struct fmt_json *j, const struct fmt_report *r, const struct fmt_report_gpu *g)
{
	fmt_json_open(j, NULL, '{');
	fmt_json_u64(j, "gpu", fmt_trace_rank(r->trace, g->rank)->number);
	if (g->iteration.number != FMT_ANY) {
		fmt_json_i64(j, "start_ns", g->iteration.start_ns);
		fmt_json_i64(j, "duration_ns", g->iteration.duration_ns);
	}
	fmt_json_i64(j, "device_start_ns", g->busy.start_ns);
	fmt_json_i64(j, "device_ns", g->busy.device_ns);
	fmt_json_i64(j, "compute_ns", g->busy.compute_ns);
	fmt_json_i64(j, "exposed_ns", g->busy.exposed_ns);
	fmt_json_i64(j, "hidden_ns", g->busy.hidden_ns);
	fmt_json_i64(j, "idle_ns", g->busy.idle_ns);
	fmt_json_i64(j, "waiting_ns", g->waiting_ns);
	fmt_json_u64(j, "records", g->n_records);
	if (g->n_damaged)
		fmt_json_u64(j, "damaged_slices", g->n_damaged);
	fmt_json_close(j, '}');
}

/* Adds the rows with (or without) an iteration, one object per iteration. */
static void put_iterations(struct fmt_json *j, const struct fmt_report *r, const char *key,
			   bool inside)
{
	fmt_json_open(j, key, '[');
	for (size_t i = 0; i < r->n_gpus;) {
		int64_t number = r->gpus[i].iteration.number;

		if ((number == FMT_BEFORE || number == FMT_AFTER) == inside) {
			i++;
			continue;
		}
		fmt_json_open(j, NULL, '{');
		if (inside)
			fmt_json_i64(j, "iteration", number);
		else
			fmt_json_str(j, "where", number == FMT_BEFORE ? "before" : "after");
		fmt_json_open(j, "gpus", '[');
		for (; i < r->n_gpus && r->gpus[i].iteration.number == number; i++)
			put_gpu(j, r, &r->gpus[i]);
		fmt_json_close(j, ']');
		fmt_json_close(j, '}');
	}
	fmt_json_close(j, ']');
}

static void put_runs(struct fmt_json *j, const struct fmt_report *r)
{
	fmt_json_open(j, "run", '[');
	for (size_t i = 0; i < r->n_runs; i++)
		put_gpu(j, r, &r->runs[i]);
	fmt_json_close(j, ']');
}

static void put_records(struct fmt_json *j, const struct fmt_report *r)
{
	fmt_json_open(j, "records", '{');
	for (int kind = 0; kind < FMT_KINDS; kind++)
		fmt_json_u64(j, fmt_kind_name((enum fmt_kind)kind), r->n_records[kind]);
	fmt_json_u64(j, "edge", r->n_edges);
	fmt_json_u64(j, "digest", r->n_digests);
	fmt_json_close(j, '}');
}

static void put_ops(struct fmt_json *j, const struct fmt_report *r, const char *key, bool kernels,
		    unsigned top)
{
	const struct fmt_names *names = fmt_trace_names(r->trace);

	fmt_json_open(j, key, '[');
	for (size_t i = 0; i < r->n_ops && top > 0; i++) {
		const struct fmt_report_op *o = &r->ops[i];

		if ((o->kind == FMT_KERNEL) != kernels)
			continue;
		fmt_json_open(j, NULL, '{');
		put_string(j, "name", names, o->name);
		if (!kernels)
			fmt_json_str(j, "kind", fmt_kind_name(o->kind));
		fmt_json_u64(j, "count", o->n);
		fmt_json_i64(j, "total_ns", o->total_ns);
		fmt_json_i64(j, "min_ns", o->min_ns);
		fmt_json_i64(j, "max_ns", o->max_ns);
		if (!kernels)
			fmt_json_u64(j, "bytes", o->bytes);
		fmt_json_close(j, '}');
		top--;
	}
	fmt_json_close(j, ']');
}

static void put_bandwidth(struct fmt_json *j, const char *key, double bytes_per_second)
{
	if (bytes_per_second < 0)
		fmt_json_verbatim(j, key, "null", 4);
	else
		fmt_json_double(j, key, bytes_per_second, 0);
}

static void put_collective(struct fmt_json *j, const struct fmt_names *names,
			   const struct fmt_report_collective *c)
{
	struct fmt_bandwidth bandwidth = fmt_report_bandwidth(names, c);
	const struct fmt_comm *comm =
		c->comm < 0 ? NULL : fmt_comm(names, (uint32_t)(c->comm & UINT32_MAX));

	fmt_json_open(j, NULL, '{');
	if (c->comm < 0)
		fmt_json_verbatim(j, "communicator", "null", 4);
	else
		fmt_json_i64(j, "communicator", c->comm);
	put_string(j, "name", names, comm ? comm->name : 0);
	fmt_json_u64(j, "ranks", c->n_ranks);
	put_string(j, "kind", names, c->op);
	put_string(j, "dtype", names, c->dtype);
	if (c->bytes < 0)
		fmt_json_verbatim(j, "bytes", "null", 4);
	else
		fmt_json_i64(j, "bytes", c->bytes);
	fmt_json_u64(j, "count", c->n_instances);
	fmt_json_u64(j, "operations", c->n_ops);
	fmt_json_i64(j, "total_ns", c->total_ns);
	fmt_json_i64(j, "transfer_ns", c->transfer_ns);
	if (c->n_shared)
		fmt_json_i64(j, "waiting_ns", c->waiting_ns);
	else
		fmt_json_verbatim(j, "waiting_ns", "null", 4);
	put_bandwidth(j, "algbw_bytes_per_second", bandwidth.algorithm);
	put_bandwidth(j, "busbw_bytes_per_second", bandwidth.bus);
	fmt_json_close(j, '}');
}

static int put_damage(void *context, const struct fmt_error *e)
{
	struct fmt_json *j = context;

	fmt_json_open(j, NULL, '{');
	fmt_json_str(j, "file", e->file);
	if (e->offset != FMT_NO_OFFSET)
		fmt_json_u64(j, "offset", e->offset);
	fmt_json_str(j, "what", e->what);
	fmt_json_close(j, '}');
	return 0;
}

static void put_kept(struct fmt_json *j, const struct fmt_trace *t)
{
	struct fmt_report_contents kept = fmt_report_contents(t);

	fmt_json_open(j, "contents", '{');
	fmt_json_u64(j, "images", kept.images);
	fmt_json_u64(j, "images_kept", kept.images_kept);
	fmt_json_u64(j, "buffers", kept.buffers);
	fmt_json_u64(j, "bytes", kept.bytes);
	fmt_json_close(j, '}');
}

static void put_run(struct fmt_json *j, const struct fmt_report *r)
{
	uint64_t bytes = fmt_trace_bytes(r->trace);

	fmt_json_u64(j, "bytes", bytes);
	fmt_json_double(j, "bytes_per_record",
			r->n_all_records ? (double)bytes / (double)r->n_all_records : 0, 4);
	put_kept(j, r->trace);
}

void fmt_report_json(const struct fmt_report *r, const struct fmt_report_style *style,
		     struct text *out)
{
	const struct fmt_names *names = fmt_trace_names(r->trace);
	uint32_t from = r->part.rank == FMT_ANY ? 0 : (uint32_t)r->part.rank;
	uint32_t to = r->part.rank == FMT_ANY ? fmt_trace_n_ranks(r->trace) : from + 1;
	unsigned top = style->top ? style->top : UINT32_MAX;
	struct fmt_json j = {.text = out, .broken = 2};

	fmt_json_open(&j, NULL, '{');
	fmt_json_str(&j, "id", fmt_trace_id(r->trace));
	fmt_json_u64(&j, "gpus", fmt_page_gpus(r));
	put_facts(&j, names, FMT_WHOLE_TRACE);
	fmt_json_open(&j, "ranks", '[');
	for (uint32_t rank = from; rank < to; rank++)
		put_rank(&j, r, rank);
	fmt_json_close(&j, ']');
	put_records(&j, r);
	fmt_json_u64(&j, "records_total", r->n_all_records);
	if (r->part.iteration == FMT_ANY && r->part.rank == FMT_ANY)
		put_run(&j, r);
	put_iterations(&j, r, "iterations", true);
	put_iterations(&j, r, "outside", false);
	if (r->part.iteration == FMT_ANY)
		put_runs(&j, r);
	put_ops(&j, r, "kernels", true, top);
	put_ops(&j, r, "copies", false, top);
	fmt_json_open(&j, "collectives", '[');
	for (size_t i = 0; i < r->n_collectives && i < top; i++)
		put_collective(&j, names, &r->collectives[i]);
	fmt_json_close(&j, ']');
	fmt_json_open(&j, "damage", '[');
	fmt_trace_damage(r->trace, put_damage, &j);
	fmt_json_close(&j, ']');
	fmt_json_close(&j, '}');
}
