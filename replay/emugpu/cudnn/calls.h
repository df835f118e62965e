/* SPDX-License-Identifier: Apache-2.0 */

/* Macros and functions for the expressions of forward.txt. */
#pragma once

#include "replay/emugpu/cudnn/descriptor.h"
#include "replay/emugpu/cudnn/work.h"
#include "replay/emugpu/versions.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* PyTorch refuses a version older than its own: 2.15 from PyPI contains 9.26.0. */
#define VERSION (CUDNN_VERSION > 92600 ? CUDNN_VERSION : 92600)

#define OK CUDNN_STATUS_SUCCESS
/* Evaluates the assignments if `object` is not NULL. */
#define IF(object, ...) (object) ? (__VA_ARGS__, OK) : CUDNN_STATUS_BAD_PARAM_NULL_POINTER
#define SET(member, value) IF(convDesc, convDesc->member = (value))
#define GET(member, at) IF(convDesc && (at), *(at) = convDesc->member)
#define CREATE(ret) emu_dnn_create((void **)(ret), sizeof(**(ret)))
/* The only algorithm of a direction. */
#define CHOOSE(type, number)                                                                       \
	IF(convDesc &&returnedAlgoCount &&perfResults,                                             \
	   *returnedAlgoCount = requestedAlgoCount > 0,                                            \
	   requestedAlgoCount > 0                                                                  \
		   ? (void)(*perfResults = (type){.algo = number,                                  \
						  .determinism = CUDNN_DETERMINISTIC,              \
						  .mathType = convDesc->math})                     \
		   : (void)0)

cudnnStatus_t emu_dnn_convolution(cudnnHandle_t handle, enum emu_convolution_kind kind,
				  const void *alpha, const void *beta,
				  cudnnConvolutionDescriptor_t d, cudnnTensorDescriptor_t x,
				  const void *x_data, cudnnFilterDescriptor_t w, const void *w_data,
				  cudnnTensorDescriptor_t y, const void *y_data);

/* A pass of a recurrent network: all its layers. */
struct emu_dnn_pass {
	cudnnHandle_t handle;
	const struct cudnnRNNStruct *d;
	const struct cudnnRNNDataStruct *x;
	enum { EMU_DNN_FORWARD, EMU_DNN_DATA_GRADIENT, EMU_DNN_WEIGHT_GRADIENT } direction;
	const void *pointers[8];
	struct emu_rnn results; /* addresses */
	int computed;
};

cudnnStatus_t emu_dnn_rnn(struct emu_dnn_pass *p);
