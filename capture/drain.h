/* SPDX-License-Identifier: Apache-2.0 */

/* The recorder's side of a ring (capture/ring.h): copies records out of the ring and iterates over
 * them. The traced program may overwrite any byte of the ring at any moment: everything is copied
 * once and then checked.
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
#include "capture/record.h"
#include "capture/ring.h"
#include "formats/trace/store/cursor.h"

struct cap_drain;

/* The ring's head when it was opened. */
struct cap_drain_about {
	uint32_t number;
	int32_t pid, tid;
	uint64_t process_start;
	enum cap_clock_kind clock;
	char thread_name[17];
};

/* The status that the thread writes; unchecked except for its types. */
struct cap_drain_status {
	uint32_t current_api; /* 1 + index; 0: none */
	uint64_t last_call;   /* id; 0: none */
	enum cap_state state;
	uint64_t lost_records, lost_bytes;
	uint64_t waiting_bytes; /* written and not yet taken */
	uint64_t room_bytes;	/* capacity of the ring */
};

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

/* Copies the new records: *ret is valid until the next call. 1; 0: there are none; -EBADMSG: head
 * and tail contradict each other, and the records are lost; or the file was truncated, and no more
 * will follow. Releases what was taken before. */
int cap_drain_take(struct cap_drain *d, struct fmt_cursor *ret);

/* Frees the copy of what was taken; the records are still in the ring. */
void cap_drain_forget(struct cap_drain *d);

/* Lets the thread overwrite what was taken. */
void cap_drain_release(struct cap_drain *d);

/* Makes the next cap_drain_take() return the same records again, unless they were released. */
void cap_drain_unread(struct cap_drain *d);

/* Number of bytes of the ring that were taken so far; and sets it, if another recorder had taken
 * them before. */
uint64_t cap_drain_position(const struct cap_drain *d);
void cap_drain_seek(struct cap_drain *d, uint64_t position);

/* The next record: its kind is valid (and not CAP_PAD), it is large enough for its kind, and its
 * lengths lie within it. It points into the bytes of the cursor, which are 8-byte aligned. 1; 0:
 * the end; -EBADMSG: an invalid record, after which the rest is lost. */
int cap_record_next(struct fmt_cursor *c, const struct cap_record **ret);

/* Number of words of a call. */
static inline uint32_t cap_call_words(const struct cap_call_record *c)
{
	return (c->head.bytes - (uint32_t)sizeof(*c)) / 8;
}
