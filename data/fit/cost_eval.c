/* SPDX-License-Identifier: Apache-2.0 */

/* Predicts operators on GPU models with replay/cost, for data/fit/fit.py.
 *
 *     cost_eval [--shape] [--busy] [GPU:KEY=VALUE...] <rows
 *
 * A row has tab-separated fields: GPU, operator, shape ("b=8 h=768"), kernel, grid, block. Products
 * and convolutions are in FP32; "matmul" and "convolution" have a math and a direction. With
 * --shape, tiles of products and algorithms of convolutions are those that the model chooses, not
 * those of the kernel. With --busy, the GPU has computed before without pause. ":KEY=VALUE" sets a
 * value of all GPUs. Prints the nanoseconds of each row; -1: not an operator. */
#include "replay/cost/name.h"
#include "replay/cost/nccl.h"
#include "replay/cost/product.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPU, OPERATOR, SHAPE, KERNEL, GRID, BLOCK, FIELDS };

static struct cost_gpu gpus[64];
static char gpu_names[64][96];
static int n_gpus, by_shape;
static double busy_ns;
static char **settings;
static int n_settings;

static void set(struct cost_gpu *g, const char *name)
{
	for (int i = 0; i < n_settings; i++) {
		const char *key = strchr(settings[i], ':'), *value = strchr(settings[i], '=');
		char text[64];
		size_t n = key ? (size_t)(key - settings[i]) : 0;

		if (!key || !value || (n > 0 && strncmp(settings[i], name, n) != 0))
			continue;
		snprintf(text, sizeof(text), "%.*s", (int)(value - key - 1), key + 1);
		double *to = (double *)(uintptr_t)cost_gpu_value(g, text);

		if (to)
			*to = strtod(value + 1, NULL);
	}
}

static const struct cost_gpu *gpu_of(const char *name)
{
	char why[400];

	for (int i = 0; i < n_gpus; i++)
		if (strcmp(gpu_names[i], name) == 0)
			return &gpus[i];
	if (n_gpus == 64 || cost_gpu_load(name, &gpus[n_gpus], why, sizeof(why)) < 0)
		return NULL;
	snprintf(gpu_names[n_gpus], sizeof(gpu_names[0]), "%s", name);
	set(&gpus[n_gpus], name);
	return &gpus[n_gpus++];
}

static double number(const char *shape, const char *key)
{
	size_t n = strlen(key);

	for (const char *at = shape; at; at = strchr(at, ' ')) {
		at += *at == ' ';
		if (strncmp(at, key, n) == 0 && at[n] == '=')
			return strtod(at + n + 1, NULL);
	}
	return 1;
}

static void triple(const char *text, uint32_t ret[3])
{
	if (sscanf(text, "%u,%u,%u", &ret[0], &ret[1], &ret[2]) != 3)
		ret[0] = ret[1] = ret[2] = 0;
}

static struct cost product(const struct cost_gpu *g, char **f)
{
	int linear = f[OPERATOR][0] == 'l';
	struct gpuemu_product p = {.m = number(f[SHAPE], "k"),
				   .n = number(f[SHAPE], "m"),
				   .k = number(f[SHAPE], "n"),
				   .batch = number(f[SHAPE], "b"),
				   .a_transposed = linear || strcmp(f[OPERATOR], "bmm_tn") == 0};
	struct cost_name n = cost_name_of(f[KERNEL]);
	struct cost_tiling t = {.m = n.tile_m, .n = n.tile_n, .sliced = n.sliced, .splits = 1};
	uint32_t grid[3];

	triple(f[GRID], grid);
	if (linear) {
		p.n *= p.batch;
		p.batch = 1;
		t.splits = grid[2] > 0 ? grid[2] : 1;
	}
	if (by_shape || !n.tile_m)
		return cost_of_product(g, &p, GPUEMU_FP32, busy_ns);
	return cost_of_tiled_product(g, &p, GPUEMU_FP32, busy_ns, &t);
}

static enum gpuemu_math math_of(const char *shape)
{
	return (enum gpuemu_math)number(shape, "math");
}

/* A product of matrices in row order. */
static struct cost matmul(const struct cost_gpu *g, const char *shape)
{
	struct gpuemu_product p = {.m = number(shape, "n"),
				   .n = number(shape, "m"),
				   .k = number(shape, "k"),
				   .batch = number(shape, "b")};

