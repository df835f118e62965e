/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/match.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/clocks.h"

#define US INFER_US
#define APART_NS (500000 * (int64_t)US) /* steps of ranks on one clock start closer than this */
#define NEAR_NS (100000 * (int64_t)US)	/* and those of the same number not farther */
#define BIN_NS (50 * US)
#define BINS (2 * NEAR_NS / BIN_NS + 1)
#define CANDIDATES 64
#define TOGETHER_NS (200 * US) /* ends of one collective on ranks of one host */
#define NEIGHBOURS 4

/* The median difference of the starts of iterations that both have; 0 without any. */
static int by_iterations(const struct fmt_run_rank *a, const struct fmt_run_rank *b, int64_t *ret)
{
	scoped(free_ptr) int64_t *d = malloc((a->n_iterations + 1) * sizeof(*d));
	size_t n = 0, k = 0;

	if (!d)
		return -ENOMEM;
	*ret = 0;
	for (size_t i = 0; i < a->n_iterations; i++) {
		while (k < b->n_iterations && b->iterations[k].number < a->iterations[i].number)
			k++;
		if (k < b->n_iterations && b->iterations[k].number == a->iterations[i].number)
			d[n++] = b->iterations[k].start_ns / 4 - a->iterations[i].start_ns / 4;
	}
	if (n > 0) {
		qsort(d, n, sizeof(*d), array_by_i64);
		*ret = d[n / 2] > INT64_MAX / 16    ? INT64_MAX / 4
		       : d[n / 2] < -INT64_MAX / 16 ? -INT64_MAX / 4
						    : d[n / 2] * 4;
	}
	return 0;
}

struct ending {
	fmt_str name;
	int64_t end_ns;
};

static int by_name_and_end(const void *x, const void *y)
{
	const struct ending *a = x, *b = y;

	return array_order(a->name, b->name) ?: array_order(a->end_ns, b->end_ns);
}

static int list_endings(const struct infer_rows *r, const struct infer_view *v, struct ending **ret,
			size_t *ret_n)
{
	struct ending *e;
	size_t n = 0;

	for (uint32_t i = 0; i < r->n_rows; i++)
		n += r->rows[i].view == v->index ? r->rows[i].n : 0;
	e = malloc((n + 1) * sizeof(*e));
	if (!e)
		return -ENOMEM;
	n = 0;
	for (uint32_t i = 0; i < r->n_rows; i++)
		for (uint32_t k = 0; k < r->rows[i].n && r->rows[i].view == v->index; k++) {
			const struct infer_op *op = &v->ops[r->ops[r->rows[i].first + k]];

			e[n++] = (struct ending){infer_kernel_name(v, op), op->end_ns};
		}
	if (n > 0)
		qsort(e, n, sizeof(*e), by_name_and_end);
	*ret = e;
	*ret_n = n;
	return 0;
}

/* The difference, near `coarse_ns`, at which most ends of `b` meet one of `a`; 0 when few do. */
static int by_endings(const struct ending *a, size_t n_a, const struct ending *b, size_t n_b,
		      int64_t coarse_ns, int64_t *ret)
{
	scoped(free_ptr) uint32_t *bins = calloc(BINS, sizeof(*bins));
	size_t from = 0, best = 0;

	if (!bins)
		return -ENOMEM;
	for (size_t i = 0; i < n_b; i++) {
		while (from < n_a && (a[from].name < b[i].name ||
				      (a[from].name == b[i].name &&
				       a[from].end_ns < b[i].end_ns - coarse_ns - NEAR_NS)))
			from++;
		for (size_t k = from; k < n_a && k < from + CANDIDATES && a[k].name == b[i].name;
		     k++) {
			int64_t d = b[i].end_ns - coarse_ns - a[k].end_ns;

			if (d > NEAR_NS || d < -NEAR_NS)
				break;
			bins[(d + NEAR_NS) / BIN_NS]++;
		}
	}
	for (size_t i = 0; i + 1 < BINS; i++)
		if (bins[i] + bins[i + 1] > bins[best] + bins[best + 1])
			best = i;
	if ((bins[best] + bins[best + 1]) * 4 < (n_a < n_b ? n_a : n_b))
		return 0;
	*ret = coarse_ns + (int64_t)(best + 1) * BIN_NS - NEAR_NS;
	return 1;
}

/* What a rank's collectives are called and when they ended, by name, then end. */
struct endings {
	struct ending *e;
	size_t n;
};

