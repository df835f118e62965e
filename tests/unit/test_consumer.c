/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/scope.h"
#include "capture/consumer.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define SIZE (CAP_RING_HEADER_BYTES + CAP_MIN_RING_BYTES)

static struct cap_ring *make_ring(void)
{
	struct cap_ring *r = aligned_alloc(CAP_LINE, SIZE);

	memset(r, 0, SIZE);
	r->magic = CAP_MAGIC;
	r->version = CAP_VERSION;
	r->number = 7;
	r->pid = 12;
	r->data_offset = CAP_RING_HEADER_BYTES;
	r->data_bytes = CAP_MIN_RING_BYTES;
	memcpy(r->thread_name, "sixteen letters!", 16);
	return r;
}

/* Writes a record as the traced thread does: at the head, after a pad record if it would cross the
 * end. */
static void put_record(struct cap_ring *r, const void *record, uint32_t bytes)
{
	uint8_t *data = (uint8_t *)r + CAP_RING_HEADER_BYTES;
	uint64_t at = r->head % r->data_bytes;

	if (at + bytes > r->data_bytes) {
		struct cap_record pad = {.bytes = (uint32_t)(r->data_bytes - at), .kind = CAP_PAD};

		memcpy(data + at, &pad, sizeof(pad));
		r->head += pad.bytes;
		at = 0;
	}
	memcpy(data + at, record, bytes);
	r->head += bytes;
}

static void put_call(struct cap_ring *r, uint64_t ordinal)
{
	uint64_t room[8] = {0};
	struct cap_call_record *call = (void *)room;

	call->head = (struct cap_record){.bytes = sizeof(room), .kind = CAP_CALL};
	call->id = ordinal;
	call->words[2] = ordinal;
	put_record(r, room, sizeof(room));
}

TEST(every_record_arrives_in_order)
{
	scoped(free_ptr) struct cap_ring *ring = make_ring();
	scoped(cap_consumer_closep) struct cap_consumer *d = NULL;
	const struct cap_record *record;
	struct fmt_cursor c;
	uint64_t seen = 0;

	ck_assert_int_eq(cap_consumer_attach(ring, SIZE, &d), 0);
	ck_assert_uint_eq(cap_consumer_info(d)->number, 7);
	ck_assert_str_eq(cap_consumer_info(d)->thread_name, "sixteen letters!");
	ck_assert_int_eq(cap_consumer_read(d, &c), 0);
	for (uint64_t made = 0; made < 10000;) {
		for (int i = 0; i < 300; i++)
			put_call(ring, made++);
		ck_assert_int_eq(cap_consumer_read(d, &c), 1);
		ck_assert_uint_lt(ring->tail, ring->head);
		cap_consumer_release(d);
		ck_assert_uint_eq(ring->tail, ring->head);
		while (cap_record_next(&c, &record) == 1) {
			const struct cap_call_record *call = (const void *)record;

			ck_assert_uint_eq(call->id, seen++);
			ck_assert_uint_eq(cap_call_words(call), 3);
			ck_assert_uint_eq(call->words[2], call->id);
		}
		ck_assert_uint_eq(seen, made);
	}
}

TEST(released_space_is_reused)
{
	scoped(free_ptr) struct cap_ring *ring = make_ring();
	scoped(cap_consumer_closep) struct cap_consumer *d = NULL;
	const struct cap_record *record;
	struct fmt_cursor c;

	ck_assert_int_eq(cap_consumer_attach(ring, SIZE, &d), 0);
	for (uint64_t made = 0; made < 4; made++) {
		put_call(ring, made);
		ck_assert_int_eq(cap_consumer_read(d, &c), 1);
		cap_consumer_free_copy(d);
		ck_assert_uint_lt(ring->tail, ring->head);
		cap_consumer_rewind(d);
	}
	ck_assert_int_eq(cap_consumer_read(d, &c), 1);
	for (uint64_t seen = 0; seen < 4; seen++) {
		ck_assert_int_eq(cap_record_next(&c, &record), 1);
		ck_assert_uint_eq(((const struct cap_call_record *)(const void *)record)->id, seen);
	}
	ck_assert_int_eq(cap_record_next(&c, &record), 0);
}

TEST(an_invalid_head_loses_the_pending_records)
{
	static const uint64_t heads[] = {CAP_MIN_RING_BYTES + 8, 12, UINT64_MAX - 7, 1};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		scoped(free_ptr) struct cap_ring *ring = make_ring();
		scoped(cap_consumer_closep) struct cap_consumer *d = NULL;
		struct fmt_cursor c;

		ck_assert_int_eq(cap_consumer_attach(ring, SIZE, &d), 0);
		ring->head = heads[i];
		ck_assert_int_eq(cap_consumer_read(d, &c), -EBADMSG);
		ring->head &= ~UINT64_C(7);
		ck_assert_int_eq(cap_consumer_read(d, &c), 0);
	}
}

