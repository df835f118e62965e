/* SPDX-License-Identifier: Apache-2.0 */

/* The directory that a trace is mounted on. */
#pragma once

/* The absolute path of directory `dir`, which the caller frees. What a killed gputracefs left there
 * is unmounted first. Returns 0 or a negative errno: -EBUSY where a trace is mounted, -ENOTDIR,
 * -ENOENT, ... as stat(2). */
int mount_point_find(const char *dir, char **ret);
