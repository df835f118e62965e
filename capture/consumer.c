/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/consumer.h"
#include "base/array.h"
#include "base/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct cap_consumer {
	struct cap_ring_info about;
	struct cap_ring *ring;
	const uint8_t *data;
	uint64_t data_bytes;	       /* a power of two */
	uint64_t tail;		       /* trusted; the thread may overwrite the one in the ring */
	uint64_t next;		       /* the tail after the copied records are released */
	size_t mapped_bytes;	       /* 0: not mapped by us */
	int gone;		       /* the file was truncated: no longer accessed */
	struct cap_ring_status status; /* the latest */
	uint8_t *copy;		       /* owned */
	size_t copy_cap;
};

/* ---- guarded access: SIGBUS if the traced program has truncated the file */

static __thread sigjmp_buf *volatile guard;

static void handle_sigbus(int number)
{
	if (guard)
		siglongjmp(*guard, 1);
	signal(number, SIG_DFL);
	raise(number);
}

static void install_sigbus_handler(void)
{
	struct sigaction action = {.sa_handler = handle_sigbus, .sa_flags = SA_NODEFER};

	sigaction(SIGBUS, &action, NULL);
}

/* Calls touch(), which must only access memory. -EFAULT: the memory is no longer mapped to the
 * file. */
static int access_guarded(struct cap_consumer *d, void (*touch)(struct cap_consumer *d, void *arg),
			  void *arg)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	sigjmp_buf here;

	if (d->gone)
		return -EFAULT;
	pthread_once(&once, install_sigbus_handler);
	if (sigsetjmp(here, 0)) {
		guard = NULL;
		d->gone = 1;
		return -EFAULT;
	}
	guard = &here;
	touch(d, arg);
	guard = NULL;
	return 0;
}

static void read_head(struct cap_consumer *d, void *head)
{
	uint64_t *magic = head;

	*magic = __atomic_load_n(&d->ring->magic, __ATOMIC_ACQUIRE);
	memcpy(magic + 1, (const uint64_t *)(const void *)d->ring + 1,
	       sizeof(struct cap_ring) - sizeof(*magic));
}

static void read_status(struct cap_consumer *d, void *head)
{
	const struct cap_ring *ring = d->ring;
	uint32_t state = __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);

	d->status = (struct cap_ring_status){
		.current_api = __atomic_load_n(&ring->current_api, __ATOMIC_RELAXED),
		.last_call = __atomic_load_n(&ring->last_call, __ATOMIC_RELAXED),
		.state = state <= CAP_PROCESS_EXECED ? state : CAP_LIVE,
		.lost_records = __atomic_load_n(&ring->lost_records, __ATOMIC_RELAXED),
		.lost_bytes = __atomic_load_n(&ring->lost_bytes, __ATOMIC_RELAXED),
	};
	*(uint64_t *)head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
}

static void copy_data(struct cap_consumer *d, void *bytes)
{
	uint64_t n = *(uint64_t *)bytes, at = d->tail & (d->data_bytes - 1);
	uint64_t first = n < d->data_bytes - at ? n : d->data_bytes - at;

	memcpy(d->copy, d->data + at, first);
	memcpy(d->copy + first, d->data, n - first);
}

static void store_tail(struct cap_consumer *d, void *tail)
{
	__atomic_store_n(&d->ring->tail, *(uint64_t *)tail, __ATOMIC_RELEASE);
}

/* ---- opening */

