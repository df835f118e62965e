/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/attention.h"

#include "replay/emugpu/math/philox.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

double emu_attention_operations(const struct emu_attention *a)
{
	return 2.0 * (double)(a->batch * a->heads * a->queries) * (double)a->keys *
	       (double)(a->width + a->value_width);
}

/* y += x M; rows of M have `n` adjacent elements. */
static void multiply(const double *x, int64_t rows, const double *m, int64_t n, double *y)
{
	for (int64_t i = 0; i < rows; i++)
		if (x[i] != 0)
			for (int64_t j = 0; j < n; j++)
				y[j] += x[i] * m[i * n + j];
}

/* M += x^T y */
static void add_outer(const double *x, int64_t rows, const double *y, int64_t n, double *m)
{
	for (int64_t i = 0; i < rows; i++)
		if (x[i] != 0)
			for (int64_t j = 0; j < n; j++)
				m[i * n + j] += x[i] * y[j];
}

/* One head of one batch element. */
struct head {
	const struct emu_attention *a;
	int64_t batch, head;
	/* Arrays of doubles. Of a row: */
	double *q, *out_grad, *out, *q_grad, *scores, *weights, *kept;
	/* Of all keys, as rows of the name's matrix or its transpose: */
	double *k, *k_t, *v, *v_t, *k_grad, *v_grad;
};

static int64_t row_at(const struct head *h, const struct emu_attention_tensor *t, int64_t head,
		      int64_t row)
{
	return h->batch * t->batch + head * t->head + row * t->row;
}

static void load_row(const struct head *h, const struct emu_attention_tensor *t, int64_t head,
		     int64_t row, int64_t n, double *ret)
{
	const char *data = t->data;
	size_t bytes = emu_type_bytes(h->a->type);

	emu_to_f64(h->a->type, data + row_at(h, t, head, row) * (int64_t)bytes, 1, (size_t)n, ret);
}

static void store_row(const struct head *h, const struct emu_attention_tensor *t, int64_t head,
		      int64_t row, int64_t n, const double *from)
{
	char *data = t->data;
	size_t bytes = emu_type_bytes(h->a->type);

	if (data)
		emu_from_f64(h->a->type, data + row_at(h, t, head, row) * (int64_t)bytes, 1,
			     (size_t)n, from);
}

/* Loads a matrix of keys or values, and its transpose. */
static void load_keys(const struct head *h, const struct emu_attention_tensor *t, int64_t width,
		      double *m, double *transposed)
{
	int64_t keys = h->a->keys;

	for (int64_t j = 0; j < keys; j++) {
		load_row(h, t, h->head / h->a->group, j, width, m + j * width);
		for (int64_t c = 0; c < width; c++)
			transposed[c * keys + j] = m[j * width + c];
	}
}

/* Computes the scores of a query; masked ones are minus infinity. Returns the largest. */
static double scores_of(const struct head *h, int64_t i)
{
	const struct emu_attention *a = h->a;
	double most = -INFINITY;

	load_row(h, &a->q, h->head, i, a->width, h->q);
	memset(h->scores, 0, (size_t)a->keys * sizeof(double));
	multiply(h->q, a->width, h->k_t, a->keys, h->scores);
	if (a->bias.data)
		load_row(h, &a->bias, h->head, i, a->keys, h->weights);
	for (int64_t j = 0; j < a->keys; j++) {
		double score = h->scores[j] * a->scale + (a->bias.data ? h->weights[j] : 0);

		h->scores[j] = j < i - a->before || j > i + a->after ? -INFINITY : score;
		most = h->scores[j] > most || isnan(h->scores[j]) ? h->scores[j] : most;
	}
	return most;
}

/* Computes the factors of dropout of a row. */
static void drop(const struct head *h, int64_t i)
{
	const struct emu_attention *a = h->a;
	uint64_t at = a->offset +
		      (uint64_t)(((h->batch * a->heads + h->head) * a->queries + i) * a->keys);
	uint32_t x[4];

	for (int64_t j = 0; j < a->keys; j++, at++) {
		if (j == 0 || at % 4 == 0)
			emu_philox(a->seed, 0, at / 4, x);
		h->kept[j] = emu_philox_uniform(x[at % 4]) > a->dropout ? 1 / (1 - a->dropout) : 0;
	}
}

