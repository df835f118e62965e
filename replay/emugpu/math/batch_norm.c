/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/batch_norm.h"

#include <math.h>

static int64_t at(const struct emu_tensor5 *t, int64_t n, int64_t c, const int64_t p[3])
{
	return n * t->stride[0] + c * t->stride[1] + p[0] * t->stride[2] + p[1] * t->stride[3] +
	       p[2] * t->stride[4];
}

static double load(const struct emu_tensor5 *t, int64_t n, int64_t c, const int64_t p[3])
{
	return emu_load(t->type, t->data, at(t, n, c, p));
}

static void store(const struct emu_tensor5 *t, int64_t n, int64_t c, const int64_t p[3], double v)
{
	if (t->data)
		emu_store(t->type, t->data, at(t, n, c, p), v);
}

/* For each image and position of `x`. */
#define EACH(t, n, p)                                                                              \
	for (int64_t n = 0; n < (t)->size[0]; n++)                                                 \
		for (int64_t p[3] = {0}; p[0] < (t)->size[2]; p[0]++)                              \
			for (p[1] = 0; p[1] < (t)->size[3]; p[1]++)                                \
				for (p[2] = 0; p[2] < (t)->size[4]; p[2]++)

struct moments {
	double mean, inverse; /* inverse: of the standard deviation */
	int64_t count;
};

static void update(const struct emu_batch_norm *b, void *running, int64_t c, double value)
{
	if (running)
		emu_store(b->type, running, c,
			  b->factor * value + (1 - b->factor) * emu_load(b->type, running, c));
}

/* Of channel c; updates the running statistics. */
static struct moments train(const struct emu_batch_norm *b, int64_t c)
{
	struct moments m = {.count = emu_tensor5_count(&b->x) / b->x.size[1]};
	double sum = 0, square = 0, variance;

	EACH(&b->x, n, p)
	sum += load(&b->x, n, c, p);
	m.mean = sum / (double)m.count;
	EACH(&b->x, n, p)
	{
		double d = load(&b->x, n, c, p) - m.mean;

		square += d * d;
	}
	variance = square / (double)m.count;
	m.inverse = 1 / sqrt(variance + b->epsilon);
	update(b, b->mean, c, m.mean);
	update(b, b->variance, c, m.count > 1 ? square / (double)(m.count - 1) : variance);
	if (b->saved_mean)
		emu_store(b->type, b->saved_mean, c, m.mean);
	if (b->saved_inverse)
		emu_store(b->type, b->saved_inverse, c, m.inverse);
	return m;
}

static struct moments moments_of(const struct emu_batch_norm *b, int64_t c)
{
	if (b->kind == EMU_NORM_TRAINING)
		return train(b, c);
	if (b->kind == EMU_NORM_INFERENCE)
		return (struct moments){emu_load(b->type, b->mean, c),
					1 / sqrt(emu_load(b->type, b->variance, c) + b->epsilon),
					0};
	return (struct moments){emu_load(b->type, b->saved_mean, c),
				emu_load(b->type, b->saved_inverse, c),
				emu_tensor5_count(&b->x) / b->x.size[1]};
}

static void forward(const struct emu_batch_norm *b, int64_t c)
{
	struct moments m = moments_of(b, c);
	double scale = emu_load(b->type, b->scale, c), bias = emu_load(b->type, b->bias, c);

	EACH(&b->x, n, p)
	{
		double v = (load(&b->x, n, c, p) - m.mean) * m.inverse * scale + bias;

		if (b->z.data)
			v += load(&b->z, n, c, p);
		store(&b->y, n, c, p, b->relu && v < 0 ? 0 : v);
	}
}

/* The gradient before the activation. */
static double gradient(const struct emu_batch_norm *b, int64_t n, int64_t c, const int64_t p[3])
{
	return b->relu && load(&b->y, n, c, p) <= 0 ? 0 : load(&b->y_grad, n, c, p);
}

static void backward(const struct emu_batch_norm *b, int64_t c)
{
	struct moments m = moments_of(b, c);
	double scale = emu_load(b->type, b->scale, c), sum = 0, product = 0;

	EACH(&b->x, n, p)
	{
		double g = gradient(b, n, c, p);

		sum += g;
		product += g * (load(&b->x, n, c, p) - m.mean) * m.inverse;
	}
	EACH(&b->x, n, p)
	{
		double x = (load(&b->x, n, c, p) - m.mean) * m.inverse, g = gradient(b, n, c, p);

		store(&b->z, n, c, p, g);
		store(&b->x_grad, n, c, p,
		      scale * m.inverse * (g - (sum + x * product) / (double)m.count));
	}
	emu_store(b->type, b->scale_grad, c, product);
	emu_store(b->type, b->bias_grad, c, sum);
}

void emu_batch_norm_run(const struct emu_batch_norm *b)
{
	for (int64_t c = 0; c < b->x.size[1]; c++)
		if (b->kind == EMU_NORM_BACKWARD)
			backward(b, c);
		else
			forward(b, c);
}
