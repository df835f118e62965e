/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/place.h"

#include "base/array.h"
#include "formats/store/trace.h"

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

static void catch_signals(void)
{
	struct sigaction old, new = {.sa_handler = on_signal};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &new, NULL);
	}
}

int place_signal(void)
{
	return came;
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

static int remove_all(const char *path)
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

int place_commit(struct place *p)
{
	char old[PATH_MAX];
	int replaced;

	snprintf(old, sizeof(old), "%.*s/old", PATH_MAX - 8, p->folder);
	replaced = rename(p->output, old) == 0;
	if (rename(p->trace, p->output) < 0) {
		int r = -errno;

		if (replaced && rename(old, p->output) < 0)
			p->folder[0] = '\0'; /* what there was is in it: leave it there */
		return r;
	}
	return 0;
}

void place_done(struct place *p)
{
	if (p->folder[0])
		remove_all(p->folder);
	p->folder[0] = '\0';
}
