/* SPDX-License-Identifier: Apache-2.0 */

/* The parameter of the kernels of the emulated cuDNN, by value: a description of the work. All
 * pointers are device addresses. */
#pragma once

#include "replay/emugpu/lib/gpu.h"
#include "replay/emugpu/math/attention.h"
#include "replay/emugpu/math/batch_norm.h"
#include "replay/emugpu/math/convolution.h"
#include "replay/emugpu/math/rnn.h"

#include <cudnn.h>

enum emu_dnn_kind {
	EMU_DNN_CONVOLUTION,
	EMU_DNN_BATCH_NORM,
	EMU_DNN_FUSED, /* several operations of a graph in one kernel; timing only */
	EMU_DNN_ATTENTION,
	/* A recurrent network: products of a layer's input at all steps; one step of a layer. The
	 * first launch of a pass computes all its results. */
	EMU_DNN_RNN,
	EMU_DNN_RNN_INPUT,
	EMU_DNN_RNN_STEP,
	EMU_DNN_KINDS,
};

enum { EMU_DNN_POINTERS = 32 };

/* Elements of the result of a product that a block computes. */
#define EMU_DNN_TILE (128 * 128)

struct emu_dnn_attention {
	int backward;
	const int64_t *seed, *offset; /* of dropout, in device memory; or NULL */
	struct emu_attention attention;
};

struct emu_dnn_work {
	uint32_t kind; /* enum emu_dnn_kind */
	struct gpuemu_cost cost;
	uint32_t computed; /* by an earlier launch */
	double elements;   /* of the result */
	double tile;	   /* elements of the result that a block computes; 0: 1024 */
	union {
		struct emu_convolution convolution;
		struct emu_batch_norm norm;
		struct emu_dnn_attention attention;
		struct emu_rnn rnn;
		const void *pointers[EMU_DNN_POINTERS]; /* of a kind with timing only */
	};
};

/* Launches the work as one kernel. */
cudnnStatus_t emu_dnn_launch(cudnnHandle_t handle, const struct emu_dnn_work *work);

/* Fills in the cost of a convolution and launches it. */
cudnnStatus_t emu_dnn_convolve(cudnnHandle_t handle, const struct emu_convolution *c);

/* Returns the convolution for the duration model. */
struct gpuemu_convolution emu_dnn_shape(const struct emu_convolution *c);

/* Describes the attention of a graph with the addresses in `pack`. Returns 0 or -ENOTSUP. */
struct emu_dnn_descriptor;
int emu_dnn_find_attention(const struct emu_dnn_descriptor *graph,
			   const struct emu_dnn_descriptor *pack, struct emu_dnn_attention *ret);

double emu_dnn_bytes(const struct emu_tensor5 *t);
