/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/refuse.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__thread int emu_per_thread;

/* One write of one line, so that processes do not tear each other's. */
static int append(const char *library, const char *name, unsigned count)
{
	const char *path = getenv("GPUEMU_REPORT");
	char line[256];
	int n, fd;

	if (!path)
		return 0;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return 0;
	n = snprintf(line, sizeof(line), "refused\t%s\t%s\t%d\t%u\n", library, name, (int)getpid(),
		     count);
	if (n > 0 && n < (int)sizeof(line) && write(fd, line, (size_t)n) != n)
		n = -1;
	close(fd);
	return n > 0;
}

static void note_first(const char *library, const char *name)
{
	int saved = errno;

	append(library, name, 1);
	errno = saved;
}

void emu_refused(struct emu_refusals *r, unsigned number)
{
	if (__atomic_fetch_add(&r->counts[number], 1, __ATOMIC_RELAXED) == 0)
		note_first(r->library, r->names[number]);
}

static struct emu_refusals *refusals; /* of this library */

static void forget(void);

void emu_refusals_start(struct emu_refusals *r)
{
	refusals = r;
	pthread_atfork(NULL, NULL, forget);
}

void emu_refusals_report(const struct emu_refusals *r)
{
	unsigned shown = 0;

	for (unsigned i = 0; i < r->n; i++) {
		if (r->counts[i] == 0 || append(r->library, r->names[i], r->counts[i]))
			continue;
		fprintf(stderr, "%s%s (%u)",
			shown++ ? ", " : "gpuemu: not supported: ", r->names[i], r->counts[i]);
	}
	if (shown)
		fprintf(stderr, "; called in %s\n", r->library);
}

#define USES 64

/* Kept by address: `use` is a literal. */
static struct {
	const char *library, *use;
	unsigned count;
} uses[USES];

void emu_refused_use(const char *library, const char *use)
{
	for (int i = 0; i < USES; i++) {
		const char *empty = NULL;

		if (__atomic_compare_exchange_n(&uses[i].use, &empty, use, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			uses[i].library = library;
			note_first(library, use);
		} else if (strcmp(empty, use) != 0) {
			continue;
		}
		__atomic_fetch_add(&uses[i].count, 1, __ATOMIC_RELAXED);
		return;
	}
}

/* In a forked child: its parent says what its parent was refused. */
static void forget(void)
{
	memset(refusals->counts, 0, refusals->n * sizeof(*refusals->counts));
	memset(uses, 0, sizeof(uses));
}

__attribute__((destructor)) static void report_uses(void)
{
	for (int i = 0; i < USES && uses[i].use; i++)
		if (uses[i].library && !append(uses[i].library, uses[i].use, uses[i].count))
			fprintf(stderr, "gpuemu: not supported: %s (%u); called in %s\n",
				uses[i].use, uses[i].count, uses[i].library);
}
