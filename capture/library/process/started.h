/* SPDX-License-Identifier: Apache-2.0 */

/* Programs that this process starts, noted in the control page until they have joined the session:
 * `gpucapture` reports those that could not. Called in children that may share their parent's
 * memory: uses no locks and no heap. */
#pragma once

/* Called before process `pid`, or a child of process -pid, executes `path` with that
 * environment. */
void cap_started_add(int pid, const char *path, char *const envp[]);
/* Called if the program could not be started. */
void cap_started_remove(int pid);
/* Called when this process has joined the session. */
void cap_started_remove_self(void);
