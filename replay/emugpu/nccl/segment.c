/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/segment.h"

#include "base/host.h"
#include "base/scope.h"
#include "replay/emugpu/nccl/segment_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

enum { MAX_RANKS = 4096, PAGE = 4096 };

struct header {
	char magic[8];
	uint8_t nonce[16];
	uint32_t n;	  /* 0 until the first rank joins */
	uint32_t aborted; /* 1: emu_segment_abort(); 2: a rank was lost */
	struct emu_barrier barriers[EMU_BARRIERS];
};

/* The bytes of an id. */
struct id {
	char magic[8];
	uint32_t pid;
	int32_t fd;
	uint8_t nonce[16];
};

static const char MAGIC[8] = "gpuemu1";

static struct header *header_of(const struct emu_segment *s)
{
	return (struct header *)s->base;
}

static size_t clamp(size_t v, size_t low, size_t high)
{
	return v < low ? low : v > high ? high : v;
}

/* Computes all offsets from n, so they are the same on every rank. Untouched pages use no memory.
 */
static void lay_out(struct emu_segment *s)
{
	size_t n = s->n;

	s->ring_bytes = clamp(((size_t)32 << 20) / (n * n), PAGE, 256 << 10) & ~(size_t)(PAGE - 1);
	s->slot_bytes =
		clamp(((size_t)16 << 20) / n, 64 << 10, EMU_SLOT_BYTES) & ~(size_t)(PAGE - 1);
	s->members_at = PAGE;
	s->channels_at = s->members_at + n * sizeof(struct emu_member);
	s->rings_at = s->channels_at + n * n * sizeof(struct emu_channel);
	s->rings_at = (s->rings_at + PAGE - 1) & ~(size_t)(PAGE - 1);
	s->slots_at = s->rings_at + n * n * s->ring_bytes;
	s->entries_at = s->slots_at + (2 * n + 2) * s->slot_bytes;
	s->arrivals_at = s->entries_at + EMU_WINDOW * sizeof(struct emu_posting);
	s->small_at = s->arrivals_at + EMU_WINDOW * n * sizeof(struct emu_arrival);
	s->small_at = (s->small_at + PAGE - 1) & ~(size_t)(PAGE - 1);
	s->small_bytes = clamp(((size_t)1 << 20) / (n + 1), PAGE, 32 << 10) & ~(size_t)(PAGE - 1);
	s->bytes = s->small_at + EMU_WINDOW * (n + 1) * s->small_bytes;
}