/* Checks a copy of the ring's head, and fills *d from it. */
static int check_header(struct cap_consumer *d, const struct cap_ring *head, size_t size)
{
	uint64_t bytes = head->data_bytes;

	if (head->magic == 0)
		return -EAGAIN;
	if (head->magic != CAP_MAGIC)
		return -EBADMSG;
	if (head->version != CAP_VERSION)
		return -ENOTSUP;
	if (bytes < CAP_MIN_RING_BYTES || bytes > CAP_MAX_RING_BYTES || (bytes & (bytes - 1)) ||
	    head->data_offset != CAP_RING_HEADER_BYTES || size - CAP_RING_HEADER_BYTES < bytes)
		return -EBADMSG;
	d->about = (struct cap_ring_info){
		.number = head->number,
		.pid = head->pid,
		.tid = head->tid,
		.process_start = head->process_start,
		.clock = head->clock <= CAP_CLOCK_VIRTUAL ? head->clock : CAP_CLOCK_MONOTONIC,
	};
	memcpy(d->about.thread_name, head->thread_name, sizeof(head->thread_name));
	d->data_bytes = bytes;
	return 0;
}

int cap_consumer_attach(void *ring, size_t size, struct cap_consumer **ret)
{
	struct cap_ring head;
	scoped(cap_consumer_closep) struct cap_consumer *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	if (size < CAP_RING_HEADER_BYTES)
		return -EAGAIN;
	d->ring = ring;
	if (access_guarded(d, read_head, &head) < 0)
		return -EAGAIN;

	int r = check_header(d, &head, size);

	if (r < 0)
		return r;
	d->data = (uint8_t *)ring + CAP_RING_HEADER_BYTES;
	*ret = take(d);
	return 0;
}

int cap_consumer_open(int dir, const char *name, struct cap_consumer **ret)
{
	scoped(close_fd) int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	void *ring;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	if (st.st_size < CAP_RING_HEADER_BYTES)
		return -EAGAIN;
	if ((uint64_t)st.st_size > CAP_RING_HEADER_BYTES + (uint64_t)CAP_MAX_RING_BYTES)
		return -EBADMSG;
	ring = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return -errno;

	int r = cap_consumer_attach(ring, (size_t)st.st_size, ret);

	if (r < 0)
		munmap(ring, (size_t)st.st_size);
	else
		(*ret)->mapped_bytes = (size_t)st.st_size;
	return r;
}

void cap_consumer_close(struct cap_consumer *d)
{
	if (!d)
		return;
	if (d->mapped_bytes)
		munmap(d->ring, d->mapped_bytes);
	free(d->copy);
	free(d);
}

const struct cap_ring_info *cap_consumer_info(const struct cap_consumer *d)
{
	return &d->about;
}

struct cap_ring_status cap_consumer_status(struct cap_consumer *d)
{
	uint64_t head = d->next;

	access_guarded(d, read_status, &head);
	d->status.waiting_bytes = head - d->next;
	d->status.capacity_bytes = d->data_bytes;
	return d->status;
}

int cap_consumer_read(struct cap_consumer *d, struct fmt_cursor *ret)
{
	uint64_t head = d->next, n;
	int was_gone = d->gone;

	cap_consumer_release(d);
	if (access_guarded(d, read_status, &head) < 0)
		return was_gone ? 0 : -EBADMSG;
	n = head - d->tail;
	if (n == 0)
		return 0;
	if (n > d->data_bytes || n % 8) {
		d->next = head & ~UINT64_C(7);
		cap_consumer_release(d);
		return -EBADMSG;
	}
	if (array_reserve(&d->copy, n, &d->copy_cap) < 0)
		return -ENOMEM;
	if (access_guarded(d, copy_data, &n) < 0)
		return -EBADMSG;
	d->next = head;
	*ret = fmt_cursor(d->copy, n);
	return 1;
}

void cap_consumer_free_copy(struct cap_consumer *d)
{
	free(take(d->copy));
	d->copy_cap = 0;
}

void cap_consumer_release(struct cap_consumer *d)
{
	if (d->tail == d->next)
		return;
	d->tail = d->next;
	access_guarded(d, store_tail, &d->tail);
}

void cap_consumer_rewind(struct cap_consumer *d)
{
	d->next = d->tail;
}

uint64_t cap_consumer_position(const struct cap_consumer *d)
{
	return d->next;
}

void cap_consumer_seek(struct cap_consumer *d, uint64_t position)
{
	d->next = position;
	cap_consumer_release(d);
}
