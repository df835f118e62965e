/* SPDX-License-Identifier: Apache-2.0 */

/* Preloading of libraries (LD_PRELOAD). */
#pragma once

/* Finds the folder of `file`: `built` in a build tree, else `installed`, both relative to the
 * folder of this program. *ret is its absolute path, on the heap. -ENOENT. */
int preload_folder(const char *file, const char *built, const char *installed, char **ret);

/* Puts a colon-separated list of libraries before those in LD_PRELOAD, but behind the runtime of a
 * sanitizer, which must be first. -ENOMEM. */
int preload_first(const char *list);

/* True if the path has no space or colon: the loader splits the list at both. */
int preload_can_name(const char *folder);

/* Puts `first` and a colon before the value of an environment variable. -ENOMEM. */
int preload_before(const char *variable, const char *first);
