/* SPDX-License-Identifier: Apache-2.0 */

/* Space in a ring: waits for the recorder while the ring is full, and counts lost records. */
#include "base/host.h"
#include "capture/library/find/emulated.h"
#include "capture/library/ring/ring.h"
#include "capture/library/ring/ticks.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READY_BYTES (256u << 10)
#define NAP_NS 50000
#define LONGEST_NAP_NS 10000000 /* of a thread that was not stopped meanwhile */

/* The first call as recorded, plus one word, the number of calls. In an ordered ring their
 * order follows. */
static uint32_t polls_bytes(const struct cap_thread *t)
{
	const struct cap_polls *p = &t->polls;

	return p->n ? (uint32_t)sizeof(struct cap_call_record) +
			       8 * (p->n_words + (cap_needs_order(t) ? 3 : 1))
		    : 0;
}

static void write_polls(struct cap_thread *t)
{
	struct cap_call_record *r = (void *)t->at;
	struct cap_polls *p = &t->polls;
	uint32_t bytes = polls_bytes(t);

	r->head = (struct cap_record){.bytes = bytes, .kind = CAP_CALL, .flags = CAP_CALL_REPEATED};
	if (cap_needs_order(t)) {
		r->head.flags |= CAP_CALL_ORDERED;
		r->words[p->n_words + 1] = p->began;
		r->words[p->n_words + 2] = p->returned;
	}
	r->api = p->api;
	r->result = p->result;
	r->id = p->id;
	r->start = p->start;
	r->end = p->end;
	memcpy(r->words, p->words, p->n_words * sizeof(p->words[0]));
	r->words[p->n_words] = p->n;
	p->n = 0;
	cap_write_publish(t, bytes);
}

/* Returns the number of bytes that can be written at t->at until the ring is full. */
static uint64_t free_bytes(const struct cap_thread *t)
{
	uint64_t head = (uintptr_t)t->at + t->shift;
	uint64_t tail = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE);

	return head - tail > t->ring->data_bytes ? 0 : t->ring->data_bytes - (head - tail);
}

/* Maps memory for the next `bytes`, 256 KiB at a time: the first access to each page is a fault of
 * 2 us, and mapping the whole ring at once takes 4 ms, although a thread may need little. No effect
 * before Linux 5.14. The emulated clock is paused: recording must not change emulated runs. */
static void map_more(struct cap_thread *t, uint32_t bytes)
{
	uint64_t left = (uint64_t)(t->data + t->ring->data_bytes - t->ready), more = READY_BYTES;

	if (left == 0 || t->at + bytes <= t->ready)
		return;
	while (more < bytes)
		more += READY_BYTES;
	more = more < left ? more : left;
	cap_clock_pause();
	madvise(t->ready, more, MADV_POPULATE_WRITE);
	cap_clock_resume();
	t->ready += more;
}

/* Makes at..end as large as possible; pads the end of the ring if it is too short. Returns false if
 * at..end has fewer than `bytes`. */
static bool extend_space(struct cap_thread *t, uint32_t bytes)
{
	uint64_t space = free_bytes(t), to_end = (uint64_t)(t->data + t->ring->data_bytes - t->at);

	map_more(t, bytes);
	if (to_end < bytes && space >= to_end && to_end > 0) {
		struct cap_record pad = {.bytes = (uint32_t)to_end, .kind = CAP_PAD};

		memcpy(t->at, &pad, sizeof(pad));
		cap_write_publish(t, (uint32_t)to_end);
		to_end = 0;
		space = free_bytes(t);
	}
	if (to_end == 0) {
		t->shift += t->ring->data_bytes;
		t->at = t->data;
		to_end = t->ring->data_bytes;
	}
	t->end = t->at + (space < to_end ? space : to_end);
	if (t->end > t->ready)
		t->end = t->ready;
	return (uint64_t)(t->end - t->at) >= bytes;
}

static void write_lost(struct cap_thread *t)
{
	struct cap_lost_record lost = {
		.head = {.bytes = sizeof(lost), .kind = CAP_LOST},
		.records = t->lost_records,
		.bytes = t->lost_bytes,
		.since = t->lost_since,
	};

	memcpy(t->at, &lost, sizeof(lost));
	t->lost_records = t->lost_bytes = 0;
	cap_write_publish(t, sizeof(lost));
}

static void *count_lost(struct cap_thread *t, uint32_t bytes)
{
	if (t->lost_records++ == 0)
		t->lost_since = cap_ticks(t);
	t->lost_bytes += bytes;
	t->end = t->at; /* makes CAP_LOST precede the next record */
	__atomic_store_n(&t->ring->lost_records, t->ring->lost_records + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&t->ring->lost_bytes, t->ring->lost_bytes + bytes, __ATOMIC_RELAXED);
	return NULL;
}

/* Returns true if the recorder's heartbeat has changed recently. Its value cannot be compared with
 * this thread's clock, which differs in a time namespace. */
static bool recorder_is_alive(struct cap_thread *t)
{
	int64_t beat = __atomic_load_n(&cap_process.control->heartbeat_ns, __ATOMIC_RELAXED);

	if (beat != t->beat)
		t->silence_ns = 0;
	t->beat = beat;
	return beat != 0 && t->silence_ns < CAP_PATIENCE_NS;
}

/* Time in which all processes were stopped, by ^Z or with the machine, does not count as
 * silence. */
static void sleep_shortly(struct cap_thread *t)
{
	static const struct timespec nap = {0, NAP_NS};
	int64_t from = host_clock_ns(CLOCK_MONOTONIC), took;

	syscall(SYS_nanosleep, &nap, NULL); /* not a cancellation point */
	took = host_clock_ns(CLOCK_MONOTONIC) - from;
	t->silence_ns += took < LONGEST_NAP_NS ? took : LONGEST_NAP_NS;
}

uint8_t *cap_write_wait_space(struct cap_thread *t, uint32_t bytes)
{
	int kept = errno;
	uint32_t first = t->lost_records ? sizeof(struct cap_lost_record) : 0;

	first += polls_bytes(t);

	if (bytes > t->ring->data_bytes / 8)
		return count_lost(t, bytes);
	while (!extend_space(t, bytes + first)) {
		if (!recorder_is_alive(t)) {
			errno = kept;
			return count_lost(t, bytes);
		}
		sleep_shortly(t);
	}
	if (t->lost_records)
		write_lost(t);
	if (polls_bytes(t))
		write_polls(t);
	errno = kept;
	return t->at;
}
