/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void fmt_fd_cache_init(struct fmt_fd_cache *k)
{
	*k = (struct fmt_fd_cache){0};
	pthread_mutex_init(&k->lock, NULL);
}

void fmt_fd_cache_done(struct fmt_fd_cache *k)
{
	for (size_t i = 0; i < FMT_FD_CACHE; i++)
		if (k->files[i].name)
			close(k->files[i].fd);
	pthread_mutex_destroy(&k->lock);
}

/* Returns and removes the descriptor kept for a file, or -1. */
static int take_kept(struct fmt_fd_cache *k, const char *name)
{
	int fd = -1;

	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < FMT_FD_CACHE && fd < 0; i++)
		if (k->files[i].name == name) {
			fd = k->files[i].fd;
			k->files[i].name = NULL;
		}
	pthread_mutex_unlock(&k->lock);
	return fd;
}

/* Keeps a descriptor in place of the oldest one, which is returned; or -1. */
static int keep_descriptor(struct fmt_fd_cache *k, const char *name, int fd)
{
	unsigned at;
	int oldest;

	pthread_mutex_lock(&k->lock);
	at = k->next++ % FMT_FD_CACHE;
	oldest = k->files[at].name ? k->files[at].fd : -1;
	k->files[at].name = name;
	k->files[at].fd = fd;
	pthread_mutex_unlock(&k->lock);
	return oldest;
}

void fmt_source_done(struct fmt_source *s)
{
	int fd = s->name && s->kept ? take_kept(s->kept, s->name) : -1;

	if (fd >= 0)
		close(fd);
	free(s->name);
	s->name = NULL;
}

int fmt_source_open(const struct fmt_source *s)
{
	int fd = s->fd;

	if (fd < 0 && s->kept)
		fd = take_kept(s->kept, s->name);
	if (fd >= 0)
		return fd;
	fd = openat(s->dir_fd, s->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

void fmt_source_close(const struct fmt_source *s, int fd)
{
	if (s->fd >= 0 || fd < 0)
		return;
	if (s->kept)
		fd = keep_descriptor(s->kept, s->name, fd);
	if (fd >= 0)
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
