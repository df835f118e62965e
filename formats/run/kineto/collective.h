/* SPDX-License-Identifier: Apache-2.0 */

/* Kind, data type and size of a collective, from the best of several sources (enum
 * kineto_evidence). */
#pragma once

#include "formats/run/kineto/template.h"

/* Returns 1 if the kernel is a collective of NCCL or RCCL, by its name. */
int kineto_is_collective(const char *name);

/* Returns 1 for names of ranges around launches of collectives: operators of c10d,
 * record_param_comms and annotations of PyTorch. */
int kineto_is_collective_range(const char *name);

/* Fills op, dtype, message_bytes and their sources from the arguments of a kernel or range. Returns
 * 0 or -errno. */
int kineto_collective_describe(struct fmt_strings *strings, struct kineto_template *s,
			       const struct kineto_slot_arg *args);

/* Updates the kernel `s` from a range around its launch, if the range is a better source. Ranges
 * are merged from the innermost outwards. */
void kineto_collective_merge(struct kineto_template *s, const struct kineto_template *range);
