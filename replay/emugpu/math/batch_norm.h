/* SPDX-License-Identifier: Apache-2.0 */

/* Batch normalisation over all images and positions of a channel, computed in double precision.
 * Parameters (scale, bias, statistics) have one element for each channel. */
#pragma once

#include "replay/emugpu/math/convolution.h"

enum emu_batch_norm_kind { EMU_NORM_INFERENCE, EMU_NORM_TRAINING, EMU_NORM_BACKWARD };

struct emu_batch_norm {
	uint8_t kind; /* enum emu_batch_norm_kind */
	uint8_t relu; /* y = max(0, normalised + z) */
	uint8_t unused[2];
	enum emu_type type; /* of parameters */
	double epsilon, factor;
	const void *scale, *bias;
	void *mean, *variance;		  /* running, read by inference; NULL: not updated */
	void *saved_mean, *saved_inverse; /* written by training, read by backward; or NULL */
	void *scale_grad, *bias_grad;
	/* z.data may be NULL: nothing is added. BACKWARD: y is read if relu is set; x_grad and
	 * z, then a gradient, are written from y_grad. */
	struct emu_tensor5 x, y, z, x_grad, y_grad;
};

void emu_batch_norm_run(const struct emu_batch_norm *b);