int emu_segment_make(uint8_t id[EMU_SEGMENT_ID_BYTES])
{
	struct id out = {.pid = (uint32_t)getpid()};
	struct header h = {0};
	int fd;

	_Static_assert(sizeof(out) <= EMU_SEGMENT_ID_BYTES, "an id holds this");
	fd = memfd_create("gpuemu-nccl", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (getrandom(out.nonce, sizeof(out.nonce), 0) != sizeof(out.nonce) ||
	    ftruncate(fd, PAGE) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	memcpy(h.magic, MAGIC, sizeof(MAGIC));
	memcpy(h.nonce, out.nonce, sizeof(out.nonce));
	if (pwrite(fd, &h, sizeof(h), 0) != sizeof(h)) {
		close(fd);
		return -EIO;
	}
	memcpy(out.magic, MAGIC, sizeof(MAGIC));
	out.fd = fd;
	memset(id, 0, EMU_SEGMENT_ID_BYTES);
	memcpy(id, &out, sizeof(out));
	return 0;
}

/* Opens and checks the memory of `id`; returns its descriptor, or -errno. */
static int open_by_id(const struct id *id)
{
	scoped(close_fd) int fd = -1;
	struct header h;
	char path[64];

	if (memcmp(id->magic, MAGIC, sizeof(MAGIC)) != 0)
		return -EPROTO;
	snprintf(path, sizeof(path), "/proc/%u/fd/%d", id->pid, id->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ECONNRESET : -errno;
	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) || memcmp(h.magic, MAGIC, sizeof(MAGIC)) ||
	    memcmp(h.nonce, id->nonce, sizeof(h.nonce)))
		return -EPROTO;
	return take_fd(fd);
}

/* Maps the memory. Each rank extends the file to the size for n ranks; none shrinks it. */
static int map_memory(struct emu_segment *s, int fd)
{
	struct stat st;
	uint32_t none = 0;

	if (fstat(fd, &st) < 0 || (st.st_size < (off_t)s->bytes && ftruncate(fd, (off_t)s->bytes)))
		return -errno;
	s->base = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (s->base == MAP_FAILED) {
		s->base = NULL;
		return -errno;
	}
	if (!__atomic_compare_exchange_n(&header_of(s)->n, &none, s->n, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE) &&
	    none != s->n)
		return -EPROTO;
	return 0;
}

static void segment_free(struct emu_segment *s)
{
	if (s && s->base)
		munmap(s->base, s->bytes);
	free(s);
}

define_cleanup(segment_freep, struct emu_segment *, segment_free);

static int arrive_until(struct emu_segment *s, unsigned barrier, int64_t until_ns);

/* The time limit for ranks to join, before their liveness can be checked. */
static int64_t patience_ns(void)
{
	const char *seconds = getenv("GPUEMU_JOIN_SECONDS");

	return (seconds ? atoll(seconds) : 600) * 1000000000;
}

int emu_segment_join(const uint8_t id[EMU_SEGMENT_ID_BYTES], uint32_t n, uint32_t rank,
		     int32_t device, struct emu_segment **ret)
{
	scoped(segment_freep) struct emu_segment *s = calloc(1, sizeof(*s));
	scoped(close_fd) int fd = -1;
	struct emu_member *me;
	struct id from;
	uint32_t none = 0;
	int r;

	if (!s)
		return -ENOMEM;
	if (n < 1 || n > MAX_RANKS || rank >= n)
		return -EPROTO;
	memcpy(&from, id, sizeof(from));
	fd = open_by_id(&from);
	if (fd < 0)
		return fd;
	s->n = n;
	s->rank = rank;
	lay_out(s);
	r = map_memory(s, fd);
	if (r < 0)
		return r;
	me = emu_segment_member(s, rank);
	me->pid = (uint64_t)getpid();
	me->started = host_process_started(me->pid);
	me->device = device;
	gethostname(me->host, sizeof(me->host) - 1);
	if (!__atomic_compare_exchange_n(&me->joined, &none, 1, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return -EPROTO; /* the rank is taken */
	r = arrive_until(s, EMU_BARRIER_HOST, host_clock_ns(CLOCK_MONOTONIC) + patience_ns());
	if (r < 0)
		return r;
	if (r > 0)
		emu_segment_release(s, EMU_BARRIER_HOST);
	/* All ranks have mapped the memory, so the descriptor is no longer needed. */
	if (rank == 0 && from.pid == (uint32_t)getpid())
		close(from.fd);
	*ret = take(s);
	return 0;
}

void emu_segment_leave(struct emu_segment *s)
{
	if (s)
		__atomic_store_n(&emu_segment_member(s, s->rank)->joined, 2, __ATOMIC_RELEASE);
	segment_free(s);
}

void emu_futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void emu_futex_wait(uint32_t *word, uint32_t seen, long ns)
{
	struct timespec time = {0, ns};

	syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, NULL, 0);
}

static void fail_all(struct emu_segment *s, uint32_t why)
{
	struct header *h = header_of(s);
	uint32_t none = 0;

	__atomic_compare_exchange_n(&h->aborted, &none, why, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	for (unsigned i = 0; i < EMU_BARRIERS; i++)
		emu_futex_wake(&h->barriers[i].phase);
	for (unsigned i = 0; i < EMU_WINDOW; i++) {
		emu_futex_wake(&emu_posting_of(s, i)->open);
		emu_futex_wake(&emu_posting_of(s, i)->done);
	}
	for (uint32_t r = 0; r < s->n; r++)
		emu_segment_notify(s, r);
}

void emu_segment_abort(struct emu_segment *s)
{
	fail_all(s, 1);
}

static int is_lost(struct emu_segment *s, uint32_t rank)
{
	const struct emu_member *m = emu_segment_member(s, rank);
	uint32_t joined = __atomic_load_n(&m->joined, __ATOMIC_ACQUIRE);

	return joined == 2 || (joined == 1 && m->pid != (uint64_t)getpid() &&
			       host_process_started(m->pid) != m->started);
}

int emu_segment_state(struct emu_segment *s)
{
	switch (__atomic_load_n(&header_of(s)->aborted, __ATOMIC_ACQUIRE)) {
	case 0:
		return 0;
	case 1:
		return -ECANCELED;
	default:
		return -ECONNRESET;
	}
}

int emu_segment_check(struct emu_segment *s, uint32_t rank)
{
	if (emu_segment_state(s) == 0 && is_lost(s, rank))
		fail_all(s, 2);
	return emu_segment_state(s);
}

int emu_segment_check_all(struct emu_segment *s)
{
	int r = emu_segment_state(s);

	for (uint32_t i = 0; i < s->n && r == 0; i++)
		r = emu_segment_check(s, i);
	return r;
}

static int arrive_until(struct emu_segment *s, unsigned barrier, int64_t until_ns)
{
	struct emu_barrier *m = &header_of(s)->barriers[barrier];
	uint32_t mine = ++s->phases[barrier], now;
	int r = 0;

	if (emu_segment_state(s) < 0)
		return emu_segment_state(s);
	if (__atomic_add_fetch(&m->count, 1, __ATOMIC_ACQ_REL) == (uint64_t)mine * s->n)
		return 1;
	while ((now = __atomic_load_n(&m->phase, __ATOMIC_ACQUIRE)) != mine && r == 0) {
		emu_futex_wait(&m->phase, now, EMU_CHECK_NS);
		if (__atomic_load_n(&m->phase, __ATOMIC_ACQUIRE) == mine)
			break;
		r = emu_segment_check_all(s);
		if (r == 0 && until_ns != INT64_MAX && host_clock_ns(CLOCK_MONOTONIC) > until_ns)
			fail_all(s, 2);
	}
	return __atomic_load_n(&m->phase, __ATOMIC_ACQUIRE) == mine ? 0 : r;
}

int emu_segment_arrive(struct emu_segment *s, unsigned barrier)
{
	return arrive_until(s, barrier, INT64_MAX);
}

void emu_segment_release(struct emu_segment *s, unsigned barrier)
{
	struct emu_barrier *m = &header_of(s)->barriers[barrier];

	__atomic_store_n(&m->phase, s->phases[barrier], __ATOMIC_RELEASE);
	emu_futex_wake(&m->phase);
}

int emu_segment_barrier(struct emu_segment *s, unsigned barrier)
{
	int r = emu_segment_arrive(s, barrier);

	if (r > 0)
		emu_segment_release(s, barrier);
	return r > 0 ? 0 : r;
}

int emu_segment_exchange(struct emu_segment *s, const void *mine, size_t bytes, void *all)
{
	int r;

	if (bytes > sizeof(emu_segment_member(s, 0)->note))
		return -EINVAL;
	memcpy(emu_segment_member(s, s->rank)->note, mine, bytes);
	r = emu_segment_barrier(s, EMU_BARRIER_HOST);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < s->n; i++)
		memcpy((uint8_t *)all + i * bytes, emu_segment_member(s, i)->note, bytes);
	return emu_segment_barrier(s, EMU_BARRIER_HOST);
}

void emu_segment_notify(struct emu_segment *s, uint32_t rank)
{
	struct emu_member *m = emu_segment_member(s, rank);

	__atomic_add_fetch(&m->bell, 1, __ATOMIC_ACQ_REL);
	emu_futex_wake(&m->bell);
}

uint32_t emu_segment_doorbell(struct emu_segment *s)
{
	return __atomic_load_n(&emu_segment_member(s, s->rank)->bell, __ATOMIC_ACQUIRE);
}

int emu_segment_wait(struct emu_segment *s, uint32_t seen)
{
	if (emu_segment_doorbell(s) == seen)
		emu_futex_wait(&emu_segment_member(s, s->rank)->bell, seen, EMU_CHECK_NS);
	return emu_segment_doorbell(s) != seen;
}

struct emu_member *emu_segment_member(struct emu_segment *s, uint32_t rank)
{
	return (struct emu_member *)(s->base + s->members_at) + rank;
}

struct emu_channel *emu_segment_channel(struct emu_segment *s, uint32_t from, uint32_t to)
{
	return (struct emu_channel *)(s->base + s->channels_at) + (size_t)from * s->n + to;
}

uint8_t *emu_segment_channel_data(struct emu_segment *s, uint32_t from, uint32_t to)
{
	return s->base + s->rings_at + ((size_t)from * s->n + to) * s->ring_bytes;
}

uint8_t *emu_segment_slot(struct emu_segment *s, uint32_t rank, unsigned step)
{
	return s->base + s->slots_at + (2 * (size_t)rank + step) * s->slot_bytes;
}
