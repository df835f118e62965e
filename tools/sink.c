/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sink.h"

#include "base/scope.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <sys/stat.h>

/* `path` without slashes at its end, and with a tail that makes it ours. */
static int temporary_name(const char *path, char **ret)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return asprintf(ret, "%.*s.%d.tmp", (int)len, path, (int)getpid()) < 0 ? -ENOMEM : 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static int flush(struct text *t)
{
	struct sink *s = t->context;

	if (s->gz)
		return gzfwrite(t->data, 1, t->len, s->gz) == t->len ? 0 : -EIO;
	errno = EIO;
	return fwrite(t->data, 1, t->len, s->file ? s->file : stdout) == t->len ? 0 : -errno;
}

int sink_open(struct sink *s, const char *path, struct text *t)
{
	int r;

	t->limit = 1 << 18;
	t->flush = flush;
	t->context = s;
	if (!path || !strcmp(path, "-"))
		return 0;
	r = temporary_name(path, &s->temporary);
	if (r < 0)
		return r;
	s->path = strdup(path);
	if (!s->path)
		return -ENOMEM;
	s->file = fopen(s->temporary, "wxe");
	if (!s->file) {
		r = -errno;
		free(take(s->temporary));
		return r;
	}
	if (!ends_with(path, ".gz"))
		return 0;
	s->gz = gzdopen(dup(fileno(s->file)), "wb6");
	return s->gz ? 0 : -ENOMEM;
}

int sink_commit(struct sink *s, struct text *t)
{
	int r = text_flush(t);

	if (r < 0 || !s->path)
		return r;
	if (s->gz && gzclose(take(s->gz)) != Z_OK)
		return -EIO;
	if (fclose(take(s->file)) != 0 || rename(s->temporary, s->path) < 0)
		return -errno;
	free(take(s->temporary));
	return 0;
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

int sink_folder_begin(const char *path, char **ret)
{
	scoped(free_ptr) char *name = NULL;
	struct stat st;
	int r = temporary_name(path, &name);

	if (r < 0)
		return r;
	/* An empty folder may stand in the way; rmdir(2) refuses any other. */
	if (stat(path, &st) == 0 && (!S_ISDIR(st.st_mode) || rmdir(path) < 0))
		return -EEXIST;
	if (mkdir(name, 0777) < 0)
		return -errno;
	*ret = take(name);
	return 0;
}

int sink_folder_commit(const char *temporary, const char *path)
{
	return rename(temporary, path) < 0 ? -errno : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void sink_folder_remove(const char *temporary)
{
	if (temporary)
		nftw(temporary, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
