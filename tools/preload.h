/* SPDX-License-Identifier: Apache-2.0 */

/* Libraries that a program is to find before its own. */
#pragma once

/* Looks for a folder that holds `file`: `built`, seen from this program's folder, where it was
 * built, else `installed`, seen from the same. *ret is its absolute path, on the heap. -ENOENT. */
int preload_folder(const char *file, const char *built, const char *installed, char **ret);

/* Has libraries, a list with colons, preloaded before those that are so already; but behind the
 * runtime of a sanitizer, which must be first. -ENOMEM. */
int preload_first(const char *list);

/* Whether that folder's name can stand in such a list: the loader splits it at spaces and colons.
 */
int preload_can_name(const char *folder);

/* Puts `first` before what the environment variable holds, with a colon in between. -ENOMEM. */
int preload_before(const char *variable, const char *first);
