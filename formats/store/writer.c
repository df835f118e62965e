/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/store/writer.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/store/digests.h"
#include "formats/store/output.h"
#include "formats/store/slice_code.h"

#include <sys/stat.h>

/* What zstd's level is when nobody says. */
#define DEFAULT_LEVEL 3
/* Names are text, and few: up to so many bytes they are packed well. */
#define NAMES_LEVEL 9
#define NAMES_SMALL (4u << 20)
/* Lengths of rendered files are written when so many bytes of them are there. */
#define LENGTHS_BYTES (1u << 20)

struct fmt_rank_writer {
	struct fmt_writer *writer;
	struct fmt_output out;
	struct fmt_names_mark mark; /* inline names: what is written of them */
	struct text raw;	    /* the payload in the making */
	struct text lengths;
	struct fmt_reference *reference; /* what slices repeat; or NULL */
	fmt_number next;
	uint32_t rank, n_slices;
};

struct fmt_writer {
	char *path;
	const struct fmt_names *names;
	struct fmt_writer_options options;
	struct fmt_rank_writer **ranks;
	size_t n_ranks, ranks_cap;
};

static void free_rank(struct fmt_rank_writer *w)
{
	if (!w)
		return;
	fmt_output_done(&w->out);
	text_done(&w->raw);
	text_done(&w->lengths);
	fmt_reference_free(w->reference);
	free(w);
}

void fmt_writer_abandon(struct fmt_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n_ranks; i++)
		free_rank(w->ranks[i]);
	free(w->ranks);
	free(w->path);
	free(w);
}

define_cleanup(writer_freep, struct fmt_writer *, fmt_writer_abandon);
define_cleanup(rank_freep, struct fmt_rank_writer *, free_rank);

int fmt_writer_open(const char *path, struct fmt_names *names,
		    const struct fmt_writer_options *options, struct fmt_writer **ret,
		    struct fmt_error *err)
{
	scoped(writer_freep) struct fmt_writer *w = calloc(1, sizeof(*w));

	if (w)
		w->path = strdup(path);
	if (!w || !w->path)
		return fmt_fail(err, -ENOMEM, path, FMT_NO_OFFSET, "out of memory");
	w->names = names;
	w->options = *options;
	if (w->options.level == 0)
		w->options.level = DEFAULT_LEVEL;
	if (mkdir(path, 0777) < 0)
		return fmt_fail(err, -errno, path, FMT_NO_OFFSET, "cannot create: %s",
				strerror(errno));
	*ret = take(w);
	return 0;
}

int fmt_writer_rank(struct fmt_writer *w, uint32_t rank, uint32_t number,
		    struct fmt_rank_writer **ret, struct fmt_error *err)
{
	scoped(rank_freep) struct fmt_rank_writer *r = calloc(1, sizeof(*r));
	struct fmt_file_header h = {
		.kind = FMT_FILE_RANK,
		.inline_names = w->options.names_mode == FMT_NAMES_INLINE,
		.number = number,
		.names_rank = rank,
	};
	scoped(text_done) struct text path = {0};
	int error;

	text_printf(&path, "%s/rank-%05u.chunks", w->path, number);
	text_char(&path, '\0');
	if (!r || path.error || array_reserve(&w->ranks, w->n_ranks + 1, &w->ranks_cap) < 0)
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

static int put_names(struct fmt_output *out, struct text *raw, const struct fmt_writer *w,
		     uint32_t rank, struct fmt_names_mark *mark, struct fmt_error *err)
{
	struct fmt_chunk c = {.type = FMT_CHUNK_NAMES};
	size_t cuts[2];
	int r, level;

	raw->len = 0;
	r = fmt_names_put(w->names, rank, mark, raw, &cuts[0]);
	if (r < 0)
		return fmt_fail(err, r, out->path, out->bytes, "%s", strerror(-r));
	if (r == 0)
		return 0;
	cuts[1] = raw->len;
	level = raw->len <= NAMES_SMALL && w->options.level < NAMES_LEVEL ? NAMES_LEVEL
									  : w->options.level;
	r = fmt_output_chunk(out, &c, raw->data, cuts, ARRAY_SIZE(cuts), level, err);
	return r < 0 ? r : fmt_output_parity(out, w->options.level, err);
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
		const struct fmt_site *site = fmt_site(n, e->site);

		if (!site || range != (site->kind >= FMT_RANGE) || site->n_values > s->n_values ||
		    (site->n_values > 0 && e->first_value > s->n_values - site->n_values)) {
			*error = -EINVAL;
			return c;
		}
		c.n_records[site->kind]++;
	}
	return c;
}

static int in_order(const struct fmt_event *e, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (e[i].lane < e[i - 1].lane ||
		    (e[i].lane == e[i - 1].lane && (e[i].start_ns < e[i - 1].start_ns)))
			return 0;
	return 1;
}

/* What is too small to be worth referring to. */
#define REFERENCE_MIN 16

