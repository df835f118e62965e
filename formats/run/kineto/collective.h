/* SPDX-License-Identifier: Apache-2.0 */

/* Decides what a collective is: its kind, data type and size, from the best of the sources that
 * tell of it (enum kineto_evidence). */
#pragma once

#include "formats/run/kineto/template.h"

/* 1 when a kernel of that name communicates: NCCL's and RCCL's. */
int kineto_is_collective(const char *name);

/* 1 when a range of that name lies around launches of collectives: c10d's operators, what PyTorch
 * tells of their parameters, and its annotations. */
int kineto_is_around_collective(const char *name);

/* Fills op, dtype, message_bytes and their sources from what a kernel or range itself says. 0 or
 * -errno. */
int kineto_collective_describe(struct kineto_templates *t, struct kineto_template *s,
			       const struct kineto_slot_arg *args);

/* Takes what a range around the launch of the kernel `s` says from a better source. Ranges are
 * merged from the innermost outwards. */
void kineto_collective_merge(struct kineto_template *s, const struct kineto_template *range);
