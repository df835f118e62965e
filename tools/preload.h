/* SPDX-License-Identifier: Apache-2.0 */

/* Preloading of libraries (LD_PRELOAD). */
#pragma once

/* Finds the folder of `file`: `built` in a build tree, else `installed`, both relative to the
 * folder of this program. The caller frees *ret, its absolute path. -ENOENT. */
int preload_folder(const char *file, const char *built, const char *installed, char **ret);

/* Adds a colon-separated list of libraries to LD_PRELOAD: before the others, but after the runtime
 * of a sanitizer, which must be first. -ENOMEM. */
int preload_first(const char *list);

/* Returns true if the path has no space or colon: the loader splits the list at both. */
int preload_can_name(const char *folder);

/* Adds `first` and a colon before the value of an environment variable. -ENOMEM. */
int preload_before(const char *variable, const char *first);
