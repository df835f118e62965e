/* SPDX-License-Identifier: Apache-2.0 */

/* Takes from a process what the code of a trace does not need: it cannot gain privileges, write
 * files, start programs or trace other processes. Once a process, for all its threads. */
#pragma once

/* Files below these folders stay writable; the list ends with NULL, and folders that do not exist
 * are ignored. A kernel without landlock or seccomp leaves that part out. 0 or -errno. */
int rex_confine(const char *const *writable);
