/* SPDX-License-Identifier: Apache-2.0 */

/* Runs a program on behalf of the user: forwards signals to it, and exits with its status. For the
 * main thread; one program per process. */
#pragma once

#include <sys/types.h>

/* Sets the process that receives the signals that child_start() forwards. */
void child_set(pid_t pid);

/* Starts `command`, searched in PATH, and forwards SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and
 * SIGUSR2 to it from then on. Returns its process id, or a negative errno if it cannot be run. */
int child_start(char **command);
/* Sends a signal to it, if not 0: one that arrived before child_start(). */
void child_signal(int signal);
/* Prints why a command cannot be run. Returns the exit status for main(): 127 or 126, as a shell.
 */
int child_print_error(int r, const char *command);

/* Waits for the end of the program. Returns its status as waitpid(2), or a negative errno. Calls
 * ended(), unless NULL, for any other child that ends meanwhile. */
int child_wait(void (*ended)(void *context, pid_t pid, int status), void *context);

/* Returns the exit status for main() after a child ended with `status`: the child's, or `otherwise`
 * if that is 0. If a signal killed the child, ends this process by the same signal. */
int child_end(int status, int otherwise);
