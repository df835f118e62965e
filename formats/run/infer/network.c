/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/network.h"

#include "base/scope.h"
#include "formats/run/robust.h"
#include "formats/trace/json.h"

#include <stdio.h>

#define MOST_SIZES 256 /* sizes for computing slopes; more are subsampled */
#define MOST_NS ((double)(INT64_MAX / 4))
#define LEAST_SAMPLES 8 /* minimum number of samples for measuring the spread of ranks' ends */
#define NORMAL 1.4826	/* standard deviations in a median distance */

void fmt_network_done(struct fmt_network *n)
{
	free(n->fits);
	*n = (struct fmt_network){0};
}

/* ---- the fact ---- */

static double number_of_key(const char *object, size_t len, const char *key)
{
	const char *value;
	size_t n;
	double v;

	if (!fmt_json_member(object, len, key, &value, &n) || n == 0 || *value == '"')
		return 0;
	v = strtod(value, NULL);
	return v > 0 && v < MOST_NS ? v : 0;
}

static int read_fit(const char *object, size_t len, struct fmt_network *to)
{
	struct fmt_network_fit f = {
		.comm = (uint32_t)number_of_key(object, len, "comm"),
		.collectives = (int64_t)number_of_key(object, len, "collectives"),
		.sizes = (int64_t)number_of_key(object, len, "sizes"),
		.largest_bytes = (int64_t)number_of_key(object, len, "largest_bytes"),
		.typical_ns = (int64_t)number_of_key(object, len, "typical_ns"),
		.latency_ns = (int64_t)number_of_key(object, len, "latency_ns"),
		.ns_per_byte = number_of_key(object, len, "ns_per_byte"),
		.residual_ns = (int64_t)number_of_key(object, len, "residual_ns"),
		.noise_share = fmin(number_of_key(object, len, "noise_share"), 1),
		.first_exit_ns = (int64_t)number_of_key(object, len, "first_exit_ns"),
		.exit_ns = (int64_t)number_of_key(object, len, "exit_ns"),
		.uneven = number_of_key(object, len, "uneven") > 0,
	};
	const char *name;
	size_t n = fmt_json_member_text(object, len, "collective", &name);

	if (n == 0 || n >= sizeof(f.collective))
		return 0;
	memcpy(f.collective, name, n);
	if (array_reserve(&to->fits, to->n + 1, &to->cap) < 0)
		return -ENOMEM;
	to->fits[to->n++] = f;
	return 0;
}

int fmt_network_get(const struct fmt_names *n, struct fmt_network *ret)
{
	const char *at = fmt_fact_value(n, FMT_WHOLE_TRACE, FMT_NETWORK_KEY), *end, *object;
	size_t len = at ? strlen(at) : 0;

	*ret = (struct fmt_network){0};
	if (!at || !fmt_json_valid(at, len))
		return 0;
	for (end = at + len; fmt_json_element(&at, end, &object, &len) == 1;)
		if (read_fit(object, len, ret) < 0)
			return -ENOMEM;
	return 0;
}

int fmt_network_put(struct fmt_names *n, const struct fmt_network *network)
{
	scoped(text_done) struct text out = {0};
	struct fmt_json j = {.text = &out};

	fmt_json_open(&j, NULL, '[');
	for (size_t i = 0; i < network->n; i++) {
		const struct fmt_network_fit *f = &network->fits[i];

		fmt_json_open(&j, NULL, '{');
		fmt_json_i64(&j, "comm", f->comm);
		fmt_json_str(&j, "collective", f->collective);
		fmt_json_i64(&j, "collectives", f->collectives);
		fmt_json_i64(&j, "sizes", f->sizes);
		if (f->largest_bytes > 0)
			fmt_json_i64(&j, "largest_bytes", f->largest_bytes);
		if (f->typical_ns > 0)
			fmt_json_i64(&j, "typical_ns", f->typical_ns);
		fmt_json_i64(&j, "latency_ns", f->latency_ns);
		fmt_json_double(&j, "ns_per_byte", f->ns_per_byte, 9);
		fmt_json_i64(&j, "residual_ns", f->residual_ns);
		fmt_json_double(&j, "noise_share", f->noise_share, 6);
		fmt_json_i64(&j, "first_exit_ns", f->first_exit_ns);
		fmt_json_i64(&j, "exit_ns", f->exit_ns);
		if (f->uneven)
			fmt_json_i64(&j, "uneven", 1);
		fmt_json_close(&j, '}');
	}
	fmt_json_close(&j, ']');
	return fmt_names_fact_text(n, FMT_WHOLE_TRACE, FMT_NETWORK_KEY, &out);
}

