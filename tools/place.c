/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/place.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/trace.h"
#include "tools/cli.h"
#include "tools/progress.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t came;

static void on_signal(int number)
{
	came = number;
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static int heeded[ARRAY_SIZE(signals)], known;

static void heed(void)
{
	struct sigaction new = {.sa_handler = on_signal};

	came = 0;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (heeded[i])
			sigaction(signals[i], &new, NULL);
}

/* Catches the signals that were not ignored the first time. */
static void catch_signals(void)
{
	struct sigaction old;

	for (size_t i = 0; !known && i < ARRAY_SIZE(signals); i++)
		heeded[i] = sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN;
	known = 1;
	heed();
}

int place_signal(void)
{
	return came;
}

int place_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
	if (came)
		return -ECANCELED;
	progress_show(context, what, done, total);
	return 0;
}

void place_raise(void)
{
	if (!came)
		return;
	signal(came, SIG_DFL);
	raise(came);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path) < 0 ? -errno : 0;
}

int place_remove(const char *path)
{
	return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0 ? -errno : 0;
}

static int is_trace(const char *path)
{
	struct fmt_trace *t;

	if (fmt_trace_open(path, &t, NULL) < 0)
		return 0;
	fmt_trace_close(t);
	return 1;
}

/* ---- the folder beside the output */

#define SUFFIX ".new-"
#define RANDOM 6 /* characters of mkdtemp() behind it */
#define TRACE "trace"
#define KEPT "kept"

/* Writes the folder's path without its suffix: the output's path, with its name shortened if
 * necessary. Returns the offset of the name. */
static size_t stem_of(const char *output, char ret[PATH_MAX])
{
	const size_t most = NAME_MAX - strlen(SUFFIX) - RANDOM;
	size_t n = strlen(output), at;

	while (n > 1 && output[n - 1] == '/')
		n--;
	for (at = n; at > 0 && output[at - 1] != '/'; at--)
		;
	snprintf(ret, PATH_MAX, "%.*s", (int)(n - at < most ? n : at + most), output);
	return at;
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Whether the folder holds nothing but an unfinished trace: no recording, and no trace that was
 * replaced or could not be renamed. */
static int is_expendable(int fd)
{
	scoped(close_fd) int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(close_dir) DIR *dir = own < 0 ? NULL : fdopendir(own);
	const struct dirent *e;

	if (!dir)
		return 0;
	take_fd(own);
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    strcmp(e->d_name, TRACE) != 0)
			return 0;
	return 1;
}

static void remove_expendable(const char *path, int fd)
{
	if (is_expendable(fd))
		place_remove(path);
}

/* A writer locks its folder for as long as it lives, and checks that the folder is still there
 * after it got the lock. So a folder that can be locked has no writer. On a file system without
 * locks, folders are left alone. */
