/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpureplay/launched.h"

#include "base/scope.h"
#include "tools/cli.h"
#include "tools/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS 5000000L
#define WATCH_NS 100000000L
#define MOST_JOIN_NAPS 120000 /* ten minutes */
#define MOST_LEAVE_NAPS 4000  /* 20 seconds */

static void sleep_ns(long ns)
{
	const struct timespec time = {0, ns};

	nanosleep(&time, NULL);
}

/* Sleeps until files of other processes may have appeared. 0; -ECANCELED: a signal arrived;
 * -ETIMEDOUT: called more than `most` times. */
static int sleep_for_files(uint32_t *n, uint32_t most)
{
	sleep_ns(NAP_NS);
	return output_signal() ? -ECANCELED : ++*n > most ? -ETIMEDOUT : 0;
}

/* Reads up to `n` bytes. Returns their number; 0: the file does not exist (yet). */
static size_t read_file(const char *folder, const char *name, void *ret, size_t n)
{
	char path[PATH_MAX];
	FILE *f;
	size_t got;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "re");
	got = f ? fread(ret, 1, n, f) : 0;
	if (f)
		fclose(f);
	return got;
}

/* ---- joining */

/* Process 0 lists the joined processes, again whenever one replaces the file of an earlier run,
 * until all have found the session. */
static int gather_processes(struct launched *l, uint64_t own)
{
	size_t bytes = (l->launcher.count + 1) * sizeof(uint64_t);
	scoped(free_ptr) uint64_t *said = calloc(1, bytes);
	scoped(free_ptr) uint64_t *now = calloc(1, bytes);
	uint32_t here = 1, naps = 0;
	int r = said && now ? 0 : -ENOMEM;

	while (r == 0 && here < l->launcher.count) {
		char name[32];

		now[0] = own;
		for (uint32_t i = 1; i < l->launcher.count; i++) {
			snprintf(name, sizeof(name), "join-%" PRIu32, i);
			read_file(l->folder, name, &now[i], sizeof(now[i]));
		}
		if (memcmp(now, said, bytes) != 0)
			r = rex_write_file_atomically(l->folder, "go", now, bytes);
		memcpy(said, now, bytes);
		if (r == 0)
			r = sleep_for_files(&naps, MOST_JOIN_NAPS);
		for (here = 1; here < l->launcher.count; here++) {
			char byte;

			snprintf(name, sizeof(name), "here-%" PRIu32, here);
			if (read_file(l->session, name, &byte, 1) == 0)
				break;
		}
		l->missing = here;
	}
	return r;
}

/* Waits until process 0 lists this one. */
static int wait_for_list(struct launched *l, uint64_t own)
{
	size_t bytes = (l->launcher.count + 1) * sizeof(uint64_t);
	scoped(free_ptr) uint64_t *list = calloc(1, bytes);
	char name[32], path[PATH_MAX];
	uint32_t naps = 0;
	int r;

	if (!list)
		return -ENOMEM;
	snprintf(name, sizeof(name), "join-%" PRIu32, l->launcher.index);
	r = rex_write_file_atomically(l->folder, name, &own, sizeof(own));
	while (r == 0 &&
	       (read_file(l->folder, "go", list, bytes) < bytes || list[l->launcher.index] != own))
		r = sleep_for_files(&naps, MOST_JOIN_NAPS);
	if (r < 0) {
		snprintf(path, sizeof(path), "%s/%s", l->folder, name);
		unlink(path);
		rmdir(l->folder); /* removed only if empty */
		return r;
	}
	snprintf(l->session, sizeof(l->session), "%s/%016" PRIx64, l->folder, list[0]);
	snprintf(name, sizeof(name), "here-%" PRIu32, l->launcher.index);
	return rex_write_file_atomically(l->session, name, "", 1);
}

/* Removes the sessions of earlier runs that were killed. */
static void remove_sessions(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char path[PATH_MAX];

		if (strlen(e->d_name) != 16 || strspn(e->d_name, "0123456789abcdef") != 16)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		work_folder_remove(path);
	}
	if (dir)
		closedir(dir);
}

int launched_begin(struct launched *l, const char *output)
{
	size_t n = strlen(output);
	uint64_t own;
	int r;

	while (n > 1 && output[n - 1] == '/')
		n--;
	if (snprintf(l->folder, sizeof(l->folder), "%.*s.launched", (int)n, output) >=
	    (int)sizeof(l->folder))
		return -ENAMETOOLONG;
	if (mkdir(l->folder, 0777) < 0 && errno != EEXIST)
		return -errno;
	if (getrandom(&own, sizeof(own), 0) != sizeof(own))
		return -EIO;
	if (l->launcher.index > 0)
		return wait_for_list(l, own);
	remove_sessions(l->folder);
	snprintf(l->session, sizeof(l->session), "%s/%016" PRIx64, l->folder, own);
	r = mkdir(l->session, 0777) < 0 ? -errno : gather_processes(l, own);
	if (r < 0)
		work_folder_remove(l->folder);
	return r;
}

