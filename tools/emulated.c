/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/emulated.h"

#include "base/scope.h"
#include "replay/engine/emulate.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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

/* Whether it is a folder that a process of this user made that is no more: gputracefs-PID-XXXXXX.
 */
static int is_left_over(const char *path, const char *name)
{
	struct stat st;
	char *end;
	long pid;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return 0;
	pid = strtol(name + strlen(PREFIX), &end, 10);
	if (pid <= 0 || *end != '-' || strlen(end) != 7)
		return 0;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == getuid() &&
	       kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static void remove_left_over(const char *place)
{
	DIR *dir = opendir(place);
	const struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir))) {
		scoped(free_ptr) char *path = NULL;

		if (asprintf(&path, "%s/%s", place, e->d_name) >= 0 &&
		    is_left_over(path, e->d_name))
			remove_all(path);
	}
	closedir(dir);
}

static int make_folder(struct emulated *e, struct fmt_error *err)
{
	const char *place = temporary_place();
	scoped(free_ptr) char *folder = NULL;

	remove_left_over(place);
	if (asprintf(&folder, "%s/" PREFIX "%d-XXXXXX", place, (int)getpid()) < 0)
		return -ENOMEM;
	if (!mkdtemp(folder))
		return fmt_fail(err, -errno, place, FMT_NO_OFFSET, "cannot make a folder in %s: %s",
				place, strerror(errno));
	e->folder = take(folder);
	return 0;
}

int emulated_make(void *context, struct fmt_trace *in, struct fmt_trace **ret,
		  struct fmt_error *err)
{
	struct emulated *e = context;
	scoped(free_ptr) char *path = NULL;
	struct replay_report report = {0};
	int r = make_folder(e, err);

	if (r < 0)
		return r;
	if (asprintf(&path, "%s/emulated", e->folder) < 0)
		return -ENOMEM;
	r = replay_emulate(in, NULL, path, &report, err);
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
}
