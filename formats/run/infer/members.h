/* SPDX-License-Identifier: Apache-2.0 */

/* The ranks of a communicator: those in the recording, and those that the recorder listed. */
#pragma once

#include "formats/run/infer/collectives.h"

/* Sorts the `n` recorded ranks of a communicator and drops duplicates. If the recorded list of its
 * process group contains all of them, replaces them by that list. Reallocates *ranks. `row` is any
 * row of the communicator. Returns 0 or -ENOMEM. */
int infer_comm_ranks(const struct infer_view *v, const struct fmt_ends_row *row, uint32_t **ranks,
		     uint32_t *n);
