/* SPDX-License-Identifier: Apache-2.0 */

/* Host kernels of PyTorch's own kernels, found by their demangled names. The layouts of their
 * parameters are those of PyTorch 2.15; a launch with parameters of other sizes computes
 * nothing. */
#pragma once

#include "replay/emugpu/math/element.h"
#include "replay/emugpu/torch/functions.h"
#include "replay/emugpu/torch/integers.h"

#include <gpuemu.h>

/* Returns the host kernel of a symbol with the plain name `name` ("at::native::fill<float>"), or
 * NULL. Valid until the process exits. Any thread. */
const struct gpuemu_kernel *emu_torch_kernel(const char *symbol, const char *name);

/* ---- within this folder ---- */

/* A part of a name. */
struct emu_part {
	const char *at;
	size_t len;
};

/* Returns the i-th template argument of the first template in `p`; empty if the
 * template has fewer. */
struct emu_part emu_part_argument(struct emu_part p, int i);
/* emu_part_after() returns the text after the first `text`, or empty; emu_part_has() returns 1 if
 * `p` contains `text`. */
struct emu_part emu_part_after(struct emu_part p, const char *text);
int emu_part_has(struct emu_part p, const char *text);
/* Returns the number of the first row of a table whose `name`, its first member, is a part of
 * `kernel`, and the text from the last character of that part on; -1: none. */
#define EMU_TORCH_ROW(table, kernel, rest)                                                         \
	emu_torch_row(kernel, table, sizeof(table) / sizeof((table)[0]), sizeof((table)[0]), rest)
int emu_torch_row(struct emu_part kernel, const void *table, size_t n, size_t row_bytes,
		  struct emu_part *rest);
/* Returns 1 if `p` is `text`. */
int emu_part_is(struct emu_part p, const char *text);
/* Finds the element type of a C++ name: 0, or -ENOTSUP. bool is EMU_U8. */
int emu_part_type(struct emu_part p, enum emu_type *ret);

/* Returns the type in which PyTorch computes with elements of a type. */
static inline enum emu_type emu_torch_computes(enum emu_type type)
{
	return type == EMU_F16 || type == EMU_BF16 ? EMU_F32 : type;
}

/* Returns 0 for work that is too large to compute ($GPUEMU_COMPUTE as for cuDNN). */
int emu_torch_computes_work(double elements);

/* Frequent work on large tensors has larger limits, by these factors, unless memory has no data:
 * pooling; softmax of long rows, CTC; contiguous element-wise work; lists of tensors (the largest
 * possible launch is below this limit). */
enum { EMU_TORCH_IMAGES = 5, EMU_TORCH_SOFTMAX = 20, EMU_TORCH_BLOCKS = 50, EMU_TORCH_LISTS = 500 };
int emu_torch_computes_large(double elements, int factor);

/* Returns 1 if a kernel that computed nothing should have written `n` elements, and they use no
 * memory. Small tensors count as defined. */
int emu_torch_is_undefined(enum emu_type type, const void *at, int64_t n);

/* A kernel of PyTorch. run() executes one launch, and returns 0, or -ENOTSUP if the parameters do
 * not match the name. */
struct emu_torch {
	struct gpuemu_kernel kernel; /* first */
	char *symbol;
	struct emu_torch *next;
	int (*run)(const struct emu_torch *t, const struct gpuemu_launch *l, void *const *args);
	/* elementwise and multi_tensor */
	uint8_t form, op, inputs, swapped, casts;
	uint8_t scalars, scalar_at[4]; /* offsets in the functor */
	uint8_t scalar_type[4];	       /* enum emu_type */
	enum emu_type in[EMU_TORCH_INPUTS], out;
	uint8_t params;	   /* number of the kernel's parameters; 0: run() checks it */
	uint8_t is_bool;   /* the functor's result is a bool */
	uint8_t raw_bytes; /* elements are moved, not computed: size of an element */
	uint16_t functor_bytes;
	uint8_t adds;	   /* enum emu_torch_op: how a scattered element changes another one */
	uint8_t vector;	   /* elements of a vector, of a concatenation by vectors, or 0;
			    * numbers of a call of the random generator */
	int depth, result; /* lists: their number; the index of the result */
	int list_scalars;  /* 1: a list has a scalar for each tensor, of scalar_type[0] */
};