const struct fmt_network_fit *fmt_network_find(const struct fmt_network *n, uint32_t comm,
					       const char *collective)
{
	for (size_t i = 0; i < n->n; i++)
		if (n->fits[i].comm == comm && strcmp(n->fits[i].collective, collective) == 0)
			return &n->fits[i];
	return NULL;
}

int64_t fmt_network_ns(const struct fmt_network_fit *f, int64_t bytes)
{
	double ns = bytes < 0 ? (double)f->typical_ns
			      : (double)f->latency_ns + f->ns_per_byte * (double)bytes;

	return (int64_t)(ns < MOST_NS ? ns : MOST_NS);
}

/* ---- the line ---- */

static int by_kind_and_size(const void *x, const void *y)
{
	const struct fmt_network_sample *a = x, *b = y;

	return array_order(a->comm, b->comm) ?: array_order(a->collective, b->collective)
	       ?: array_order(a->bytes, b->bytes) ?: array_order(a->least_ns, b->least_ns);
}

/* Lists the median sample of each size; `to` has space for MOST_SIZES. Returns the total number of
 * sizes. */
static size_t list_sizes(const struct fmt_network_sample *s, size_t n,
			 const struct fmt_network_sample **to, size_t *n_to)
{
	size_t sizes = 0, every, k = 0;

	for (size_t i = 0; i < n; i++)
		sizes += i == 0 || s[i].bytes != s[i - 1].bytes;
	every = sizes / MOST_SIZES + 1;
	*n_to = 0;
	for (size_t first = 0, end; first < n; first = end, k++) {
		for (end = first; end < n && s[end].bytes == s[first].bytes;)
			end++;
		if (k % every == 0)
			to[(*n_to)++] = &s[first + (end - 1 - first) / 2];
	}
	return sizes;
}

struct slope {
	double ns_per_byte, weight;
};

static int by_slope(const void *x, const void *y)
{
	const struct slope *a = x, *b = y;

	return array_order(a->ns_per_byte, b->ns_per_byte);
}

/* Returns the median slope between two sizes, weighted by their distance; at least 0. */
static int fit_slope(const struct fmt_network_sample *const *s, size_t n, double *ret)
{
	scoped(free_ptr) struct slope *slopes = malloc((n * (n - 1) / 2 + 1) * sizeof(*slopes));
	double all = 0, sum = 0;
	size_t k = 0;

	if (!slopes)
		return -ENOMEM;
	*ret = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			double apart = (double)s[i]->bytes - (double)s[j]->bytes;
			double longer = (double)s[i]->transfer_ns - (double)s[j]->transfer_ns;

			slopes[k++] = (struct slope){longer / apart, apart};
			all += apart;
		}
	if (k > 0)
		qsort(slopes, k, sizeof(*slopes), by_slope);
	for (size_t i = 0; i < k; i++) {
		sum += slopes[i].weight;
		if (sum * 2 >= all) {
			*ret = slopes[i].ns_per_byte > 0 ? slopes[i].ns_per_byte : 0;
			return 0;
		}
	}
	return 0;
}

/* Returns the variance of the first exit of n ranks whose mean is known: exits near the first one
 * are spread evenly, or exponentially, which makes little difference. */
static double noise_of(const struct fmt_network_fit *f, uint32_t n_ranks)
{
	double first = f->uneven ? 0 : (double)f->first_exit_ns;

	return first * first * n_ranks / (n_ranks + 2);
}

/* Measures the distances of samples from the line. `space` is for n values. */
static void fit_residual(const struct fmt_network_sample *s, size_t n, double *space,
			 struct fmt_network_fit *f)
{
	double deviation;

