/* SPDX-License-Identifier: Apache-2.0 */

/* Each function adds one call or annotation to its process. Not thread-safe; functions return 0 or
 * a negative errno. */
#pragma once

#include "formats/run/gpucapture/process/call.h"

/* Adds the operations that the driver call launched, and the waits that it recorded (work.c). */
int rec_call_work(struct rec_call *c);

/* Follows a call of NCCL that makes or ends communicators, or launches collectives (comms.c). */
int rec_call_comms(struct rec_call *c);

/* Which operations are which collectives (collectives.c). A call of NCCL says what a kernel is for
 * that is launched within it; in a group the kernels are launched when that ends. NCCL makes one
 * kernel of several calls of a group, for each communicator.
 *
 * rec_collectives_call() takes a collective, a send or a receive, which waits for the end of its
 * group, if it is in one. rec_collectives_assign(): the kernels that were launched within this call
 * are those of the calls that wait. */
int rec_collectives_call(struct rec_call *c);
int rec_collectives_assign(struct rec_call *c);

/* Annotations: NVTX ranges and marks, and where the program says that an iteration begins
 * (range.c). */
int rec_range(struct rec_process *p, struct rec_thread *t, const struct cap_range_record *r);
