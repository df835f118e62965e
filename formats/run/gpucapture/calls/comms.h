/* SPDX-License-Identifier: Apache-2.0 */

/* Communicators of NCCL. One thread; 0 or a negative errno. */
#pragma once

#include "formats/run/gpucapture/process/call.h"

/* Follows a call of NCCL that makes or ends communicators, or launches collectives. */
int rec_call_comms(struct rec_call *c);
