/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputracefs/mount_point.h"

#include "base/scope.h"

#include <errno.h>
#include <libgen.h>
#include <mntent.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#define TYPE "fuse.gputracefs"

extern char **environ;

/* Returns the absolute path of a directory that must not be accessed itself: the path of its
 * parent, and its name. */
static char *path_of_dead(const char *dir)
{
	scoped(free_ptr) char *copy = strdup(dir), *copy2 = strdup(dir), *parent = NULL;
	char *path = NULL;
	const char *name;

	if (!copy || !copy2)
		return NULL;
	parent = realpath(dirname(copy), NULL);
	name = basename(copy2);
	if (!parent || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return NULL;
	if (asprintf(&path, "%s/%s", strcmp(parent, "/") ? parent : "", name) < 0)
		return NULL;
	return path;
}

static int is_ours(const char *path)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	const struct mntent *m;
	int ours = 0;

	if (!mounts)
		return 0;
	while ((m = getmntent(mounts)))
		if (strcmp(m->mnt_dir, path) == 0)
			ours = strcmp(m->mnt_type, TYPE) == 0;
	endmntent(mounts);
	return ours;
}

/* For ordinary users: fusermount3 is set-user-ID. */
static int unmount_helped(const char *path)
{
	char *argv[] = {(char *)"fusermount3", (char *)"-u", (char *)"-z",
			(char *)"--",	       (char *)path, NULL};
	int status;
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
		return -ENOTCONN;
	if (waitpid(pid, &status, 0) < 0 || status != 0)
		return -ENOTCONN;
	return 0;
}

/* True if the server of a mount has ended. Calls statfs(2), because the kernel may have cached the
 * attributes of the root. */
static int is_dead(const char *dir)
{
	struct statfs st;

	return statfs(dir, &st) < 0 && errno == ENOTCONN;
}

/* Unmounts stale gputracefs mounts at `dir`. */
static int clear_dead(const char *dir)
{
	scoped(free_ptr) char *path = path_of_dead(dir);

	while (path && is_dead(dir)) {
		if (!is_ours(path))
			return -ENOTCONN;
		if (umount2(path, MNT_DETACH) < 0 && unmount_helped(path) < 0)
			return -ENOTCONN;
	}
	return path ? 0 : -ENOTCONN;
}

int mount_point_find(const char *dir, char **ret)
{
	struct stat st;
	char *path;
	int r;

	if (is_dead(dir)) {
		r = clear_dead(dir);
		if (r < 0)
			return r;
	}
	if (stat(dir, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	path = realpath(dir, NULL);
	if (!path)
		return -errno;
	if (is_ours(path)) {
		free(path);
		return -EBUSY;
	}
	*ret = path;
	return 0;
}
