/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/sensitivity.h"

#include "formats/render/grid.h"
#include "formats/trace/json.h"

#include "base/array.h"
#include "base/scope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Maximum number of rows of each sort; all of them are variants of one run (variant.h). */
enum { MOST_KERNELS = 24, MOST_COLLECTIVES = 8, MOST_RANKS = 24, MOST_ROWS = 61 };

static const enum path_kind path_kinds[] = {PATH_GPU, PATH_NETWORK, PATH_COPY, PATH_HOST,
					    PATH_LAUNCH};
static const enum what_if_key keys[] = {
	[PATH_GPU] = WHAT_IF_GPU,   [PATH_NETWORK] = WHAT_IF_NETWORK, [PATH_COPY] = WHAT_IF_COPY,
	[PATH_HOST] = WHAT_IF_HOST, [PATH_LAUNCH] = WHAT_IF_LAUNCH,
};

void sensitivity_done(struct sensitivity *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		free(s->rows[i].name);
		what_if_free(s->rows[i].spec);
	}
	free(s->rows);
	*s = (struct sensitivity){0};
}

/* ---- parts of the run ---- */

/* Adds a part with its time on the path of an iteration; its scope is empty. NULL if out of
 * memory. */
static struct what_if_change *add_row(struct sensitivity *s, const char *what, const char *name,
				      enum what_if_key key, double path_ns)
{
	struct sensitivity_row *row = &s->rows[s->n++];

	*row = (struct sensitivity_row){
		.what = what,
		.name = name ? strdup(name) : NULL,
		.path_ns = path_ns,
		.spec = calloc(1, sizeof(*row->spec)),
	};
	if (!row->spec || (name && !row->name))
		return NULL;
	row->spec->spec = strdup(what);
	row->spec->n = 1;
	row->spec->changes[0] = (struct what_if_change){.key = key, .speed = SENSITIVITY_SPEED};
	return row->spec->spec ? &row->spec->changes[0] : NULL;
}

/* Returns the shell pattern that matches only the name. */
static char *pattern_of(const char *name)
{
	char *ret = malloc(2 * strlen(name) + 1), *to = ret;

	for (; ret && *name; *to++ = *name++)
		if (strchr("*?[]\\", *name))
			*to++ = '\\';
	if (ret)
		*to = 0;
	return ret;
}

static int add_kernel(struct sensitivity *s, const char *name, double path_ns)
{
	struct what_if_change *c = add_row(s, "kernel", name, WHAT_IF_GPU, path_ns);

	if (c)
		c->kernel = pattern_of(name);
	return c && c->kernel ? 0 : -ENOMEM;
}

static int add_collective(struct sensitivity *s, const char *name, double path_ns)
{
	struct what_if_change *c = add_row(s, "collective", name, WHAT_IF_NETWORK, path_ns);

	if (c)
		c->op = strdup(name);
	return c && c->op ? 0 : -ENOMEM;
}

static int add_rank(struct sensitivity *s, uint32_t number, double path_ns)
{
	struct what_if_change *c;
	char name[16];

	snprintf(name, sizeof(name), "%" PRIu32, number);
	c = add_row(s, "rank", name, WHAT_IF_GPU, path_ns);
	if (c)
		c->ranks = calloc(1, sizeof(*c->ranks));
	if (!c || !c->ranks)
		return -ENOMEM;
	c->ranks[0].first = c->ranks[0].last = number;
	c->n_ranks = 1;
	return 0;
}

static void leave_out(struct sensitivity *s, double path_ns)
{
	s->other_ns = path_ns > s->other_ns ? path_ns : s->other_ns;
}

/* Kernels and kinds of collectives, the largest on the path first. */
static int add_names(struct sensitivity *s, const struct replay_report *r)
{
	int kernels = 0, collectives = 0, error = 0;

	for (size_t i = 0; error == 0 && i < r->path.n_rows; i++) {
		const struct path_row *row = &r->path.rows[i];
		double ns = (double)row->ns[0] / (double)r->path.n_iterations;
		const char *name = fmt_string(r->names, row->name, NULL);

		if (row->kind == PATH_GPU && row->is_kernel) {
			if (kernels++ < MOST_KERNELS)
				error = add_kernel(s, name, ns);
			else
				leave_out(s, ns);
		} else if (row->kind == PATH_NETWORK && what_if_is_op(name)) {
			if (collectives++ < MOST_COLLECTIVES)
				error = add_collective(s, name, ns);
			else
				leave_out(s, ns);
		}
	}
	return error;
}

struct ranked {
	uint32_t rank;
	int64_t ns;
};

static int by_ns(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	return array_order(b->ns, a->ns) ?: array_order(a->rank, b->rank);
}

static int add_ranks(struct sensitivity *s, const struct fmt_trace *trace,
		     const struct replay_report *r)
{
	uint32_t n = r->path.n_ranks;
	scoped(free_ptr) struct ranked *ranks = calloc(n + 1ul, sizeof(*ranks));
	int error = ranks ? 0 : -ENOMEM;

	for (uint32_t i = 0; ranks && i < n; i++)
		ranks[i] = (struct ranked){i, r->path.ranks_ns[i]};
	if (ranks && n > 0)
		qsort(ranks, n, sizeof(*ranks), by_ns);
	for (uint32_t i = 0; error == 0 && n > 1 && i < n; i++) {
		double ns = (double)ranks[i].ns / (double)r->path.n_iterations;

		if (i < MOST_RANKS)
			error = add_rank(s, fmt_trace_rank(trace, ranks[i].rank)->number, ns);
		else
			leave_out(s, ns);
	}
	return error;
}