static void remove_leftover(const char *path)
{
	scoped(close_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		remove_expendable(path, fd);
}

/* Removes the folders that killed writers of the same output left. */
static void remove_leftovers(const char *stem, size_t name_at)
{
	char path[PATH_MAX];
	size_t len = strlen(stem + name_at);
	scoped(close_dir) DIR *dir = NULL;
	const struct dirent *e;

	snprintf(path, sizeof(path), "%.*s", (int)name_at, stem);
	dir = opendir(name_at > 0 ? path : ".");
	while (dir && (e = readdir(dir))) {
		if (strlen(e->d_name) != len + strlen(SUFFIX) + RANDOM ||
		    strncmp(e->d_name, stem + name_at, len) != 0 ||
		    strncmp(e->d_name + len, SUFFIX, strlen(SUFFIX)) != 0)
			continue;
		if (snprintf(path, sizeof(path), "%.*s%s", (int)name_at, stem, e->d_name) <
		    (int)sizeof(path))
			remove_leftover(path);
	}
}

/* Makes the folder and locks it: 1; or 0 if another process removed it as a leftover before it was
 * locked. */
static int make_folder(struct place *p, const char *stem)
{
	struct stat made, there;
	int fd;

	snprintf(p->folder, sizeof(p->folder), "%.*s%sXXXXXX", PATH_MAX - 16, stem, SUFFIX);
	if (!mkdtemp(p->folder)) {
		p->folder[0] = '\0';
		return -errno;
	}
	fd = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	/* If the file system has no locks, other writers cannot lock the folder either and leave it
	 * alone. */
	flock(fd, LOCK_EX);
	if (fstat(fd, &made) < 0 || stat(p->folder, &there) < 0 || made.st_ino != there.st_ino ||
	    made.st_dev != there.st_dev) {
		close(fd);
		return 0;
	}
	p->lock_fd = fd;
	return 1;
}

int place_begin(struct place *p, const char *output, int force)
{
	char stem[PATH_MAX];
	struct stat st;
	size_t name_at;
	int r = lstat(output, &st) == 0 ? 0 : -errno;

	memset(p, 0, sizeof(*p));
	p->output = output;
	p->force = force;
	if (r == 0 && !(force && is_trace(output)))
		return -EEXIST;
	if (r == -ENAMETOOLONG || strlen(output) >= PATH_MAX - NAME_MAX)
		return -ENAMETOOLONG;
	name_at = stem_of(output, stem);
	catch_signals();
	remove_leftovers(stem, name_at);
	while ((r = make_folder(p, stem)) == 0)
		;
	if (r < 0) {
		place_done(p);
		return r;
	}
	snprintf(p->trace, sizeof(p->trace), "%.*s/" TRACE, PATH_MAX - 8, p->folder);
	return 0;
}

/* Renames the trace if there is nothing at the output, else -EEXIST. Not every file system can do
 * this in one step. */
static int give_name(const struct place *p)
{
	struct stat st;

	if (renameat2(AT_FDCWD, p->trace, AT_FDCWD, p->output, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (lstat(p->output, &st) == 0)
		return -EEXIST;
	return rename(p->trace, p->output) < 0 ? -errno : 0;
}

/* Keeps the folder, which holds the trace that was replaced. */
static void keep(struct place *p)
{
	char kept[PATH_MAX];

	if (!p->folder[0])
		return;
	snprintf(kept, sizeof(kept), "%.*s/" KEPT, PATH_MAX - 8, p->folder);
	close(open(kept, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
	p->folder[0] = '\0';
}

/* For file systems that cannot exchange files in one step. A writer that is killed in between
 * leaves both traces. */
static int replace_in_two_steps(struct place *p)
{
	char old[PATH_MAX];
	int r;

	snprintf(old, sizeof(old), "%.*s/old", PATH_MAX - 8, p->folder);
	if (rename(p->output, old) < 0)
		return -errno;
	r = give_name(p);
	if (r < 0 && rename(old, p->output) < 0)
		keep(p); /* the trace that was there before is in the folder */
	return r;
}

int place_commit(struct place *p)
{
	int r = give_name(p);

	if (r != -EEXIST || !p->force || !is_trace(p->output))
		return r;
	if (renameat2(AT_FDCWD, p->trace, AT_FDCWD, p->output, RENAME_EXCHANGE) == 0)
		return 0;
	return errno == EINVAL || errno == ENOSYS ? replace_in_two_steps(p) : -errno;
}

int place_fail(int r, const char *output, int force)
{
	const char *hint = r == -ENOENT || r == -ENOTDIR ? "its directory must exist" : NULL;
	int status;

	if (r == -EEXIST) {
		cli_error("cannot write %s: it exists already; choose another%s", output,
			  force ? ", or give --force to replace a trace" : "");
		return CLI_USAGE;
	}
	status = cli_fail(r, NULL, "write", output, hint);
	if (r == -EIO)
		return CLI_MACHINE;
	return status == CLI_INPUT ? CLI_USAGE : status;
}

void place_done(struct place *p)
{
	if (p->folder[0])
		place_remove(p->folder);
	p->folder[0] = '\0';
	if (p->lock_fd > 0)
		close(p->lock_fd);
	p->lock_fd = 0;
}