/* ---- ending */

struct ended {
	int64_t status;
	struct rex_counts counts;
};

static bool has_failed(const struct launched *l, struct launched_failure *ret)
{
	return read_file(l->session, "failed", ret, sizeof(*ret)) == sizeof(*ret);
}

static bool has_ended(const struct launched *l, uint32_t index, struct ended *ret)
{
	char name[32];

	snprintf(name, sizeof(name), "ended-%" PRIu32, index);
	return read_file(l->session, name, ret, sizeof(*ret)) == sizeof(*ret);
}

static int publish_end(const struct launched *l, int status, bool is_killed,
		       const struct rex_counts *counts)
{
	struct ended ended = {.status = status, .counts = *counts};
	struct launched_failure failure;
	char name[32];
	int r = 0;

	if (status != 0 && !has_failed(l, &failure)) {
		failure = (struct launched_failure){l->launcher.index, status, is_killed};
		r = rex_write_file_atomically(l->session, "failed", &failure, sizeof(failure));
	}
	snprintf(name, sizeof(name), "ended-%" PRIu32, l->launcher.index);
	return r < 0 ? r : rex_write_file_atomically(l->session, name, &ended, sizeof(ended));
}

int launched_end(const struct launched *l, int status, const struct rex_counts *counts)
{
	return publish_end(l, status, false, counts);
}

/* Waits until the process at the other end of the pipe has ended. If it was killed, reports that to
 * the other processes and ends its program. Does not return. */
static void run_guard(const struct launched *l, pid_t program, int pipe)
{
	const struct rex_counts none = {0};
	struct ended ended;
	ssize_t n;
	char byte;

	setsid(); /* signals for the process group are not for the guard */
	for (int fd = 0; fd < 3; fd++)
		dup2(pipe, fd); /* readers of the output need not wait for the guard */
	do {
		n = read(pipe, &byte, 1);
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (!has_ended(l, l->launcher.index, &ended) && access(l->session, F_OK) == 0) {
		publish_end(l, CLI_MACHINE, true, &none);
		kill(program, SIGTERM);
	}
	_exit(0);
}

static int start_guard(const struct launched *l, pid_t program)
{
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(fd[1]);
		run_guard(l, program, fd[0]);
	}
	close(fd[0]); /* the other end is closed when this process ends */
	return pid < 0 ? -errno : 0;
}

int launched_watch(const struct launched *l, pid_t pid)
{
	struct launched_failure failure;
	bool is_told = false;
	int status, r = start_guard(l, pid);

	if (r < 0)
		return r;
	for (;;) {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid)
			return status;
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (!is_told && has_failed(l, &failure)) {
			kill(pid, SIGTERM);
			is_told = true;
		}
		sleep_ns(WATCH_NS);
	}
}

int launched_wait(const struct launched *l, struct rex_counts *counts)
{
	struct launched_failure failure;
	struct ended ended;
	uint32_t naps = 0;

	for (uint32_t i = 1; i < l->launcher.count; i++) {
		while (!has_ended(l, i, &ended)) {
			if (has_failed(l, &failure))
				return failure.status;
			if (sleep_for_files(&naps, UINT32_MAX) == -ECANCELED)
				return -ECANCELED;
		}
		if (ended.status != 0)
			return (int)ended.status;
		rex_counts_add(counts, &ended.counts);
	}
	return 0;
}

bool launched_leave(const struct launched *l, struct launched_failure *ret)
{
	struct ended ended;
	uint32_t naps = 0, first;

	memset(ret, 0, sizeof(*ret));
	has_failed(l, ret);
	first = ret->is_killed && ret->index == 0 ? 1 : 0;
	if (l->launcher.index != first) {
		while (access(l->session, F_OK) == 0 &&
		       sleep_for_files(&naps, MOST_LEAVE_NAPS) == 0)
			;
		return false;
	}
	for (uint32_t i = 0; i < l->launcher.count; i++)
		while (i != first && !has_ended(l, i, &ended) &&
		       sleep_for_files(&naps, MOST_LEAVE_NAPS) == 0)
			;
	/* A process that did not end in time may still write. */
	while (work_folder_remove(l->folder) < 0 && access(l->folder, F_OK) == 0 &&
	       sleep_for_files(&naps, MOST_LEAVE_NAPS) == 0)
		;
	return true;
}
