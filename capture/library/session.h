/* SPDX-License-Identifier: Apache-2.0 */

/* The session that the process takes part in. */
#pragma once

#include "capture/library/state.h"

#define CAP_PATH 320

/* The path of a file of the session that is to have so many bytes. 0, or what errno says as well:
 * -ENAMETOOLONG, or -EFBIG, since what is longer than the program may write is a signal that ends
 * it. */
int cap_session_file(char path[CAP_PATH], const char *name, uint64_t bytes);

/* The calling process records from now on, as one that has just started. */
void cap_process_begin(void);
