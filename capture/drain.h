/* SPDX-License-Identifier: Apache-2.0 */

/* The recorder's side of a ring (formats/raw/ring.h): copies records out of the ring and iterates
 * over them. The traced program may overwrite any byte of the ring at any moment: everything is
 * copied once and then checked.
 *
 *     while ((r = cap_drain_take(d, &c)) == 1) {
 *             while ((r = cap_record_next(&c, &record)) == 1)
 *                     ...
 *             cap_drain_release(d);
 *     }
 *
 * Not thread-safe. Only one process may read a ring. Opening the first ring installs a handler for
 * SIGBUS, which is raised if the program truncates the file.
 */
#pragma once

#include "base/scope.h"
#include "formats/raw/record.h"
#include "formats/raw/ring.h"
#include "formats/trace/store/cursor.h"

struct cap_drain;

/* Opens the ring `name` in the folder `dir`.
 *
 *   -EAGAIN   the thread has not finished making it
 *   -EBADMSG  not a ring, or an inconsistent one
 *   -ENOTSUP  of another version
 *   other     as openat(2) and mmap(2)
 */
int cap_drain_open(int dir, const char *name, struct cap_drain **ret);

/* The same for a ring in memory, which must remain valid; `size` bytes, 8-byte aligned. */
int cap_drain_of(void *ring, size_t size, struct cap_drain **ret);
void cap_drain_close(struct cap_drain *d);
define_cleanup(cap_drain_closep, struct cap_drain *, cap_drain_close);

const struct cap_drain_about *cap_drain_about(const struct cap_drain *d);
struct cap_drain_status cap_drain_status(struct cap_drain *d);

/* Copies new records; *ret is valid until the next call. Releases the records of the previous call.
 * Returns 1; 0 if there are no new records; -EBADMSG if head and tail are inconsistent (the records
 * are lost), or if the file was truncated (no more will follow). */
int cap_drain_take(struct cap_drain *d, struct fmt_cursor *ret);

/* Frees the copy; the records remain in the ring. */
void cap_drain_forget(struct cap_drain *d);

/* Releases the copied records: the thread may overwrite them. */
void cap_drain_release(struct cap_drain *d);

/* Makes the next cap_drain_take() return the same records again, unless they were released. */
void cap_drain_unread(struct cap_drain *d);

/* Return and set the number of bytes read from the ring so far; set it if another recorder has read
 * them before. */
uint64_t cap_drain_position(const struct cap_drain *d);
void cap_drain_seek(struct cap_drain *d, uint64_t position);
