/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputrace/sink.h"

#include "base/scope.h"
#include "tools/place.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static int flush(struct text *t)
{
	struct sink *s = t->context;

	if (place_signal())
		return -EINTR;
	if (s->gz)
		return gzfwrite(t->data, 1, t->len, s->gz) == t->len ? 0 : -EIO;
	errno = EIO;
	return fwrite(t->data, 1, t->len, s->file ? s->file : stdout) == t->len ? 0 : -errno;
}

/* A file without a name where the file system has that, else one of the temporary name. */
static int open_unnamed(struct sink *s)
{
	scoped(free_ptr) char *folder = strdup(s->path);
	int fd;

	if (!folder)
		return -ENOMEM;
	fd = open(dirname(folder), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	s->unnamed = fd >= 0;
	if (fd < 0)
		fd = open(s->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
	return fd < 0 ? -errno : fd;
}

int sink_open(struct sink *s, const char *path, struct text *t)
{
	scoped(close_fd) int fd = -1;

	t->limit = 1 << 18;
	t->flush = flush;
	t->context = s;
	if (!path || !strcmp(path, "-"))
		return 0;
	s->path = strdup(path);
	if (!s->path || asprintf(&s->temporary, "%s.%d.tmp", path, (int)getpid()) < 0)
		return -ENOMEM;
	fd = open_unnamed(s);
	if (fd < 0) {
		free(take(s->temporary));
		return fd;
	}
	if (ends_with(path, ".gz")) {
		s->gz = gzdopen(dup(fd), "wb6");
		if (!s->gz)
			return -ENOMEM;
	}
	s->file = fdopen(fd, "wb");
	if (!s->file)
		return -errno;
	fd = -1;
	return 0;
}

static int give_name(struct sink *s)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(s->file));
	if (s->unnamed && linkat(AT_FDCWD, self, AT_FDCWD, s->temporary, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	return rename(s->temporary, s->path) < 0 ? -errno : 0;
}

int sink_commit(struct sink *s, struct text *t)
{
	int r = text_flush(t);

	if (r < 0 || !s->path)
		return r;
	if (s->gz && gzclose(take(s->gz)) != Z_OK)
		return -EIO;
	if (fflush(s->file) != 0)
		return -errno;
	r = give_name(s);
	if (r == 0)
		free(take(s->temporary));
	return r;
}

void sink_done(struct sink *s)
{
	if (s->gz)
		gzclose(s->gz);
	if (s->file)
		fclose(s->file);
	if (s->temporary)
		unlink(s->temporary);
	free(s->temporary);
	free(s->path);
	memset(s, 0, sizeof(*s));
}
