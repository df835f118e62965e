/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputracefs/emulated.h"

#include "base/scope.h"
#include "replay/engine/emulate.h"
#include "replay/engine/what_if.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define PREFIX "gputracefs-"

static const char *temporary_place(void)
{
	const char *place = getenv("TMPDIR");

	return place && *place ? place : "/tmp";
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	remove(path);
	return 0;
}

static void remove_all(const char *folder)
{
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Locks the folder until this process ends. Returns the descriptor, or -1. */
static int lock(const char *folder)
{
	scoped(close_fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -1;
	return take_fd(fd);
}

/* Removes an unused folder of this user. */
static void remove_if_left(const char *path)
{
	scoped(close_fd) int fd = lock(path);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == getuid())
		remove_all(path);
}

static void remove_left_over(const char *place)
{
	DIR *dir = opendir(place);
	const struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir))) {
		scoped(free_ptr) char *path = NULL;

		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0 &&
		    asprintf(&path, "%s/%s", place, e->d_name) >= 0)
			remove_if_left(path);
	}
	closedir(dir);
}

/* The folder gets its name after it was locked, so an unlocked folder of that name is unused. */
static int make_folder(struct emulated *e, struct fmt_error *err)
{
	const char *place = temporary_place();
	scoped(free_ptr) char *making = NULL, *folder = NULL;
	int r;

	remove_left_over(place);
	if (asprintf(&making, "%s/.gputracefs-XXXXXX", place) < 0)
		return -ENOMEM;
	if (!mkdtemp(making))
		return fmt_fail(err, -errno, place, FMT_NO_OFFSET, "cannot make a folder in %s: %s",
				place, strerror(errno));
	e->lock_fd = lock(making);
	if (asprintf(&folder, "%s/" PREFIX "%s", place, making + strlen(making) - 6) < 0)
		return -ENOMEM;
	r = e->lock_fd < 0 || rename(making, folder) < 0 ? -errno : 0;
	if (r < 0) {
		rmdir(making);
		return fmt_fail(err, r, place, FMT_NO_OFFSET, "cannot lock a folder in %s: %s",
				place, strerror(-r));
	}
	e->folder = take(folder);
	return 0;
}

define_cleanup(what_if_freep, struct what_if *, what_if_free);

int emulated_make(void *context, struct fmt_trace *in, const char *spec, struct fmt_trace **ret,
		  struct fmt_error *err)
{
	struct emulated *e = context;
	scoped(what_if_freep) struct what_if *w = NULL;
	scoped(free_ptr) char *path = NULL;
	struct replay_report report = {0};
	struct replay_options options = {.what_ifs = &w, .n_what_ifs = spec ? 1 : 0};
	struct what_if_error why = {.why = ""};
	int r = spec ? what_if_parse(spec, &w, &why) : 0;

	if (r < 0)
		return fmt_fail(err, r, "", FMT_NO_OFFSET, "%s",
				r == -EINVAL ? why.why : strerror(-r));
	if (!ret)
		return 0;
	if (!e->folder)
		r = make_folder(e, err);
	if (r < 0)
		return r;
	if (asprintf(&path, "%s/%u", e->folder, e->n++) < 0)
		return -ENOMEM;
	r = replay_emulate(in, &options, path, &report, err);
	if (r < 0)
		return r;
	replay_report_done(&report);
	return fmt_trace_open(path, ret, err);
}

void emulated_done(struct emulated *e)
{
	if (e->folder)
		remove_all(e->folder);
	free(take(e->folder));
	if (e->lock_fd > 0)
		close(take(e->lock_fd));
}
