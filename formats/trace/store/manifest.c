/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/manifest.h"

#include "base/array.h"
#include "base/scope.h"

/* Minimum size of an entry: a length, a name of one character, a root. */
#define ENTRY_MIN (2 + FMT_SHA_BYTES)

/* By kind; the name of a rank's file has its number. */
static const char *const names[FMT_FILE_KINDS] = {
	[FMT_FILE_TRACE] = FMT_TRACE_NAME,
	[FMT_FILE_BLOBS] = "blobs.chunks",
};

void fmt_file_name(const struct fmt_file_header *h, char ret[FMT_MEMBER_NAME_BYTES])
{
	if (names[h->kind])
		snprintf(ret, FMT_MEMBER_NAME_BYTES, "%s", names[h->kind]);
	else
		snprintf(ret, FMT_MEMBER_NAME_BYTES, "rank-%05u.chunks", h->number);
}

int fmt_file_path(struct text *path, const char *trace, const struct fmt_file_header *h)
{
	char name[FMT_MEMBER_NAME_BYTES];

	fmt_file_name(h, name);
	text_printf(path, "%s/%s", trace, name);
	text_char(path, '\0');
	return path->error;
}

int fmt_member_kind(const char *name, enum fmt_file_kind *kind, uint32_t *number)
{
	struct fmt_file_header h = {.kind = FMT_FILE_RANK};
	char again[FMT_MEMBER_NAME_BYTES];
	unsigned int rank;

	for (unsigned k = 0; k < FMT_FILE_KINDS; k++)
		if (names[k] && strcmp(name, names[k]) == 0) {
			*kind = (enum fmt_file_kind)k;
			*number = 0;
			return 1;
		}
	if (sscanf(name, "rank-%u", &rank) != 1)
		return 0;
	h.number = rank;
	fmt_file_name(&h, again);
	*kind = FMT_FILE_RANK;
	*number = rank;
	return strcmp(name, again) == 0;
}

void fmt_manifest_done(struct fmt_manifest *m)
{
	free(m->entries);
	*m = (struct fmt_manifest){0};
}

int fmt_manifest_add(struct fmt_manifest *m, const char *name, const uint8_t root[FMT_SHA_BYTES])
{
	struct fmt_manifest_entry *e;

	if (strlen(name) >= sizeof(e->name))
		return -ENAMETOOLONG;
	if (array_reserve(&m->entries, m->n + 1, &m->cap) < 0)
		return -ENOMEM;
	e = &m->entries[m->n++];
	memset(e, 0, sizeof(*e));
	memcpy(e->name, name, strlen(name));
	memcpy(e->root, root, sizeof(e->root));
	return 0;
}

void fmt_manifest_put(const struct fmt_manifest *m, struct text *out)
{
	fmt_put_varint(out, m->n);
	for (size_t i = 0; i < m->n; i++) {
		const struct fmt_manifest_entry *e = &m->entries[i];

		fmt_put_varint(out, strlen(e->name));
		text_str(out, e->name);
		text_bytes(out, (const char *)e->root, sizeof(e->root));
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct fmt_manifest_entry *)a)->name,
		      ((const struct fmt_manifest_entry *)b)->name);
}

static int get_entry(struct fmt_cursor *c, struct fmt_manifest *m)
{
	char name[FMT_MEMBER_NAME_BYTES];
	uint64_t len = fmt_varint(c);
	const uint8_t *text = fmt_bytes(c, len), *root = fmt_bytes(c, FMT_SHA_BYTES);

	if (c->bad || len >= sizeof(name) || !fmt_is_member_name((const char *)text, len))
		return -EBADMSG;
	memcpy(name, text, len);
	name[len] = '\0';
	return fmt_manifest_add(m, name, root);
}

int fmt_manifest_get(const uint8_t *data, size_t len, struct fmt_manifest *ret)
{
	scoped(fmt_manifest_done) struct fmt_manifest m = {0};
	struct fmt_cursor c = fmt_cursor(data, len);
	uint64_t n = fmt_count(&c, ENTRY_MIN);

	for (uint64_t i = 0; i < n; i++) {
		int r = get_entry(&c, &m);

		if (r < 0)
			return r;
	}
	if (c.bad || fmt_left(&c) > 0 || n == 0)
		return -EBADMSG;
	qsort(m.entries, m.n, sizeof(*m.entries), by_name);
	for (size_t i = 1; i < m.n; i++)
		if (by_name(&m.entries[i - 1], &m.entries[i]) == 0)
			return -EBADMSG;
	*ret = m;
	m = (struct fmt_manifest){0};
	return 0;
}

struct fmt_manifest_entry *fmt_manifest_find(const struct fmt_manifest *m, const char *name)
{
	size_t at = array_bound(i, 0, m->n, strcmp(m->entries[i].name, name) < 0);

	return at < m->n && strcmp(m->entries[at].name, name) == 0 ? &m->entries[at] : NULL;
}
