/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/emulate.h"

#include "base/host.h"
#include "replay/engine/emulate_impl.h"

#include "base/scope.h"

#include <errno.h>
#include <string.h>

/* Maximum number of what-ifs in one call. */
#define MOST 64

/* The required passes: the first one for the run as recorded, then one for each other structure of
 * a changed run. */
struct passes {
	struct what_if *specs[MOST]; /* by pass */
	uint32_t what_ifs[MOST];     /* the what-if of each */
	uint32_t pass_of[MOST];	     /* by what-if */
	struct what_if_structure structures[MOST + 1];
	uint32_t first[MOST + 2]; /* of the specs of a pass */
	uint32_t n;
};

static int same_structure(struct what_if_structure a, struct what_if_structure b)
{
	return a.overlap == b.overlap && a.copies == b.copies;
}

static void divide_passes(const struct replay_options *o, struct passes *p)
{
	uint32_t n = 0;

	*p = (struct passes){.n = 1};
	for (uint32_t i = 0; i < o->n_what_ifs; i++) {
		struct what_if_structure s = what_if_structure(o->what_ifs[i]);

		while (p->pass_of[i] < p->n && !same_structure(p->structures[p->pass_of[i]], s))
			p->pass_of[i]++;
		if (p->pass_of[i] == p->n)
			p->structures[p->n++] = s;
	}
	for (uint32_t k = 0; k < p->n; k++) {
		p->first[k] = n;
		for (uint32_t i = 0; i < o->n_what_ifs; i++) {
			if (p->pass_of[i] != k)
				continue;
			p->specs[n] = o->what_ifs[i];
			p->what_ifs[n++] = i;
		}
	}
	p->first[p->n] = n;
}

/* The row of an iteration and GPU; NULL: not found. Rows are in this order. */
static const struct replay_row *row_of(const struct replay_report *r, const struct replay_row *like)
{
	for (size_t i = 0; i < r->n_rows; i++)
		if (r->rows[i].iteration == like->iteration && r->rows[i].gpu == like->gpu)
			return &r->rows[i];
	return NULL;
}

/* Adds the results of a pass to the report, which has space for all what-ifs. */
static int join_reports(const struct passes *p, uint32_t pass, const struct replay_report *from,
			struct replay_report *to)
{
	const uint32_t *of = &p->what_ifs[p->first[pass]];

	for (size_t i = 0; i < to->n_rows; i++) {
		/* Reports of the same run have the same rows. */
		const struct replay_row *row =
			from->n_rows == to->n_rows ? &from->rows[i] : row_of(from, &to->rows[i]);

		for (uint32_t k = 0; row && k < from->n_what_ifs; k++)
			to->predicted[i * to->n_what_ifs + of[k]] = row->predicted[k];
	}
	for (uint32_t k = 0; k < from->n_what_ifs; k++) {
		to->mean_steps_ns[of[k]] = replay_mean_step_ns(from, k);
		to->copies_of[of[k]] = from->copies;
	}
	return path_summary_merge(&to->path, &from->path, of);
}

/* Extends the report of the first pass to all passes. */
static int begin(const struct replay_options *o, const struct passes *p, struct replay_report *r)
{
	struct replay_report first = *r;
	int error;

	r->what_ifs = o->what_ifs;
	r->n_what_ifs = o->n_what_ifs;
	r->path = (struct path_summary){0};
	r->predicted = calloc(r->n_rows * o->n_what_ifs + 1, sizeof(*r->predicted));
	r->mean_steps_ns = calloc(o->n_what_ifs + 1ul, sizeof(*r->mean_steps_ns));
	r->copies_of = calloc(o->n_what_ifs + 1ul, sizeof(*r->copies_of));
	error = r->predicted && r->mean_steps_ns && r->copies_of
			? path_summary_begin(&r->path, 1 + o->n_what_ifs, &first.path)
			: -ENOMEM;
	if (error == 0)
		error = join_reports(p, 0, &first, r);
	for (size_t i = 0; error == 0 && i < r->n_rows; i++)
		r->rows[i].predicted = &r->predicted[i * r->n_what_ifs];
	free(first.predicted);
	path_summary_done(&first.path);
	return error;
}

static int run_pass(struct fmt_trace *in, const struct replay_options *o, const struct passes *p,
		    uint32_t k, const char *out_path, struct replay_report *ret,
		    struct fmt_error *err)
{
	/* The output is the first what-if's. */
	const struct pass pass = {
		.trace = in,
		.options = o,
		.specs = &p->specs[p->first[k]],
		.n_specs = p->first[k + 1] - p->first[k],
		.structure = p->structures[k],
		.n_runs = p->n + o->n_what_ifs,
		.out_path = o->n_what_ifs == 0 || p->pass_of[0] == k ? out_path : NULL,
	};

	return pass_run(&pass, ret, err);
}

int replay_emulate(struct fmt_trace *in, const struct replay_options *options, const char *out_path,
		   struct replay_report *ret, struct fmt_error *err)
{
	static const struct replay_options none;
	const struct replay_options *o = options ? options : &none;
	scoped(replay_report_done) struct replay_report report = {0};
	int64_t begin_ns = host_clock_ns(CLOCK_MONOTONIC);
	struct passes passes;
	int r = fmt_trace_check_complete(in, err);

	if (r == 0 && o->n_what_ifs > MOST)
		r = -EINVAL;
	if (r < 0)
		return r;
	divide_passes(o, &passes);
	r = run_pass(in, o, &passes, 0, out_path, &report, err);
	if (r == 0)
		r = begin(o, &passes, &report);
	for (uint32_t k = 1; r == 0 && k < passes.n; k++) {
		scoped(replay_report_done) struct replay_report other = {0};

		r = run_pass(in, o, &passes, k, out_path, &other, err);
		if (r == 0 && other.broken > report.broken && !o->force)
			r = fmt_fail(err, -ENODATA, "", FMT_NO_OFFSET,
				     "%s: deadlock: the ranks wait for each other",
				     other.what_ifs[0]->spec);
		if (r == 0)
			r = join_reports(&passes, k, &other, &report);
	}
	if (r < 0)
		return r;
	path_summary_sort(&report.path);
	report.seconds = (double)(host_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
	*ret = report;
	report = (struct replay_report){0};
	return 0;
}
