/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpureplay/launched.h"

#include "base/scope.h"
#include "tools/work_folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS 5000000L

static void nap(void)
{
	const struct timespec time = {0, NAP_NS};

	nanosleep(&time, NULL);
}

/* Reads up to `n` bytes; their number, 0: there is no such file (yet). */
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

/* Process 0 lists those that joined, anew when one did that an earlier run had left a file of,
 * until all have found the session. */
static int gather(const struct launched *l, uint64_t own)
{
	size_t bytes = (l->by.count + 1) * sizeof(uint64_t);
	scoped(free_ptr) uint64_t *said = calloc(1, bytes);
	scoped(free_ptr) uint64_t *now = calloc(1, bytes);
	uint32_t here = 1;
	int r = said && now ? 0 : -ENOMEM;

	while (r == 0 && here < l->by.count) {
		char name[32];

		now[0] = own;
		for (uint32_t i = 1; i < l->by.count; i++) {
			snprintf(name, sizeof(name), "join-%" PRIu32, i);
			read_file(l->folder, name, &now[i], sizeof(now[i]));
		}
		if (memcmp(now, said, bytes) != 0)
			r = rex_share_file(l->folder, "go", now, bytes);
		memcpy(said, now, bytes);
		nap();
		for (here = 1; here < l->by.count; here++) {
			char byte;

			snprintf(name, sizeof(name), "here-%" PRIu32, here);
			if (read_file(l->session, name, &byte, 1) == 0)
				break;
		}
	}
	return r;
}

/* Waits until process 0 lists this one. */
static int join(struct launched *l, uint64_t own)
{
	size_t bytes = (l->by.count + 1) * sizeof(uint64_t);
	scoped(free_ptr) uint64_t *list = calloc(1, bytes);
	char name[32];
	int r;

	if (!list)
		return -ENOMEM;
	snprintf(name, sizeof(name), "join-%" PRIu32, l->by.index);
	r = rex_share_file(l->folder, name, &own, sizeof(own));
	while (r == 0 &&
	       (read_file(l->folder, "go", list, bytes) < bytes || list[l->by.index] != own))
		nap();
	snprintf(l->session, sizeof(l->session), "%s/%016" PRIx64, l->folder, list[0]);
	snprintf(name, sizeof(name), "here-%" PRIu32, l->by.index);
	return r < 0 ? r : rex_share_file(l->session, name, "", 1);
}

/* Removes what earlier runs left that were killed. */
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

	while (n > 1 && output[n - 1] == '/')
		n--;
	if (snprintf(l->folder, sizeof(l->folder), "%.*s.launched", (int)n, output) >=
	    (int)sizeof(l->folder))
		return -ENAMETOOLONG;
	if (mkdir(l->folder, 0777) < 0 && errno != EEXIST)
		return -errno;
	if (getrandom(&own, sizeof(own), 0) != sizeof(own))
		return -EIO;
	if (l->by.index > 0)
		return join(l, own);
	remove_sessions(l->folder);
	snprintf(l->session, sizeof(l->session), "%s/%016" PRIx64, l->folder, own);
	return mkdir(l->session, 0777) < 0 ? -errno : gather(l, own);
}

/* ---- ending */

struct ended {
	int64_t status;
	struct rex_counts counts;
};

int launched_end(const struct launched *l, int status, const struct rex_counts *counts)
{
	struct ended ended = {.status = status, .counts = *counts};
	char name[32];

	snprintf(name, sizeof(name), "ended-%" PRIu32, l->by.index);
	return rex_share_file(l->session, name, &ended, sizeof(ended));
}

int launched_wait(const struct launched *l, uint32_t *index, struct rex_counts *counts)
{
	for (uint32_t i = 1; i < l->by.count; i++) {
		struct ended ended;
		char name[32];

		snprintf(name, sizeof(name), "ended-%" PRIu32, i);
		while (read_file(l->session, name, &ended, sizeof(ended)) < sizeof(ended))
			nap();
		rex_counts_add(counts, &ended.counts);
		*index = i;
		if (ended.status != 0)
			return (int)ended.status;
	}
	return 0;
}
