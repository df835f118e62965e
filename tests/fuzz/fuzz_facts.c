/* SPDX-License-Identifier: Apache-2.0 */

/* Facts of a trace: each line of the input is a fact, "PART RANK KEY JSON", of one of two parts of
 * a run; with RANK *, of the whole part. The parts are rendered and emulated. */
#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "formats/trace/origin.h"
#include "formats/trace/store/writer.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/render.h"

#include <stdbool.h>
#include <stdint.h>

#define PARTS 2
#define RANKS 2

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(int r)
{
	if (r < 0)
		abort();
}

static fmt_str string(struct fmt_names *n, const char *s)
{
	fmt_str ret = 0;

	must(fmt_names_string(n, s, strlen(s), &ret));
	return ret;
}

/* Templates of each kind that the ranks use, and their tracks. */
static void make_names(struct fmt_names *n, uint32_t templates[FMT_KINDS])
{
	const struct fmt_arg args[FMT_COLLECTIVE_ARGS] = {
		{.key = string(n, FMT_KEY_COMM), .type = FMT_INT, .varies = 1},
		{.key = string(n, FMT_KEY_SEQ), .type = FMT_INT, .varies = 1},
		{.key = string(n, FMT_KEY_OP),
		 .type = FMT_STRING,
		 .value = string(n, "all_reduce")},
		{.key = string(n, FMT_KEY_DTYPE), .type = FMT_STRING},
		{.key = string(n, FMT_KEY_BYTES), .type = FMT_INT, .value = 64},
	};
	static const uint8_t kinds[] = {FMT_CALL, FMT_KERNEL, FMT_COLLECTIVE};
	static const uint32_t ranks[RANKS] = {0, 1};
	const struct fmt_comm comm = {.name = string(n, "0"), .n_ranks = RANKS, .ranks = ranks};
	uint32_t unused;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		bool meets = kinds[i] == FMT_COLLECTIVE;
		struct fmt_template s = {.kind = kinds[i],
					 .name = string(n, fmt_kind_name(kinds[i])),
					 .args = args,
					 .n_args = meets ? FMT_COLLECTIVE_ARGS : 0};

		must(fmt_names_template(n, &s, &templates[kinds[i]]));
	}
	must(fmt_names_comm(n, &comm, &unused));
	for (uint32_t r = 0; r < RANKS; r++) {
		const struct fmt_track thread = {.kind = FMT_THREAD, .tid = r};
		const struct fmt_track stream = {.kind = FMT_STREAM, .tid = r};
		const struct fmt_device device = {.properties = string(n, "{\"numSms\": 8}")};

		must(fmt_names_track(n, r, &thread, &unused));
		must(fmt_names_track(n, r, &stream, &unused));
		must(fmt_names_device(n, r, &device));
	}
}

/* Returns the text up to `end`, and moves *at beyond it. */
static struct text word(const char **at, const char *line_end, char end)
{
	const char *to = memchr(*at, end, (size_t)(line_end - *at));
	struct text t = {0};

	to = to ? to : line_end;
	text_bytes(&t, *at, (size_t)(to - *at));
	text_char(&t, '\0');
	must(t.error);
	*at = to < line_end ? to + 1 : to;
	return t;
}

static void put_fact(struct fmt_names *n, uint32_t part, const char *line, const char *end)
{
	scoped(text_done) struct text of = word(&line, end, ' ');
	scoped(text_done) struct text rank = word(&line, end, ' ');
	scoped(text_done) struct text key = word(&line, end, ' ');

	if (of.data[0] == '0' + (char)part)
		must(fmt_names_fact_json(
			n, rank.data[0] == '*' ? FMT_WHOLE_TRACE : rank.data[0] & (RANKS - 1),
			key.data, line, (size_t)(end - line)));
}

static void put_facts(struct fmt_names *n, uint32_t part, const char *at, size_t len)
{
	const char *end = at + len, *line_end;

	for (; at < end; at = line_end + 1) {
		line_end = memchr(at, '\n', (size_t)(end - at));
		line_end = line_end ? line_end : end;
		put_fact(n, part, at, line_end);
	}
}

static void write_rank(struct fmt_writer *w, const uint32_t templates[FMT_KINDS], uint32_t rank)
{
	int64_t values[] = {0, 0, 0, 1};
	struct fmt_event events[] = {
		{.template = templates[FMT_CALL],
		 .start_ns = 100,
		 .duration_ns = 10,
		 .correlation = 1},
		{.template = templates[FMT_CALL],
		 .start_ns = 200,
		 .duration_ns = 10,
		 .correlation = 2},
		{.template = templates[FMT_KERNEL], .start_ns = 300, .duration_ns = 50, .track = 1},
		{.template = templates[FMT_COLLECTIVE],
		 .start_ns = 400,
		 .duration_ns = 50,
		 .track = 1},
		{.template = templates[FMT_COLLECTIVE],
		 .start_ns = 500,
		 .duration_ns = 50,
		 .track = 1,
		 .first_value = 2},
	};
	const struct fmt_slice s = {.rank = rank,
				    .iteration = {.start_ns = 100, .duration_ns = 450},
				    .events = events,
				    .n_events = ARRAY_SIZE(events),
				    .values = values,
				    .n_values = ARRAY_SIZE(values)};
	struct fmt_rank_writer *out;

	must(fmt_writer_rank(w, rank, rank, &out, NULL));
	must(fmt_rank_writer_slice(out, &s, NULL));
}

static void write_part(uint32_t part, const char *facts, size_t len, const char *path)
{
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	const struct fmt_origin origin = {.part = part, .n_parts = PARTS, .run = "run"};
	uint32_t templates[FMT_KINDS] = {0};
	struct fmt_writer *w;

	must(fmt_names_new(&n));
	make_names(n, templates);
	must(fmt_origin_put(n, &origin));
	put_facts(n, part, facts, len);
	must(fmt_writer_open(path, n, 1, &w, NULL));
	for (uint32_t r = 0; r < RANKS; r++)
		write_rank(w, templates, r);
	must(fmt_writer_close(w, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(folder_done) struct folder f = folder_make();
	char parts[PARTS][128], emulated[128];

	for (uint32_t i = 0; i < PARTS; i++) {
		folder_in(&f, i ? "second" : "first", parts[i]);
		write_part(i, (const char *)data, len, parts[i]);
	}
	render_all(parts[0]);
	render_emulated(parts[0], folder_in(&f, "emulated", emulated));
	return 0;
}
