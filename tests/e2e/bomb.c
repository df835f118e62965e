/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a small packed trace that declares very large contents: bomb KIND FILE. All checksums are
 * correct. */
#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/chunk.h"
#include "formats/trace/store/columns.h"
#include "formats/trace/store/index.h"
#include "formats/trace/store/slice_code.h"

#include <stdio.h>

static void must(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bomb: %s: %s\n", what, strerror(-r));
	exit(1);
}

static void file(struct text *t, uint8_t kind, uint32_t number, uint32_t names_rank)
{
	const struct fmt_file_header h = {.kind = kind, .number = number, .names_rank = names_rank};

	fmt_file_header_put(t, &h);
}

/* Compresses `raw` into `frame`, and sets the sizes and the hash of `c`. Input that repeats one
 * byte becomes equally small at each level. */
static void pack(struct text *frame, struct fmt_chunk *c, const struct text *raw)
{
	size_t cut = raw->len;

	must(raw->error, "memory");
	must(fmt_frame_pack(frame, raw->data, &cut, 1, 1), "pack");
	c->frame_bytes = frame->len;
	c->raw_bytes = raw->len;
	c->hash = fmt_hash(frame->data, frame->len);
}

static void chunk(struct text *t, const struct fmt_chunk *c, const struct text *frame)
{
	fmt_chunk_header_put(t, c);
	text_bytes(t, frame->data, frame->len);
}

static void names_chunk(struct text *t, const struct text *raw)
{
	struct fmt_chunk c = {.type = FMT_CHUNK_NAMES};
	scoped(text_done) struct text frame = {0};

	pack(&frame, &c, raw);
	file(t, FMT_FILE_TRACE, 0, 0);
	chunk(t, &c, &frame);
	file(t, FMT_FILE_RANK, 0, 0);
}

static void zeros(struct text *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_char(t, 0);
}

/* 100 million empty strings. */
static void strings(struct text *t)
{
	scoped(text_done) struct text raw = {0};

	fmt_put_varint(&raw, 100000000);
	zeros(&raw, 100000000);
	names_chunk(t, &raw);
}

/* Templates with many varying arguments and different names; each takes a few bytes. */
static void templates(struct text *t)
{
	scoped(text_done) struct text raw = {0}, columns = {0};
	scoped(fmt_columns_out_done) struct fmt_columns_out out = {0};
	const uint32_t n_args = 2000, n = 50000;

	fmt_put_varint(&raw, n); /* strings */
	for (uint32_t i = 0; i < n; i++) {
		text_printf(&raw, "%u", i);
		text_char(&raw, 0);
	}
	fmt_put_varint(&raw, 1); /* shapes */
	fmt_put_u8(&raw, FMT_CALL);
	fmt_put_varint(&raw, 0);
	fmt_put_varint(&raw, n_args);
	for (uint32_t i = 0; i < n_args; i++)
		text_bytes(&raw, (const char[]){1, FMT_INT, 1}, 3);
	for (uint32_t i = 0; i < n; i++) {
		fmt_columns_add(&out, 0, 0); /* shape */
		fmt_columns_add(&out, 1, i); /* name */
	}
	must(fmt_columns_put(&out, 0, &columns), "columns");
	fmt_put_varint(&raw, n);
	fmt_put_varint(&raw, columns.len);
	text_bytes(&raw, columns.data, columns.len);
	zeros(&raw, 4);
	names_chunk(t, &raw);
}

/* Identical calls, a million in each slice. */
static void calls(struct text *t)
{
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	scoped(text_done) struct text names = {0}, raw = {0}, frame = {0};
	scoped(fmt_slice_parts_done) struct fmt_slice_parts parts = {0};
	struct fmt_track track = {.kind = FMT_THREAD, .pid = 1, .tid = 1};
	struct fmt_template template = {.kind = FMT_CALL};
	struct fmt_slice s = {.n_events = 1 << 20};
	struct fmt_chunk c = {.type = FMT_CHUNK_SLICE};
	uint32_t number;

	must(fmt_names_new(&n), "names");
	must(fmt_names_string(n, "call", 4, &template.name), "string");
	must(fmt_names_template(n, &template, &number), "template");
	must(fmt_names_track(n, 0, &track, &number), "track");
	must(fmt_names_put(n, &names), "names");
	names_chunk(t, &names);
	s.events = calloc(s.n_events, sizeof(*s.events));
	must(s.events ? 0 : -ENOMEM, "memory");
	for (size_t i = 0; i < s.n_events; i++)
		s.events[i].start_ns = (int64_t)i;
	must(fmt_slice_encode(&s, n, 0, &parts), "slice");
	must((int)fmt_slice_put(&parts, NULL, 0, &raw), "slice");
	free(s.events);
	pack(&frame, &c, &raw); /* the same bytes for each slice */
	for (c.slice = 0; c.slice < 1000; c.slice++) {
		c.n_records[FMT_CALL] = s.n_events;
		c.first_number = c.slice * s.n_events;
		chunk(t, &c, &frame);
	}
}

/* The highest rank number that the format allows. */
static void last_rank(struct text *t)
{
	file(t, FMT_FILE_RANK, 0, (1u << 24) - 1);
}

/* A file without chunks, followed by a footer and an index of very many chunks. */
static void chunks(struct text *t)
{
	const size_t n = 20000000;
	struct fmt_chunk *list = calloc(n, sizeof(*list));
	const struct fmt_file_header h = {.kind = FMT_FILE_RANK};
	struct fmt_member_span member = {.name = "rank-00000.chunks"};
	struct fmt_footer footer = {0};
	size_t at, tail;

	must(list ? 0 : -ENOMEM, "memory");
	fmt_file_header_put(t, &h);
	at = tail = t->len;
	must(fmt_index_put(t, &h, list, n), "index");
	free(list);
	footer.index_bytes = t->len - at;
	fmt_footer_put(t, &footer);
	member.data_bytes = FMT_FILE_HEADER_BYTES;
	member.tail_bytes = t->len - tail;
	at = t->len;
	must(fmt_members_put(t, &member, 1), "members");
	footer.index_bytes = t->len - at;
	fmt_footer_put(t, &footer);
}

/* A file in which every offset may begin an index that extends to the end of the file. */
static void headers(struct text *t)
{
	for (uint32_t i = 200000; i > 0; i--) {
		fmt_put_u32(t, FMT_SKIP_MAGIC);
		fmt_put_u32(t, 9 * i - 8);
		text_char(t, 'I');
	}
}

/* Gaps with lost bytes between complete headers. */
static void gaps(struct text *t)
{
	file(t, FMT_FILE_RANK, 0, 0);
	for (int i = 0; i < 20000; i++) {
		struct fmt_chunk c = {.type = 200};

		text_char(t, 'x');
		fmt_chunk_header_put(t, &c);
	}
}

static const struct {
	const char *kind;
	void (*write)(struct text *t);
} kinds[] = {
	{"strings", strings}, {"templates", templates}, {"calls", calls}, {"last-rank", last_rank},
	{"chunks", chunks},   {"headers", headers},	{"gaps", gaps},
};

int main(int argc, char **argv)
{
	scoped(text_done) struct text t = {0};
	FILE *out;

	if (argc != 3)
		return 2;
	file(&t, FMT_FILE_PACKED, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].kind, argv[1]) == 0)
			kinds[i].write(&t);
	}
	must(t.error, "memory");
	out = fopen(argv[2], "wb");
	if (!out || fwrite(t.data, 1, t.len, out) != t.len || fclose(out) != 0)
		return 1;
	return 0;
}
