/* SPDX-License-Identifier: Apache-2.0 */

/* Processes that execute recorded calls again, started by gpureplay through gpucapture. */
#pragma once

#include <stdbool.h>

/* Environment variable of such a process: "all" for the first, "only N" if it is the only one, or
 * the number of the recorded process. */
#define WORKER_VARIABLE "GPUREPLAY_WORKER"
#define WORKER_ALL "all"
#define WORKER_ONLY "only "
#define WORKER_SHARE_VARIABLE "GPUREPLAY_SHARE" /* descriptor of struct rex_share */
#define WORKER_TRY_VARIABLE "GPUREPLAY_TRY"	/* number of starts of the process so far */

/* Returns true if this process is a worker. */
bool worker_is_self(void);

/* Runs the worker for the trace at argv[1]. Returns the exit status. */
int worker_run(char **argv);
