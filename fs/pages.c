/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/pages.h"

#include "base/scope.h"

#include <stdlib.h>
#include <string.h>

void fs_pages_init(struct fs_pages *e)
{
	*e = (struct fs_pages){0};
	pthread_mutex_init(&e->lock, NULL);
}

void fs_pages_done(struct fs_pages *e)
{
	for (size_t i = 0; e->slots && i < FS_PAGES; i++)
		free(e->slots[i].bytes);
	free(e->slots);
	pthread_mutex_destroy(&e->lock);
}

static struct fs_page *slot_of(struct fs_pages *e, fs_ino ino, uint64_t page)
{
	uint64_t h = (ino * 0x9e3779b97f4a7c15u ^ page / FS_PAGE) * 0xff51afd7ed558ccdu;

	return &e->slots[h >> 40 & (FS_PAGES - 1)];
}

/* Replaces the contents of a slot by a copy. Empties the slot if out of memory. */
static void keep_edge(struct fs_page *slot, const struct fs_page *added)
{
	size_t size = added->end - added->from;

	free(slot->bytes);
	*slot = *added;
	slot->bytes = malloc(size);
	if (slot->bytes)
		memcpy(slot->bytes, added->bytes, size);
}

/* With the lock held. */
static bool add(struct fs_pages *e, const struct fs_page *added, char page[FS_PAGE])
{
	struct fs_page *slot = slot_of(e, added->ino, added->page);
	bool same = slot->bytes && slot->ino == added->ino && slot->page == added->page;

	if (!same || (slot->end != added->from && added->end != slot->from)) {
		keep_edge(slot, added);
		return false;
	}
	memcpy(page + slot->from, slot->bytes, slot->end - slot->from);
	memcpy(page + added->from, added->bytes, added->end - added->from);
	if (slot->end - slot->from + added->end - added->from < FS_PAGE) {
		struct fs_page both = *added;

		both.from = slot->from < added->from ? slot->from : added->from;
		both.end = slot->end > added->end ? slot->end : added->end;
		both.bytes = page + both.from;
		keep_edge(slot, &both);
		return false;
	}
	free(take(slot->bytes));
	return true;
}

bool fs_pages_add(struct fs_pages *e, fs_ino ino, uint64_t offset, const char *bytes, size_t size,
		  char page[FS_PAGE])
{
	struct fs_page added = {
		.ino = ino,
		.page = offset / FS_PAGE * FS_PAGE,
		.from = offset % FS_PAGE,
		.end = (uint32_t)(offset % FS_PAGE + size),
		.bytes = (char *)(uintptr_t)bytes,
	};
	bool complete = false;

	pthread_mutex_lock(&e->lock);
	if (!e->slots)
		e->slots = calloc(FS_PAGES, sizeof(*e->slots));
	if (e->slots && size > 0)
		complete = add(e, &added, page);
	pthread_mutex_unlock(&e->lock);
	return complete;
}
