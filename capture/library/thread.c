/* SPDX-License-Identifier: Apache-2.0 */

/* A thread's ring: made at its first call, written without locks, marked when the thread ends. */
#include "base/host.h"
#include "capture/library/device/aside.h"
#include "capture/library/device/chain.h"
#include "capture/library/find/real.h"
#include "capture/library/session.h"
#include "capture/library/ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_RINGS 4096
#define READY_BYTES (256u << 10)
#define NAP_NS 50000
#define PARTS 16
#define LONGEST_NAP_NS 10000000 /* of a thread that was not stopped meanwhile */

__thread struct cap_thread cap_self
	__attribute__((tls_model("initial-exec"))) = {.paused = &cap_closed};

/* The rings of this process, to be marked when it ends. */
static struct cap_ring *rings[MAX_RINGS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static bool enlist(struct cap_ring *ring, struct cap_ring *instead_of)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < MAX_RINGS && !found; i++)
		if (rings[i] == instead_of) {
			rings[i] = ring;
			found = true;
		}
	pthread_mutex_unlock(&lock);
	return found;
}

void cap_threads_mark(enum cap_state state)
{
	int kept = errno;

	/* A thread that is killed while it holds the lock is no reason to hang in exit(). */
	if (pthread_mutex_trylock(&lock) == 0) {
		for (size_t i = 0; i < MAX_RINGS; i++)
			if (rings[i])
				__atomic_store_n(&rings[i]->state, state, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&lock);
	}
	errno = kept;
}