/* Codes a slice into w->raw: against the reference, or as a new one where that is better. */
static int code_slice(struct fmt_rank_writer *w, const struct fmt_slice *s, int *is_reference)
{
	const struct fmt_names *n = w->writer->names;
	scoped(fmt_reference_freep) struct fmt_reference *made = NULL;
	scoped(text_done) struct text alone = {0};
	size_t items = s->n_events + s->n_ranges;
	int refers = s->iteration.number >= 0 && items >= REFERENCE_MIN;
	uint32_t repeated = 0;
	int r = 0;

	w->raw.len = 0;
	if (w->reference) {
		r = fmt_slice_put(s, n, w->rank, w->reference, NULL, &repeated, &w->raw);
		if (r < 0 || repeated >= items / 2 || !refers)
			return r;
	}
	r = fmt_slice_put(s, n, w->rank, NULL, refers ? &made : NULL, NULL, &alone);
	if (r < 0 || (w->reference && w->raw.len <= alone.len))
		return r;
	text_done(&w->raw);
	w->raw = alone;
	memset(&alone, 0, sizeof(alone));
	if (made) {
		fmt_reference_free(w->reference);
		w->reference = take(made);
		*is_reference = 1;
	}
	return w->raw.error;
}

/* Before the slice itself, so that a slice that is there has its digests. */
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
	return fmt_output_chunk(&w->out, &c, w->raw.data, &w->raw.len, 1, w->writer->options.level,
				err);
}

int fmt_rank_writer_slice(struct fmt_rank_writer *w, const struct fmt_slice *s,
			  struct fmt_error *err)
{
	struct fmt_slice slice = *s;
	struct fmt_chunk c;
	int r = 0, is_reference = 0;

	slice.index = w->n_slices;
	c = chunk_of(&slice, w->writer->names, &r);
	if (r < 0 || s->first_number != w->next || !in_order(s->events, s->n_events) ||
	    !in_order(s->ranges, s->n_ranges))
		return fmt_fail(err, -EINVAL, w->out.path, w->out.bytes,
				"slice %u is out of order or names what is not there", w->n_slices);
	if (w->writer->options.names_mode == FMT_NAMES_INLINE)
		r = put_names(&w->out, &w->raw, w->writer, w->rank, &w->mark, err);
	if (r < 0)
		return r;
	r = put_digests(w, &slice, err);
	if (r < 0)
		return r;
	r = code_slice(w, &slice, &is_reference);
	if (r < 0)
		return fmt_fail(err, r, w->out.path, w->out.bytes, "slice %u cannot be coded: %s",
				w->n_slices, strerror(-r));
	r = fmt_output_chunk(&w->out, &c, w->raw.data, &w->raw.len, 1, w->writer->options.level,
			     err);
	if (r == 0 && is_reference)
		r = fmt_output_parity(&w->out, w->writer->options.level, err);
	if (r < 0)
		return r;
	w->next += s->n_events;
	w->n_slices++;
	return 0;
}

fmt_number fmt_rank_writer_next(const struct fmt_rank_writer *w)
{
	return w->next;
}

static int flush_lengths(struct fmt_rank_writer *w, struct fmt_error *err)
{
	struct fmt_chunk c = {.type = FMT_CHUNK_LENGTHS};
	struct text *t = &w->lengths;
	int r;

	if (t->len == 0)
		return t->error;
	r = fmt_output_chunk(&w->out, &c, t->data, &t->len, 1, w->writer->options.level, err);
	t->len = 0;
	return r;
}

int fmt_writer_lengths(struct fmt_rank_writer *w, uint32_t renderer, const uint64_t *lengths,
		       uint32_t n)
{
	fmt_put_varint(&w->lengths, w->n_slices - 1);
	fmt_put_varint(&w->lengths, renderer);
	fmt_put_varint(&w->lengths, n);
	for (uint32_t i = 0; i < n; i++)
		fmt_put_varint(&w->lengths, lengths[i]);
	return w->lengths.len < LENGTHS_BYTES ? w->lengths.error : flush_lengths(w, NULL);
}

static int close_shared(struct fmt_writer *w, struct fmt_error *err)
{
	struct fmt_file_header h = {.kind = FMT_FILE_NAMES};
	scoped(fmt_output_done) struct fmt_output out = {.fd = -1};
	scoped(text_done) struct text path = {0}, raw = {0};
	struct fmt_names_mark mark = {0};
	int r;

	text_printf(&path, "%s/names.chunks", w->path);
	text_char(&path, '\0');
	if (path.error)
		return fmt_fail(err, path.error, w->path, FMT_NO_OFFSET, "out of memory");
	r = fmt_output_open(&out, path.data, &h, err);
	if (r == 0)
		r = put_names(&out, &raw, w, FMT_WHOLE_TRACE, &mark, err);
	return r < 0 ? r : fmt_output_end(&out, err);
}

int fmt_writer_close(struct fmt_writer *w, struct fmt_error *err)
{
	scoped(writer_freep) struct fmt_writer *owned = w;
	int is_inline = owned->options.names_mode == FMT_NAMES_INLINE;

	for (size_t i = 0; i < w->n_ranks; i++) {
		struct fmt_rank_writer *rank = w->ranks[i];
		int r = flush_lengths(rank, err);

		if (r == 0 && is_inline)
			r = put_names(&rank->out, &rank->raw, w, rank->rank, &rank->mark, err);
		if (r == 0)
			r = fmt_output_end(&rank->out, err);
		if (r < 0)
			return r;
	}
	return is_inline ? 0 : close_shared(w, err);
}
