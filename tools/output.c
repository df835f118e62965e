/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/trace.h"
#include "tools/cli.h"
#include "tools/progress.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t received;

static void on_signal(int number)
{
	received = number;
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static int is_caught[ARRAY_SIZE(signals)], known;

static void install_handlers(void)
{
	struct sigaction new = {.sa_handler = on_signal};

	received = 0;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (is_caught[i])
			sigaction(signals[i], &new, NULL);
}

/* Catches the signals that were not ignored initially. */
static void catch_signals(void)
{
	struct sigaction old;

	for (size_t i = 0; !known && i < ARRAY_SIZE(signals); i++)
		is_caught[i] = sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN;
	known = 1;
	install_handlers();
}

int output_signal(void)
{
	return received;
}

int output_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
	if (received)
		return -ECANCELED;
	progress_show(context, what, done, total);
	return 0;
}

void output_raise(void)
{
	if (!received)
		return;
	signal(received, SIG_DFL);
	raise(received);
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
#define RANDOM 6 /* characters after it */
#define TRACE "trace"
#define KEPT "kept"

/* Writes the prefix of the folder's path: the output's path, with its name shortened if necessary,
 * and the suffix. */
static void prefix_of(const char *output, char ret[PATH_MAX])
{
	const size_t most = NAME_MAX - strlen(SUFFIX) - RANDOM;
	size_t n = strlen(output), at;

	while (n > 1 && output[n - 1] == '/')
		n--;
	for (at = n; at > 0 && output[at - 1] != '/'; at--)
		;
	snprintf(ret, PATH_MAX, "%.*s" SUFFIX, (int)(n - at < most ? n : at + most), output);
}

int output_begin(struct output *p, const char *output, int force)
{
	char prefix[PATH_MAX];
	struct stat st;
	int r = lstat(output, &st) == 0 ? 0 : -errno;

	memset(p, 0, sizeof(*p));
	p->path = output;
	p->force = force;
	if (r == 0 && !(force && is_trace(output)))
		return -EEXIST;
	if (r == -ENAMETOOLONG || strlen(output) >= PATH_MAX - NAME_MAX)
		return -ENAMETOOLONG;
	prefix_of(output, prefix);
	catch_signals();
	/* Folders with a recording, or with a trace that was replaced or could not be renamed,
	 * remain. */
	r = work_folder_make(&p->folder, prefix, TRACE);
	if (r < 0)
		return r;
	snprintf(p->trace, sizeof(p->trace), "%.*s/" TRACE, PATH_MAX - 8, p->folder.path);
	return 0;
}

/* Renames the trace if there is nothing at the output, else -EEXIST. Not every file system can do
 * this in one step. */
static int rename_output(const struct output *p)
{
	struct stat st;

	if (renameat2(AT_FDCWD, p->trace, AT_FDCWD, p->path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (lstat(p->path, &st) == 0)
		return -EEXIST;
	return rename(p->trace, p->path) < 0 ? -errno : 0;
}

/* Keeps the folder, which contains the replaced trace. */
static void keep_folder(struct output *p)
{
	char kept[PATH_MAX];

	if (!p->folder.path[0])
		return;
	snprintf(kept, sizeof(kept), "%.*s/" KEPT, PATH_MAX - 8, p->folder.path);
	close(open(kept, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
	p->folder.path[0] = '\0';
}

/* For file systems that cannot exchange files in one step. A writer that is killed in between
 * leaves both traces. */
static int replace_in_two_steps(struct output *p)
{
	char old[PATH_MAX];
	int r;

	snprintf(old, sizeof(old), "%.*s/old", PATH_MAX - 8, p->folder.path);
	if (rename(p->path, old) < 0)
		return -errno;
	r = rename_output(p);
	if (r < 0 && rename(old, p->path) < 0)
		keep_folder(p); /* the previous trace is in the folder */
	return r;
}

int output_commit(struct output *p)
{
	int r = rename_output(p);

	if (r != -EEXIST || !p->force || !is_trace(p->path))
		return r;
	if (renameat2(AT_FDCWD, p->trace, AT_FDCWD, p->path, RENAME_EXCHANGE) == 0)
		return 0;
	return errno == EINVAL || errno == ENOSYS ? replace_in_two_steps(p) : -errno;
}

int output_fail(int r, const char *output, int could_force)
{
	if (r != -EEXIST || !could_force)
		return cli_fail_output(r, output);
	cli_error("cannot write %s: it exists already; choose another, or give --force to replace "
		  "a trace",
		  output);
	return CLI_USAGE;
}

void output_done(struct output *p)
{
	work_folder_done(&p->folder);
}
