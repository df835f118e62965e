/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/share.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES 4096
#define WAIT_NS 2000000L
#define MOST_WAITS 60000 /* two minutes */

enum { FREE, TAKEN, FULL };

struct entry {
	uint32_t state; /* FULL publishes the rest */
	uint32_t bytes;
	uint8_t recorded[REX_SHARED_BYTES], here[REX_SHARED_BYTES];
};

struct rex_share {
	struct rex_settings settings;
	struct rex_counts counts;
	uint32_t is_noted;
	char note[REX_NOTE_BYTES];
	struct entry entries[ENTRIES];
};

int rex_share_make(void)
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

int rex_share_put(struct rex_share *s, const void *recorded, size_t bytes, const void *here)
{
	if (bytes > REX_SHARED_BYTES)
		return -EINVAL;
	for (size_t i = 0; i < ENTRIES; i++) {
		struct entry *e = &s->entries[i];
		uint32_t state = FREE;

		if (!__atomic_compare_exchange_n(&e->state, &state, TAKEN, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_ACQUIRE))
			continue;
		e->bytes = (uint32_t)bytes;
		memcpy(e->recorded, recorded, bytes);
		memcpy(e->here, here, bytes);
		__atomic_store_n(&e->state, FULL, __ATOMIC_RELEASE);
		return 0;
	}
	return -ENOSPC;
}

/* The last one that was put counts. */
static const struct entry *find(const struct rex_share *s, const void *recorded, size_t bytes)
{
	const struct entry *found = NULL;

	for (size_t i = 0; i < ENTRIES; i++) {
		const struct entry *e = &s->entries[i];
		uint32_t state = __atomic_load_n(&e->state, __ATOMIC_ACQUIRE);

		if (state == FREE)
			break;
		if (state == FULL && e->bytes == bytes && memcmp(e->recorded, recorded, bytes) == 0)
			found = e;
	}
	return found;
}

int rex_share_get(struct rex_share *s, const void *recorded, size_t bytes, void *ret)
{
	const struct timespec nap = {0, WAIT_NS};

	for (int i = 0; i < MOST_WAITS; i++) {
		const struct entry *e = find(s, recorded, bytes);

		if (e) {
			memcpy(ret, e->here, bytes);
			return 0;
		}
		nanosleep(&nap, NULL);
	}
	return -ETIMEDOUT;
}

void rex_share_count(struct rex_share *s, const struct rex_counts *counts)
{
	const uint64_t *of = (const uint64_t *)counts;
	uint64_t *all = (uint64_t *)&s->counts;

	for (size_t i = 0; i < sizeof(*counts) / sizeof(*of); i++)
		__atomic_add_fetch(&all[i], of[i], __ATOMIC_RELAXED);
}

void rex_share_counts(const struct rex_share *s, struct rex_counts *ret)
{
	*ret = s->counts;
}

void rex_share_note(struct rex_share *s, const char *text)
{
	if (__atomic_exchange_n(&s->is_noted, 1, __ATOMIC_RELAXED) == 0)
		snprintf(s->note, sizeof(s->note), "%s", text);
}

const char *rex_share_noted(const struct rex_share *s)
{
	return s->note;
}
