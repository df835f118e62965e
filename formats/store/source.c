/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/store/source.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int fmt_source_open(const struct fmt_source *s)
{
	int fd;

	if (s->fd >= 0)
		return s->fd;
	fd = openat(s->dir_fd, s->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

void fmt_source_close(const struct fmt_source *s, int fd)
{
	if (s->fd < 0 && fd >= 0)
		close(fd);
}

static long read_at(int fd, char *buf, size_t len, uint64_t at)
{
	size_t done = 0;

	if (at > INT64_MAX - len)
		return -EOVERFLOW;
	while (done < len) {
		ssize_t n = pread(fd, buf + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (long)done;
}

long fmt_source_read(const struct fmt_source *s, int fd, void *buf, size_t len, uint64_t offset)
{
	size_t head;
	long n, more;

	if (offset >= s->bytes || len == 0)
		return 0;
	if (len > s->bytes - offset)
		len = (size_t)(s->bytes - offset);
	if (s->fd < 0)
		return read_at(fd, buf, len, offset);
	if (offset >= s->data_bytes)
		return read_at(fd, buf, len, s->tail_at + (offset - s->data_bytes));
	head = len;
	if (head > s->data_bytes - offset)
		head = (size_t)(s->data_bytes - offset);
	n = read_at(fd, buf, head, s->data_at + offset);
	if (n < (long)head || head == len)
		return n;
	more = read_at(fd, (char *)buf + head, len - head, s->tail_at);
	return more < 0 ? more : n + more;
}
