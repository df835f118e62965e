/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/render/grid.h"
#include "formats/trace/json.h"
#include "formats/trace/store/verify.h"
#include "tools/gputrace/cmd.h"
#include "tools/gputrace/sink.h"
#include "tools/trace_arg.h"

#include <errno.h>
#include <inttypes.h>

enum { OPT_JSON };

static const struct cli_option options[] = {
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON"},
	{0},
};

struct report {
	struct text *out;
	struct fmt_json json;
	bool as_json;
	bool is_unreadable; /* a file could not be opened or read */
};

static void put_iteration(const struct fmt_problem *p, struct text *out)
{
	if (p->iteration == FMT_BEFORE)
		text_str(out, ", before the iterations");
	else if (p->iteration == FMT_AFTER)
		text_str(out, ", after the iterations");
	else
		text_printf(out, ", iteration %" PRId64, p->iteration);
}

static void put_line(const struct fmt_problem *p, struct text *out)
{
	text_str(out, p->error.file);
	if (p->error.offset != FMT_NO_OFFSET)
		text_printf(out, " at byte %" PRIu64, p->error.offset);
	if (p->chunk >= 0)
		text_printf(out, ", chunk %" PRId64 " (%s)", p->chunk, p->type);
	if (p->rank >= 0)
		text_printf(out, ", GPU %" PRId64, p->rank);
	if (p->slice >= 0)
		put_iteration(p, out);
	text_printf(out, ": %s\n", p->error.what);
}

static void put_object(const struct fmt_problem *p, struct fmt_json *j)
{
	fmt_json_open(j, NULL, '{');
	fmt_json_str(j, "file", p->error.file);
	if (p->error.offset != FMT_NO_OFFSET)
		fmt_json_u64(j, "offset", p->error.offset);
	if (p->chunk >= 0) {
		fmt_json_i64(j, "chunk", p->chunk);
		fmt_json_str(j, "type", p->type);
	}
	if (p->rank >= 0)
		fmt_json_i64(j, "gpu", p->rank);
	if (p->slice >= 0) {
		fmt_json_i64(j, "slice", p->slice);
		fmt_json_i64(j, "iteration", p->iteration);
	}
	fmt_json_str(j, "what", p->error.what);
	fmt_json_close(j, '}');
}

static int put_problem(void *context, const struct fmt_problem *p)
{
	struct report *r = context;

	r->is_unreadable |= p->error.code != -EBADMSG;
	if (r->as_json)
		put_object(p, &r->json);
	else
		put_line(p, r->out);
	return 0;
}

static void put_summary(struct report *r, const struct fmt_verified *v)
{
	if (r->as_json) {
		fmt_json_close(&r->json, ']');
		fmt_json_u64(&r->json, "files", v->files);
		fmt_json_u64(&r->json, "chunks", v->chunks);
		fmt_json_u64(&r->json, "slices", v->slices);
		fmt_json_u64(&r->json, "bytes", v->bytes);
		fmt_json_str(&r->json, "id", v->id);
		fmt_json_bool(&r->json, "whole", v->problems == 0);
		fmt_json_close(&r->json, '}');
		return;
	}
	text_printf(r->out, "%s, %s, %s: ", fmt_plural(v->files, "file", "files").s,
		    fmt_plural(v->chunks, "chunk", "chunks").s,
		    fmt_plural(v->bytes, "byte", "bytes").s);
	if (v->problems == 0)
		text_printf(r->out, "whole\nid %s\n", v->id);
	else
		text_printf(r->out, "%" PRIu64 " damaged\n", v->problems);
}

static int run(const struct cli_args *args)
{
	const char *path = args->operands[0];
	scoped(sink_done) struct sink sink = {0};
	scoped(text_done) struct text out = {0};
	struct report report = {.out = &out, .as_json = args->values[OPT_JSON] != NULL};
	struct fmt_verified v;
	struct fmt_error err = {0};
	int r;

	report.json = (struct fmt_json){.text = &out, .broken = 1};
	sink_open(&sink, NULL, &out);
	if (report.as_json) {
		fmt_json_open(&report.json, NULL, '{');
		fmt_json_open(&report.json, "problems", '[');
	}
	r = fmt_verify(path, put_problem, &report, &v, &err);
	if (r < 0) {
		text_done(&out);
		return trace_arg_fail(r, &err, "verify", path);
	}
	put_summary(&report, &v);
	if (sink_commit(&sink, &out) < 0)
		return cli_fail(out.error, NULL, "write", "the output", NULL);
	if (report.is_unreadable)
		return CLI_INPUT;
	return v.problems ? CLI_FAILED : CLI_OK;
}

const struct cli_command cmd_verify = {
	.name = "verify",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Read and check every byte of a trace",
	.options = options,
	.notes = "Each line names a damaged part: file, chunk, GPU and iteration. Exit status 1\n"
		 "if there is any, 3 if a file could not be opened.\n",
	.run = run,
};
