/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/share.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES 4096
#define WAIT_NS 2000000L
#define MOST_WAITS 60000 /* two minutes */

enum { FREE, TAKEN, ANNOUNCED, FULL };

struct entry {
	uint32_t state; /* ANNOUNCED publishes the recorded value, FULL the new one, too */
	uint32_t bytes;
	uint8_t recorded[REX_SHARED_BYTES], here[REX_SHARED_BYTES];
};

struct rex_share {
	struct rex_settings settings;
	struct rex_counts counts;
	uint32_t is_noted;
	uint32_t has_failed;
	uint32_t n_announced; /* processes that have announced all of their values */
	bool is_complete;     /* all have */
	char note[REX_NOTE_BYTES];
	struct entry entries[ENTRIES];
	int64_t progress[REX_PROCESSES]; /* 0: not started */
};

int rex_share_create(void)
{
	int fd = memfd_create("gpureplay", 0);

	if (fd < 0 || ftruncate(fd, sizeof(struct rex_share)) == 0)
		return fd < 0 ? -errno : fd;
	close(fd);
	return -errno;
}

int rex_share_open(int fd, struct rex_share **ret)
{
	void *at = mmap(NULL, sizeof(struct rex_share), PROT_READ | PROT_WRITE,
			MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	*ret = at;
	return 0;
}

void rex_share_close(struct rex_share *s, int fd)
{
	munmap(s, sizeof(*s));
	close(fd);
}

struct rex_settings *rex_share_settings(struct rex_share *s)
{
	return &s->settings;
}

/* ---- values of other tables */

int rex_write_file_atomically(const char *folder, const char *name, const void *data, size_t bytes)
{
	char path[5000], made[5100];
	FILE *f;
	bool is_written;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(made, sizeof(made), "%s.%ld.%lx", path, (long)getpid(),
		 (unsigned long)pthread_self());
	f = fopen(made, "we");
	if (!f)
		return -errno;
	is_written = fwrite(data, 1, bytes, f) == bytes;
	is_written &= fclose(f) == 0;
	if (is_written && rename(made, path) == 0)
		return 0;
	unlink(made);
	return -EIO;
}

/* The name of the file for a recorded value. */
static void value_name(const void *recorded, size_t bytes, char ret[40])
{
	const uint8_t *at = recorded;
	uint64_t hash[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)};

	for (size_t i = 0; i < bytes; i++)
		for (int k = 0; k < 2; k++)
			hash[k] = (hash[k] ^ at[i]) * UINT64_C(0x100000001b3) + (hash[k] >> 47);
	snprintf(ret, 40, "value-%016llx%016llx", (unsigned long long)hash[0],
		 (unsigned long long)hash[1]);
}

static int put_file(const struct rex_share *s, const struct entry *e)
{
	char name[40];

	value_name(e->recorded, e->bytes, name);
	return rex_write_file_atomically(s->settings.folder, name, e, sizeof(*e));
}

static bool read_value(const struct rex_share *s, const void *recorded, size_t bytes,
		       struct entry *ret)
{
	char name[40], path[5000];
	size_t n = 0;
	FILE *f;

	value_name(recorded, bytes, name);
	snprintf(path, sizeof(path), "%s/%s", s->settings.folder, name);
	f = fopen(path, "re");
	if (f) {
		n = fread(ret, 1, sizeof(*ret), f);
		fclose(f);
	}
	return n == sizeof(*ret) && ret->bytes == bytes &&
	       memcmp(ret->recorded, recorded, bytes) == 0;
}

/* ---- the table */

static bool has_value(const struct entry *e, const void *recorded, size_t bytes)
{
	return e->bytes == bytes && memcmp(e->recorded, recorded, bytes) == 0;
}

static bool take_entry(struct entry *e, uint32_t state)
{
	return __atomic_compare_exchange_n(&e->state, &state, TAKEN, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_ACQUIRE);
}

/* Takes an entry that was announced with the value, else a free one. NULL: the table is full. */
static struct entry *new_entry(struct rex_share *s, const void *recorded, size_t bytes,
			       bool announced)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		struct entry *e = &s->entries[i];

		if (announced && __atomic_load_n(&e->state, __ATOMIC_ACQUIRE) == ANNOUNCED &&
		    has_value(e, recorded, bytes) && take_entry(e, ANNOUNCED))
			return e;
		if (take_entry(e, FREE)) {
			e->bytes = (uint32_t)bytes;
			memcpy(e->recorded, recorded, bytes);
			return e;
		}
	}
	return NULL;
}

