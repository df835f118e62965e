/* SPDX-License-Identifier: Apache-2.0 */

/* Which operations are which collectives. A call of NCCL says what a kernel is for that is launched
 * within it; in a group the kernels are launched when that ends. NCCL makes one kernel of several
 * calls of a group, for each communicator. One thread; 0 or a negative errno. */
#pragma once

#include "formats/run/gpucapture/process/call.h"

/* A collective, a send or a receive: waits for the end of its group, if it is in one. */
int rec_collectives_call(struct rec_call *c);

/* The kernels that were launched within this call are those of the calls that wait. */
int rec_collectives_assign(struct rec_call *c);
