/* SPDX-License-Identifier: Apache-2.0 */

/* Removes privileges that the code of a trace does not need from processes. Without landlock or
 * seccomp in the kernel, the respective part is skipped. Functions return 0 or -errno. */
#pragma once

/* From now on this process and its children cannot gain privileges, and can write files only below
 * these folders. The list ends with NULL; missing folders are ignored. These processes may access
 * each other's descriptors and memory, as NCCL does, but not those of other processes. */
int rex_sandbox_files(const char *const *writable);

/* From now on no thread of this process can start programs, trace other processes, mount, or change
 * its user. */
int rex_sandbox_calls(void);
