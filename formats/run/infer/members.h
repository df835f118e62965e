/* SPDX-License-Identifier: Apache-2.0 */

/* The ranks of a communicator: those in the recording, and those that the recorder listed. */
#pragma once

#include "formats/run/infer/ends.h"

/* Sorts the `n` recorded ranks of a communicator and drops duplicates; then takes the recorder's
 * list of its process group in their place, if it holds all of them. *ranks is allocated, and
 * replaced. `row` is one of the communicator's. 0 or -ENOMEM. */
int infer_members(const struct infer_view *v, const struct fmt_ends_row *row, uint32_t **ranks,
		  uint32_t *n);
