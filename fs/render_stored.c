/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/blobs.h"
#include "fs/render.h"
#include "fs/stored.h"

int fs_render_stored(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	const struct fs_stored_item *item = fs_stored_at(t->stored, where);
	uint8_t *data;
	size_t len;
	int r = fmt_blob_read(t->trace, item->name, &data, &len, NULL);

	if (r < 0)
		return r == -ENOENT ? -EBADMSG : r;
	text_done(out);
	out->data = (char *)data;
	out->len = out->cap = len;
	return len == item->bytes ? 0 : -EBADMSG;
}

int fs_stored_size(struct fs_tree *t, const struct fs_node *where, uint64_t *ret)
{
	*ret = fs_stored_at(t->stored, where)->bytes;
	return 0;
}

/* ---- modules/index */

/* The escaped text between the quotes of a JSON string, as a table needs it. */
static void put_text(struct text *out, const char *s, size_t len)
{
	text_char(out, '\t');
	if (len == 0)
		text_char(out, '-');
	for (size_t i = 0; i < len; i++)
		if (s[i] != '\\' || i + 1 == len || s[i + 1] != '"')
			text_char(out, s[i]);
}

static void put_image(struct fs_tree *t, const struct fmt_image *image, struct text *out)
{
	const struct fs_stored_item item = {.name = {image->name[0], image->name[1]},
					    .kind = (uint8_t)image->kind};
	char name[FS_NAME_BYTES] = "-";

	if (image->has_name && fmt_blob_is_listed(t->trace, image->name))
		fs_stored_name(&item, name);
	text_str(out, name);
	text_printf(out, "\t%s\t", fmt_image_kind_name(image->kind));
	text_u64(out, image->bytes);
	put_text(out, image->build_id, image->build_id_len);
	text_char(out, '\t');
	if (image->build_id_len > 0)
		text_u64(out, image->offset_bytes);
	else
		text_char(out, '-');
	put_text(out, image->file, image->file_len);
	text_char(out, '\n');
}

int fs_render_modules(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	const char *at = fmt_fact_value(t->names, FMT_WHOLE_TRACE, FMT_FACT_IMAGES);
	const char *end = at ? at + strlen(at) : NULL;
	struct fmt_image image;

	text_str(out, "module\tkind\tbytes\tbuild_id\toffset_bytes\tfile\n");
	while (at && fmt_image_next(&at, end, &image))
		put_image(t, &image, out);
	return 0;
}

/* ---- contents/index */

static void put_iteration(const struct fs_tree *t, uint32_t rank, fmt_number op, struct text *out)
{
	uint32_t n = fmt_trace_rank(t->trace, rank)->n_slices;
	size_t at = array_bound(i, 0, n,
				fmt_trace_slice(t->trace, rank, (uint32_t)i)->first_number <= op);
	int64_t number =
		at == 0 ? FMT_BEFORE
			: fmt_trace_slice(t->trace, rank, (uint32_t)at - 1)->iteration.number;

	if (number == FMT_BEFORE || number == FMT_AFTER)
		text_str(out, number == FMT_BEFORE ? "before" : "after");
	else
		text_i64(out, number);
}

static void put_content(const struct fs_tree *t, uint32_t rank, const struct fmt_digest *d,
			struct text *out)
{
	char name[FMT_CONTENT_NAME_BYTES];

	fmt_content_name(d->digest, name);
	text_u64(out, fmt_trace_rank(t->trace, rank)->number);
	text_char(out, '\t');
	put_iteration(t, rank, d->op, out);
	text_char(out, '\t');
	fmt_tsv_digest_buffer(d, out);
	text_printf(out, "\t%s\n", name);
}

int fs_render_contents(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	text_str(out, "gpu\titeration\tnumber\taccess\tallocation\toffset_bytes\tlength_bytes\t"
		      "content\n");
	for (uint32_t rank = 0; rank < t->n_ranks; rank++) {
		scoped(free_ptr) struct fmt_digest *list = NULL;
		size_t n = 0;
		int r = fmt_contents_read(t->trace, rank, &list, &n, NULL);

		if (r < 0)
			return r;
		for (size_t i = 0; i < n; i++)
			put_content(t, rank, &list[i], out);
	}
	return 0;
}
