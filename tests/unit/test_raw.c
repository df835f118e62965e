/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "capture/recorder/recorder.h"
#include "formats/raw/raw.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define CHUNKS 20

/* Pieces that identify themselves: 3 in a chunk, the n-th with 5 n bytes. */
static void put_pieces(struct rec_raw *s, unsigned n)
{
	const struct rec_piece piece = {
		.kind = REC_PIECE_BYTES, .ring = n, .position = 7 * n, .bytes = 5 * n};
	uint8_t data[5 * 3 * 2 * CHUNKS];

	memset(data, (int)n, sizeof(data));
	ck_assert_int_eq(rec_raw_put(s, &piece, data), 0);
	if (n % 3 == 2)
		ck_assert_int_eq(rec_raw_flush(s), 0);
}

static int check_piece(void *context, const struct rec_piece *piece)
{
	unsigned *n = context;

	ck_assert_uint_eq(piece->ring, *n);
	ck_assert_uint_eq(piece->position, 7 * *n);
	ck_assert_uint_eq(piece->bytes, 5 * *n);
	for (uint64_t i = 0; i < piece->bytes; i++)
		ck_assert_uint_eq(piece->data[i], *n);
	++*n;
	return 0;
}

static unsigned count(struct rec_raw *s)
{
	unsigned n = 0;

	ck_assert_int_eq(rec_raw_read(s, check_piece, &n), 0);
	return n;
}

/* Makes a raw recording in a folder that is removed at once. */
static void make_raw(struct rec_raw *s, int *fd)
{
	char folder[] = "/tmp/test-raw-XXXXXX", path[64];
	struct rec_raw_header header = {0};

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/raw", folder);
	ck_assert_int_eq(rec_raw_create(path, &header, s), 0);
	ck_assert_int_eq(rec_raw_create(path, &header, s), -EEXIST);
	*fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(*fd, 0);
	unlink(path);
	rmdir(folder);
}

/* A recording of an earlier version is refused with the version number, and is not removed. */
TEST(other_versions_are_refused)
{
	struct rec_raw_header header = {.magic = REC_RAW_MAGIC, .version = 1};
	char folder[] = "/tmp/test-raw-XXXXXX", path[64], wanted[96];
	struct rec_recorder *recorder = NULL;
	struct fmt_error err = {0};
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/raw", folder);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(&header, sizeof(header), 1, f), 1);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(rec_recorder_recover(path, &recorder, &err), -ENOTSUP);
	snprintf(wanted, sizeof(wanted),
		 "raw recording of version 1; this program reads version %u", REC_RAW_VERSION);
	ck_assert_str_eq(err.what, wanted);
	ck_assert_uint_eq(err.offset, 8);
	ck_assert_int_eq(unlink(path), 0);
	rmdir(folder);
}

/* A recording cut at any byte keeps its complete chunks, and the next recorder appends to them. */
TEST(truncated_recordings_are_continued)
{
	scoped(rec_raw_done) struct rec_raw s = {.fd = -1};
	scoped(close_fd) int fd = -1;
	uint64_t ends[CHUNKS];

	make_raw(&s, &fd);
	for (unsigned n = 0; n < 3 * CHUNKS; n++) {
		put_pieces(&s, n);
		ends[n / 3] = s.bytes;
	}
	ck_assert_uint_eq(count(&s), 3 * CHUNKS);
	for (unsigned n = CHUNKS - 1; n > 0; n--) {
		uint64_t cut = ends[n - 1] + n * (ends[n] - ends[n - 1]) / CHUNKS;

		ck_assert_int_eq(ftruncate(fd, (off_t)cut), 0);
		ck_assert_uint_eq(count(&s), 3 * n);
		ck_assert_uint_eq(s.bytes, ends[n - 1]);
	}
	for (unsigned n = 3; n < 3 * CHUNKS; n++)
		put_pieces(&s, n);
	ck_assert_uint_eq(count(&s), 3 * CHUNKS);
}

static void flip(int fd, uint64_t at)
{
	uint8_t byte;

	ck_assert_int_eq(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= 0x10;
	ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
}

TEST(damage_ends_it)
{
	scoped(rec_raw_done) struct rec_raw s = {.fd = -1};
	scoped(close_fd) int fd = -1;
	uint64_t first = 0, end;

	make_raw(&s, &fd);
	for (unsigned n = 0; n < 6; n++) {
		put_pieces(&s, n);
		first = n < 3 ? s.bytes : first;
	}
	end = s.bytes;
	for (uint64_t at = first; at < end; at++) {
		flip(fd, at);
		ck_assert_uint_eq(count(&s), 3);
		flip(fd, at);
	}
	ck_assert_uint_eq(count(&s), 6);
}

/* The second of three chunks is damaged at any byte: the third is read. */
TEST(damage_costs_a_chunk)
{
	scoped(rec_raw_done) struct rec_raw s = {.fd = -1};
	scoped(close_fd) int fd = -1;
	uint64_t ends[9];

	make_raw(&s, &fd);
	for (unsigned n = 0; n < 9; n++) {
		put_pieces(&s, n);
		ends[n] = s.bytes;
	}
	for (uint64_t at = ends[2]; at < ends[5]; at++) {
		unsigned n = 6;

		flip(fd, at);
		ck_assert_uint_eq(count(&s), 3);
		ck_assert_int_eq(rec_raw_skip_damaged(&s), 1);
		ck_assert_uint_eq(s.at, ends[5]);
		ck_assert_int_eq(rec_raw_next(&s, check_piece, &n), 1);
		ck_assert_uint_eq(n, 9);
		ck_assert_int_eq(rec_raw_next(&s, check_piece, &n), 0);
		ck_assert_int_eq(rec_raw_skip_damaged(&s), 0);
		flip(fd, at);
	}
}
