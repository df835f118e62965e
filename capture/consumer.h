/* SPDX-License-Identifier: Apache-2.0 */

/* The recorder's side of a ring (formats/raw/ring.h): copies records out of the ring and iterates
 * over them. The traced program may overwrite any byte of the ring at any moment: everything is
 * copied once and then checked.
 *
 *     while ((r = cap_consumer_read(d, &c)) == 1) {
 *             while ((r = cap_record_next(&c, &record)) == 1)
 *                     ...
 *             cap_consumer_release(d);
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

struct cap_consumer;

/* Opens the ring `name` in the folder `dir`.
 *
 *   -EAGAIN   the thread has not finished making it
 *   -EBADMSG  not a ring, or an inconsistent one
 *   -ENOTSUP  of another version
 *   other     as openat(2) and mmap(2)
 */
int cap_consumer_open(int dir, const char *name, struct cap_consumer **ret);

/* Opens a ring in memory, which must remain valid: `size` bytes, 8-byte aligned. */
int cap_consumer_attach(void *ring, size_t size, struct cap_consumer **ret);
void cap_consumer_close(struct cap_consumer *d);
define_cleanup(cap_consumer_closep, struct cap_consumer *, cap_consumer_close);

const struct cap_ring_info *cap_consumer_info(const struct cap_consumer *d);
struct cap_ring_status cap_consumer_status(struct cap_consumer *d);

/* Copies new records; *ret is valid until the next call. Releases the records of the previous call.
 * Returns 1; 0 if there are no new records; -EBADMSG if head and tail are inconsistent (the records
 * are lost), or if the file was truncated (no more will follow). */
int cap_consumer_read(struct cap_consumer *d, struct fmt_cursor *ret);

/* Frees the copy; the records remain in the ring. */
void cap_consumer_free_copy(struct cap_consumer *d);

/* Releases the copied records: the thread may overwrite them. */
void cap_consumer_release(struct cap_consumer *d);

/* Makes the next cap_consumer_read() return the same records again, unless they were released. */
void cap_consumer_rewind(struct cap_consumer *d);

/* Return and set the number of bytes read from the ring so far; set it if another recorder has read
 * them before. */
uint64_t cap_consumer_position(const struct cap_consumer *d);
void cap_consumer_seek(struct cap_consumer *d, uint64_t position);
