/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/ring/ring.h"

#include "capture/library/find/emulated.h"
#include "capture/library/ring/layouts.h"

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
#define PARTS 16

static const uint32_t no_ring = 1;
__thread struct cap_thread cap_self CAP_THREAD_LOCAL = {.paused = &no_ring};

static void do_nothing(void)
{
}

static const struct cap_ring_listener no_listener = {do_nothing, do_nothing};
static const struct cap_ring_listener *listener = &no_listener; /* set before threads exist */

void cap_ring_set_listener(const struct cap_ring_listener *to)
{
	listener = to;
}

/* The rings of this process, to be marked when it ends. */
static struct cap_ring *rings[MAX_RINGS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

/* Replaces an entry; NULL is a free entry. Without a free entry the ring is not marked. */
static void replace_entry(struct cap_ring *old, struct cap_ring *ring)
{
	size_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < MAX_RINGS && rings[i] != old)
		i++;
	if (i < MAX_RINGS)
		rings[i] = ring;
	pthread_mutex_unlock(&lock);
}

void cap_rings_set_state(enum cap_state state)
{
	int kept = errno;

	/* Does not wait: a thread that was killed with the lock held must not make exit() hang. */
	if (pthread_mutex_trylock(&lock) == 0) {
		for (size_t i = 0; i < MAX_RINGS; i++)
			if (rings[i])
				__atomic_store_n(&rings[i]->state, state, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&lock);
	}
	errno = kept;
}

void cap_rings_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* Returns the data size for a new ring, a power of two. Threads share a memory file system that may
 * be small (64 MB in a container): each ring gets a part of the free space. */
static uint64_t choose_size(int fd, uint64_t wanted)
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

/* Allocates and maps the whole file: writing a page that cannot be allocated would raise SIGBUS. */
static void *map_allocated(int fd, uint64_t bytes)
{
	int r = posix_fallocate(fd, 0, (off_t)bytes);

	errno = r;
	return r ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

/* Returns a ring of at most *data_bytes, which becomes the actual size. NULL: see errno. */
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
	*data_bytes = choose_size(fd, *data_bytes);
	map = map_allocated(fd, CAP_RING_HEADER_BYTES + *data_bytes);
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
	listener->thread_ending();
	if (t->polls.n)
		cap_write_wait_space(t, 0); /* writes their record */
	t->paused = &no_ring;
	t->ring = NULL;
	t->at = t->end = NULL;
	cap_layouts_free(t->layouts);
	t->layouts = NULL;
	replace_entry(ring, NULL);
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
		.asking = t->asking,
		.generation = cap_process.generation,
		.layouts = t->layouts,
	};
	cap_layouts_clear(t->layouts);
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

	cap_emulated_find();
	cap_clock_pause();
	ring = map_ring(number, &data_bytes);
	cap_clock_resume();
	if (!ring) {
		__atomic_store_n(&control->failed_errno, errno, __ATOMIC_RELAXED);
		__atomic_fetch_add(&control->failed_rings, 1, __ATOMIC_RELAXED);
		t->failed = 1;
		t->generation = cap_process.generation;
		return false;
	}
	begin_ring(t, ring, number, data_bytes);
	replace_entry(NULL, ring);
	pthread_once(&key_once, make_key);
	if (key != (pthread_key_t)-1)
		pthread_setspecific(key, t);
	return true;
}

/* In a forked child: begins the process anew, once. False: the parent had used the driver, which
 * cannot be used in the child. */
static bool restart_process(void)
{
	if (__atomic_load_n(&cap_process.driver_used, __ATOMIC_RELAXED))
		return false;
	pthread_mutex_lock(&lock);
	if (!cap_is_alive()) {
		memset(rings, 0, sizeof(rings)); /* the parent's */
		cap_process_begin();
	}
	pthread_mutex_unlock(&lock);
	return true;
}

static bool make_ready(struct cap_thread *t)
{
	static uint32_t begun; /* the generation reported to the listener */
	uint32_t generation;

	if (!cap_is_alive() && !restart_process())
		return false;
	generation = cap_process.generation;
	if (t->generation == generation && t->failed)
		return false;
	if ((!t->ring || t->generation != generation) && !open_ring(t))
		return false;
	if (__atomic_exchange_n(&begun, generation, __ATOMIC_RELAXED) != generation)
		listener->process_begun();
	return true;
}

bool cap_ring_prepare(struct cap_thread *t)
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
