/* SPDX-License-Identifier: Apache-2.0 */

/* Each function adds one call or annotation to its process. Not thread-safe; functions return 0 or
 * a negative errno. */
#pragma once

#include "formats/run/gpucapture/process/call.h"

/* Adds the operations that the driver call launched, and the waits that it recorded (work.c). */
int rec_call_add_ops(struct rec_call *c);

/* Updates communicators and collectives from an NCCL call (comms.c). */
int rec_call_update_comms(struct rec_call *c);

/* Assigns collectives to the kernels that implement them (collectives.c). NCCL launches the kernel
 * within the call, or, for grouped calls, when the group ends. NCCL may fuse several calls of a
 * group into one kernel for each communicator.
 *
 * rec_collectives_add_call() adds a collective, a send or a receive to the pending calls of the
 * thread's group. rec_collectives_assign_kernels() assigns the pending calls to the kernels that
 * were launched within this call. */
int rec_collectives_add_call(struct rec_call *c);
int rec_collectives_assign_kernels(struct rec_call *c);

/* Adds annotations: NVTX ranges and instants, and the program's iteration markers (range.c). */
int rec_add_annotation(struct rec_process *p, struct rec_thread *t,
		       const struct cap_range_record *r);
