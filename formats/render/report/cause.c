/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/cause.h"

#include "base/scope.h"
#include "formats/render/grid.h"

#include <inttypes.h>

void fmt_cause_done(struct fmt_cause *c)
{
	text_done(&c->first);
	text_done(&c->second);
	text_done(&c->writer.what);
	free(take(c->ranks));
}

static void put_iteration(int64_t number, struct text *out)
{
	if (number < 0)
		text_str(out,
			 number == FMT_BEFORE ? "before the iterations" : "after the iterations");
	else
		text_printf(out, "iteration %" PRId64, number);
}

static bool has_buffer(const struct fmt_cause *c)
{
	return c->kind == FMT_CAUSE_WRITTEN || c->kind == FMT_CAUSE_READ;
}

static void put_buffer(const struct fmt_cause *c, struct text *out)
{
	const struct fmt_digest *d = &c->buffer;

	text_printf(out, " %s %" PRIu64 " bytes at %" PRIu64 " of allocation %" PRIu64,
		    d->access == FMT_WRITTEN ? "wrote" : "read", d->length_bytes, d->offset_bytes,
		    d->allocation);
	text_printf(out, ", first differing page %" PRIu32 " of %" PRIu32 "; ", c->page,
		    d->n_pages);
	text_str(out, c->kind == FMT_CAUSE_WRITTEN ? "its inputs are the same"
						   : "no earlier operation wrote different bytes");
	if (c->writer.rank < 0)
		return;
	text_printf(out, "; last written by GPU %" PRId64 ", ", c->writer.rank);
	put_iteration(c->writer.iteration, out);
	text_printf(out, ", number %" PRIu64 ": ", c->writer.number);
	text_bytes(out, c->writer.what.data, c->writer.what.len);
}

void fmt_cause_text(const struct fmt_cause *c, struct text *out)
{
	if (c->rank >= 0) {
		text_printf(out, "GPU %" PRId64 ", ", c->rank);
		put_iteration(c->iteration, out);
		text_str(out, ", ");
		fmt_text_sanitised(out, c->track, strlen(c->track), sizeof(c->track));
		text_printf(out, ", number %" PRIu64 ": ", c->number);
	}
	text_bytes(out, c->first.data, c->first.len);
	if (has_buffer(c)) {
		put_buffer(c, out);
		return;
	}
	text_str(out, " in the first, ");
	text_bytes(out, c->second.data, c->second.len);
	text_str(out, " in the second");
}

void fmt_cause_ranks_text(const struct fmt_cause *c, struct text *out)
{
	for (uint32_t i = 0; i < c->n_ranks; i++) {
		const struct fmt_cause_rank *r = &c->ranks[i];

		if (r->differing > 0)
			text_printf(out,
				    "GPU %" PRIu64 ": %" PRIu64 " of %" PRIu64
				    " operations read or wrote different bytes, %" PRIu64
				    " of them with the same inputs",
				    r->number, r->differing, r->operations, r->causes);
		if (r->unordered > 0)
			text_printf(out, ", %" PRIu64 " are unordered", r->unordered);
		if (r->differing > 0)
			text_char(out, '\n');
		if (c->kind == FMT_CAUSE_NONE && r->later[0] + r->later[1] > 0)
			text_printf(out,
				    "GPU %" PRIu64 ": the %s has %" PRIu64
				    " more operations or calls in its last iteration\n",
				    r->number, r->later[0] > 0 ? "first" : "second",
				    r->later[0] + r->later[1]);
	}
}

static void put_ranks(const struct fmt_cause *c, struct fmt_json *j)
{
	fmt_json_open(j, "gpus", '[');
	for (uint32_t i = 0; i < c->n_ranks; i++) {
		const struct fmt_cause_rank *r = &c->ranks[i];

		fmt_json_open(j, NULL, '{');
		fmt_json_u64(j, "gpu", r->number);
		fmt_json_u64(j, "operations", r->operations);
		fmt_json_u64(j, "digests", r->digests);
		fmt_json_u64(j, "digests_in_one_only", r->alone);
		if (r->of_host > 0)
			fmt_json_u64(j, "digests_of_host_functions", r->of_host);
		fmt_json_u64(j, "differing", r->differing);
		fmt_json_u64(j, "differing_by_cause", r->causes);
		fmt_json_u64(j, "differing_unordered", r->unordered);
		fmt_json_u64(j, "later_in_first", r->later[0]);
		fmt_json_u64(j, "later_in_second", r->later[1]);
		fmt_json_close(j, '}');
	}
	fmt_json_close(j, ']');
}

void fmt_cause_json(const struct fmt_cause *c, struct fmt_json *j)
{
	static const char *const kinds[] = {"none",  "sequence", "parameters",
					    "waits", "written",	 "read"};

	put_ranks(c, j);
	if (c->kind == FMT_CAUSE_NONE)
		return;
	fmt_json_open(j, "difference", '{');
	fmt_json_str(j, "kind", kinds[c->kind]);
	if (c->rank >= 0) {
		fmt_json_i64(j, "gpu", c->rank);
		fmt_json_i64(j, "iteration", c->iteration);
		fmt_json_str(j, "track", c->track);
		fmt_json_u64(j, "number", c->number);
	}
	fmt_json_bytes(j, "first", c->first.data, c->first.len);
	fmt_json_bytes(j, "second", c->second.data, c->second.len);
	if (has_buffer(c)) {
		fmt_json_open(j, "buffer", '{');
		fmt_json_str(j, "access", fmt_access_name((enum fmt_access)c->buffer.access));
		fmt_json_u64(j, "allocation", c->buffer.allocation);
		fmt_json_u64(j, "offset_bytes", c->buffer.offset_bytes);
		fmt_json_u64(j, "length_bytes", c->buffer.length_bytes);
		fmt_json_u64(j, "page", c->page);
		fmt_json_u64(j, "pages", c->buffer.n_pages);
		fmt_json_close(j, '}');
	}
	if (c->writer.rank >= 0) {
		fmt_json_open(j, "writer", '{');
		fmt_json_i64(j, "gpu", c->writer.rank);
		fmt_json_i64(j, "iteration", c->writer.iteration);
		fmt_json_u64(j, "number", c->writer.number);
		fmt_json_bytes(j, "what", c->writer.what.data, c->writer.what.len);
		fmt_json_close(j, '}');
	}
	fmt_json_close(j, '}');
}
