/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/render/report/cause_find.h"
#include "formats/trace/json.h"
#include "formats/trace/store/verify.h"
#include "tools/damage.h"
#include "tools/gputrace/cmd.h"
#include "tools/gputrace/sink.h"
#include "tools/trace_arg.h"

enum { OPT_OPERATIONS, OPT_JSON };

static const struct cli_option options[] = {
	[OPT_OPERATIONS] = {"operations", 0, NULL, "compare GPU operations only, not host calls"},
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON"},
	{0},
};

static void put_text(const struct fmt_cause *c, const char *const *paths, bool same_id,
		     struct text *out)
{
	text_printf(out, "%s and %s ", paths[0], paths[1]);
	if (c->kind != FMT_CAUSE_NONE) {
		text_str(out, c->rank >= 0 ? "differ first at " : "differ: ");
		fmt_cause_text(c, out);
	} else {
		text_str(
			out,
			same_id ? "are the same"
				: "execute the same calls and operations (times are not compared)");
	}
	text_char(out, '\n');
	fmt_cause_ranks_text(c, out);
}

static void put_json(const struct fmt_cause *c, bool same_id, uint64_t n_damaged, struct text *out)
{
	struct fmt_json j = {.text = out, .broken = 1};

	fmt_json_open(&j, NULL, '{');
	fmt_json_bool(&j, "same_id", same_id);
	fmt_json_bool(&j, "same", c->kind == FMT_CAUSE_NONE && n_damaged == 0);
	fmt_json_u64(&j, "damaged", n_damaged);
	fmt_cause_json(c, &j);
	fmt_json_close(&j, '}');
}

/* Traces with the same id are equal if the bytes of both match the id. */
static int check_bytes(struct fmt_trace *t, const char *path, struct damage *damage)
{
	struct fmt_error err = {0};
	struct fmt_verified v;
	int r = fmt_verify_to(fmt_trace_path(t), FMT_VERIFY_BYTES, damage_add_problem, damage, &v,
			      &err);

	return r < 0 ? trace_arg_fail(r, &err, "read", path) : CLI_OK;
}

static int check_both(struct fmt_trace *const *traces, const char *const *paths,
		      struct damage damage[2])
{
	int status = check_bytes(traces[0], paths[0], &damage[0]);

	if (status == CLI_OK && strcmp(fmt_trace_path(traces[0]), fmt_trace_path(traces[1])) != 0)
		status = check_bytes(traces[1], paths[1], &damage[1]);
	return status;
}

static int compare_traces(struct fmt_trace *const *traces, const char *const *paths, bool calls,
			  struct fmt_cause *cause)
{
	struct fmt_error err = {0};
	int r = 0, at = 0;

	for (; at < 2 && r == 0; at++)
		r = fmt_trace_check_complete(traces[at], &err);
	if (r < 0)
		return cli_fail(r, &err, "compare", paths[at - 1], NULL);
	r = fmt_cause_find(traces[0], traces[1], &FMT_CAUSE_ALL(calls), cause, &err);
	return r < 0 ? cli_fail(r, &err, "compare", err.file[0] ? err.file : paths[0], NULL)
		     : CLI_OK;
}

/* Reports the damage of the first damaged trace. */
static int print_damage(const struct damage damage[2], const char *const *paths)
{
	int i = damage[0].n == 0;

	return damage_print(&damage[i], paths[i],
			    "compared with %s, which has the same id, the result is unknown",
			    paths[!i]);
}

static int run(const struct cli_args *args)
{
	scoped(fmt_trace_closep) struct fmt_trace *a = NULL;
	scoped(fmt_trace_closep) struct fmt_trace *b = NULL;
	scoped(fmt_cause_done) struct fmt_cause cause = {0};
	scoped(sink_done) struct sink sink = {0};
	scoped(text_done) struct text out = {0};
	const char *const paths[] = {args->operands[0], args->operands[1]};
	struct damage damage[2] = {0};
	uint64_t n_damaged;
	bool same_id;
	int status;

	status = trace_arg_open(paths[0], &a);
	if (status == CLI_OK)
		status = trace_arg_open(paths[1], &b);
	if (status != CLI_OK)
		return status;
	same_id = *fmt_trace_id(a) && !strcmp(fmt_trace_id(a), fmt_trace_id(b));
	if (same_id)
		status = check_both((struct fmt_trace *[]){a, b}, paths, damage);
	else
		status = compare_traces((struct fmt_trace *[]){a, b}, paths,
					!args->values[OPT_OPERATIONS], &cause);
	if (status != CLI_OK)
		return status;
	n_damaged = damage[0].n + damage[1].n;
	sink_open(&sink, NULL, &out);
	if (args->values[OPT_JSON])
		put_json(&cause, same_id, n_damaged, &out);
	else if (n_damaged == 0)
		put_text(&cause, paths, same_id, &out);
	if (sink_commit(&sink, &out) < 0)
		return cli_fail(out.error, NULL, "write", "the output", NULL);
	if (n_damaged > 0)
		return print_damage(damage, paths);
	return cause.kind != FMT_CAUSE_NONE ? CLI_FAILED : CLI_OK;
}

const struct cli_command cmd_diff = {
	.name = "diff",
	.operands = "TRACE TRACE",
	.min_operands = 2,
	.max_operands = 2,
	.what = "Find the first difference between two traces",
	.options = options,
	.notes = "Compares the operations of each stream in order (with sizes, parameters and\n"
		 "event waits), the calls of each thread, and the digests of buffers if both\n"
		 "traces have them; not times. Prints the operation that caused the difference:\n"
		 "the earliest one on any GPU that differs, or that read the same bytes but wrote\n"
		 "different ones. `number` is the number in the tables of a mount. Operations of\n"
		 "one run after the end of the other are counted, but are not a difference.\n"
		 "Exit status 1 if the traces differ, or if they have the same id and one of them\n"
		 "is damaged.\n",
	.run = run,
};