	for (size_t i = 0; i < n; i++)
		space[i] = fabs((double)s[i].transfer_ns - (double)fmt_network_ns(f, s[i].bytes));
	f->residual_ns = (int64_t)fmin(robust_median(space, n), MOST_NS);
	deviation = NORMAL * (double)f->residual_ns;
	f->noise_share =
		deviation > 0 ? fmin(noise_of(f, s->n_ranks) / (deviation * deviation), 1) : 0;
}

/* Messages of unknown, possibly different sizes: mean and variance preserve the sum of transfers,
 * and a single outlier leaves no share to noise. */
static void fit_typical(const struct fmt_network_sample *s, size_t n, struct fmt_network_fit *f)
{
	double mean = 0, variance = 0;

	for (size_t i = 0; i < n; i++)
		mean += (double)s[i].transfer_ns / (double)n;
	for (size_t i = 0; i < n; i++) {
		double off = (double)s[i].transfer_ns - mean;

		variance += off * off / (double)n;
	}
	f->typical_ns = (int64_t)fmin(mean, MOST_NS);
	f->residual_ns = (int64_t)fmin(sqrt(variance) / NORMAL, MOST_NS);
	f->noise_share = variance > 0 ? fmin(noise_of(f, s->n_ranks) / variance, 1) : 0;
}

/* Fits the line through samples of one communicator and kind. `space` is for 2 n values. */
static int fit_line(const struct fmt_network_sample *s, size_t n, double *space,
		    struct fmt_network_fit *f)
{
	const struct fmt_network_sample *sizes[MOST_SIZES];
	size_t n_sizes;
	double latency = 0;
	int r;

	while (n > 1 && s->bytes < 0 && s[n - 1].bytes >= 0)
		s++, n--;
	f->collectives = (int64_t)n;
	if (s->bytes < 0) {
		fit_typical(s, n, f);
		return 0;
	}
	f->largest_bytes = s[n - 1].bytes;
	f->sizes = (int64_t)list_sizes(s, n, sizes, &n_sizes);
	r = fit_slope(sizes, n_sizes, &f->ns_per_byte);
	if (r < 0)
		return r;
	if (f->sizes > 1) {
		for (size_t i = 0; i < n; i++)
			space[i] = (double)s[i].transfer_ns - f->ns_per_byte * (double)s[i].bytes;
		latency = robust_mean(space, n, INFINITY, space + n);
	}
	if (latency <= 0) {
		latency = 0;
		for (size_t i = 0; i < n; i++)
			space[i] = (double)s[i].transfer_ns / (double)s[i].bytes;
		f->ns_per_byte = fmax(0, robust_mean(space, n, INFINITY, space + n));
	}
	f->latency_ns = (int64_t)fmin(latency, MOST_NS);
	fit_residual(s, n, space, f);
	return 0;
}

/* ---- exits ---- */

/* Sums over collectives. If n ranks leave evenly within a time, (n + 1) times the distance between
 * the first two is that time on average, and so is the spread times (n + 1) / (n - 1). */
struct exits {
	double gap, gap_squares, spread;
	double mean; /* of the distances from the first exit */
	size_t n;
};

/* The end of the samples of the communicator and kind of s[first]. */
static size_t kind_end(const struct fmt_network_sample *s, size_t n, size_t first)
{
	return array_bound(i, first, n,
			   s[i].comm == s[first].comm && s[i].collective == s[first].collective);
}

/* Returns the number of collectives whose ranks leave so close to each other that it may be chance.
 */
static size_t count_even(const struct fmt_network_sample *s, size_t n)
{
	size_t even = 0;

	for (size_t i = 0; i < n; i++)
		even += s[i].most_ns <= FMT_NETWORK_APART_NS;
	return even;
}

/* Adds the exits of one kind of collective. Parts of different sizes are close to each other by
 * chance as well: then they are few. */
static void add_exits(struct exits *e, const struct fmt_network_sample *s, size_t n)
{
	if (count_even(s, n) * 4 <= n)
		return;
	for (size_t i = 0; i < n; i++) {
		double ranks = s[i].n_ranks, gap = (double)s[i].second_ns * (ranks + 1);

		if (s[i].most_ns > FMT_NETWORK_APART_NS || s[i].n_ranks < 2)
			continue;
		e->gap += gap;
		e->gap_squares += gap * gap;
		e->spread += (double)s[i].most_ns * (ranks + 1) / (ranks - 1);
		e->mean += (double)s[i].mean_ns;
		e->n++;
	}
}

