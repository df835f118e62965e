/* SPDX-License-Identifier: Apache-2.0 */

/* Operations that a call launches. Not thread-safe; functions return 0 or a negative errno. */
#pragma once

#include "formats/run/gpucapture/process/call.h"

/* Adds the operations that the call launched, and the waits that it recorded. */
int rec_call_work(struct rec_call *c);