void cap_threads_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* Many threads share a memory file system that may be small (a container's has 64 MB): each takes
 * a part of what it has left. A power of two. */
static uint64_t size_for(int fd, uint64_t wanted)
{
	struct statvfs fs;
	uint64_t part;

	if (fstatvfs(fd, &fs) < 0)
		return wanted;
	part = (uint64_t)fs.f_bavail * fs.f_frsize / PARTS;
	while (wanted > part && wanted > CAP_MIN_RING_BYTES)
		wanted /= 2;
	return wanted;
}

/* A file with all its room: a page of a memory file system that cannot be had is a SIGBUS later. */
static void *map_file(int fd, uint64_t bytes)
{
	int r = posix_fallocate(fd, 0, (off_t)bytes);

	errno = r;
	return r ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

/* Of as many bytes of data as *data_bytes says, or fewer. */
static struct cap_ring *map_ring(uint32_t number, uint64_t *data_bytes)
{
	uint64_t bytes = CAP_RING_HEADER_BYTES + *data_bytes;
	char path[CAP_PATH], name[48];
	void *map;
	int fd = -1, r;

	snprintf(name, sizeof(name), "ring-%d-%u", cap_process.pid, number);
	if (cap_session_file(path, name, bytes) == 0)
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	*data_bytes = size_for(fd, *data_bytes);
	map = map_file(fd, CAP_RING_HEADER_BYTES + *data_bytes);
	r = errno;
	close(fd);
	if (map != MAP_FAILED)
		return map;
	unlink(path);
	errno = r;
	return NULL;
}

static void thread_ended(void *thread)
{
	struct cap_thread *t = thread;
	struct cap_ring *ring = t->ring;

	if (!ring || !cap_is_alive() || t->generation != cap_process.generation)
		return;
	cap_chain_thread_end();
	if (cap_polls_bytes(t))
		cap_thread_room(t, 0);
	t->paused = &cap_closed;
	t->ring = NULL;
	t->at = t->end = NULL;
	cap_params_end(t);
	enlist(NULL, ring);
	__atomic_store_n(&ring->state, CAP_THREAD_ENDED, __ATOMIC_RELEASE);
	munmap(ring, ring->data_offset + ring->data_bytes);
}

static void make_key(void)
{
	if (pthread_key_create(&key, thread_ended) != 0)
		key = (pthread_key_t)-1;
}

static void begin_ring(struct cap_thread *t, struct cap_ring *ring, uint32_t number,
		       uint64_t data_bytes)
{
	ring->version = CAP_VERSION;
	ring->number = number;
	ring->pid = cap_process.pid;
	ring->tid = (int)syscall(SYS_gettid);
	ring->process_start = cap_process.start;
	ring->data_offset = CAP_RING_HEADER_BYTES;
	ring->data_bytes = data_bytes;
	ring->clock = cap_emulated_clock() ? CAP_CLOCK_VIRTUAL : cap_process.control->clock;
#ifndef __x86_64__
	if (ring->clock == CAP_CLOCK_TSC)
		ring->clock = CAP_CLOCK_MONOTONIC;
#endif
	ring->paused = __atomic_load_n(&cap_process.control->paused, __ATOMIC_RELAXED);
	prctl(PR_GET_NAME, ring->thread_name);
	*t = (struct cap_thread){
		.ring = ring,
		.paused = &ring->paused,
		.data = (uint8_t *)ring + ring->data_offset,
		.ready = (uint8_t *)ring + ring->data_offset,
		.next_id = ((uint64_t)number << CAP_ORDINAL_BITS) + 1,
		.clock = ring->clock,
		.depth = t->depth,
		.hooking = t->hooking,
		.generation = cap_process.generation,
		.known = t->known,
	};
	cap_params_begin(t);
	t->at = t->data;
	t->end = t->data;
	t->shift = -(uintptr_t)t->data;
	__atomic_store_n(&ring->magic, CAP_MAGIC, __ATOMIC_RELEASE);
}

static bool open_ring(struct cap_thread *t)
{
	struct cap_control *control = cap_process.control;
	uint32_t number = __atomic_fetch_add(&control->n_rings, 1, __ATOMIC_RELAXED);
	uint64_t data_bytes = control->ring_bytes;
	struct cap_ring *ring;

	cap_real_find_clock();
	cap_aside_begin();
	ring = map_ring(number, &data_bytes);
	cap_aside_end();
	if (!ring) {
		__atomic_store_n(&control->failed_errno, errno, __ATOMIC_RELAXED);
		__atomic_fetch_add(&control->failed_rings, 1, __ATOMIC_RELAXED);
		t->failed = 1;
		t->generation = cap_process.generation;
		return false;
	}
	begin_ring(t, ring, number, data_bytes);
	enlist(ring, NULL);
	pthread_once(&key_once, make_key);
	if (key != (pthread_key_t)-1)
		pthread_setspecific(key, t);
	return true;
}

/* A forked child begins anew if its parent had not begun with CUDA: nothing else works there. Of
 * its threads only the first does so. */
static bool restart(void)
{
	if (__atomic_load_n(&cap_process.driver_used, __ATOMIC_RELAXED))
		return false;
	pthread_mutex_lock(&lock);
	if (!cap_is_alive()) {
		memset(rings, 0, sizeof(rings)); /* they are the parent's */
		cap_process_begin();
	}
	pthread_mutex_unlock(&lock);
	return true;
}

static bool make_ready(struct cap_thread *t)
{
	static uint32_t facts_of; /* the generation whose facts were written */
	uint32_t generation;

	if (!cap_is_alive() && !restart())
		return false;
	generation = cap_process.generation;
	if (t->generation == generation && t->failed)
		return false;
	if ((!t->ring || t->generation != generation) && !open_ring(t))
		return false;
	if (__atomic_exchange_n(&facts_of, generation, __ATOMIC_RELAXED) != generation)
		cap_facts_process();
	return true;
}

bool cap_thread_ready(struct cap_thread *t)
{
	sigset_t all, kept_mask;
	int kept = errno, cancel;
	bool ready;

	if (likely(t->ring && cap_is_alive() && t->generation == cap_process.generation))
		return true;
	if (!cap_process.session)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &kept_mask);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ready = make_ready(t);
	pthread_setcancelstate(cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &kept_mask, NULL);
	errno = kept;
	return ready;
}

/* How many bytes may be written from t->at on, before the ring is full. */
static uint64_t free_bytes(const struct cap_thread *t)
{
	uint64_t head = (uintptr_t)t->at + t->shift;
	uint64_t tail = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE);

	return head - tail > t->ring->data_bytes ? 0 : t->ring->data_bytes - (head - tail);
}

/* Has memory for the next `bytes`: each page that is touched for the first time is a fault of 2 us,
 * and all of them at once are 4 ms of a thread that may need few. Before Linux 5.14 they are
 * faults. An emulated GPU does not wait for it: its runs would differ from what they are
 * unrecorded.
 */
static void map_more(struct cap_thread *t, uint32_t bytes)
{
	uint64_t left = (uint64_t)(t->data + t->ring->data_bytes - t->ready), more = READY_BYTES;

	if (left == 0 || t->at + bytes <= t->ready)
		return;
	while (more < bytes)
		more += READY_BYTES;
	more = more < left ? more : left;
	cap_aside_begin();
	madvise(t->ready, more, MADV_POPULATE_WRITE);
	cap_aside_end();
	t->ready += more;
}

