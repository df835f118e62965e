/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/writer.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/digests.h"
#include "formats/trace/store/manifest.h"
#include "formats/trace/store/output.h"
#include "formats/trace/store/shared.h"
#include "formats/trace/store/slice_code.h"

#include <sys/stat.h>
#include <unistd.h>

/* The default level of zstd. */
#define DEFAULT_LEVEL 3

struct fmt_rank_writer {
	struct fmt_writer *writer;
	struct fmt_output out;
	struct text raw;	    /* payload under construction */
	struct fmt_patch_base base; /* structure of the base slice */
	uint32_t base_slice;
	fmt_number next;
	uint32_t rank, n_slices;
};

struct fmt_writer {
	char *path;
	const struct fmt_names *names;
	int level; /* of zstd */
	struct fmt_rank_writer **ranks;
	size_t n_ranks, ranks_cap;
	struct fmt_output blobs; /* path is NULL until it is created */
};

static void free_rank(struct fmt_rank_writer *w)
{
	if (!w)
		return;
	fmt_output_done(&w->out);
	text_done(&w->raw);
	fmt_patch_base_done(&w->base);
	free(w);
}

void fmt_writer_abandon(struct fmt_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n_ranks; i++)
		free_rank(w->ranks[i]);
	fmt_output_done(&w->blobs);
	free(w->ranks);
	free(w->path);
	free(w);
}

void fmt_writer_remove(struct fmt_writer *w)
{
	for (size_t i = 0; i < w->n_ranks; i++)
		unlink(w->ranks[i]->out.path);
	rmdir(w->path);
	fmt_writer_abandon(w);
}

define_cleanup(writer_freep, struct fmt_writer *, fmt_writer_abandon);
define_cleanup(rank_freep, struct fmt_rank_writer *, free_rank);

int fmt_writer_open(const char *path, struct fmt_names *names, int level, struct fmt_writer **ret,
		    struct fmt_error *err)
{
	scoped(writer_freep) struct fmt_writer *w = calloc(1, sizeof(*w));

	if (w)
		w->path = strdup(path);
	if (!w || !w->path)
		return fmt_fail(err, -ENOMEM, path, FMT_NO_OFFSET, "out of memory");
	w->names = names;
	w->blobs.fd = -1;
	w->level = level ? level : DEFAULT_LEVEL;
	if (mkdir(path, 0777) < 0)
		return fmt_fail(err, -errno, path, FMT_NO_OFFSET, "cannot create: %s",
				strerror(errno));
	*ret = take(w);
	return 0;
}

void fmt_writer_use_names(struct fmt_writer *w, const struct fmt_names *names)
{
	w->names = names;
}

int fmt_writer_rank(struct fmt_writer *w, uint32_t rank, uint32_t number,
		    struct fmt_rank_writer **ret, struct fmt_error *err)
{
	scoped(rank_freep) struct fmt_rank_writer *r = calloc(1, sizeof(*r));
	struct fmt_file_header h = {
		.kind = FMT_FILE_RANK,
		.number = number,
		.names_rank = rank,
	};
	scoped(text_done) struct text path = {0};
	int error;

	if (!r || fmt_file_path(&path, w->path, &h) < 0 ||
	    array_reserve(&w->ranks, w->n_ranks + 1, &w->ranks_cap) < 0)
		return fmt_fail(err, -ENOMEM, w->path, FMT_NO_OFFSET, "out of memory");
	r->writer = w;
	r->rank = rank;
	r->out.fd = -1;
	error = fmt_output_open(&r->out, path.data, &h, err);
	if (error < 0)
		return error;
	w->ranks[w->n_ranks++] = r;
	*ret = take(r);
	return 0;
}

static struct fmt_chunk chunk_of(const struct fmt_slice *s, const struct fmt_names *n, int *error)
{
	struct fmt_chunk c = {
		.type = FMT_CHUNK_SLICE,
		.slice = s->index,
		.iteration = s->iteration,
		.first_number = s->first_number,
		.n_edges = s->n_edges,
		.n_digests = s->n_digests,
	};

	for (size_t i = 0; i < s->n_events + s->n_ranges; i++) {
		int range = i >= s->n_events;
		const struct fmt_event *e = range ? &s->ranges[i - s->n_events] : &s->events[i];
		const struct fmt_template *template = fmt_template(n, e->template);

		if (!template || range != (template->kind >= FMT_RANGE) ||
		    template->n_values > s->n_values ||
		    (template->n_values > 0 && e->first_value > s->n_values - template->n_values)) {
			*error = -EINVAL;
			return c;
		}
		c.n_records[template->kind]++;
	}
	return c;
}

static int in_order(const struct fmt_event *e, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (e[i].track < e[i - 1].track ||
		    (e[i].track == e[i - 1].track && (e[i].start_ns < e[i - 1].start_ns)))
			return 0;
	return 1;
}

/* Smaller slices are no base for others. */
#define BASE_MIN 16
/* Maximum number of slices affected by damage to a base. */
#define BASE_REACH 64

/* Codes a slice into w->raw: as a patch of the base, or as a new base if the base does not have
 * half of it or is too old. */
