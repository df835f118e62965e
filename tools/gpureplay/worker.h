/* SPDX-License-Identifier: Apache-2.0 */

/* The processes that make recorded calls again, started by gpureplay through gpucapture. */
#pragma once

#include <stdbool.h>

/* In the environment of such a process: "all" of the first, "only N" if it is the only one, or the
 * number of the recorded process. */
#define WORKER_VARIABLE "GPUREPLAY_WORKER"
#define WORKER_ALL "all"
#define WORKER_ONLY "only "
#define WORKER_SHARE_VARIABLE "GPUREPLAY_SHARE" /* descriptor of struct rex_share */
#define WORKER_TRY_VARIABLE "GPUREPLAY_TRY"	/* starts of the process so far */

/* Whether this process is one. */
bool worker_is(void);

/* Runs it for the trace at argv[1]. Returns the exit status. */
int worker_run(char **argv);
