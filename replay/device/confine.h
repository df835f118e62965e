/* SPDX-License-Identifier: Apache-2.0 */

/* Takes from processes what the code of a trace does not need. A kernel without landlock or seccomp
 * leaves that part out. 0 or -errno. */
#pragma once

/* From now on this process and those it starts cannot gain privileges, and can write files only
 * below these folders; the list ends with NULL, and folders that do not exist are ignored. They may
 * open each other's descriptors and memory, as NCCL does, but not those of other processes. */
int rex_confine_files(const char *const *writable);

/* From now on this process, with all its threads, cannot start programs, trace other processes,
 * mount, or change its user. */
int rex_confine_calls(void);
