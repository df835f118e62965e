/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/what_if/straggler.h"

#include "base/array.h"
#include "base/scope.h"

#include <math.h>

/* Factors are rounded to multiples of this, to limit the number of distinct ones. */
#define STEP 0.0005

/* The durations of the kernels of one name on a rank. */
struct total {
	double ns;
	uint64_t n;
};

/* The kernels of a trace by name. */
struct kernels {
	uint32_t *of_name; /* by string: number of the kernel; n: none */
	uint32_t n;
};

static int add_slice(struct fmt_trace *trace, uint32_t rank, uint32_t index,
		     const struct kernels *kernels, struct total *totals, struct fmt_error *err)
{
	scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
	int r = fmt_slice_load(trace, rank, index, FMT_WANT_OPS, &s, err);

	for (size_t i = 0; r == 0 && i < s->n_events; i++) {
		const struct fmt_event *e = &s->events[i];
		const struct fmt_template *t = fmt_template(fmt_trace_names(trace), e->template);

		if (!t || t->kind != FMT_KERNEL)
			continue;
		totals[kernels->of_name[t->name]].ns += (double)e->duration_ns;
		totals[kernels->of_name[t->name]].n++;
	}
	return r;
}

static int number_kernels(const struct fmt_names *names, struct kernels *ret)
{
	ret->of_name = malloc((fmt_n_strings(names) + 1ul) * sizeof(*ret->of_name));
	if (!ret->of_name)
		return -ENOMEM;
	memset(ret->of_name, 0xff, (fmt_n_strings(names) + 1ul) * sizeof(*ret->of_name));
	for (uint32_t i = 0; i < fmt_n_templates(names); i++) {
		const struct fmt_template *t = fmt_template(names, i);

		if (t->kind == FMT_KERNEL && ret->of_name[t->name] == UINT32_MAX)
			ret->of_name[t->name] = ret->n++;
	}
	return 0;
}

static int ascending(const void *x, const void *y)
{
	return array_order(*(const double *)x, *(const double *)y);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), ascending);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* The mean duration over the run on the median rank; 0 if fewer than two ranks run the kernel. */
static double median_of(const struct total *totals, uint32_t n_ranks, const struct kernels *kernels,
			uint32_t kernel, double *values)
{
	size_t n = 0;

	for (uint32_t i = 0; i < n_ranks; i++) {
		const struct total *t = &totals[(size_t)i * kernels->n + kernel];

		if (t->n > 0)
			values[n++] = t->ns / (double)t->n;
	}
	return n < 2 ? 0 : median(values, n);
}

static float factor_of(const struct total *t, double median_ns)
{
	double own_ns = t->n > 0 ? t->ns / (double)t->n : 0;

	if (own_ns <= 0 || median_ns <= 0)
		return 1;
	return (float)exp(round(log(median_ns / own_ns) / STEP) * STEP);
}

static void kernels_done(struct kernels *k)
{
	free(k->of_name);
}

static int add_totals(struct fmt_trace *trace, const struct kernels *kernels, struct total *totals,
		      struct fmt_error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < fmt_trace_n_ranks(trace); i++)
		for (uint32_t k = 0; r == 0 && k < fmt_trace_rank(trace, i)->n_slices; k++)
			r = add_slice(trace, i, k, kernels, &totals[(size_t)i * kernels->n], err);
	return r;
}

/* Finds the medians of all kernels. Returns 0 or -ENOMEM. */
static int find_medians(const struct total *totals, uint32_t n_ranks, const struct kernels *kernels,
			double *medians)
{
	scoped(free_ptr) double *values = malloc((n_ranks + 1ul) * sizeof(*values));

	for (uint32_t k = 0; values && k < kernels->n; k++)
		medians[k] = median_of(totals, n_ranks, kernels, k, values);
	return values ? 0 : -ENOMEM;
}

int straggler_factors(struct fmt_trace *trace, float **ret, uint32_t *n_templates,
		      struct fmt_error *err)
{
	const struct fmt_names *names = fmt_trace_names(trace);
	uint32_t n_ranks = fmt_trace_n_ranks(trace), n = fmt_n_templates(names);
	scoped(kernels_done) struct kernels kernels = {0};
	scoped(free_ptr) float *factors = malloc((n_ranks + 1ul) * (n + 1ul) * sizeof(*factors));
	scoped(free_ptr) struct total *totals = NULL;
	scoped(free_ptr) double *medians = NULL;
	int r = factors ? number_kernels(names, &kernels) : -ENOMEM;

	if (r < 0)
		return r;
	totals = calloc((n_ranks + 1ul) * (kernels.n + 1ul), sizeof(*totals));
	medians = calloc(kernels.n + 1ul, sizeof(*medians));
	if (!totals || !medians)
		return -ENOMEM;
	r = add_totals(trace, &kernels, totals, err);
	if (r == 0)
		r = find_medians(totals, n_ranks, &kernels, medians);
	if (r < 0)
		return r;
	for (uint32_t k = 0; k < n; k++) {
		const struct fmt_template *t = fmt_template(names, k);
		uint32_t kernel = t->kind == FMT_KERNEL ? kernels.of_name[t->name] : UINT32_MAX;

		for (uint32_t i = 0; i < n_ranks; i++)
			factors[(size_t)i * n + k] =
				kernel == UINT32_MAX
					? 1
					: factor_of(&totals[(size_t)i * kernels.n + kernel],
						    medians[kernel]);
	}
	*ret = take(factors);
	*n_templates = n;
	return 0;
}
