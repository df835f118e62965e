/* SPDX-License-Identifier: Apache-2.0 */

/* The recorder's side of a ring (capture/ring.h): copies out what a traced thread wrote, and walks
 * over it. The traced program may have written anything anywhere in it, at any moment: whatever is
 * used is copied once and then checked.
 *
 *     while ((r = cap_drain_take(d, &c)) == 1) {
 *             while ((r = cap_record_next(&c, &record)) == 1)
 *                     ...
 *             cap_drain_release(d);
 *     }
 *
 * Not thread-safe. Several processes may not drain one ring. The first ring makes a handler for
 * SIGBUS, which is what a file that its program cuts short comes to.
 */
#pragma once

#include "base/scope.h"
#include "capture/record.h"
#include "capture/ring.h"
#include "formats/trace/store/cursor.h"

struct cap_drain;

/* What stood in the ring's head when it was opened. */
struct cap_drain_about {
	uint32_t number;
	int32_t pid, tid;
	uint64_t process_start;
	enum cap_clock_kind clock;
	char thread_name[17];
};

/* What changes while the thread runs; as it says, unchecked but for its types. */
struct cap_drain_status {
	uint32_t current_api; /* 1 + index; 0: none */
	uint64_t last_call;   /* id; 0: none */
	enum cap_state state;
	uint64_t lost_records, lost_bytes;
	uint64_t waiting_bytes; /* written and not yet taken */
	uint64_t room_bytes;	/* that it has for them */
};

/* Opens the ring `name` in the folder `dir`.
 *
 *   -EAGAIN   the thread is still making it
 *   -EBADMSG  no ring, or one that contradicts itself
 *   -ENOTSUP  of another version
 *   other     as openat(2) and mmap(2)
 */
int cap_drain_open(int dir, const char *name, struct cap_drain **ret);

/* The same of a ring in memory, which must stay; `size` bytes, 8-byte aligned. */
int cap_drain_of(void *ring, size_t size, struct cap_drain **ret);
void cap_drain_close(struct cap_drain *d);
define_cleanup(cap_drain_closep, struct cap_drain *, cap_drain_close);

const struct cap_drain_about *cap_drain_about(const struct cap_drain *d);
struct cap_drain_status cap_drain_status(struct cap_drain *d);

/* Takes what is there: *ret walks over it until the next call. 1; 0 when there is nothing new;
 * -EBADMSG when head and tail contradict each other, and what was there is lost, or when the file
 * was cut short, and nothing will come any more. What was taken before is released. */
int cap_drain_take(struct cap_drain *d, struct fmt_cursor *ret);

/* Gives back the memory of what was taken, which is as much as there was in the ring. It is in the
 * ring still. */
void cap_drain_forget(struct cap_drain *d);

/* The thread may write where what was taken lay: nobody will ask for that again. */
void cap_drain_release(struct cap_drain *d);

/* What was taken is there again, unless it was released. */
void cap_drain_unread(struct cap_drain *d);

/* How many bytes of the ring were taken so far; and says that those before `position` were, by one
 * that had the ring before. */
uint64_t cap_drain_position(const struct cap_drain *d);
void cap_drain_seek(struct cap_drain *d, uint64_t position);

/* The next record: its kind is known (and no CAP_PAD), it is large enough for its kind, and what
 * lengths in it say lies within it. Valid as long as the bytes below. 1; 0 at the end; -EBADMSG
 * where the bytes stop making sense: the rest of them is lost. The bytes are 8-byte aligned. */
int cap_record_next(struct fmt_cursor *c, const struct cap_record **ret);

/* The words of a call. */
static inline uint32_t cap_call_words(const struct cap_call_record *c)
{
	return (c->head.bytes - (uint32_t)sizeof(*c)) / 8;
}