/* Returns an integer parameter of 4 or 8 bytes. */
static inline int64_t emu_int_of(const struct gpuemu_launch *l, void *const *args, unsigned i)
{
	return l->arg_bytes(l, i) == 8 ? *(const int64_t *)args[i] : *(const int32_t *)args[i];
}

/* Returns 1 if a launch has n parameters. */
static inline int emu_torch_has_params(const struct gpuemu_launch *l, unsigned n)
{
	return l->arg_bytes(l, n - 1) != 0 && l->arg_bytes(l, n) == 0;
}

static inline void *emu_pointer_of(void *const *args, unsigned i)
{
	return *(void *const *)args[i];
}

/* Returns 1 if the launch may access `bytes` of memory from `at` on. Host kernels ask before they
 * write to an address that depends on an index without a known limit. */
int emu_torch_reaches(const struct gpuemu_launch *l, const void *at, int64_t bytes);

/* The work of multi_tensor_apply_kernel. */
struct emu_torch_list_work {
	double elements;   /* per list */
	double most;	   /* largest number of elements in a block */
	unsigned repeated; /* lists with the same addresses as another list */
};

/* `meta` is the first parameter: `depth` lists of tensors, and entry_bytes for each tensor. Returns
 * 0 or -ENOTSUP. */
int emu_torch_list_work(int depth, size_t entry_bytes, const struct gpuemu_launch *l,
			const void *meta, struct emu_torch_list_work *ret);

/* PyTorch's PhiloxCudaState. In a graph, the parameter contains the addresses of both numbers, and
 * an increment of the second. Returns 0 or -ENOTSUP. */
struct emu_torch_random_state {
	uint64_t seed, offset;
};
int emu_torch_random_state_of(const void *param, size_t bytes, struct emu_torch_random_state *ret);

/* Sets the function, types and scalars of a functor. Returns 0 or -ENOTSUP. */
int emu_torch_functor(struct emu_torch *t, struct emu_part name);

int emu_torch_attention_values(struct emu_torch *t, struct emu_part name);
int emu_torch_boxes(struct emu_torch *t, struct emu_part name);
int emu_torch_cells(struct emu_torch *t, struct emu_part name);
int emu_torch_chunks(struct emu_torch *t, struct emu_part name);
int emu_torch_ctc(struct emu_torch *t, struct emu_part name);
int emu_torch_elementwise(struct emu_torch *t, struct emu_part name);
int emu_torch_groups(struct emu_torch *t, struct emu_part name);
int emu_torch_resampling(struct emu_torch *t, struct emu_part name);
int emu_torch_indices(struct emu_torch *t, struct emu_part name);
int emu_torch_lists(struct emu_torch *t, struct emu_part name);
int emu_torch_losses(struct emu_torch *t, struct emu_part name);
int emu_torch_norms(struct emu_torch *t, struct emu_part name);
int emu_torch_order(struct emu_torch *t, struct emu_part name);
int emu_torch_pooling(struct emu_torch *t, struct emu_part name);
int emu_torch_random(struct emu_torch *t, struct emu_part name);
int emu_torch_reduce(struct emu_torch *t, struct emu_part name);
int emu_torch_rows(struct emu_torch *t, struct emu_part name);
int emu_torch_scans(struct emu_torch *t, struct emu_part name);
int emu_torch_sampling(struct emu_torch *t, struct emu_part name);
int emu_torch_selection(struct emu_torch *t, struct emu_part name);
int emu_torch_tensors(struct emu_torch *t, struct emu_part name);
