/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputrace/sink.h"

#include "base/scope.h"
#include "tools/output.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

/* Returns the error behind a failure of zlib, which leaves errno as set by write(2). */
static int gz_error(int code)
{
	return code == Z_ERRNO && errno ? -errno : code == Z_MEM_ERROR ? -ENOMEM : -EIO;
}

static int flush(struct text *t)
{
	struct sink *s = t->context;
	int code = Z_OK;

	if (output_signal())
		return -EINTR;
	errno = 0;
	if (s->gz && gzfwrite(t->data, 1, t->len, s->gz) == t->len)
		return 0;
	if (s->gz) {
		gzerror(s->gz, &code);
		return gz_error(code);
	}
	errno = EIO;
	return fwrite(t->data, 1, t->len, s->file ? s->file : stdout) == t->len ? 0 : -errno;
}

static bool is_standard_output(const struct stat *st)
{
	struct stat out;

	return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == st->st_dev &&
	       out.st_ino == st->st_ino;
}

/* Returns the descriptor of this process that the path names, or -1. Writing to it appends to
 * earlier output. */
static int descriptor_of(const char *path)
{
	int fd, end = 0;

	if (sscanf(path, "/dev/fd/%d%n", &fd, &end) == 1 && !path[end])
		return fd;
	return sscanf(path, "/proc/self/fd/%d%n", &fd, &end) == 1 && !path[end] ? fd : -1;
}

bool sink_is_stream(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode) &&
	       (!S_ISREG(st.st_mode) || is_standard_output(&st) || descriptor_of(path) >= 0);
}

/* Opens an unnamed file if the file system supports this, else one with the temporary name. */
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

/* Makes a temporary name in the file's folder, shortened if necessary. */
static char *temporary_name(const char *path)
{
	char suffix[32], *ret = NULL;
	const char *name = strrchr(path, '/');
	int n, folder, most = NAME_MAX - snprintf(suffix, sizeof(suffix), ".%d.tmp", (int)getpid());

	name = name ? name + 1 : path;
	folder = (int)(name - path);
	n = (int)strlen(name) < most ? (int)strlen(name) : most;
	return asprintf(&ret, "%.*s%s", folder + n, path, suffix) < 0 ? NULL : ret;
}

/* Opens the temporary file for a regular file, which may exist already. */
static int open_regular(struct sink *s, const char *path)
{
	struct stat st;
	int fd, r = stat(path, &st) < 0 ? -errno : 0;

	if (r == 0 && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (r == -ENAMETOOLONG)
		return r;
	s->path = realpath(path, NULL); /* through links */
	if (!s->path)
		s->path = strdup(path);
	s->temporary = s->path ? temporary_name(s->path) : NULL;
	if (!s->temporary)
		return -ENOMEM;
	fd = open_unnamed(s);
	if (fd < 0)
		free(take(s->temporary));
	return fd;
}

/* Returns the descriptor to write to, or -1 for standard output. *ret is 0 or a negative errno. */
static int open_path(struct sink *s, const char *path, int *ret)
{
	struct stat st;
	int fd;

	*ret = 0;
	if (!path || !strcmp(path, "-") || (stat(path, &st) == 0 && is_standard_output(&st)))
		return -1;
	if (sink_is_stream(path)) {
		fd = descriptor_of(path) >= 0 ? dup(descriptor_of(path))
					      : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		*ret = fd < 0 ? -errno : 0;
	} else {
		fd = open_regular(s, path);
		*ret = fd < 0 ? fd : 0;
	}
	return fd;
}

int sink_open(struct sink *s, const char *path, struct text *t)
{
	scoped(close_fd) int fd = -1;
	int r;

	t->limit = 1 << 18;
	t->flush = flush;
	t->context = s;
	fd = open_path(s, path, &r);
	if (r < 0 || fd < 0)
		return r;
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

static int link_output(struct sink *s)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(s->file));
	if (s->unnamed && linkat(AT_FDCWD, self, AT_FDCWD, s->temporary, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	return rename(s->temporary, s->path) < 0 ? -errno : 0;
}

/* Ends the file. Some file systems report a full disk only when a file is closed. */
static int end_file(struct sink *s)
{
	int code, copy;

	errno = 0;
	code = s->gz ? gzclose(take(s->gz)) : Z_OK;
	if (code != Z_OK)
		return gz_error(code);
	if (fflush(s->file) != 0)
		return -errno;
	copy = dup(fileno(s->file));
	return copy < 0 || close(copy) < 0 ? -errno : 0;
}

int sink_commit(struct sink *s, struct text *t)
{
	int r = text_flush(t);

	if (r < 0 || !s->file)
		return r;
	r = end_file(s);
	if (r < 0 || !s->path)
		return r;
	r = link_output(s);
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
