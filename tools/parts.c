/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/parts.h"

#include "base/array.h"
#include "base/scope.h"
#include "tools/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define MOST_PARTS 100000

/* What a launcher tells each of the processes that it starts: which it is, how many there are, and
 * up to two variables that name the run. */
static const struct {
	const char *index, *count, *run[2];
} launchers[] = {
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"PMIX_NAMESPACE", NULL}},
	{"PMI_RANK", "PMI_SIZE", {"PMI_JOBID", NULL}},
};

/* A variable that is a number from 0 to MOST_PARTS, or -1. */
static long number(const char *variable)
{
	const char *value = getenv(variable);
	char *end;
	long v;

	if (!value || !*value)
		return -1;
	v = strtol(value, &end, 10);
	return *end || v < 0 || v > MOST_PARTS ? -1 : v;
}

void parts_by_launcher(struct fmt_origin *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(launchers); i++) {
		long index = number(launchers[i].index), count = number(launchers[i].count);
		size_t len = 0;

		if (index < 0 || index >= count)
			continue;
		ret->part = (uint32_t)index;
		ret->n_parts = (uint32_t)count;
		for (size_t k = 0; k < 2 && launchers[i].run[k]; k++) {
			const char *value = getenv(launchers[i].run[k]);

			if (value && len < sizeof(ret->run))
				len += (size_t)snprintf(ret->run + len, sizeof(ret->run) - len,
							"%s%s", len > 0 ? "." : "", value);
		}
		return;
	}
}

/* "part-0003", and what comes behind it. */
static void path_of(const struct parts *p, const char *suffix, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/part-%04u%s", p->folder, p->of.part, suffix);
}

static int put_file(const char *path, const char *text)
{
	scoped(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -EIO;
}

/* Two lines of a file that says that a part has begun. */
static int read_begun(const char *path, char host[FMT_ORIGIN_ID], char run[FMT_ORIGIN_ID])
{
	scoped(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[2 * FMT_ORIGIN_ID];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *line;

	if (n < 0)
		return -errno;
	text[n] = '\0';
	line = strchrnul(text, '\n');
	snprintf(host, FMT_ORIGIN_ID, "%.*s", (int)(line - text), text);
	line += *line == '\n';
	snprintf(run, FMT_ORIGIN_ID, "%.*s", (int)strcspn(line, "\n"), line);
	return 0;
}

int parts_begin(struct parts *p, const char *output, const struct fmt_origin *of, int force)
{
	char path[PATH_MAX], host[FMT_ORIGIN_ID] = "", run[FMT_ORIGIN_ID], text[2 * FMT_ORIGIN_ID];
	size_t n = strlen(output);
	int r;

	*p = (struct parts){.of = *of};
	while (n > 1 && output[n - 1] == '/')
		n--;
	if (snprintf(p->folder, sizeof(p->folder), "%.*s.parts", (int)n, output) >=
	    (int)sizeof(p->folder))
		return -ENAMETOOLONG;
	if (mkdir(p->folder, 0777) < 0 && errno != EEXIST)
		return -errno;
	path_of(p, "", p->trace);
	path_of(p, ".begun", path);
	if (force && of->run[0] && read_begun(path, host, run) == 0 && strcmp(run, of->run) != 0) {
		unlink(path);
		place_remove(p->trace);
	}
	gethostname(host, sizeof(host) - 1);
	snprintf(text, sizeof(text), "%.*s\n%.*s\n", FMT_ORIGIN_ID - 2, host, FMT_ORIGIN_ID - 2,
		 of->run);
	r = put_file(path, text);
	path_of(p, ".none", path);
	if (r == 0)
		unlink(path);
	return r;
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* How many parts of this run have ended. The folder is read, not asked by name: a client of a
 * network file system may remember that a name was not there, but what it has changed itself makes
 * it read the folder anew. */
static int count_ended(const struct parts *p, uint32_t *ret)
{
	scoped(close_dir) DIR *dir = opendir(p->folder);
	const struct dirent *e;

	if (!dir)
		return -errno;
	for (*ret = 0; (e = readdir(dir));) {
		char host[FMT_ORIGIN_ID], run[FMT_ORIGIN_ID], path[PATH_MAX];
		unsigned part;
		int end = 0;

		if (sscanf(e->d_name, "part-%u%n", &part, &end) != 1 || part >= p->of.n_parts ||
		    (e->d_name[end] && strcmp(e->d_name + end, ".none") != 0))
			continue;
		snprintf(path, sizeof(path), "%s/part-%04u.begun", p->folder, part);
		*ret += read_begun(path, host, run) == 0 && strcmp(run, p->of.run) == 0;
	}
	return 0;
}

int parts_end(struct parts *p, int nothing)
{
	char path[PATH_MAX];
	uint32_t ended = 0;
	int r = 0;

	path_of(p, ".none", path);
	if (nothing)
		r = put_file(path, "");
	if (r == 0)
		r = count_ended(p, &ended);
	if (r < 0 || ended < p->of.n_parts)
		return r;
	snprintf(path, sizeof(path), "%s/joining", p->folder);
	if (mkdir(path, 0777) == 0)
		return 1;
	return errno == EEXIST ? 0 : -errno;
}

/* ---- afterwards */

void parts_found_done(struct parts_found *f)
{
	for (size_t i = 0; i < f->n_traces; i++)
		free(f->traces[i]);
	for (size_t i = 0; i < f->n_absent; i++)
		free(f->absent[i]);
	free(f->traces);
	free(f->absent);
	*f = (struct parts_found){0};
}

static int add(char ***list, size_t *n, size_t *cap, const char *what)
{
	if (array_reserve(list, *n + 1, cap) < 0)
		return -ENOMEM;
	(*list)[*n] = strdup(what);
	return (*list)[*n] ? ((*n)++, 0) : -ENOMEM;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A part that has begun: its trace, or its host where there is none. */
static int find_part(const char *folder, unsigned part, struct parts_found *ret)
{
	char path[PATH_MAX], host[FMT_ORIGIN_ID], run[FMT_ORIGIN_ID];
	struct stat st;

	snprintf(path, sizeof(path), "%s/part-%04u", folder, part);
	if (stat(path, &st) == 0)
		return add(&ret->traces, &ret->n_traces, &ret->traces_cap, path);
	snprintf(path, sizeof(path), "%s/part-%04u.none", folder, part);
	if (stat(path, &st) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/part-%04u.begun", folder, part);
	if (read_begun(path, host, run) < 0)
		return -errno;
	return add(&ret->absent, &ret->n_absent, &ret->absent_cap, host);
}

int parts_find(const char *folder, struct parts_found *ret)
{
	scoped(close_dir) DIR *dir = opendir(folder);
	scoped(parts_found_done) struct parts_found f = {0};
	const struct dirent *e;
	int r = 0;

	while (dir && r == 0 && (e = readdir(dir))) {
		unsigned part;
		int end = 0;

		if (sscanf(e->d_name, "part-%u.begun%n", &part, &end) == 1 && end > 0 &&
		    !e->d_name[end])
			r = find_part(folder, part, &f);
	}
	if (r < 0)
		return r;
	if (f.n_traces > 0)
		qsort(f.traces, f.n_traces, sizeof(*f.traces), by_text);
	if (f.n_absent > 0)
		qsort(f.absent, f.n_absent, sizeof(*f.absent), by_text);
	*ret = f;
	f = (struct parts_found){0};
	return 0;
}