static void forward_row(const struct head *h, int64_t i)
{
	const struct emu_attention *a = h->a;
	double most = scores_of(h, i), sum = 0;

	for (int64_t j = 0; j < a->keys; j++)
		sum += h->weights[j] = h->scores[j] == -INFINITY ? 0 : exp(h->scores[j] - most);
	if (a->sums.data)
		emu_store(EMU_F32, a->sums.data, row_at(h, &a->sums, h->head, i),
			  sum == 0 ? INFINITY : log(sum) + most);
	if (a->dropout > 0)
		drop(h, i);
	for (int64_t j = 0; j < a->keys; j++)
		h->weights[j] *= (a->dropout > 0 ? h->kept[j] : 1) / (sum == 0 ? 1 : sum);
	memset(h->out, 0, (size_t)a->value_width * sizeof(double));
	multiply(h->weights, a->keys, h->v, a->value_width, h->out);
	store_row(h, &a->out, h->head, i, a->value_width, h->out);
}

static void backward_row(const struct head *h, int64_t i)
{
	const struct emu_attention *a = h->a;
	double sum = emu_load(EMU_F32, a->sums.data, row_at(h, &a->sums, h->head, i)), product = 0;

	scores_of(h, i);
	load_row(h, &a->out_grad, h->head, i, a->value_width, h->out_grad);
	load_row(h, &a->out, h->head, i, a->value_width, h->out);
	for (int64_t c = 0; c < a->value_width; c++)
		product += h->out[c] * h->out_grad[c];
	memset(h->weights, 0, (size_t)a->keys * sizeof(double));
	multiply(h->out_grad, a->value_width, h->v_t, a->keys, h->weights);
	if (a->dropout > 0)
		drop(h, i);
	for (int64_t j = 0; j < a->keys; j++) {
		double p = exp(h->scores[j] - sum), kept = a->dropout > 0 ? h->kept[j] : 1;

		h->scores[j] = p * (h->weights[j] * kept - product);
		h->weights[j] = p * kept;
	}
	store_row(h, &a->bias_grad, h->head, i, a->keys, h->scores);
	add_outer(h->weights, a->keys, h->out_grad, a->value_width, h->v_grad);
	for (int64_t j = 0; j < a->keys; j++)
		h->scores[j] *= a->scale;
	add_outer(h->scores, a->keys, h->q, a->width, h->k_grad);
	memset(h->q_grad, 0, (size_t)a->width * sizeof(double));
	multiply(h->scores, a->keys, h->k, a->width, h->q_grad);
	store_row(h, &a->q_grad, h->head, i, a->width, h->q_grad);
}

static void store_key_gradients(const struct head *h)
{
	const struct emu_attention *a = h->a;
	int64_t head = h->head / a->grad_group;

	for (int64_t j = 0; j < a->keys; j++) {
		store_row(h, &a->k_grad, head, j, a->width, h->k_grad + j * a->width);
		store_row(h, &a->v_grad, head, j, a->value_width, h->v_grad + j * a->value_width);
	}
}

static void run_head(const struct head *h, int backward)
{
	const struct emu_attention *a = h->a;

	load_keys(h, &a->k, a->width, h->k, h->k_t);
	load_keys(h, &a->v, a->value_width, h->v, h->v_t);
	if (backward && h->head % a->grad_group == 0) {
		memset(h->k_grad, 0, (size_t)(a->keys * a->width) * sizeof(double));
		memset(h->v_grad, 0, (size_t)(a->keys * a->value_width) * sizeof(double));
	}
	for (int64_t i = 0; i < a->queries; i++)
		if (backward)
			backward_row(h, i);
		else
			forward_row(h, i);
	if (backward && h->head % a->grad_group == a->grad_group - 1)
		store_key_gradients(h);
}

static int run(const struct emu_attention *a, int backward)
{
	int64_t width = a->width, value = a->value_width, keys = a->keys;
	struct head h = {.a = a};
	struct {
		double **to;
		int64_t n;
	} arrays[] = {{&h.q, width},
		      {&h.q_grad, width},
		      {&h.out, value},
		      {&h.out_grad, value},
		      {&h.scores, keys},
		      {&h.weights, keys},
		      {&h.kept, keys},
		      {&h.k, keys * width},
		      {&h.k_t, keys * width},
		      {&h.k_grad, keys * width},
		      {&h.v, keys * value},
		      {&h.v_t, keys * value},
		      {&h.v_grad, keys * value}};
	int64_t n = 0;
	double *all;

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		n += arrays[i].n;
	all = malloc((size_t)n * sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		*arrays[i].to = all + n;
		n += arrays[i].n;
	}
	for (h.batch = 0; h.batch < a->batch; h.batch++)
		for (h.head = 0; h.head < a->heads; h.head++)
			run_head(&h, backward);
	free(all);
	return 0;
}

int emu_attention_forward(const struct emu_attention *a)
{
	return run(a, 0);
}

int emu_attention_backward(const struct emu_attention *a)
{
	return run(a, 1);
}
