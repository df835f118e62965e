/* SPDX-License-Identifier: Apache-2.0 */

/* What a call launches. One thread; 0 or a negative errno. */
#pragma once

#include "formats/run/gpucapture/process/call.h"

/* Adds the operations that the call launched, and the waits that it recorded. */
int rec_call_work(struct rec_call *c);
