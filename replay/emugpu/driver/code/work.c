/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/code/work.h"

#include <string.h>

static int32_t int_at(const void *at, size_t i)
{
	int32_t v;

	memcpy(&v, (const char *)at + 4 * i, sizeof(v));
	return v;
}

/* Returns whether parameter i is a 32-bit integer, and stores it. */
static int int_param(const struct emu_entry *e, void *const *args, int i, double *ret)
{
	if (i >= e->n_params || e->params[i].bytes != 4 || int_at(args[i], 0) <= 0)
		return 0;
	*ret = int_at(args[i], 0);
	return 1;
}

/* The configuration of at::native::reduce_kernel, which begins with the bytes of an element, inputs
 * of an output, and outputs; eleven numbers later comes the block. Its offset depends on the
 * operation. */
static void reduction(const struct emu_entry *e, void *const *args, struct cost_launch *ret)
{
	size_t ints = e->n_params == 1 ? e->params[0].bytes / 4 : 0;

	for (size_t i = 0; i + 14 <= ints; i++) {
		const char *at = (const char *)args[0] + 4 * i;
		int32_t bytes = int_at(at, 0), inputs = int_at(at, 1), outputs = int_at(at, 2);

		if ((bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) && inputs > 0 &&
		    outputs > 0 && int_at(at, 11) == (int32_t)ret->block[0] &&
		    int_at(at, 12) == (int32_t)ret->block[1] &&
		    int_at(at, 13) == int_at(at, 11) * int_at(at, 12)) {
			ret->bytes = (double)bytes * outputs * (inputs + 1.0);
			return;
		}
	}
}

/* at::native::multi_tensor_apply_kernel(chunk size, list of tensors, ...). The list has the
 * addresses of up to `most` tensors, `depth` for each, their numbers of elements, and for each
 * block its tensor and chunk. */
static void tensor_list(const struct emu_entry *e, const struct cost_name *kind, void *const *args,
			struct cost_launch *ret)
{
	static const size_t most[] = {0, 110, 64, 48, 36, 30};
	size_t depth = kind->arrays, n, elements = 0;
	double chunk;

	if (depth < 1 || depth > 5 || e->n_params < 2 || !int_param(e, args, 0, &chunk))
		return;
	n = most[depth];
	const char *sizes = (const char *)args[1] + n * depth * 8;
	const uint8_t *tensors = (const uint8_t *)sizes + n * 8;
	const char *chunks = (const char *)tensors + 320;

	if (e->params[1].bytes < n * depth * 8 + n * 8 + 320 * 5 || ret->grid[0] > 320)
		return;
	for (size_t i = 0; i < ret->grid[0]; i++) {
		int64_t size, left;

		if (tensors[i] >= n)
			return;
		memcpy(&size, sizes + 8 * (size_t)tensors[i], sizeof(size));
		left = size - int_at(chunks, i) * (int64_t)chunk;
		elements += left > 0 ? (size_t)(left < chunk ? left : (int64_t)chunk) : 0;
	}
	ret->elements = (double)elements;
	ret->bytes = ret->elements * (double)depth * (kind->bytes ? kind->bytes : 4);
}

static void rows(const struct emu_entry *e, const struct cost_name *kind, void *const *args,
		 struct cost_launch *ret)
{
	double n, columns;

	if (kind->class == COST_CLASS_LAYER_NORM) { /* (columns, epsilon, ...) */
		int_param(e, args, 0, &ret->columns);
	} else if (kind->persistent) { /* (to, from, rows, stride, columns, ...) */
		if (int_param(e, args, 2, &n) && int_param(e, args, 4, &columns)) {
			ret->columns = columns;
			ret->elements = n * columns;
		}
	} else { /* (to, from, columns) */
		int_param(e, args, 2, &ret->columns);
	}
}

void emu_work_of_arguments(const struct emu_entry *e, const struct cost_name *kind,
			   void *const *args, struct cost_launch *ret)
{
	if (!args || e->n_params < 1)
		return;
	switch (kind->class) {
	case COST_CLASS_ELEMENTWISE: /* (elements, ...) */
		int_param(e, args, 0, &ret->elements);
		break;
	case COST_CLASS_REDUCTION:
		reduction(e, args, ret);
		break;
	case COST_CLASS_OPTIMIZER:
		tensor_list(e, kind, args, ret);
		break;
	case COST_CLASS_SOFTMAX:
	case COST_CLASS_LAYER_NORM:
		rows(e, kind, args, ret);
		break;
	default:
		break;
	}
}