static int choose_parts(struct sensitivity *s, const struct fmt_trace *trace,
			const struct replay_report *r)
{
	s->rows = calloc(MOST_ROWS, sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(path_kinds); i++) {
		enum path_kind kind = path_kinds[i];
		double ns = (double)r->path.kinds_ns[kind] / (double)r->path.n_iterations;

		if (!add_row(s, path_kind_names[kind], NULL, keys[kind], ns))
			return -ENOMEM;
	}
	return add_names(s, r) < 0 || add_ranks(s, trace, r) < 0 ? -ENOMEM : 0;
}

/* ---- gains ---- */

static int by_gain(const void *x, const void *y)
{
	const struct sensitivity_row *a = x, *b = y;

	return array_order(b->gain_ns, a->gain_ns);
}

/* Reads the gains from a run with the parts as what-ifs. */
static void read_gains(struct sensitivity *s, const struct replay_report *r)
{
	double n = r->n_rows > 0 ? (double)r->n_rows : 1;

	for (size_t i = 0; i < r->n_rows; i++) {
		const struct replay_row *row = &r->rows[i];

		s->step_ns += (double)row->emulated_step_ns / n;
		for (uint32_t k = 0; k < s->n; k++)
			s->rows[k].gain_ns +=
				(double)(row->emulated_step_ns - row->predicted[k].step_ns) / n;
	}
	qsort(s->rows, s->n, sizeof(*s->rows), by_gain);
}

static int measure_gains(struct fmt_trace *in, const struct replay_options *options,
			 struct sensitivity *s, struct fmt_error *err)
{
	scoped(replay_report_done) struct replay_report report = {0};
	struct what_if *specs[MOST_ROWS];
	struct replay_options how = *options;
	int r;

	for (uint32_t i = 0; i < s->n; i++)
		specs[i] = s->rows[i].spec;
	how.what_ifs = specs;
	how.n_what_ifs = s->n;
	how.steps_only = 1;
	how.force = 1; /* collectives that cannot be scaled gain nothing */
	r = replay_emulate(in, &how, NULL, &report, err);
	if (r == 0)
		read_gains(s, &report);
	s->seconds += report.seconds;
	return r;
}

int replay_sensitivity(struct fmt_trace *in, const struct replay_options *options,
		       struct sensitivity *ret, struct fmt_error *err)
{
	scoped(replay_report_done) struct replay_report report = {0};
	scoped(sensitivity_done) struct sensitivity s = {0};
	struct replay_options how = *options;
	int r;

	how.explain = 1;
	r = replay_emulate(in, &how, NULL, &report, err);
	if (r < 0)
		return r;
	if (report.path.n_iterations == 0)
		return fmt_fail(err, -ENODATA, "", FMT_NO_OFFSET,
				"the trace has no iteration, or one that is too large for its "
				"critical path");
	s.seconds = report.seconds;
	r = choose_parts(&s, in, &report);
	if (r == 0)
		r = measure_gains(in, options, &s, err);
	if (r == 0) {
		*ret = s;
		s = (struct sensitivity){0};
	}
	return r;
}

/* ---- reports ---- */

void sensitivity_json(const struct sensitivity *s, struct text *out)
{
	text_printf(out, "{\"speed\": %g, \"mean_step_ns\": %.0f, \"gains\": [", SENSITIVITY_SPEED,
		    s->step_ns);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct sensitivity_row *row = &s->rows[i];

		text_printf(out, "%s\n  {\"what\": \"%s\", ", i > 0 ? "," : "", row->what);
		if (row->name) {
			text_str(out, "\"name\": ");
			fmt_json_string(out, row->name, strlen(row->name));
			text_str(out, ", ");
		}
		text_printf(out, "\"gain_ns\": %.0f, \"gain\": %.6f, \"path_ns\": %.0f}",
			    row->gain_ns, s->step_ns > 0 ? row->gain_ns / s->step_ns : 0,
			    row->path_ns);
	}
	text_printf(out, "],\n \"others_path_ns\": %.0f, \"seconds\": %.6f}\n", s->other_ns,
		    s->seconds);
}

void sensitivity_text(const struct sensitivity *s, int colour, struct text *out)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "llrrr"};

	fmt_grid_head(&g, "1 % faster|name|gain of a step|share|critical");
	for (uint32_t i = 0; i < s->n; i++) {
		const struct sensitivity_row *row = &s->rows[i];
		const char *name = row->name ? row->name : "all";

		fmt_grid_cell(&g, "%s", row->what);
		fmt_grid_bytes(&g, name, strlen(name), 48);
		fmt_grid_time(&g, (int64_t)row->gain_ns);
		fmt_grid_cell(&g, "%.3f%%", s->step_ns > 0 ? 100 * row->gain_ns / s->step_ns : 0);
		fmt_grid_time(&g, (int64_t)row->path_ns);
	}
	fmt_grid_print(&g, out, colour);
	text_str(out,
		 "critical: time on the critical path of a step. The gain is 1 % of this time, or "
		 "less if another part becomes critical.\n");
	if (s->other_ns > 0)
		text_printf(
			out,
			"kernels, collectives and ranks that are not listed: each at most %s on "
			"the critical path of a step\n",
			fmt_time((int64_t)s->other_ns).s);
	text_printf(out, "mean step %s, emulated in %.3f s\n", fmt_time((int64_t)s->step_ns).s,
		    s->seconds);
}
