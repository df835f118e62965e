/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/torch/torch.h"

#include "base/scope.h"
#include "replay/emugpu/absent.h"
#include "replay/emugpu/data.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements that a host computes in about 5 ms. */
#define MOST_ELEMENTS 3e5
/* The limit with gpuemu --no-data. Small kernels compute, because processes agree on sizes by their
 * results. */
#define MOST_SIZES 1024

int emu_torch_computes_work(double elements)
{
	const char *value = getenv("GPUEMU_COMPUTE");

	if (!emu_has_data())
		return elements <= MOST_SIZES;
	if (value && strcmp(value, "all") == 0)
		return 1;
	return (!value || strcmp(value, "0") != 0) && elements <= MOST_ELEMENTS;
}

int emu_torch_computes_large(double elements, int factor)
{
	return emu_torch_computes_work(emu_has_data() ? elements / factor : elements);
}

int emu_torch_is_undefined(enum emu_type type, const void *at, int64_t n)
{
	uint64_t bytes = (uint64_t)n * emu_type_bytes(type);

	return bytes > EMU_ABSENT_BYTES && emu_is_unwritten(at) && emu_is_absent(at, bytes);
}

/* Missing where these host kernels are tested without the driver. */
extern gpuemu_reaches_fn gpuemu_reaches __attribute__((weak));

int emu_torch_reaches(const struct gpuemu_launch *l, const void *at, int64_t bytes)
{
	return !gpuemu_reaches || gpuemu_reaches(l->device, (uintptr_t)at, (uint64_t)bytes);
}

/* ---- parts of names ---- */

struct emu_part emu_part_argument(struct emu_part p, int i)
{
	const char *end = p.at + p.len, *c = memchr(p.at, '<', p.len), *from = c ? c + 1 : end;
	int depth = 0;

	for (c = from; c && c < end; c++) {
		if (*c == '<' || *c == '(' || *c == '{') {
			depth++;
		} else if (depth > 0 && (*c == '>' || *c == ')' || *c == '}')) {
			depth--;
		} else if (depth == 0 && (*c == ',' || *c == '>')) {
			while (from < c && *from == ' ')
				from++;
			while (c > from && c[-1] == ' ' && *c == '>')
				c--;
			if (i-- == 0)
				return (struct emu_part){from, (size_t)(c - from)};
			if (*c != ',')
				break;
			from = c + 1;
		}
	}
	return (struct emu_part){end, 0};
}

struct emu_part emu_part_after(struct emu_part p, const char *text)
{
	const char *found = memmem(p.at, p.len, text, strlen(text));

	if (!found)
		return (struct emu_part){p.at + p.len, 0};
	found += strlen(text);
	return (struct emu_part){found, (size_t)(p.at + p.len - found)};
}

int emu_part_has(struct emu_part p, const char *text)
{
	return memmem(p.at, p.len, text, strlen(text)) != NULL;
}

int emu_torch_row(struct emu_part kernel, const void *table, size_t n, size_t row_bytes,
		  struct emu_part *rest)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = *(const char *const *)((const char *)table + i * row_bytes);

		*rest = emu_part_after(kernel, name);
		if (rest->len || emu_part_has(kernel, name)) {
			*rest = (struct emu_part){rest->at - 1, rest->len + 1};
			return (int)i;
		}
	}
	return -1;
}

int emu_part_is(struct emu_part p, const char *text)
{
	return strlen(text) == p.len && memcmp(p.at, text, p.len) == 0;
}

int emu_part_type(struct emu_part p, enum emu_type *ret)
{
	static const struct {
		const char *name;
		enum emu_type type;
	} types[] = {
		{"float", EMU_F32},	     {"double", EMU_F64},	{"c10::Half", EMU_F16},
		{"c10::BFloat16", EMU_BF16}, {"bool", EMU_U8},		{"unsigned char", EMU_U8},
		{"signed char", EMU_I8},     {"short", EMU_I16},	{"int", EMU_I32},
		{"long", EMU_I64},	     {"unsigned int", EMU_U32}, {"unsigned long", EMU_U64},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (emu_part_is(p, types[i].name)) {
			*ret = types[i].type;
			return 0;
		}
	return -ENOTSUP;
}

/* ---- finding ---- */

static void run(struct gpuemu_launch *launch, void *const *args)
{
	const struct emu_torch *t = (const struct emu_torch *)launch->kernel;

	launch->skipped = (t->params && !emu_torch_has_params(launch, t->params)) ||
			  t->run(t, launch, args) < 0;
}

static struct emu_torch *parse(const char *symbol, const char *name)
{
	static int (*const parsers[])(struct emu_torch *, struct emu_part) = {
		emu_torch_elementwise, emu_torch_reduce,
		emu_torch_lists,       emu_torch_indices,
		emu_torch_random,      emu_torch_rows,
		emu_torch_tensors,     emu_torch_attention_values,
		emu_torch_resampling,  emu_torch_norms,
		emu_torch_groups,      emu_torch_losses,
		emu_torch_pooling,     emu_torch_order,
		emu_torch_scans,       emu_torch_selection,
		emu_torch_cells,       emu_torch_sampling,
		emu_torch_ctc,	       emu_torch_boxes,
		emu_torch_chunks};
	struct emu_torch *t = calloc(1, sizeof(*t));

	for (size_t i = 0; t && !t->run && i < sizeof(parsers) / sizeof(parsers[0]); i++)
		if (parsers[i](t, (struct emu_part){name, strlen(name)}) < 0)
			*t = (struct emu_torch){0};
	if (t && (t->symbol = strdup(symbol))) {
		t->kernel.name = t->symbol;
		t->kernel.run = run;
		t->kernel.flags = GPUEMU_SMALL;
		return t;
	}
	free(t);
	return NULL;
}

const struct gpuemu_kernel *emu_torch_kernel(const char *symbol, const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct emu_torch *known[1024];
	uint64_t hash = 0xcbf29ce484222325;
	struct emu_torch *t;

	for (const char *c = symbol; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 0x100000001b3;
	hash %= sizeof(known) / sizeof(known[0]);
	pthread_mutex_lock(&lock);
	for (t = known[hash]; t && strcmp(t->symbol, symbol) != 0; t = t->next)
		;
	if (!t && (t = parse(symbol, name))) {
		t->next = known[hash];
		known[hash] = t;
	}
	pthread_mutex_unlock(&lock);
	return t && t->run ? &t->kernel : NULL;
}
