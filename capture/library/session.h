/* SPDX-License-Identifier: Apache-2.0 */

/* The session that the process takes part in. */
#pragma once

#include "capture/library/state.h"

#define CAP_PATH 320

/* The path of a file of the session. 0 or -ENAMETOOLONG. */
int cap_session_file(char path[CAP_PATH], const char *name);

/* The calling process records from now on, as one that has just started. */
void cap_process_begin(void);
