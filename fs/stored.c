/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/stored.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/blobs.h"

#include <pthread.h>

struct fs_stored {
	struct fmt_trace *trace; /* not owned */
	pthread_mutex_t lock;
	bool made;
	struct fs_stored_list images, buffers;
};

int fs_stored_new(struct fmt_trace *trace, struct fs_stored **ret)
{
	struct fs_stored *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->trace = trace;
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

void fs_stored_free(struct fs_stored *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s->images.items);
	free(s->buffers.items);
	free(s);
}

/* ---- the lists */

static int by_name(const void *a, const void *b)
{
	const struct fs_stored_item *x = a, *y = b;

	if (x->name[1] != y->name[1])
		return x->name[1] < y->name[1] ? -1 : 1;
	return x->name[0] < y->name[0] ? -1 : x->name[0] > y->name[0];
}

/* Sorts the items, and removes repeated ones and those without contents. */
static void sort_unique(const struct fmt_trace *t, struct fs_stored_list *l)
{
	size_t kept = 0;

	if (l->n > 0)
		qsort(l->items, l->n, sizeof(*l->items), by_name);
	for (size_t i = 0; i < l->n; i++) {
		if (kept > 0 && by_name(&l->items[i], &l->items[kept - 1]) == 0)
			continue;
		if (fmt_blob_is_listed(t, l->items[i].name))
			l->items[kept++] = l->items[i];
	}
	l->n = kept < FS_MAX_ITERATIONS ? kept : FS_MAX_ITERATIONS;
}

static void list_images(struct fs_stored *s)
{
	const struct fmt_names *names = fmt_trace_names(s->trace);
	const char *at = fmt_fact_value(names, FMT_WHOLE_TRACE, FMT_FACT_IMAGES);
	const char *end = at ? at + strlen(at) : NULL;
	struct fmt_image image;
	size_t cap = 0;

	while (at && fmt_image_next(&at, end, &image)) {
		if (!image.has_name)
			continue;
		if (array_reserve(&s->images.items, s->images.n + 1, &cap) < 0)
			break;
		s->images.items[s->images.n++] =
			(struct fs_stored_item){.name = {image.name[0], image.name[1]},
						.bytes = image.bytes,
						.kind = (uint8_t)image.kind};
	}
	sort_unique(s->trace, &s->images);
}

static void list_buffers(struct fs_stored *s)
{
	size_t cap = 0;

	for (uint32_t rank = 0; rank < fmt_trace_n_ranks(s->trace); rank++) {
		scoped(free_ptr) struct fmt_digest *list = NULL;
		size_t n = 0;

		if (fmt_contents_read(s->trace, rank, &list, &n, NULL) < 0 ||
		    array_reserve(&s->buffers.items, s->buffers.n + n, &cap) < 0)
			continue;
		for (size_t i = 0; i < n; i++)
			s->buffers.items[s->buffers.n++] = (struct fs_stored_item){
				.name = {list[i].digest[0], list[i].digest[1]},
				.bytes = list[i].length_bytes};
	}
	sort_unique(s->trace, &s->buffers);
}

const struct fs_stored_list *fs_stored_list(struct fs_stored *s, bool images)
{
	pthread_mutex_lock(&s->lock);
	if (!s->made) {
		list_images(s);
		list_buffers(s);
		s->made = true;
	}
	pthread_mutex_unlock(&s->lock);
	return images ? &s->images : &s->buffers;
}

/* ---- files */

void fs_stored_name(const struct fs_stored_item *item, char ret[FS_NAME_BYTES])
{
	fmt_content_name(item->name, ret);
	if (item->kind != FMT_IMAGE_OTHER)
		snprintf(ret + FMT_CONTENT_NAME_BYTES - 1,
			 FS_NAME_BYTES - FMT_CONTENT_NAME_BYTES + 1, ".%s",
			 fmt_image_kind_name(item->kind));
}

uint64_t fs_stored_find(const struct fs_stored_list *list, const char *name)
{
	struct fs_stored_item wanted;
	size_t at;

	if (!fmt_content_name_get(name, strnlen(name, FMT_CONTENT_NAME_BYTES - 1), wanted.name))
		return UINT64_MAX;
	at = array_bound(i, 0, list->n, by_name(&list->items[i], &wanted) < 0);
	return at < list->n ? at : UINT64_MAX;
}

const struct fs_stored_item *fs_stored_at(struct fs_stored *s, const struct fs_node *where)
{
	return &fs_stored_list(s, where->dir == FS_MODULES)->items[where->iteration];
}
