/* SPDX-License-Identifier: Apache-2.0 */

/* Programs that this process starts, noted until they have joined the session: for who wants to
 * know why nothing was recorded. In a child that may share its parent's memory: no locks, no heap.
 */
#pragma once

/* Before `path` becomes the program of `pid`, or of a child of -pid, with that environment. */
void cap_started(int pid, const char *path, char *const envp[]);
/* It did not. */
void cap_not_started(int pid);
/* This process is one that was started. */
void cap_started_joined(void);
