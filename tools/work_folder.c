/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/work_folder.h"

#include "base/scope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANDOM 6 /* characters of mkdtemp() after the prefix */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path) < 0 ? -errno : 0;
}

int work_folder_remove(const char *path)
{
	return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) < 0 ? -errno : 0;
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Returns true if the folder contains nothing except `only`. */
static bool is_expendable(int fd, const char *only)
{
	scoped(close_fd) int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(close_dir) DIR *dir = own < 0 ? NULL : fdopendir(own);
	const struct dirent *e;

	if (!dir)
		return false;
	take_fd(own);
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    strcmp(e->d_name, only) != 0)
			return false;
	return true;
}

/* A process locks its folder while it lives, and checks that the folder still exists after it got
 * the lock. So a folder that can be locked is unused. On a file system without locks, folders are
 * left alone. */
static void remove_leftover(const char *path, const char *only)
{
	scoped(close_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && (!only || is_expendable(fd, only)))
		work_folder_remove(path);
}

static void remove_leftovers(const char *prefix, const char *only)
{
	const char *slash = strrchr(prefix, '/'), *name = slash ? slash + 1 : prefix;
	char path[PATH_MAX];
	size_t len = strlen(name);
	scoped(close_dir) DIR *dir = NULL;
	const struct dirent *e;

	snprintf(path, sizeof(path), "%.*s", (int)(name - prefix), prefix);
	dir = opendir(slash ? path : ".");
	while (dir && (e = readdir(dir))) {
		if (strlen(e->d_name) != len + RANDOM || strncmp(e->d_name, name, len) != 0)
			continue;
		if (snprintf(path, sizeof(path), "%.*s%s", (int)(name - prefix), prefix,
			     e->d_name) < (int)sizeof(path))
			remove_leftover(path, only);
	}
}

/* Makes the folder and locks it: 1; or 0 if another process removed it as a leftover before it was
 * locked. */
static int make_locked(struct work_folder *f, const char *prefix)
{
	struct stat made, there;
	int fd;

	snprintf(f->path, sizeof(f->path), "%.*sXXXXXX", PATH_MAX - 16, prefix);
	if (!mkdtemp(f->path)) {
		f->path[0] = '\0';
		return -errno;
	}
	fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	/* If the file system has no locks, other processes cannot lock the folder either and leave
	 * it alone. */
	flock(fd, LOCK_EX);
	if (fstat(fd, &made) < 0 || stat(f->path, &there) < 0 || made.st_ino != there.st_ino ||
	    made.st_dev != there.st_dev) {
		close(fd);
		return 0;
	}
	f->lock_fd = fd;
	return 1;
}

int work_folder_make(struct work_folder *f, const char *prefix, const char *only)
{
	int r;

	remove_leftovers(prefix, only);
	while ((r = make_locked(f, prefix)) == 0)
		;
	if (r < 0)
		work_folder_done(f);
	return r < 0 ? r : 0;
}

void work_folder_done(struct work_folder *f)
{
	if (f->path[0])
		work_folder_remove(f->path);
	f->path[0] = '\0';
	if (f->lock_fd > 0)
		close(f->lock_fd);
	f->lock_fd = 0;
}
