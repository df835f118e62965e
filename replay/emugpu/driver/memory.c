/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/memory.h"
#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/handle.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALIGN 512
#define PAGE_BYTES 4096
#define GIVE_BACK_BYTES                                                                            \
	(1u << 20) /* freed memory of at least this size is returned to the host immediately */

/* Fixed addresses, if they are free, make digests of memory that contains device addresses the same
 * in each run. Neither half is a number that programs are likely to use: in a parameter, two
 * numbers side by side could look like an address. */
#define FIRST_BASE UINT64_C(0x2a3c3b000000)
#define BASES_APART (UINT64_C(1) << 40)
#define BASE_ALIGN (UINT64_C(32) << 20)

struct span {
	uintptr_t base;
	size_t bytes;
	uint64_t id;
};

struct spans {
	struct span *items; /* by base */
	size_t n, cap;
};

struct emu_memory {
	pthread_mutex_t lock;
	int fd;
	uintptr_t base;
	size_t bytes, reserved; /* memory used by a context is never reported as free */
	size_t used;
	struct spans held, gaps;
};

static uint64_t first_base(void)
{
	const char *chosen = getenv("GPUEMU_FIRST_ADDRESS");

	return chosen ? strtoull(chosen, NULL, 0) / BASE_ALIGN * BASE_ALIGN : FIRST_BASE;
}

int emu_memory_new(unsigned physical, size_t bytes, struct emu_memory **ret)
{
	scoped(free_ptr) struct emu_memory *m = calloc(1, sizeof(*m));
	void *at;

	if (!m)
		return -ENOMEM;
	bytes &= ~(size_t)(PAGE_BYTES - 1);
	pthread_mutex_init(&m->lock, NULL);
	m->fd = memfd_create("gpuemu", MFD_CLOEXEC);
	if (m->fd < 0)
		return -errno;
	if (ftruncate(m->fd, (off_t)bytes) < 0) {
		close(m->fd);
		return -errno;
	}
	at = mmap((void *)(first_base() + physical * BASES_APART), bytes, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_NORESERVE, m->fd, 0);
	if (at == MAP_FAILED) {
		close(m->fd);
		return -errno;
	}
	m->base = (uintptr_t)at;
	m->bytes = bytes;
	m->reserved = bytes / 256 < (512u << 20) ? bytes / 256 : 512u << 20;
	if (array_reserve(&m->gaps.items, 1, &m->gaps.cap) < 0)
		return -ENOMEM;
	m->gaps.items[m->gaps.n++] = (struct span){m->base, bytes, 0};
	*ret = take(m);
	return 0;
}

/* Returns the index of the first span that starts above `at`. */
static size_t first_above(const struct spans *s, uintptr_t at)
{
	return array_bound(i, 0, s->n, s->items[i].base <= at);
}

static int insert_span(struct spans *s, size_t i, struct span span)
{
	if (array_reserve(&s->items, s->n + 1, &s->cap) < 0)
		return -ENOMEM;
	memmove(&s->items[i + 1], &s->items[i], (s->n - i) * sizeof(span));
	s->items[i] = span;
	s->n++;
	return 0;
}

static void erase_span(struct spans *s, size_t i)
{
	s->n--;
	memmove(&s->items[i], &s->items[i + 1], (s->n - i) * sizeof(s->items[0]));
}

int emu_memory_charge(struct emu_memory *m, int64_t bytes)
{
	int r = 0;

	pthread_mutex_lock(&m->lock);
	if (bytes > 0 && (uint64_t)bytes > m->bytes - m->reserved - m->used)
		r = -ENOMEM;
	else
		m->used = (size_t)((int64_t)m->used + bytes);
	pthread_mutex_unlock(&m->lock);
	return r;
}

static int alloc_locked(struct emu_memory *m, size_t bytes, uintptr_t *ret)
{
	size_t i = 0;

	if (bytes > m->bytes - m->reserved - m->used)
		return -ENOMEM;
	while (i < m->gaps.n && m->gaps.items[i].bytes < bytes)
		i++;
	if (i == m->gaps.n)
		return -ENOMEM;

	struct span *gap = &m->gaps.items[i];
	struct span got = {gap->base, bytes, emu_new_id()};

	if (insert_span(&m->held, first_above(&m->held, got.base), got) < 0)
		return -ENOMEM;
	gap->base += bytes;
	gap->bytes -= bytes;
	if (gap->bytes == 0)
		erase_span(&m->gaps, i);
	m->used += bytes;
	*ret = got.base;
	return 0;
}

int emu_memory_alloc(struct emu_memory *m, size_t bytes, uintptr_t *ret)
{
	int r;

	if (bytes == 0 || bytes > m->bytes)
		return bytes ? -ENOMEM : -EINVAL;
	bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	pthread_mutex_lock(&m->lock);
	r = alloc_locked(m, bytes, ret);
	pthread_mutex_unlock(&m->lock);
	return r;
}

/* Merges a freed span with adjacent gaps. */
static int add_gap(struct spans *gaps, struct span s)
{
	size_t i = first_above(gaps, s.base);
	struct span *before = i > 0 ? &gaps->items[i - 1] : NULL;
	struct span *after = i < gaps->n ? &gaps->items[i] : NULL;

	if (before && before->base + before->bytes == s.base) {
		before->bytes += s.bytes;
		if (after && before->base + before->bytes == after->base) {
			before->bytes += after->bytes;
			erase_span(gaps, i);
		}
		return 0;
	}
	if (after && s.base + s.bytes == after->base) {
		after->base = s.base;
		after->bytes += s.bytes;
		return 0;
	}
	return insert_span(gaps, i, s);
}

int emu_memory_free(struct emu_memory *m, uintptr_t at, size_t *bytes)
{
	int r = -EINVAL;

	pthread_mutex_lock(&m->lock);
	size_t i = first_above(&m->held, at);

	if (i > 0 && m->held.items[i - 1].base == at) {
		struct span s = m->held.items[i - 1];

		erase_span(&m->held, i - 1);
		m->used -= s.bytes;
		s.id = 0;
		if (s.bytes >= GIVE_BACK_BYTES)
			madvise((void *)((s.base + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1)),
				s.bytes - PAGE_BYTES, MADV_REMOVE);
		*bytes = s.bytes;
		r = add_gap(&m->gaps, s);
	}
	pthread_mutex_unlock(&m->lock);
	return r;
}

void emu_memory_info(struct emu_memory *m, size_t *free_bytes, size_t *total_bytes)
{
	pthread_mutex_lock(&m->lock);
	*free_bytes = m->bytes - m->reserved - m->used;
	*total_bytes = m->bytes;
	pthread_mutex_unlock(&m->lock);
}

int emu_memory_find(struct emu_memory *m, uintptr_t at, uintptr_t *base, size_t *bytes,
		    uint64_t *id)
{
	int r = -EINVAL;

	pthread_mutex_lock(&m->lock);
	size_t i = first_above(&m->held, at);

	if (i > 0 && at - m->held.items[i - 1].base < m->held.items[i - 1].bytes) {
		*base = m->held.items[i - 1].base;
		*bytes = m->held.items[i - 1].bytes;
		*id = m->held.items[i - 1].id;
		r = 0;
	}
	pthread_mutex_unlock(&m->lock);
	return r;
}

int emu_memory_file(const struct emu_memory *m, uintptr_t at, uint64_t *offset)
{
	*offset = at - m->base;
	return m->fd;
}

int emu_memory_holds(const struct emu_memory *m, uintptr_t at)
{
	return at - m->base < m->bytes;
}
