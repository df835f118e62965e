/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "formats/render/grid.h"
#include "formats/trace/json.h"
#include "tools/gputrace/cmd.h"
#include "tools/joining.h"
#include "tools/parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { OPT_OUTPUT, OPT_FORCE, OPT_JSON };

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', "OUT", "trace directory to create (required)"},
	[OPT_FORCE] = {"force", 'f', NULL, "replace OUT if it is a trace"},
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON"},
	{0},
};

/* Operands, with folders of parts in place of themselves; what is listed is borrowed. */
struct list {
	struct parts_found *found; /* owned; by operand */
	size_t n_found;
	const char **traces, **absent; /* owned */
	size_t n_traces, n_absent, traces_cap, absent_cap;
};

static void list_done(struct list *l)
{
	for (size_t i = 0; l->found && i < l->n_found; i++)
		parts_found_done(&l->found[i]);
	free(l->found);
	free(l->traces);
	free(l->absent);
}

static int add_all(const char ***list, size_t *n, size_t *cap, char *const *more, size_t n_more)
{
	if (array_reserve(list, *n + n_more, cap) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n_more; i++)
		(*list)[(*n)++] = more[i];
	return 0;
}

static int list_operands(const struct cli_args *args, struct list *l)
{
	int r = 0;

	l->found = calloc((size_t)args->n_operands + 1, sizeof(*l->found));
	if (!l->found)
		return -ENOMEM;
	for (int i = 0; i < args->n_operands && r == 0; i++) {
		struct parts_found *f = &l->found[l->n_found++];

		r = parts_find(args->operands[i], f);
		if (r == 0 && f->n_traces + f->n_absent == 0)
			r = add_all(&l->traces, &l->n_traces, &l->traces_cap, &args->operands[i],
				    1);
		if (r == 0)
			r = add_all(&l->traces, &l->n_traces, &l->traces_cap, f->traces,
				    f->n_traces);
		if (r == 0)
			r = add_all(&l->absent, &l->n_absent, &l->absent_cap, f->absent,
				    f->n_absent);
	}
	return r;
}

static void report_json(const char *output, const struct list *l, const struct fmt_join_result *r)
{
	scoped(text_done) struct text out = {0};
	struct fmt_json j = {.text = &out, .broken = 1};

	fmt_json_open(&j, NULL, '{');
	fmt_json_str(&j, "trace", output);
	fmt_json_u64(&j, "ranks", r->n_ranks);
	fmt_json_u64(&j, "parts", l->n_traces);
	fmt_json_u64(&j, "missing_parts", l->n_absent);
	fmt_json_u64(&j, "clocks", r->n_clocks);
	fmt_json_u64(&j, "aligned", r->n_aligned);
	fmt_json_u64(&j, "collectives", r->error.moments);
	fmt_json_i64(&j, "p50_ns", r->error.p50_ns);
	fmt_json_i64(&j, "p95_ns", r->error.p95_ns);
	fmt_json_i64(&j, "max_ns", r->error.max_ns);
	fmt_json_u64(&j, "out_of_order", r->out_of_order);
	fmt_json_close(&j, '}');
	printf("%.*s\n", (int)out.len, out.data);
}

static void report(const char *output, const struct list *l, const struct fmt_join_result *r)
{
	scoped(text_done) struct text out = {0};

	text_printf(&out, "%s: ", output);
	text_counted(&out, r->n_ranks, "rank", "ranks");
	text_str(&out, " of ");
	text_counted(&out, l->n_traces, "part", "parts");
	text_char(&out, '\n');
	for (size_t i = 0; i < l->n_absent; i++)
		text_printf(&out, "  missing: what ran on %s\n", l->absent[i]);
	if (r->n_clocks > 1) {
		text_printf(&out, "  %u of %u clocks aligned by ", r->n_aligned + 1, r->n_clocks);
		text_counted(&out, r->error.moments, "collective, which ends",
			     "collectives, which end");
		text_printf(&out,
			    " within %.1f us at the median, %.1f us at 95 %%, %.1f us at most\n",
			    (double)r->error.p50_ns / 1e3, (double)r->error.p95_ns / 1e3,
			    (double)r->error.max_ns / 1e3);
	}
	printf("%.*s", (int)out.len, out.data ? out.data : "");
}

static int run(const struct cli_args *args)
{
	const char *output = args->values[OPT_OUTPUT];
	scoped(list_done) struct list l = {0};
	struct fmt_join_result result;
	struct fmt_join join;
	int r, status;

	if (!output || !*output) {
		cli_error("join: missing -o OUT");
		return CLI_USAGE;
	}
	r = list_operands(args, &l);
	if (r < 0)
		return cli_fail(r, NULL, "read", args->operands[0], NULL);
	if (l.n_traces == 0) {
		cli_error("cannot join %s: it has no part that ended", args->operands[0]);
		return CLI_INPUT;
	}
	join = (struct fmt_join){.paths = l.traces,
				 .n_paths = l.n_traces,
				 .absent = l.absent,
				 .n_absent = l.n_absent};
	status = joining_run(&join, output, args->values[OPT_FORCE] != NULL, &result);
	if (status != CLI_OK)
		return status;
	if (args->values[OPT_JSON])
		report_json(output, &l, &result);
	else
		report(output, &l, &result);
	return CLI_OK;
}

const struct cli_command cmd_join = {
	.name = "join",
	.operands = "PART...",
	.min_operands = 1,
	.max_operands = INT_MAX,
	.what = "Make one trace from the parts of a run",
	.options = options,
	.notes = "Each PART is a trace, or a folder OUT.parts that gpucapture left. The clocks\n"
		 "of hosts are aligned by their common collectives. The parts must be of one\n"
		 "run: by a launcher's job, a communicator or PyTorch's distributedInfo.\n",
	.run = run,
};
