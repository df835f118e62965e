/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/source.h"

#include "base/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#define BUFFER (256 << 10)

enum packing { PLAIN, GZIP, ZSTD };

struct kineto_source {
	char path[4096];
	int fd;
	enum packing packing;
	bool ended;	/* the buffer contains the last bytes of the file */
	bool between;	/* a packed stream has ended, and the next may begin */
	uint64_t done;	/* bytes read from the file */
	size_t at, len; /* the rest of the buffer */
	struct inflate_state *gzip;
	ZSTD_DStream *zstd;
	uint8_t buffer[BUFFER];
};

define_cleanup(source_closep, struct kineto_source *, kineto_source_close);

void kineto_source_close(struct kineto_source *s)
{
	if (!s)
		return;
	if (s->fd > 0)
		close(s->fd);
	free(s->gzip);
	ZSTD_freeDStream(s->zstd);
	free(s);
}

/* Reads more of the file once the buffer is used up. */
static int read_more(struct kineto_source *s)
{
	ssize_t n;

	if (s->at < s->len || s->ended)
		return 0;
	s->at = s->len = 0;
	while (s->len < sizeof(s->buffer) && !s->ended) {
		n = read(s->fd, s->buffer + s->len, sizeof(s->buffer) - s->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		s->ended = n == 0;
		s->len += (size_t)n;
		s->done += (size_t)n;
	}
	return 0;
}

static int detect_format(struct kineto_source *s, struct fmt_error *err)
{
	static const uint8_t zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

	if (s->len == 0)
		return fmt_fail(err, -EBADMSG, s->path, FMT_NO_OFFSET, "the file is empty");
	if (s->len >= 2 && s->buffer[0] == 0x1f && s->buffer[1] == 0x8b) {
		s->packing = GZIP;
		s->gzip = malloc(sizeof(*s->gzip));
		if (!s->gzip)
			return -ENOMEM;
		isal_inflate_init(s->gzip);
		s->gzip->crc_flag = ISAL_GZIP;
	} else if (s->len >= 4 && memcmp(s->buffer, zstd_magic, 4) == 0) {
		s->packing = ZSTD;
		s->zstd = ZSTD_createDStream();
		if (!s->zstd)
			return -ENOMEM;
	}
	return 0;
}

int kineto_source_open(const char *path, struct kineto_source **ret, struct fmt_error *err)
{
	scoped(source_closep) struct kineto_source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	snprintf(s->path, sizeof(s->path), "%s", path);
	s->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0)
		return fmt_fail(err, -errno, path, FMT_NO_OFFSET, "%s", strerror(errno));
	r = read_more(s);
	if (r < 0)
		return fmt_fail(err, r, path, FMT_NO_OFFSET, "%s", strerror(-r));
	r = detect_format(s, err);
	if (r < 0)
		return r;
	*ret = take(s);
	return 0;
}

/* Reads the bytes used to detect the compression, then bytes from the file. */
static ssize_t read_plain(struct kineto_source *s, uint8_t *buf, size_t n)
{
	size_t some = s->len - s->at < n ? s->len - s->at : n;
	ssize_t got;

	if (some > 0) {
		memcpy(buf, s->buffer + s->at, some);
		s->at += some;
		return (ssize_t)some;
	}
	do {
		got = read(s->fd, buf, n);
	} while (got < 0 && errno == EINTR);
	s->done += got > 0 ? (size_t)got : 0;
	return got < 0 ? -errno : got;
}

static ssize_t read_gzip(struct kineto_source *s, uint8_t *buf, size_t n)
{
	struct inflate_state *z = s->gzip;
	size_t had = s->len - s->at;

	if (s->between) {
		isal_inflate_reset(z);
		z->crc_flag = ISAL_GZIP;
		s->between = false;
	}
	z->next_in = s->buffer + s->at;
	z->avail_in = (uint32_t)had;
	z->next_out = buf;
	z->avail_out = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
	n = z->avail_out;
	if (isal_inflate(z) != ISAL_DECOMP_OK)
		return -EBADMSG;
	s->at += had - z->avail_in;
	s->between = z->block_state == ISAL_BLOCK_FINISH;
	return (ssize_t)(n - z->avail_out);
}

static ssize_t read_zstd(struct kineto_source *s, uint8_t *buf, size_t n)
{
	ZSTD_inBuffer in = {s->buffer + s->at, s->len - s->at, 0};
	ZSTD_outBuffer out = {buf, n, 0};
	size_t r = ZSTD_decompressStream(s->zstd, &out, &in);

	if (ZSTD_isError(r))
		return -EBADMSG;
	s->between = r == 0;
	s->at += in.pos;
	return (ssize_t)out.pos;
}

/* Some bytes; 0 at the end only. */
static ssize_t read_some(struct kineto_source *s, uint8_t *buf, size_t n, struct fmt_error *err)
{
	const char *name = s->packing == GZIP ? "gzip" : "zstd";

	for (;;) {
		ssize_t got = s->packing == PLAIN ? read_plain(s, buf, n) : read_more(s);
		bool empty = s->at == s->len;

		if (got < 0)
			return fmt_fail(err, (int)got, s->path, s->done, "%s", strerror((int)-got));
		if (s->packing == PLAIN)
			return got;
		if (empty && s->between)
			return 0;
		got = s->packing == GZIP ? read_gzip(s, buf, n) : read_zstd(s, buf, n);
		if (got < 0)
			return fmt_fail(err, -EBADMSG, s->path, s->done - (s->len - s->at),
					"the %s data is damaged", name);
		if (got > 0)
			return got;
		if (empty && !s->between)
			return fmt_fail(err, -EBADMSG, s->path, s->done, "the %s file is truncated",
					name);
	}
}

ssize_t kineto_source_read(struct kineto_source *s, void *buf, size_t n, struct fmt_error *err)
{
	size_t len = 0;

	while (len < n) {
		ssize_t got = read_some(s, (uint8_t *)buf + len, n - len, err);

		if (got < 0)
			return got;
		if (got == 0)
			break;
		len += (size_t)got;
	}
	return (ssize_t)len;
}

uint64_t kineto_source_done(const struct kineto_source *s)
{
	return s->done - (s->len - s->at);
}
