/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/place.h"

#include "base/array.h"
#include "formats/store/trace.h"
#include "tools/cli.h"
#include "tools/progress.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t came;

static void on_signal(int number)
{
	came = number;
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static int heeded[ARRAY_SIZE(signals)];

/* Those that whoever started this did not have ignored. */
static void catch_signals(void)
{
	struct sigaction old;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		heeded[i] = sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN;
	place_heed();
}

void place_heed(void)
{
	struct sigaction new = {.sa_handler = on_signal};

	came = 0;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (heeded[i])
			sigaction(signals[i], &new, NULL);
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

int place_begin(struct place *p, const char *output, int force)
{
	struct stat st;
	size_t n = strlen(output);

	memset(p, 0, sizeof(*p));
	p->output = output;
	p->force = force;
	if (lstat(output, &st) == 0 && !(force && is_trace(output)))
		return -EEXIST;
	while (n > 1 && output[n - 1] == '/')
		n--;
	if (snprintf(p->folder, sizeof(p->folder) - 8, "%.*s.new-XXXXXX", (int)n, output) >=
	    (int)sizeof(p->folder) - 8) {
		p->folder[0] = '\0';
		return -ENAMETOOLONG;
	}
	catch_signals();
	if (!mkdtemp(p->folder)) {
		p->folder[0] = '\0';
		return -errno;
	}
	snprintf(p->trace, sizeof(p->trace), "%.*s/trace", PATH_MAX - 8, p->folder);
	return 0;
}

int place_restart(struct place *p)
{
	return place_remove(p->trace);
}

int place_opens(const struct place *p)
{
	return is_trace(p->trace);
}

/* Only where there is nothing; -EEXIST. Not every file system can tell in one step. */
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

int place_commit(struct place *p)
{
	char old[PATH_MAX];
	int r = give_name(p);

	if (r != -EEXIST || !p->force || !is_trace(p->output))
		return r;
	snprintf(old, sizeof(old), "%.*s/old", PATH_MAX - 8, p->folder);
	if (rename(p->output, old) < 0)
		return -errno;
	r = give_name(p);
	if (r < 0 && rename(old, p->output) < 0)
		place_keep(p); /* what there was is in it */
	return r;
}

int place_fail(int r, const char *output, int force)
{
	const char *hint = r == -ENOENT || r == -ENOTDIR ? "its directory must exist" : NULL;
	int status;

	if (r == -EEXIST) {
		cli_error("cannot write %s: it exists already; name another%s", output,
			  force ? ", or give --force to replace a trace" : "");
		return CLI_USAGE;
	}
	status = cli_fail(r, NULL, "write", output, hint);
	return status == CLI_INPUT ? CLI_USAGE : status;
}

void place_keep(struct place *p)
{
	p->folder[0] = '\0';
}

void place_done(struct place *p)
{
	if (p->folder[0])
		place_remove(p->folder);
	p->folder[0] = '\0';
}