/* One row for each kind of invalid record. */
TEST(bad_records_are_refused)
{
	static const struct {
		uint32_t bytes;
		uint16_t kind;
		uint32_t blob_len;
	} rows[] = {
		{40, CAP_BLOB, 0xffffffff}, {40, CAP_BLOB, 9},	 {0, CAP_PAD, 0},
		{12, CAP_PAD, 0},	    {48, CAP_PAD, 0},	 {32, CAP_CALL, 0},
		{40, CAP_KINDS, 0},	    {40, CAP_LAYOUT, 4}, {8, CAP_PARAMS, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cap_blob_record blob[2] = {
			{.head = {rows[i].bytes, rows[i].kind, 0, 0}, .len = rows[i].blob_len}};
		struct fmt_cursor c = fmt_cursor(blob, 40);
		const struct cap_record *record;

		ck_assert_int_eq(cap_record_next(&c, &record), -EBADMSG);
		ck_assert_int_eq(cap_record_next(&c, &record), 0);
	}
}

TEST(only_rings_are_opened)
{
	scoped(free_ptr) struct cap_ring *ring = make_ring();
	struct cap_consumer *d = NULL;

	ck_assert_int_eq(cap_consumer_attach(ring, SIZE - 1, &d), -EBADMSG);
	ck_assert_int_eq(cap_consumer_attach(ring, 100, &d), -EAGAIN);
	ring->version++;
	ck_assert_int_eq(cap_consumer_attach(ring, SIZE, &d), -ENOTSUP);
	ring->data_bytes++, ring->version--;
	ck_assert_int_eq(cap_consumer_attach(ring, SIZE, &d), -EBADMSG);
	ring->magic = 0;
	ck_assert_int_eq(cap_consumer_attach(ring, SIZE, &d), -EAGAIN);
	ring->magic = 1;
	ck_assert_int_eq(cap_consumer_attach(ring, SIZE, &d), -EBADMSG);
	ck_assert_ptr_null(d);
}

/* The reader was killed before it released what it had read: its successor continues from there. */
TEST(a_successor_continues_after_the_last_release)
{
	scoped(free_ptr) struct cap_ring *ring = make_ring();
	struct fmt_cursor c;
	uint64_t position;

	for (uint64_t i = 0; i < 10; i++)
		put_call(ring, i);
	{
		scoped(cap_consumer_closep) struct cap_consumer *d = NULL;

		ck_assert_int_eq(cap_consumer_attach(ring, SIZE, &d), 0);
		ck_assert_int_eq(cap_consumer_read(d, &c), 1);
		position = cap_consumer_position(d);
	}
	ck_assert_uint_eq(ring->tail, 0);
	put_call(ring, 10);

	scoped(cap_consumer_closep) struct cap_consumer *d = NULL;
	const struct cap_record *record;

	ck_assert_int_eq(cap_consumer_attach(ring, SIZE, &d), 0);
	cap_consumer_seek(d, position);
	ck_assert_uint_eq(ring->tail, position);
	ck_assert_int_eq(cap_consumer_read(d, &c), 1);
	ck_assert_int_eq(cap_record_next(&c, &record), 1);
	ck_assert_uint_eq(((const struct cap_call_record *)(const void *)record)->id, 10);
	ck_assert_int_eq(cap_record_next(&c, &record), 0);
}

/* A damaged ring costs that ring only; the reader survives. */
TEST(a_truncated_file_is_damage)
{
	char folder[] = "/tmp/test-drain-XXXXXX", path[64];
	scoped(free_ptr) struct cap_ring *made = make_ring();
	scoped(cap_consumer_closep) struct cap_consumer *d = NULL;
	scoped(close_fd) int fd = -1, dir = -1;
	struct fmt_cursor c;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/ring-1-0", folder);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	dir = open(folder, O_RDONLY | O_DIRECTORY);
	put_call(made, 1);
	made->current_api = 5;
	ck_assert_int_eq(write(fd, made, SIZE), SIZE);
	ck_assert_int_eq(cap_consumer_open(dir, "ring-1-0", &d), 0);
	ck_assert_uint_eq(cap_consumer_status(d).current_api, 5);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	unlink(path);
	rmdir(folder);
	ck_assert_int_eq(cap_consumer_read(d, &c), -EBADMSG);
	ck_assert_int_eq(cap_consumer_read(d, &c), 0);
	ck_assert_uint_eq(cap_consumer_status(d).current_api, 5);
}
