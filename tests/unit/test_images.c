/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/images.h"

#include "base/array.h"
#include "formats/render/losses.h"
#include "formats/trace/store/blobs.h"
#include "tests/unit/made.h"
#include "tests/unit/rings.h"
#include "tests/unit/test.h"

/* Elements of the fact: valid ones, and ones with small errors. */
static const struct {
	const char *json;
	enum fmt_image_kind kind;
	uint64_t bytes;
	int has_name;
} rows[] = {
	{"{\"kind\": \"ptx\", \"bytes\": 12, \"content\": \"0123456789abcdef0123456789abcdee\"}",
	 FMT_IMAGE_PTX, 12, 1},
	{"{\"bytes\": 9223372036854775807, \"kind\": \"fatbin\", \"file\": \"/a\\\"b\"}",
	 FMT_IMAGE_FATBIN, INT64_MAX, 0},
	{"{\"kind\": \"cubin\", \"content\": \"0123456789ABCDEF0123456789abcdee\"}",
	 FMT_IMAGE_CUBIN, 0, 0},
	{"{\"kind\": \"ptx2\", \"bytes\": -1, \"content\": \"0123\"}", FMT_IMAGE_OTHER, 0, 0},
	{"{\"kind\": 7, \"bytes\": \"12\", \"content\": 5, \"build_id\": [], \"file\": {}}",
	 FMT_IMAGE_OTHER, 0, 0},
	{"17", FMT_IMAGE_OTHER, 0, 0},
};

TEST(test_images_are_read_from_the_fact)
{
	scoped(text_done) struct text json = {0};
	struct fmt_image image;
	const char *at;
	size_t n = 0;

	text_char(&json, '[');
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		text_printf(&json, "%s%s", i > 0 ? ", " : "", rows[i].json);
	text_char(&json, ']');
	at = json.data;
	for (; fmt_image_next(&at, json.data + json.len, &image); n++) {
		ck_assert_int_eq(image.kind, rows[n].kind);
		ck_assert_uint_eq(image.bytes, rows[n].bytes);
		ck_assert_int_eq(image.has_name, rows[n].has_name);
		if (image.has_name) {
			ck_assert_uint_eq(image.name[1], 0x0123456789abcdef);
			ck_assert_uint_eq(image.name[0], 0x0123456789abcdee);
		}
		if (n == 1)
			ck_assert_mem_eq(image.file, "/a\\\"b", image.file_len);
	}
	ck_assert_uint_eq(n, ARRAY_SIZE(rows));
	at = "no list";
	ck_assert_int_eq(fmt_image_next(&at, at + 7, &image), 0);
}

/* ---- recorded */

static void write_image_file(const char *folder, const uint64_t name[2], const char *content)
{
	char hex[FMT_CONTENT_NAME_BYTES], path[600];
	FILE *file;

	fmt_content_name(name, hex);
	snprintf(path, sizeof(path), "%s/blob-%s", folder, hex);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(content, file), 0);
	fclose(file);
}

static void ring_image(struct made_ring *m, uint8_t flags, const uint64_t name[2], uint64_t bytes,
		       const char *path)
{
	_Alignas(8) uint8_t room[sizeof(struct cap_image_record) + 64] = {0};
	struct cap_image_record *r = (void *)room;
	uint32_t len = (uint32_t)strlen(path);

	r->head = (struct cap_record){.bytes = (uint32_t)(sizeof(*r) + (len + 3) / 8 * 8 + 8),
				      .kind = CAP_IMAGE,
				      .flags = flags};
	r->id = ring_id(m);
	memcpy(r->hash, name, sizeof(r->hash));
	r->size = bytes;
	r->offset = len ? 4096 : 0;
	r->path_len = len;
	memcpy(r->data, path, len);
	if (len > 0) {
		r->build_id_len = 2;
		memcpy(r->data + len, "\xab\x0c", 2);
	}
	ring_put(m, r);
}

TEST(test_missing_images_are_counted_by_reason)
{
	scoped(recording_end) struct recording r = {0};
	scoped(text_done) struct text losses = {0};
	scoped(made_removep) char *folder = made_directory();
	char path[600];
	const struct rec_window window = {.first = -1,
					  .last = -1,
					  .last_content = 9,
					  .folder = folder,
					  .unread = {.contents = 3}};
	struct rec_trace_counts result;
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	struct fmt_error err;
	uint64_t kept[2], gone[2] = {1, 2}, changed[2], none[2] = {0};

	fmt_blob_name(".version 1", 10, kept);
	fmt_blob_name("what it was", 11, changed);
	write_image_file(folder, kept, ".version 1");
	write_image_file(folder, changed, "what it is.");
	recording_begin(&r, 0);
	ring_image(&r.ring, CAP_IMAGE_STORED | FMT_IMAGE_PTX << 1, kept, 10, "");
	ring_image(&r.ring, CAP_IMAGE_STORED | FMT_IMAGE_PTX << 1, kept, 10, "");
	ring_image(&r.ring, CAP_IMAGE_STORED | FMT_IMAGE_CUBIN << 1, gone, 20, "");
	ring_image(&r.ring, CAP_IMAGE_STORED | FMT_IMAGE_CUBIN << 1, changed, 11, "");
	ring_image(&r.ring, FMT_IMAGE_FATBIN << 1, none, 30, "/lib/a.so");
	ring_times(&r.ring, ring_launch(&r.ring, KERNEL, STREAM), r.ring.now_ns,
		   r.ring.now_ns + 1000);
	ring_look(&r.ring);
	snprintf(path, sizeof(path), "%s/trace", folder);
	ck_assert_int_eq(rec_run_write(&r.process, 1, r.names, &window, path, &result, &err), 0);
	ck_assert_int_eq(fmt_trace_open(path, &trace, &err), 0);
	ck_assert_uint_eq(result.contents.kept, 1);
	ck_assert_uint_eq(result.contents.kept_bytes, 10);
	fmt_put_losses(trace, "", &losses);
	text_char(&losses, 0);
	ck_assert_str_eq(
		losses.data,
		"3 contents of buffers or code images lost because the session folder was full\n"
		"1 content of a buffer or code image that could not be read from the session "
		"folder\n"
		"1 content of a buffer or code image that does not match its digest\n");
	const char *fact = fmt_fact_value(fmt_trace_names(trace), FMT_WHOLE_TRACE, FMT_FACT_IMAGES);
	struct fmt_image image;
	size_t n = 0, n_kept = 0;

	ck_assert_ptr_nonnull(fact);
	for (const char *at = fact; fmt_image_next(&at, fact + strlen(fact), &image); n++) {
		n_kept += (size_t)image.has_name;
		if (image.kind == FMT_IMAGE_FATBIN) {
			ck_assert_mem_eq(image.build_id, "ab0c", 4);
			ck_assert_mem_eq(image.file, "/lib/a.so", image.file_len);
			ck_assert_uint_eq(image.offset_bytes, 4096);
		}
	}
	ck_assert_uint_eq(n, 4);
	ck_assert_uint_eq(n_kept, 1);
}
