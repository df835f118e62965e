/* SPDX-License-Identifier: Apache-2.0 */

/* The mount point of a trace. */
#pragma once

/* Finds the absolute path of directory `dir`, which the caller frees. Unmounts the stale mount of a
 * killed gputracefs first. Returns 0 or a negative errno: -EBUSY if a trace is mounted there;
 * -ENOTDIR, -ENOENT, ... as stat(2). */
int mount_point_find(const char *dir, char **ret);
