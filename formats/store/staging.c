/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/store/staging.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_there(const char *path, struct fmt_error *err)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		return fmt_fail(err, -EEXIST, path, FMT_NO_OFFSET, "it is there already");
	if (errno != ENOENT)
		return fmt_fail(err, -errno, path, FMT_NO_OFFSET, "%s", strerror(errno));
	return 0;
}

int fmt_staging_begin(struct fmt_staging *s, const char *path, struct fmt_error *err)
{
	size_t len = strlen(path);
	int r;

	while (len > 1 && path[len - 1] == '/')
		len--;
	s->path = strndup(path, len);
	if (!s->path || asprintf(&s->making, "%s.making-%ld", s->path, (long)getpid()) < 0) {
		s->making = NULL;
		fmt_staging_end(s);
		return -ENOMEM;
	}
	r = is_there(s->path, err);
	if (r == 0)
		r = is_there(s->making, err);
	if (r < 0) {
		free(s->making);
		s->making = NULL;
	}
	return r;
}

int fmt_staging_commit(struct fmt_staging *s, struct fmt_error *err)
{
	int r = is_there(s->path, err);

	if (r < 0)
		return r;
	if (rename(s->making, s->path) < 0)
		return fmt_fail(err, -errno, s->path, FMT_NO_OFFSET, "%s", strerror(errno));
	free(s->making);
	s->making = NULL;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	remove(path);
	return 0;
}

void fmt_staging_end(struct fmt_staging *s)
{
	if (s->making)
		nftw(s->making, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(s->making);
	free(s->path);
	*s = (struct fmt_staging){0};
}