/* Makes at..end as large as it can be; fills what is too short at the ring's end. */
static bool look_again(struct cap_thread *t, uint32_t bytes)
{
	uint64_t room = free_bytes(t), to_end = (uint64_t)(t->data + t->ring->data_bytes - t->at);

	map_more(t, bytes);
	if (to_end < bytes && room >= to_end && to_end > 0) {
		struct cap_record pad = {.bytes = (uint32_t)to_end, .kind = CAP_PAD};

		memcpy(t->at, &pad, sizeof(pad));
		cap_show(t, (uint32_t)to_end);
		to_end = 0;
		room = free_bytes(t);
	}
	if (to_end == 0) {
		t->shift += t->ring->data_bytes;
		t->at = t->data;
		to_end = t->ring->data_bytes;
	}
	t->end = t->at + (room < to_end ? room : to_end);
	if (t->end > t->ready)
		t->end = t->ready;
	return (uint64_t)(t->end - t->at) >= bytes;
}

static void say_what_was_lost(struct cap_thread *t)
{
	struct cap_lost_record lost = {
		.head = {.bytes = sizeof(lost), .kind = CAP_LOST},
		.records = t->lost_records,
		.bytes = t->lost_bytes,
		.since = t->lost_since,
	};

	memcpy(t->at, &lost, sizeof(lost));
	t->lost_records = t->lost_bytes = 0;
	cap_show(t, sizeof(lost));
}

static void *drop(struct cap_thread *t, uint32_t bytes)
{
	if (t->lost_records++ == 0)
		t->lost_since = cap_ticks(t);
	t->lost_bytes += bytes;
	t->end = t->at; /* so that the next record first says so */
	__atomic_store_n(&t->ring->lost_records, t->ring->lost_records + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&t->ring->lost_bytes, t->ring->lost_bytes + bytes, __ATOMIC_RELAXED);
	return NULL;
}

/* Whether the recorder's heart has beaten of late. What it says is news or not: its clock may be
 * another than ours, in a time namespace. */
static bool recorder_lives(struct cap_thread *t)
{
	int64_t beat = __atomic_load_n(&cap_process.control->heartbeat_ns, __ATOMIC_RELAXED);

	if (beat != t->beat)
		t->silence_ns = 0;
	t->beat = beat;
	return beat != 0 && t->silence_ns < CAP_PATIENCE_NS;
}

/* Time in which all of us were stopped, by ^Z or with the machine, is nobody's silence. */
static void wait_a_turn(struct cap_thread *t)
{
	static const struct timespec nap = {0, NAP_NS};
	int64_t from = host_clock_ns(CLOCK_MONOTONIC), took;

	syscall(SYS_nanosleep, &nap, NULL); /* no point where a thread can be cancelled */
	took = host_clock_ns(CLOCK_MONOTONIC) - from;
	t->silence_ns += took < LONGEST_NAP_NS ? took : LONGEST_NAP_NS;
}

uint8_t *cap_thread_room(struct cap_thread *t, uint32_t bytes)
{
	int kept = errno;
	uint32_t first = t->lost_records ? sizeof(struct cap_lost_record) : 0;

	first += cap_polls_bytes(t);

	if (bytes > t->ring->data_bytes / 8)
		return drop(t, bytes);
	while (!look_again(t, bytes + first)) {
		if (!recorder_lives(t)) {
			errno = kept;
			return drop(t, bytes);
		}
		wait_a_turn(t);
	}
	if (t->lost_records)
		say_what_was_lost(t);
	if (cap_polls_bytes(t))
		cap_polls_write(t);
	errno = kept;
	return t->at;
}

void *cap_reserve(uint32_t bytes, enum cap_kind kind)
{
	struct cap_thread *t = &cap_self;
	struct cap_record *r = !t->writing && cap_thread_ready(t) ? cap_room(t, bytes) : NULL;

	if (r) {
		*r = (struct cap_record){.bytes = bytes, .kind = (uint16_t)kind};
		t->reserved = bytes;
	}
	return r;
}

void cap_publish(void)
{
	cap_commit(&cap_self, cap_self.reserved);
	cap_self.reserved = 0;
}

void cap_put_times(uint64_t id, uint32_t index, int64_t start_ns, int64_t end_ns)
{
	struct cap_times_record *r = cap_reserve(sizeof(*r), CAP_TIMES);

	if (!r)
		return;
	r->index = index;
	r->spare = 0;
	r->id = id;
	r->start_ns = start_ns;
	r->end_ns = end_ns;
	cap_publish();
}

void cap_put_fact(const char *name, const char *value, size_t value_len)
{
	uint32_t key_len = (uint32_t)strlen(name);
	uint32_t len = value_len > 16384 ? 16384 : (uint32_t)value_len;
	uint32_t bytes = ((uint32_t)sizeof(struct cap_text_record) + key_len + len + 7) & ~7u;
	struct cap_text_record *r = cap_reserve(bytes, CAP_FACT);

	if (!r)
		return;
	r->number = r->spare = 0;
	r->key_len = key_len;
	r->value_len = len;
	memcpy(r->data, name, key_len);
	memcpy(r->data + key_len, value, len);
	cap_publish();
}