static int code_slice(struct fmt_rank_writer *w, const struct fmt_slice *s)
{
	scoped(fmt_slice_parts_done) struct fmt_slice_parts parts = {0};
	int r = fmt_slice_encode(s, w->writer->names, w->rank, &parts);
	int may_be_base = s->iteration.number >= 0 && s->n_events + s->n_ranges >= BASE_MIN;
	int has_base = w->base.bytes.len > 0 && s->index - w->base_slice < BASE_REACH;
	int64_t copied = 0;

	w->raw.len = 0;
	if (r == 0 && has_base)
		copied = fmt_slice_put(&parts, &w->base, s->index - w->base_slice, &w->raw);
	if (r < 0 || copied < 0)
		return r < 0 ? r : (int)copied;
	if (has_base && (!may_be_base || (size_t)copied >= parts.structure.len / 2))
		return w->raw.error;
	w->raw.len = 0;
	r = (int)fmt_slice_put(&parts, NULL, 0, &w->raw);
	if (r == 0 && may_be_base) {
		fmt_patch_base_done(&w->base);
		w->base = (struct fmt_patch_base){.bytes = parts.structure};
		memset(&parts.structure, 0, sizeof(parts.structure));
		w->base_slice = s->index;
	}
	return r;
}

/* Digests are written before their slice, so that a complete slice has its digests. */
static int put_digests(struct fmt_rank_writer *w, const struct fmt_slice *s, struct fmt_error *err)
{
	struct fmt_chunk c = {.type = FMT_CHUNK_DIGESTS, .slice = s->index};
	int r;

	if (s->n_digests == 0)
		return 0;
	w->raw.len = 0;
	r = fmt_digests_put(s, &w->raw);
	if (r < 0)
		return fmt_fail(err, r, w->out.path, w->out.bytes,
				"digests of slice %u cannot be coded: %s", s->index, strerror(-r));
	return fmt_output_chunk(&w->out, &c, w->raw.data, w->raw.len, w->writer->level, err);
}

int fmt_rank_writer_slice(struct fmt_rank_writer *w, const struct fmt_slice *s,
			  struct fmt_error *err)
{
	struct fmt_slice slice = *s;
	struct fmt_chunk c;
	int r = 0;

	slice.index = w->n_slices;
	c = chunk_of(&slice, w->writer->names, &r);
	if (r < 0 || s->first_number != w->next || !in_order(s->events, s->n_events) ||
	    !in_order(s->ranges, s->n_ranges))
		return fmt_fail(err, -EINVAL, w->out.path, w->out.bytes,
				"slice %u is out of order or refers to missing names", w->n_slices);
	r = put_digests(w, &slice, err);
	if (r < 0)
		return r;
	r = code_slice(w, &slice);
	if (r < 0)
		return fmt_fail(err, r, w->out.path, w->out.bytes, "slice %u cannot be coded: %s",
				w->n_slices, strerror(-r));
	r = fmt_output_chunk(&w->out, &c, w->raw.data, w->raw.len, w->writer->level, err);
	if (r < 0)
		return r;
	w->next += s->n_events;
	w->n_slices++;
	return 0;
}

void fmt_rank_writer_trim(struct fmt_rank_writer *w)
{
	fmt_patch_base_trim(&w->base);
}

fmt_number fmt_rank_writer_next(const struct fmt_rank_writer *w)
{
	return w->next;
}

int fmt_writer_blobs(struct fmt_writer *w, struct fmt_output **ret, struct fmt_error *err)
{
	const struct fmt_file_header h = {.kind = FMT_FILE_BLOBS};
	scoped(text_done) struct text path = {0};
	int r = 0;

	if (fmt_file_path(&path, w->path, &h) < 0)
		return fmt_fail(err, path.error, w->path, FMT_NO_OFFSET, "out of memory");
	if (!w->blobs.path)
		r = fmt_output_open(&w->blobs, path.data, &h, err);
	if (r == 0)
		*ret = &w->blobs;
	return r;
}

/* Ends a file and adds it to the manifest. */
static int close_output(struct fmt_output *o, struct fmt_manifest *manifest, struct fmt_error *err)
{
	char name[FMT_MEMBER_NAME_BYTES];
	int r = fmt_output_end(o, err);

	if (r < 0)
		return r;
	fmt_file_name(&o->header, name);
	r = fmt_manifest_add(manifest, name, o->root);
	return r < 0 ? fmt_fail(err, r, o->path, FMT_NO_OFFSET, "%s", strerror(-r)) : 0;
}

static int by_number(const void *a, const void *b)
{
	const struct fmt_rank_writer *x = *(struct fmt_rank_writer *const *)a;
	const struct fmt_rank_writer *y = *(struct fmt_rank_writer *const *)b;

	return array_order(x->out.header.number, y->out.header.number);
}

int fmt_writer_close(struct fmt_writer *w, struct fmt_error *err)
{
	scoped(writer_freep) struct fmt_writer *owned = w;
	scoped(fmt_manifest_done) struct fmt_manifest manifest = {0};
	int r = 0;

	if (owned->n_ranks > 0)
		qsort(w->ranks, w->n_ranks, sizeof(*w->ranks), by_number);
	for (size_t i = 0; i < w->n_ranks && r == 0; i++)
		r = close_output(&w->ranks[i]->out, &manifest, err);
	if (r == 0 && w->blobs.path)
		r = close_output(&w->blobs, &manifest, err);
	return r < 0 ? r : fmt_shared_write(w->path, w->names, w->level, &manifest, err);
}