/* Returns 0 if n ranks leave evenly within a time, 1 if the later the fewer (exponentially); in
 * between for other distributions. Of two ranks, the variance of the distance tells; of more, the
 * last ones are further apart than the first ones. */
static double tail_of(const struct exits *e, double n)
{
	double mean = e->gap / (double)e->n, even = sqrt(0.5), sum = 0, share;

	if (mean <= 0)
		return 0;
	for (double k = 1; k < n; k++)
		sum += 1 / k;
	if (n > 2)
		share = (e->spread / e->gap - 1) / (sum - 1);
	else
		share = (sqrt(fmax(e->gap_squares / (double)e->n - mean * mean, 0)) / mean - even) /
			(1 - even);
	return fmin(fmax(share, 0), 1);
}

/* Sets the mean exits. `pairs`: the exits of all communicators of two ranks, of which one shows too
 * little. */
static void set_exits(struct fmt_network_fit *f, const struct exits *e, const struct exits *pairs,
		      double n)
{
	double tail;

	if (e->n == 0)
		return;
	tail = tail_of(n > 2 ? e : pairs, n);
	f->first_exit_ns = (int64_t)(((1 - tail) * e->spread + tail * e->gap * (n - 1) / n) /
				     (double)e->n / (n + 1));
	f->exit_ns = (int64_t)(e->mean / (double)e->n) + f->first_exit_ns;
}

/* Adds the exits of several kinds of collectives. */
static void add_all_exits(struct exits *e, const struct fmt_network_sample *s, size_t n)
{
	for (size_t first = 0, end; first < n; first = end) {
		end = kind_end(s, n, first);
		add_exits(&e[s[first].n_ranks > 2], &s[first], end - first);
	}
}

/* Fits the lines of one communicator. `space` is for 2 n values. */
static int fit_comm(const struct fmt_names *names, struct fmt_network_sample *s, size_t n,
		    const struct exits *all, double *space, struct fmt_network *ret)
{
	struct exits exits[2] = {0};
	bool more = s->n_ranks > 2;
	int r = 0;

	add_all_exits(exits, s, n);
	for (size_t first = 0, end; first < n && r == 0; first = end) {
		const char *name = fmt_string(names, s[first].collective, NULL);
		struct fmt_network_fit f = {.comm = s->comm};

		end = kind_end(s, n, first);
		if (array_reserve(&ret->fits, ret->n + 1, &ret->cap) < 0)
			return -ENOMEM;
		snprintf(f.collective, sizeof(f.collective), "%s", name);
		f.uneven = count_even(&s[first], end - first) * 4 < (end - first) * 3;
		set_exits(&f, exits[more].n < LEAST_SAMPLES ? &all[more] : &exits[more], &all[0],
			  s->n_ranks);
		for (size_t i = first; i < end; i++) {
			int64_t ns = s[i].least_ns - f.first_exit_ns;

			s[i].transfer_ns = ns > 0 ? ns : 0;
		}
		r = fit_line(&s[first], end - first, space, &f);
		ret->fits[ret->n++] = f;
	}
	return r;
}

int fmt_network_fit(const struct fmt_names *n, struct fmt_network_sample *samples, size_t n_samples,
		    struct fmt_network *ret)
{
	scoped(free_ptr) double *space = malloc((n_samples + 1) * 2 * sizeof(*space));
	struct exits all[2] = {0}; /* of two ranks; of more */
	int r = space ? 0 : -ENOMEM;

	if (n_samples > 0)
		qsort(samples, n_samples, sizeof(*samples), by_kind_and_size);
	add_all_exits(all, samples, n_samples);
	for (size_t first = 0, end; first < n_samples && r == 0; first = end) {
		end = array_bound(i, first, n_samples, samples[i].comm == samples[first].comm);
		r = fit_comm(n, &samples[first], end - first, all, space, ret);
	}
	return r;
}
