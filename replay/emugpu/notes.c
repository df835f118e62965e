/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/notes.h"

#include "base/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct emu_run *run;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct {
	uint32_t lost;
	struct emu_run_note notes[EMU_RUN_NOTES];
} own; /* outside a run */

static uint64_t without_space; /* counter used if no note is free */

/* A forked child reports only its own calls. Notes remain, since callers keep addresses of
 * counters. */
static void forget_process(void)
{
	for (unsigned i = 0; i < EMU_RUN_NOTES; i++)
		own.notes[i].count = 0;
}

/* Opens an unnamed file that gpuemu passes to the processes of a run, in a variable such as
 * GPUEMU_RUN=/proc/PID/fd/N. A process that landlock confines must not use descriptors of others;
 * it opens the one that it inherited, if that is still the same file. Returns a descriptor, or -1
 * with errno; ENOENT: not set.
 */
static int open_unnamed_file(const char *variable, int flags)
{
	const char *path = getenv(variable), *number = path ? strrchr(path, '/') : NULL;
	char inherited[64], expected[64], file[64] = "";
	int fd = path ? open(path, flags | O_CLOEXEC) : -1;

	if (!path)
		errno = ENOENT;
	if (fd >= 0 || !number || errno != EACCES)
		return fd;
	snprintf(inherited, sizeof(inherited), "/proc/self/fd%s", number);
	snprintf(expected, sizeof(expected), "/memfd:%s (deleted)", variable);
	if (readlink(inherited, file, sizeof(file) - 1) < 0 || strcmp(file, expected) != 0)
		return -1;
	return open(inherited, flags | O_CLOEXEC);
}

static void map_run(void)
{
	int saved = errno;
	scoped(close_fd) int fd = open_unnamed_file("GPUEMU_RUN", O_RDWR);
	void *at = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct emu_run)) == 0)
		at = mmap(NULL, sizeof(struct emu_run), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		run = at;
	else
		pthread_atfork(NULL, NULL, forget_process);
	errno = saved;
}

struct emu_run *emu_run_map(void)
{
	pthread_once(&once, map_run);
	return run;
}

static uint64_t hash_text(uint64_t h, const char *text)
{
	do
		h = (h ^ (uint8_t)*text) * 0x100000001b3;
	while (*text++);
	return h;
}

static void set_note(struct emu_run_note *n, enum emu_note_kind kind, uint64_t hash,
		     const char *library, const char *name)
{
	n->kind = kind;
	n->hash = hash;
	snprintf(n->library, sizeof(n->library), "%s", library);
	snprintf(n->name, sizeof(n->name), "%s", name);
	__atomic_store_n(&n->state, EMU_NOTE_SET, __ATOMIC_RELEASE);
}

/* Waits while another thread sets the note; only briefly, since its process may have been killed.
 */
static uint32_t await_state(const struct emu_run_note *n)
{
	uint32_t state;

	for (int i = 0; (state = __atomic_load_n(&n->state, __ATOMIC_ACQUIRE)) == EMU_NOTE_CLAIMED;
	     i++) {
		if (i == 1000)
			break;
		sched_yield();
	}
	return state;
}

uint64_t *emu_note(enum emu_note_kind kind, const char *library, const char *name)
{
	struct emu_run *shared = emu_run_map();
	struct emu_run_note *notes = shared ? shared->notes : own.notes;
	uint64_t hash = hash_text(hash_text(0xcbf29ce484222325 + kind, library), name);

	for (uint64_t i = 0; i < EMU_RUN_NOTES; i++) {
		struct emu_run_note *n = &notes[(hash + i) % EMU_RUN_NOTES];
		uint32_t unused = EMU_NOTE_FREE;

		if (__atomic_compare_exchange_n(&n->state, &unused, EMU_NOTE_CLAIMED, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			set_note(n, kind, hash, library, name);
			return &n->count;
		}
		if (await_state(n) == EMU_NOTE_SET && n->hash == hash)
			return &n->count;
	}
	__atomic_fetch_add(shared ? &shared->lost_notes : &own.lost, 1, __ATOMIC_RELAXED);
	return &without_space;
}

static void print_process(enum emu_note_kind kind, const char *title)
{
	const char *library = NULL;

	for (unsigned i = 0; i < EMU_RUN_NOTES; i++) {
		const struct emu_run_note *n = &own.notes[i];

		if (n->state != EMU_NOTE_SET || n->kind != kind || n->count == 0)
			continue;
		fprintf(stderr, "%s%s (%" PRIu64 ")", library ? ", " : title, n->name, n->count);
		library = n->library;
	}
	if (library && kind == EMU_NOTE_REFUSED)
		fprintf(stderr, " in %s\n", library);
	else if (library)
		fputs("; results that depend on them are undefined\n", stderr);
}

/* Within a run, gpuemu prints them. */
__attribute__((destructor)) static void report_own(void)
{
	if (run)
		return;
	print_process(EMU_NOTE_REFUSED, "gpuemu: not supported: ");
	print_process(EMU_NOTE_NO_KERNEL, "gpuemu: launches without a host kernel: ");
	print_process(EMU_NOTE_SKIPPED,
		      "gpuemu: launches that exceeded what their host kernels compute: ");
}
