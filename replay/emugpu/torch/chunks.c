/* SPDX-License-Identifier: Apache-2.0 */

/* Chunks of several tensors in one buffer (aten/src/ATen/native/cuda/TensorShape.cu), as sharded
 * parameters and gradients are exchanged. A tensor has several blocks of the grid; tables in device
 * memory have its addresses and sizes in bytes. */
#include "replay/emugpu/torch/torch.h"

#include "replay/emugpu/data.h"

#include <errno.h>

enum { SPLIT, CAT };

/* Sizes and distances, in bytes; products with the size of a grid fit in 64 bits. */
static int is_size(int64_t v)
{
	return v >= 0 && v <= INT64_C(1) << 40;
}

/* Copies `n` bytes, or as many elements converted, then zeros up to `size` bytes. `work` adds up
 * the chunks of a launch: bytes, of which plain copies are cheap. */
static int copy_chunk(const struct emu_torch *t, const struct gpuemu_launch *l, char *to,
		      const char *from, int64_t n, int64_t size, double *work)
{
	int64_t elements = t->raw_bytes ? 0 : n / (int64_t)emu_type_bytes(t->in[0]);
	int64_t written = t->raw_bytes ? n : elements * (int64_t)emu_type_bytes(t->out);

	*work += 64 + (double)size / (t->raw_bytes ? 16 : 1);
	if (n < 0 || n > size || written > size ||
	    !emu_torch_computes_large(*work, EMU_TORCH_LISTS) || !emu_torch_reaches(l, to, size) ||
	    (n && !emu_torch_reaches(l, from, n)) || emu_torch_is_undefined(EMU_U8, from, n))
		return -ENOTSUP;
	if (t->raw_bytes)
		memcpy(to, from, (size_t)n);
	for (int64_t i = 0; i < elements; i++)
		emu_store(t->out, to, i, emu_load(t->in[0], from, i));
	memset(to + written, 0, (size_t)(size - written));
	return 0;
}

/* split_with_sizes_copy_out_contiguous_no_cast_kernel(results, sources, bytes of chunks, tensors of
 * blocks, first blocks of tensors, bytes between the chunks of a source, chunks) */
static int split(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args,
		 int64_t i, double *work)
{
	char *const *to = emu_pointer_of(args, 0), *const *from = emu_pointer_of(args, 1);
	int64_t size = ((const int64_t *)emu_pointer_of(args, 2))[i];

	if (!is_size(size) || !is_size(emu_int_of(l, args, 5)))
		return -ENOTSUP;
	for (int64_t k = 0; k < emu_int_of(l, args, 6); k++)
		if (copy_chunk(t, l, to[i] + k * size, from[i] + k * emu_int_of(l, args, 5), size,
			       size, work) < 0)
			return -ENOTSUP;
	return 0;
}

/* chunk_cat_cuda_kernel(sources, result, tensors of blocks, offsets of tensors in a chunk of the
 * result, first blocks of tensors, bytes of a source, bytes of its chunks in the result, blocks of
 * tensors, bytes of a slice and of a chunk of the result, bytes of an element of the result by
 * those of a source); the grid has chunks as y and slices as z */
static int cat(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args,
	       int64_t i, double *work)
{
	char *const *from = emu_pointer_of(args, 0);
	const int64_t *offsets = emu_pointer_of(args, 3), *sizes = emu_pointer_of(args, 5);
	int64_t size = ((const int64_t *)emu_pointer_of(args, 6))[i];
	int64_t ratio = emu_int_of(l, args, 10), each = ratio > 0 ? size / ratio : -1;

	if (each < 0 || !is_size(size) || !is_size(sizes[i]) || !is_size(offsets[i]) ||
	    !is_size(emu_int_of(l, args, 8)) || !is_size(emu_int_of(l, args, 9)) ||
	    l->grid[1] > UINT16_MAX || l->grid[2] > UINT16_MAX)
		return -ENOTSUP;
	for (int64_t k = 0; k < (int64_t)l->grid[1] * l->grid[2]; k++) {
		int64_t chunk = k % l->grid[1], slice = k / l->grid[1];
		int64_t left = sizes[i] - chunk * each;

		if (copy_chunk(t, l,
			       (char *)emu_pointer_of(args, 1) + slice * emu_int_of(l, args, 8) +
				       chunk * emu_int_of(l, args, 9) + offsets[i],
			       from[i] + slice * sizes[i] + chunk * each,
			       left < 0	     ? 0
			       : left < each ? left
					     : each,
			       size, work) < 0)
			return -ENOTSUP;
	}
	return 0;
}

static int run(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args)
{
	const int64_t *tensors = emu_pointer_of(args, t->op == CAT ? 2 : 3);
	int64_t before = -1;
	double work = 0;

	if (!emu_has_data())
		return -ENOTSUP;
	for (uint32_t block = 0; block < l->grid[0]; block++) {
		if (tensors[block] < 0 || tensors[block] < before || tensors[block] >= l->grid[0])
			return -ENOTSUP;
		if (tensors[block] == before)
			continue;
		before = tensors[block];
		if ((t->op == CAT ? cat : split)(t, l, args, before, &work) < 0)
			return -ENOTSUP;
	}
	return 0;
}

int emu_torch_chunks(struct emu_torch *t, struct emu_part name)
{
	struct emu_part cat = emu_part_after(name, "::chunk_cat_cuda_kernel");

	t->run = run;
	t->op = cat.len ? CAT : SPLIT;
	t->params = cat.len ? 11 : 7;
	t->raw_bytes = !cat.len || emu_part_is(emu_part_argument(cat, 0), "char");
	if (t->raw_bytes)
		return cat.len || emu_part_has(name, "::split_with_sizes_copy_out_contiguous_no_")
			       ? 0
			       : -ENOTSUP;
	return emu_part_type(emu_part_argument(cat, 0), &t->out) < 0
		       ? -ENOTSUP
		       : emu_part_type(emu_part_argument(cat, 1), &t->in[0]);
}
