/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/recordings.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/raw/raw.h"
#include "tools/launcher.h"
#include "tools/work_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void recording_by_launcher(struct fmt_origin *ret)
{
	struct launcher by;

	launcher_find(false, &by);
	ret->part = by.index;
	ret->n_parts = by.count;
	snprintf(ret->run, sizeof(ret->run), "%s", by.run);
}

#define COMPLETE ".raw"
#define OPEN ".recording"

/* "part-0003.raw" */
static void path_of(const struct recording *r, const char *suffix, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/part-%04u%s", r->folder, r->origin.part, suffix);
}

static int read_header(const char *path, struct rec_raw_header *ret)
{
	scoped(rec_raw_done) struct rec_raw raw = {.fd = -1};

	return rec_raw_open(path, false, ret, &raw, NULL);
}

/* Removes the file if it was recorded in another run of the launcher. */
static void remove_stale(const char *path, const struct fmt_origin *of)
{
	struct rec_raw_header header;

	if (read_header(path, &header) == 0 && strcmp(header.run, of->run) != 0)
		unlink(path);
}

int recording_begin(struct recording *r, const char *output, const struct fmt_origin *of, int force)
{
	char complete[PATH_MAX];
	size_t n = strlen(output);

	*r = (struct recording){.origin = *of};
	while (n > 1 && output[n - 1] == '/')
		n--;
	if (snprintf(r->folder, sizeof(r->folder), "%.*s.raw", (int)n, output) >=
	    (int)sizeof(r->folder))
		return -ENAMETOOLONG;
	if (mkdir(r->folder, 0777) < 0 && (errno != EEXIST || of->n_parts < 2))
		return -errno;
	path_of(r, OPEN, r->path);
	path_of(r, COMPLETE, complete);
	if (force && of->run[0]) {
		remove_stale(r->path, of);
		remove_stale(complete, of);
	}
	return access(r->path, F_OK) == 0 || access(complete, F_OK) == 0 ? -EEXIST : 0;
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Returns true for the name of a part's file; `any`: also of an incomplete one. */
static bool is_part(const char *name, bool any, unsigned *part)
{
	int end = 0;

	return sscanf(name, "part-%u%n", part, &end) == 1 && end > 0 &&
	       (strcmp(name + end, COMPLETE) == 0 || (any && strcmp(name + end, OPEN) == 0));
}

/* Counts the complete parts of this run. Lists the folder instead of testing names: a network file
 * system client may cache that a name is missing, but it lists a folder again after a change of its
 * own. */
static int count_complete(const struct recording *r, uint32_t *ret)
{
	scoped(close_dir) DIR *dir = opendir(r->folder);
	const struct dirent *e;

	if (!dir)
		return -errno;
	for (*ret = 0; (e = readdir(dir));) {
		struct rec_raw_header header;
		char path[PATH_MAX];
		unsigned part;

		if (!is_part(e->d_name, false, &part) || part >= r->origin.n_parts)
			continue;
		snprintf(path, sizeof(path), "%s/%s", r->folder, e->d_name);
		*ret += read_header(path, &header) == 0 && strcmp(header.run, r->origin.run) == 0;
	}
	return 0;
}

int recording_complete(struct recording *r)
{
	char complete[PATH_MAX], path[PATH_MAX], own[16], other[16] = "";
	uint32_t n = 0;
	int e;

	path_of(r, COMPLETE, complete);
	if (rename(r->path, complete) < 0 && access(complete, F_OK) < 0)
		return -errno;
	if (r->origin.n_parts < 2)
		return 1;
	e = count_complete(r, &n);
	if (e < 0 || n < r->origin.n_parts)
		return e;
	/* If several processes find all parts complete, one of them imports, even if it is
	 * restarted. */
	snprintf(path, sizeof(path), "%s/importing", r->folder);
	snprintf(own, sizeof(own), "part-%04u", r->origin.part);
	if (symlink(own, path) == 0)
		return 1;
	if (errno != EEXIST)
		return -errno;
	return readlink(path, other, sizeof(other) - 1) > 0 && strcmp(own, other) == 0;
}

void recording_abandon(const struct recording *r)
{
	unlink(r->path);
	rmdir(r->folder);
}

void recording_remove(const struct recording *r)
{
	work_folder_remove(r->folder);
}

/* ---- after the run */

void recordings_done(struct recordings *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->files[i]);
	free(r->files);
	*r = (struct recordings){0};
}

static int add_recording(struct recordings *r, const char *path)
{
	if (array_reserve(&r->files, r->n + 1, &r->cap) < 0)
		return -ENOMEM;
	r->files[r->n] = strdup(path);
	return r->files[r->n] ? ((void)r->n++, 0) : -ENOMEM;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the recordings in a folder. Returns their number. */
static int add_folder(struct recordings *r, const char *folder)
{
	scoped(close_dir) DIR *dir = opendir(folder);
	const struct dirent *e;
	size_t first = r->n;
	unsigned part;
	int n = 0;

	while (dir && n >= 0 && (e = readdir(dir))) {
		char path[PATH_MAX];

		if (!is_part(e->d_name, true, &part))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		n = add_recording(r, path) < 0 ? -ENOMEM : n + 1;
	}
	if (n > 0)
		qsort(r->files + first, r->n - first, sizeof(*r->files), by_text);
	return n;
}

int recordings_exist_at(const char *path)
{
	scoped(recordings_done) struct recordings found = {0};
	struct rec_raw_header header;
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return add_folder(&found, path) > 0;
	if (!S_ISREG(st.st_mode)) /* the writer of a pipe gets SIGPIPE if a reader opens it twice */
		return 0;
	r = read_header(path, &header);
	return r == 0 || r == -ENOTSUP;
}

int recordings_find(char *const *paths, size_t n, struct recordings *ret)
{
	int r = 0;

	*ret = (struct recordings){0};
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct stat st;

		if (stat(paths[i], &st) < 0)
			r = -errno;
		else
			r = S_ISDIR(st.st_mode) ? add_folder(ret, paths[i])
						: add_recording(ret, paths[i]);
	}
	return r < 0 ? r : 0;
}
