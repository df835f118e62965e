/* SPDX-License-Identifier: Apache-2.0 */

/* What the names and arguments of communication tell: the operation, its data type, its size. */
#pragma once

#include "formats/kineto/site.h"

/* 1 when a kernel of that name communicates: NCCL's and RCCL's. */
int kineto_is_collective(const char *name);

/* Fills op, dtype and message_bytes of a site of communication, from what it says itself. 0 or
 * -errno. */
int kineto_collective_describe(struct kineto_sites *t, struct kineto_site *s,
			       const struct kineto_slot_arg *args);
