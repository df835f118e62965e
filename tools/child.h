/* SPDX-License-Identifier: Apache-2.0 */

/* A program that this one runs for its user: signals go to it, its end becomes ours. For main
 * threads, one program a process. */
#pragma once

#include <sys/types.h>

/* Signals that child_start() hands on go to that process from now on. */
void child_is(pid_t pid);

/* Starts `command`, found as a shell finds it. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and
 * SIGUSR2 are handed on to it from then on. Its process id, or a negative errno where it cannot be
 * run. */
int child_start(char **command);
/* Says that it cannot: what to return from main() then, 127 or 126 as a shell does. */
int child_unbegun(int r, const char *command);

/* Waits for its end: the status as waitpid(2) gives it, or a negative errno. Calls ended(), unless
 * NULL, for any other child of this process that ends meanwhile. */
int child_wait(void (*ended)(void *context, pid_t pid, int status), void *context);

/* What to return from main() after a child that ended so: its exit status, or `otherwise` where
 * that is 0. A child that was killed by a signal kills this process in the same way. */
int child_end(int status, int otherwise);
