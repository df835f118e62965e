/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a rank, slice by slice. */
#pragma once

#include "formats/run/kineto/kineto.h"
#include "formats/run/kineto/name.h"
#include "formats/run/kineto/sort.h"
#include "formats/run/write.h"

/* Numbers the events of the rank for edges to other ranks of its process. */
int kineto_number_rank(const struct kineto_rank *rank, struct fmt_run_rank *run);

/* `run` is the rank with the trace's numbers and with edges, `index` its index in the trace. The
 * events and values of `rank` were moved to `run`. */
int kineto_write_rank(struct kineto_naming *t, const struct kineto_rank *rank,
		      const struct kineto_options *options, struct fmt_run_rank *run,
		      uint32_t index, struct fmt_writer *writer, struct fmt_error *err);
