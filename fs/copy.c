/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/copy.h"

#include "base/scope.h"
#include "formats/trace/store/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define BLOCK (1u << 20)

struct copying {
	struct fs *fs;
	fs_ino top;
	unsigned what;
	int (*stopped)(void);
	uint64_t *left_out;
	char *failed;
	size_t size;
};

static int set_failed(const struct copying *c, const char *path, int r)
{
	snprintf(c->failed, c->size, "%s", path);
	return r;
}

/* Copies one block. Returns its size, less than BLOCK at the end of the file. Sets *damaged if the
 * block cannot be rendered. */
static long copy_block(struct fs *fs, fs_ino ino, uint64_t at, int fd, bool *damaged)
{
	scoped(fs_view_done) struct fs_view view = {0};
	long n = 0;
	int r = fs_read(fs, ino, at, BLOCK, &view);

	*damaged = r == -EIO;
	for (size_t i = 0; r == 0 && i < view.n; i++) {
		r = fmt_write_all(fd, view.parts[i].iov_base, view.parts[i].iov_len);
		n += (long)view.parts[i].iov_len;
	}
	return r < 0 ? r : n;
}

static int leave_out(const struct copying *c)
{
	++*c->left_out;
	return 0;
}

static int copy_file(const struct copying *c, const struct fs_attr *a, const char *path)
{
	scoped(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	struct timespec time = {a->time_ns / 1000000000, a->time_ns % 1000000000};
	struct timespec times[2] = {time, time};
	bool damaged;
	uint64_t at = 0;
	long n;

	if (fd < 0)
		return -errno;
	do {
		n = copy_block(c->fs, a->ino, at, fd, &damaged);
		if (damaged)
			return unlink(path) < 0 ? -errno : leave_out(c);
		if (n < 0)
			return (int)n;
		at += (uint64_t)n;
	} while (n == BLOCK);
	return futimens(fd, times) < 0 ? -errno : 0;
}

static int copy_link(const struct copying *c, const struct fs_attr *a, const char *path)
{
	char target[PATH_MAX];
	long n = fs_link(c->fs, a->ino, target, sizeof(target));

	if (n < 0 || n >= (long)sizeof(target))
		return n < 0 ? (int)n : -ENAMETOOLONG;
	return symlink(target, path) < 0 ? -errno : 0;
}

static bool is_wanted(const struct copying *c, fs_ino dir, const struct fs_entry *e)
{
	bool timeline = strncmp(e->name, "timeline.", 9) == 0;

	if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0 ||
	    fs_node_of(e->ino).run != fs_node_of(dir).run)
		return false;
	if (S_ISDIR(e->type))
		return true;
	return c->what & (timeline ? FS_COPY_TIMELINES : FS_COPY_TABLES);
}

static int copy_dir(const struct copying *c, fs_ino dir, const char *path);

static int copy_entry(const struct copying *c, const struct fs_entry *e, const char *path)
{
	struct fs_attr a;
	int r;

	if (S_ISDIR(e->type))
		return copy_dir(c, e->ino, path);
	if (c->stopped())
		return set_failed(c, path, -ECANCELED);
	r = fs_stat(c->fs, e->ino, &a);
	if (r == -EIO)
		return leave_out(c);
	if (r == 0)
		r = S_ISLNK(e->type) ? copy_link(c, &a, path) : copy_file(c, &a, path);
	return r < 0 ? set_failed(c, path, r) : 0;
}

static int copy_dir(const struct copying *c, fs_ino dir, const char *path)
{
	char below[PATH_MAX];
	uint64_t offset = 0;
	struct fs_entry e;
	int r;

	if (mkdir(path, 0777) < 0 && (errno != EEXIST || dir != c->top))
		return set_failed(c, path, -errno);
	while ((r = fs_list(c->fs, dir, offset, &e)) == 1) {
		offset = e.next;
		if (!is_wanted(c, dir, &e))
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, e.name) >= (int)sizeof(below))
			return set_failed(c, path, -ENAMETOOLONG);
		r = copy_entry(c, &e, below);
		if (r < 0)
			return r;
	}
	return r < 0 ? set_failed(c, path, r) : 0;
}

int fs_copy(struct fs *fs, fs_ino ino, const char *path, unsigned what, int (*stopped)(void),
	    uint64_t *left_out, char *failed, size_t size)
{
	const struct copying c = {fs, ino, what, stopped, left_out, failed, size};

	return copy_dir(&c, ino, path);
}