int rex_share_announce(struct rex_share *s, const void *recorded, size_t bytes)
{
	struct entry *e = bytes <= REX_SHARED_BYTES ? new_entry(s, recorded, bytes, false) : NULL;

	if (!e)
		return -ENOSPC;
	__atomic_store_n(&e->state, ANNOUNCED, __ATOMIC_RELEASE);
	return 0;
}

void rex_share_end_announcements(struct rex_share *s, uint32_t n_processes)
{
	if (__atomic_add_fetch(&s->n_announced, 1, __ATOMIC_ACQ_REL) == n_processes)
		__atomic_store_n(&s->is_complete, true, __ATOMIC_RELEASE);
}

int rex_share_put(struct rex_share *s, const void *recorded, size_t bytes, const void *here)
{
	struct entry *e = bytes <= REX_SHARED_BYTES ? new_entry(s, recorded, bytes, true) : NULL;

	if (!e)
		return bytes <= REX_SHARED_BYTES ? -ENOSPC : -EINVAL;
	memcpy(e->here, here, bytes);
	__atomic_store_n(&e->state, FULL, __ATOMIC_RELEASE);
	return s->settings.folder[0] ? put_file(s, e) : 0;
}

/* Returns the latest entry with a new value, or NULL. *ret_expected: a process will set one. */
static const struct entry *find_entry(const struct rex_share *s, const void *recorded, size_t bytes,
				      bool *ret_expected)
{
	const struct entry *found = NULL;

	for (size_t i = 0; i < ENTRIES; i++) {
		const struct entry *e = &s->entries[i];
		uint32_t state = __atomic_load_n(&e->state, __ATOMIC_ACQUIRE);

		if (state == FREE)
			break;
		if (state == FULL && has_value(e, recorded, bytes))
			found = e;
		*ret_expected |=
			state == TAKEN || (state == ANNOUNCED && has_value(e, recorded, bytes));
	}
	return found;
}

int rex_share_get(struct rex_share *s, const void *recorded, size_t bytes, void *ret)
{
	const struct timespec nap = {0, WAIT_NS};

	for (int i = 0; i < MOST_WAITS; i++) {
		/* Announcements of processes that a launcher started are in other tables. */
		bool is_complete = __atomic_load_n(&s->is_complete, __ATOMIC_ACQUIRE);
		bool is_expected = false;
		const struct entry *e = find_entry(s, recorded, bytes, &is_expected);
		struct entry other;

		if (!e && s->settings.folder[0] && read_value(s, recorded, bytes, &other))
			e = &other;
		if (e) {
			memcpy(ret, e->here, bytes);
			return 0;
		}
		if (is_complete && !is_expected)
			return -ENOENT;
		nanosleep(&nap, NULL);
	}
	return -ETIMEDOUT;
}

void rex_share_set_progress(struct rex_share *s, uint32_t process, int64_t returned)
{
	int64_t *at = &s->progress[process], now = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (now < returned && !__atomic_compare_exchange_n(at, &now, returned, 0,
							      __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

bool rex_share_has_reached(const struct rex_share *s, uint32_t process, uint32_t self,
			   int64_t began)
{
	int64_t at = __atomic_load_n(&s->progress[process], __ATOMIC_ACQUIRE);

	return at > began || (at == began && process > self);
}

void rex_counts_add(struct rex_counts *to, const struct rex_counts *from)
{
	const uint64_t *of = (const uint64_t *)from;
	uint64_t *all = (uint64_t *)to;

	for (size_t i = 0; i < sizeof(*from) / sizeof(*of); i++)
		__atomic_add_fetch(&all[i], of[i], __ATOMIC_RELAXED);
}

void rex_share_add_counts(struct rex_share *s, const struct rex_counts *counts)
{
	rex_counts_add(&s->counts, counts);
}

void rex_share_get_counts(const struct rex_share *s, struct rex_counts *ret)
{
	*ret = s->counts;
}

void rex_share_set_note(struct rex_share *s, const char *text)
{
	if (__atomic_exchange_n(&s->is_noted, 1, __ATOMIC_RELAXED) == 0)
		snprintf(s->note, sizeof(s->note), "%s", text);
}

bool rex_share_is_first_failure(struct rex_share *s)
{
	return __atomic_exchange_n(&s->has_failed, 1, __ATOMIC_RELAXED) == 0;
}

const char *rex_share_get_note(const struct rex_share *s)
{
	return s->note;
}
