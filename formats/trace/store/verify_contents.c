/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/verify_contents.h"

#include "base/array.h"
#include "formats/trace/images.h"
#include "formats/trace/store/blobs.h"
#include "formats/trace/store/chunk.h"

#define MISSING "a listed content is missing"

void fmt_seen_contents_done(struct fmt_seen_contents *s)
{
	free(s->items);
	*s = (struct fmt_seen_contents){0};
}

static int by_name(const void *a, const void *b)
{
	const struct fmt_seen_content *x = a, *y = b;

	return array_order(x->name[1], y->name[1]) ?: array_order(x->name[0], y->name[0]);
}

static const struct fmt_seen_content *find_content(struct fmt_seen_contents *s,
						   const uint64_t name[2])
{
	const struct fmt_seen_content wanted = {.name = {name[0], name[1]}};

	if (!s->sorted && s->n > 0)
		qsort(s->items, s->n, sizeof(*s->items), by_name);
	s->sorted = 1;
	return s->n > 0 ? bsearch(&wanted, s->items, s->n, sizeof(*s->items), by_name) : NULL;
}

static int add(struct fmt_seen_contents *s, const struct fmt_chunk *c, const uint8_t *raw,
	       const char **why)
{
	struct fmt_seen_content seen;
	struct fmt_cursor content;

	if (fmt_blob_open(c, raw, seen.name, &content) < 0) {
		*why = "the name of the content is not its hash";
		return 0;
	}
	seen.bytes = fmt_left(&content);
	if (array_reserve(&s->items, s->n + 1, &s->cap) < 0)
		return -ENOMEM;
	s->items[s->n++] = seen;
	s->sorted = 0;
	return 0;
}

static const char *check_list(struct fmt_seen_contents *s, const struct fmt_digest *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct fmt_seen_content *found = find_content(s, list[i].digest);

		if (!found)
			return MISSING;
		if (found->bytes != list[i].length_bytes)
			return "the length of a content differs from its list";
	}
	return NULL;
}

int fmt_seen_contents_check(struct fmt_seen_contents *s, const struct fmt_chunk *c,
			    const uint8_t *raw, const char **why)
{
	scoped(free_ptr) struct fmt_digest *list = NULL;
	size_t n = 0;
	int r;

	*why = NULL;
	if (c->type == FMT_CHUNK_BLOB)
		return add(s, c, raw, why);
	if (c->type != FMT_CHUNK_CONTENTS)
		return 0;
	r = fmt_contents_get(raw, c->raw_bytes, &list, &n);
	if (r == -EBADMSG)
		*why = "invalid list of contents";
	else if (r == 0)
		*why = check_list(s, list, n);
	return r == -EBADMSG ? 0 : r;
}

const char *fmt_seen_contents_images(struct fmt_seen_contents *s, const struct fmt_names *names)
{
	const char *at = fmt_fact_value(names, FMT_WHOLE_TRACE, FMT_FACT_IMAGES);
	const char *end = at ? at + strlen(at) : NULL;
	struct fmt_image image;

	while (at && fmt_image_next(&at, end, &image)) {
		const struct fmt_seen_content *found =
			image.has_name ? find_content(s, image.name) : NULL;

		if (image.has_name && !found)
			return MISSING;
		if (found && found->bytes != image.bytes)
			return "the length of an image differs from its content";
	}
	return NULL;
}