	return cost_of_product(g, &p, math_of(shape), busy_ns);
}

static enum cost_algorithm algorithm_of(const char *kernel)
{
	if (strstr(kernel, "winograd"))
		return COST_WINOGRAD_FUSED;
	if (strstr(kernel, "scudnn"))
		return COST_IMPLICIT;
	return strstr(kernel, "_sgemm_") ? COST_WINOGRAD : COST_ALGORITHMS;
}

static struct cost convolution(const struct cost_gpu *g, char **f)
{
	const char *shape = f[SHAPE];
	double in = number(shape, "input_size"), kernel = number(shape, "kernel");
	double stride = number(shape, "stride");
	double out = floor((in + 2 * number(shape, "padding") - kernel) / stride) + 1;
	struct gpuemu_convolution c = {
		.batch = number(shape, "b"),
		.in_channels = number(shape, "input_channel"),
		.out_channels = number(shape, "output_channel"),
		.groups = 1,
		.in = {1, in, in},
		.out = {1, out, out},
		.kernel = {1, kernel, kernel},
		.stride = {1, stride, stride},
		.dilation = {1, 1, 1},
	};

	if (f[OPERATOR][4]) {
		c.direction = (enum gpuemu_direction)number(shape, "direction");
		c.channels_last = number(shape, "last") > 0;
		return cost_of_convolution(g, &c, math_of(shape), busy_ns);
	}
	return cost_of_convolution_by(g, &c, GPUEMU_FP32, busy_ns,
				      by_shape ? COST_ALGORITHMS : algorithm_of(f[KERNEL]));
}

/* An iteration of nccl-tests with eight GPUs in one thread, as gpuemu runs it: the launches, and
 * other work. */
#define OTHER_WORK_NS 3300

static struct cost all_reduce(const struct cost_gpu *g, const char *shape)
{
	struct cost_links l = {.ranks = 8,
			       .hosts = 1,
			       .wire = COST_NVLINK,
			       .bytes_per_s = g->nvlink_bytes_per_s * g->link_efficiency,
			       .compute_capability = (int)(g->compute * 10 + 0.5),
			       .switch_bytes_per_s = g->switch_bytes_per_s};
	double ns = (double)cost_collective_ns(&l, COST_ALL_REDUCE, number(shape, "bytes"));

	return (struct cost){.ns = fmax(ns, l.ranks * g->call_collective_ns + OTHER_WORK_NS),
			     .source = COST_MEASURED};
}

static struct cost cost_of_row(char **f)
{
	const struct cost_gpu *g = gpu_of(f[GPU]);
	struct cost_launch l = {.name = f[KERNEL]};

	if (!g)
		return (struct cost){.ns = -1};
	if (strncmp(f[OPERATOR], "bmm", 3) == 0 || strcmp(f[OPERATOR], "linear") == 0)
		return product(g, f);
	if (strcmp(f[OPERATOR], "matmul") == 0)
		return matmul(g, f[SHAPE]);
	if (strncmp(f[OPERATOR], "conv", 4) == 0)
		return convolution(g, f);
	if (strcmp(f[OPERATOR], "all_reduce") == 0)
		return all_reduce(g, f[SHAPE]);
	triple(f[GRID], l.grid);
	triple(f[BLOCK], l.block);
	l.columns = number(f[SHAPE], "h");
	l.elements = number(f[SHAPE], "b") * l.columns;
	return cost_of_kernel(g, &l);
}

int main(int argc, char **argv)
{
	static char line[65536];
	char *fields[FIELDS];

	for (argv++, argc--; argc > 0 && argv[0][0] == '-'; argv++, argc--) {
		if (strcmp(argv[0], "--busy") == 0)
			busy_ns = COST_BUSY_NS;
		else
			by_shape = 1;
	}
	settings = argv;
	n_settings = argc;
	while (fgets(line, sizeof(line), stdin)) {
		char *rest = line;
		int n = 0;

		line[strcspn(line, "\n")] = 0;
		while (n < FIELDS && (fields[n] = strsep(&rest, "\t")))
			n++;
		struct cost c = n == FIELDS ? cost_of_row(fields) : (struct cost){.ns = -1};

		printf("%.1f\t%s\n", c.ns, cost_source_names[c.source]);
	}
	return 0;
}
