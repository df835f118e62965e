/* SPDX-License-Identifier: Apache-2.0 */

/* Recurrent networks of several layers and directions, computed in double precision. All sequences
 * have the same length; dropout between layers is not applied.
 *
 * Weights: for each layer and direction the gates' matrices of the input, then of the last step;
 * after all of these, for each layer and direction, the biases in the same order. Gates: LSTM
 * input, forget, cell, output; GRU reset, update, new. */
#pragma once

#include "replay/emugpu/math/element.h"

enum emu_rnn_kind { EMU_RNN_RELU, EMU_RNN_TANH, EMU_RNN_LSTM, EMU_RNN_GRU };
enum emu_rnn_pass { EMU_RNN_FORWARD, EMU_RNN_DATA, EMU_RNN_WEIGHTS };

struct emu_rnn {
	enum emu_type type;
	uint8_t kind, pass;
	uint8_t directions;		 /* 1 or 2 */
	uint8_t input_bias, hidden_bias; /* 1: the gates have such a bias */
	int32_t layers, inputs, hidden, steps, batch;
	const void *x, *hx, *cx, *weights; /* hx and cx: NULL for zeros */
	void *y, *hy, *cy;		   /* or NULL */
	const void *dy, *dhy, *dcy;
	void *dx, *dhx, *dcx;
	void *weight_grad; /* is added to */
	/* Written forward, updated by EMU_RNN_DATA, read by EMU_RNN_WEIGHTS; NULL: inference. Has
	 * emu_rnn_reserve_bytes(). */
	void *reserve;
};

size_t emu_rnn_reserve_bytes(const struct emu_rnn *r);

/* Operations of the products of the forward pass. */
double emu_rnn_operations(const struct emu_rnn *r);

/* Returns 0 or -ENOMEM. */
int emu_rnn_run(const struct emu_rnn *r);