/* How many ends of `a` have one of `b` near, with what is known of the clocks. */
static size_t count_near(const struct endings *a, int64_t a_offset_ns, const struct endings *b,
			 int64_t b_offset_ns)
{
	size_t near = 0, k = 0;

	for (size_t i = 0; i < a->n; i++) {
		int64_t end_ns = a->e[i].end_ns - a_offset_ns;

		while (k < b->n && (b->e[k].name < a->e[i].name ||
				    (b->e[k].name == a->e[i].name &&
				     b->e[k].end_ns - b_offset_ns < end_ns - TOGETHER_NS)))
			k++;
		near += k < b->n && b->e[k].name == a->e[i].name &&
			b->e[k].end_ns - b_offset_ns <= end_ns + TOGETHER_NS;
	}
	return near;
}

/* Whether a rank's collectives end together with those of some of its neighbours, or of the first
 * rank. */
static int has_company(const struct endings *all, const int64_t *offset_ns, uint32_t n_views,
		       uint32_t rank)
{
	for (uint32_t i = 0; i <= 2 * NEIGHBOURS + 1; i++) {
		uint32_t other = i == 0 ? 0 : rank + i - 1 - NEIGHBOURS;

		if (other < n_views && other != rank &&
		    count_near(&all[rank], offset_ns[rank], &all[other], offset_ns[other]) * 2 >=
			    all[rank].n)
			return 1;
	}
	return 0;
}

/* The clock of a rank whose collectives end when nobody else's do: near the difference of the
 * starts of iterations, where most ends meet. */
static int find_clock(const struct endings *all, const struct infer_view *views, uint32_t n_views,
		      uint32_t rank, int64_t *offset_ns)
{
	int64_t coarse = 0;

	for (uint32_t i = 0; i <= NEIGHBOURS && i < n_views; i++) {
		int64_t apart;
		int r;

		if (i == rank)
			continue;
		r = by_iterations(views[i].rank, views[rank].rank, &apart);
		coarse = coarse ? coarse : apart;
		if (r == 0)
			r = by_endings(all[i].e, all[i].n, all[rank].e, all[rank].n, apart, &apart);
		if (r < 0)
			return r;
		if (r == 1) {
			offset_ns[rank] = offset_ns[i] + apart;
			return 0;
		}
	}
	if (coarse > APART_NS || coarse < -APART_NS)
		offset_ns[rank] += coarse;
	return 0;
}

static int find_clocks(const struct infer_rows *rows, const struct infer_view *views,
		       uint32_t n_views, struct endings *all, int64_t *offset_ns)
{
	int r = 0;

	for (uint32_t i = 0; i < n_views && r == 0; i++) {
		offset_ns[i] = views[i].constants.launch_ns;
		r = list_endings(rows, &views[i], &all[i].e, &all[i].n);
	}
	for (uint32_t i = 1; i < n_views && r == 0; i++)
		if (all[i].n > 0 && !has_company(all, offset_ns, n_views, i))
			r = find_clock(all, views, n_views, i, offset_ns);
	return r;
}

int infer_offsets(const struct infer_rows *rows, const struct infer_view *views, uint32_t n_views,
		  int64_t *offset_ns)
{
	scoped(free_ptr) struct endings *all = calloc(n_views + (size_t)1, sizeof(*all));
	int r = all ? find_clocks(rows, views, n_views, all, offset_ns) : -ENOMEM;

	for (uint32_t i = 0; all && i < n_views; i++)
		free(all[i].e);
	return r;
}

int infer_clocks(const struct infer_match *m, size_t n, struct infer_view *views, uint32_t n_views,
		 const int64_t *offset_ns)
{
	scoped(free_ptr) struct infer_match *sorted = infer_match_by_collective(m, n);
	scoped(free_ptr) struct fmt_sighting *ends = malloc((n + 1) * sizeof(*ends));
	scoped(free_ptr) struct fmt_clock *clocks = calloc(n_views + (size_t)1, sizeof(*clocks));
	size_t n_ends = 0;
	int r;

	if (!sorted || !ends || !clocks)
		return -ENOMEM;
	/* The moment of a collective is its first rank's, and of those that it waits for. */
	for (size_t i = 0, first = 0; i < n; i++) {
		if (sorted[i].comm != sorted[first].comm || sorted[i].seq != sorted[first].seq)
			first = i;
		if (infer_waits_for(views, &sorted[first], &sorted[i]))
			ends[n_ends++] = (struct fmt_sighting){
				first, views[sorted[i].view].ops[sorted[i].op].end_ns,
				sorted[i].view};
	}
	for (uint32_t i = 0; i < n_views; i++)
		clocks[i].ahead_ns = offset_ns[i] - offset_ns[0];
	r = fmt_clocks_align(ends, n_ends, false, clocks, n_views);
	for (uint32_t i = 0; i < n_views && r == 0; i++)
		views[i].constants.clock_ns = clocks[i].ahead_ns;
	return r;
}
