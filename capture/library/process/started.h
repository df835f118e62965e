/* SPDX-License-Identifier: Apache-2.0 */

/* Programs that this process starts, noted in the control page until they have joined the session:
 * `gpucapture` reports those that could not. Called in children that may share their parent's
 * memory: no locks, no heap.
 */
#pragma once

/* Before `path` becomes the program of `pid`, or of a child of -pid, with that environment. */
void cap_started(int pid, const char *path, char *const envp[]);
/* The program was not started after all. */
void cap_not_started(int pid);
/* This process has joined the session. */
void cap_started_joined(void);
