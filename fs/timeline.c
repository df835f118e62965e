/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/timeline.h"

#include "base/scope.h"
#include "formats/render/export/chrome.h"

#include <pthread.h>

/* A renderer is not thread-safe, so there is one for each concurrent thread. */
#define SPARES 16
#define SPARE_BYTES (4u << 20)

struct fs_timeline {
	struct fmt_trace *trace;
	pthread_mutex_t lock;
	struct fmt_chrome *spares[SPARES];
	int n_spares;
	size_t spare_bytes; /* fmt_chrome_bytes() of these */
};

static int take_renderer(struct fs_timeline *l, struct fmt_chrome **ret)
{
	struct fmt_chrome *x = NULL;

	pthread_mutex_lock(&l->lock);
	if (l->n_spares > 0) {
		x = l->spares[--l->n_spares];
		l->spare_bytes -= fmt_chrome_bytes(x);
	}
	pthread_mutex_unlock(&l->lock);
	if (!x)
		return fmt_chrome_new(fmt_trace_names(l->trace), fmt_trace_n_ranks(l->trace),
				      FMT_CHROME_MERGED, 0, ret);
	*ret = x;
	return 0;
}

static void give_renderer(struct fs_timeline *l, struct fmt_chrome *x)
{
	pthread_mutex_lock(&l->lock);
	if (l->n_spares < SPARES && l->spare_bytes + fmt_chrome_bytes(x) <= SPARE_BYTES) {
		l->spare_bytes += fmt_chrome_bytes(x);
		l->spares[l->n_spares++] = take(x);
	}
	pthread_mutex_unlock(&l->lock);
	fmt_chrome_free(x);
}

int fs_timeline_new(struct fmt_trace *trace, struct fs_timeline **ret)
{
	struct fs_timeline *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->trace = trace;
	pthread_mutex_init(&l->lock, NULL);
	*ret = l;
	return 0;
}

void fs_timeline_free(struct fs_timeline *l)
{
	if (!l)
		return;
	while (l->n_spares > 0)
		fmt_chrome_free(l->spares[--l->n_spares]);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

int fs_timeline_head(struct fs_timeline *l, int64_t iteration, int64_t rank, struct text *out)
{
	const struct fmt_part part = {iteration, rank};
	struct fmt_chrome *x;
	int r = take_renderer(l, &x);

	if (r < 0)
		return r;
	fmt_chrome_head(x, l->trace, &part, out);
	give_renderer(l, x);
	return out->error;
}

int fs_timeline_slice(struct fs_timeline *l, const struct fmt_slice *slice, size_t first,
		      struct text *out)
{
	struct fmt_chrome *x;
	int r = take_renderer(l, &x);

	if (r < 0)
		return r;
	r = fmt_chrome_slice_from(x, slice, first, out);
	give_renderer(l, x);
	return r < 0 ? r : out->error;
}

int fs_timeline_offsets(struct fs_timeline *l, const struct fmt_slice *slice, uint64_t *marks,
			uint64_t *length)
{
	struct fmt_chrome *x;
	int r = take_renderer(l, &x);

	if (r < 0)
		return r;
	r = fmt_chrome_offsets(x, slice, marks, length);
	give_renderer(l, x);
	return r;
}

void fs_timeline_tail(struct text *out)
{
	fmt_chrome_tail(out);
}
