/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/payload.h"

#include "capture/library/device/collector.h"
#include "capture/library/device/contexts.h"
#include "capture/library/digests/arena.h"
#include "capture/library/find/cu.h"
#include "capture/library/ring/process.h"
#include "capture/library/ring/put.h"

#include <pthread.h>
#include <stdlib.h>

static int64_t iteration = -1;

void cap_payload_iteration(int64_t number)
{
	__atomic_store_n(&iteration, number, __ATOMIC_RELAXED);
}

bool cap_payload_is_enabled(void)
{
	return cap_control()->first_payload >= 0;
}

/* Returns true if the contents are wanted, and the current iteration is in the range. Keyframes
 * contain live memory. */
static bool is_kept(const struct cap_buffer *b)
{
	const struct cap_control *control = cap_control();
	int64_t now = __atomic_load_n(&iteration, __ATOMIC_RELAXED);

	return b->output != CAP_DIGEST_LIVE && (b->is_external || !control->external_only) &&
	       (now < 0 || (now >= control->first_payload && now <= control->last_payload));
}

static void put_payload(const struct cap_buffer *b, const void *data)
{
	struct cap_payload_record *r;
	uint64_t hash[2] = {0, 0};
	int kept = data && cap_put_blob(data, b->bytes, hash) >= 0;

	r = cap_reserve(sizeof(*r), CAP_PAYLOAD);
	if (!r)
		return;
	r->head.flags = (uint8_t)(b->output | (kept ? 0 : CAP_DIGEST_EMPTY));
	r->id = b->id;
	r->allocation = b->allocation;
	r->offset_bytes = b->offset_bytes;
	r->length_bytes = b->bytes;
	r->hash[0] = hash[0];
	r->hash[1] = hash[1];
	cap_publish();
}

void cap_payload_store_host(const struct cap_buffer *b, const void *data)
{
	if (cap_payload_is_enabled())
		put_payload(b, is_kept(b) ? data : NULL);
}

/* ---- copies from devices */

/* A copy into pinned memory that may be incomplete. */
struct copy {
	struct copy *next;
	void *context, *event;
	struct space *space; /* NULL: its bytes are not counted */
	struct gd128 *data;  /* of the chunk */
	struct cap_arena_chunk *chunk;
	struct cap_buffer buffer;
};

#define MOST_BYTES (UINT64_C(1) << 30) /* outstanding in a context, before its threads wait */
#define LEAST_BYTES (1u << 18) /* of a copy, in that sum: so at most 4,096 are outstanding */
#define MOST_A_ROUND 256       /* copies stored before other results are collected */
#define MOST_CONTEXTS 64

struct space {
	void *context; /* NULL: free once no bytes are outstanding */
	/* Page-locked memory is reused, because cuMemFreeHost() waits for the device: the library's
	 * thread could not collect other results meanwhile. */
	struct cap_arena arena;
	uint64_t bytes; /* outstanding */
	bool blocked;	/* a wait for them timed out */
};

static struct {
	pthread_mutex_t lock;
	struct copy *first, **last; /* oldest first; only the library's thread removes copies */
	unsigned n;
	struct space spaces[MOST_CONTEXTS];
} copies = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &copies.first};

/* With the lock held; NULL. */
static struct space *find_space(const void *context)
{
	for (struct space *s = copies.spaces; context && s < copies.spaces + MOST_CONTEXTS; s++)
		if (s->context == context)
			return s;
	return NULL;
}

/* With the lock held; NULL if other contexts use all spaces: no contents are stored. */
static struct space *space_of(void *context)
{
	struct space *s = find_space(context);

	for (size_t i = 0; !s && context && i < MOST_CONTEXTS; i++)
		if (!copies.spaces[i].context && copies.spaces[i].bytes == 0) {
			s = &copies.spaces[i];
			*s = (struct space){.context = context};
		}
	return s;
}

static uint64_t space_bytes(const struct copy *c)
{
	return c->buffer.bytes > LEAST_BYTES ? c->buffer.bytes : LEAST_BYTES;
}

static bool has_space(void *context)
{
	struct space *s;
	bool has;

	pthread_mutex_lock(&copies.lock);
	s = space_of(context);
	has = !s || s->bytes < MOST_BYTES;
	if (s && has)
		s->blocked = false;
	pthread_mutex_unlock(&copies.lock);
	return has;
}

static bool is_blocked(void *context)
{
	const struct space *s;
	bool ret;

	pthread_mutex_lock(&copies.lock);
	s = space_of(context);
	ret = !s || s->blocked;
	pthread_mutex_unlock(&copies.lock);
	return ret;
}

void cap_payload_await(void *context)
{
	struct space *s;

	if (!context || !cap_payload_is_enabled() || has_space(context) || is_blocked(context))
		return;
	cap_collector_await(has_space, context);
	if (has_space(context))
		return;
	pthread_mutex_lock(&copies.lock);
	s = find_space(context);
	if (s)
		s->blocked = true;
	pthread_mutex_unlock(&copies.lock);
}

static void free_copy(struct copy *c)
{
	int entered = cap_context_enter(c->context);

	if (c->event)
		cap_cu.cuEventDestroy_v2(c->event);
	cap_context_leave(entered);
	pthread_mutex_lock(&copies.lock);
	if (c->chunk)
		cap_arena_release(c->chunk);
	if (c->space)
		c->space->bytes -= space_bytes(c);
	pthread_mutex_unlock(&copies.lock);
	free(c);
}

/* Copies the buffer in the order of the stream, whose context must be current. NULL if that
 * fails. */
static struct copy *start_copy(const struct cap_stream_ref *ref, const struct cap_buffer *b)
{
	struct copy *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->context = ref->context;
	c->buffer = *b;
	pthread_mutex_lock(&copies.lock);
	c->space = space_of(c->context);
	if (c->space) {
		c->space->bytes += space_bytes(c);
		c->data = cap_arena_alloc(&c->space->arena,
					  (b->bytes + sizeof(*c->data) - 1) / sizeof(*c->data),
					  &c->chunk);
	}
	pthread_mutex_unlock(&copies.lock);
	if (!c->data || cap_cu.cuEventCreate(&c->event, CU_EVENT_WITHOUT_TIME) != 0 ||
	    cap_cu.cuMemcpyDtoHAsync_v2(c->data, b->address, b->bytes, ref->stream) != 0 ||
	    cap_cu.cuEventRecord(c->event, ref->stream) != 0) {
		free_copy(c);
		return NULL;
	}
	return c;
}

static void add_copy(struct copy *c)
{
	pthread_mutex_lock(&copies.lock);
	*copies.last = c;
	copies.last = &c->next;
	copies.n++;
	pthread_mutex_unlock(&copies.lock);
}

void cap_payload_store(const struct cap_stream_ref *ref, const struct cap_buffer *buffers, size_t n)
{
	if (!cap_payload_is_enabled())
		return;
	for (size_t i = 0; i < n; i++) {
		struct copy *c = is_kept(&buffers[i]) && !is_blocked(ref->context)
					 ? start_copy(ref, &buffers[i])
					 : NULL;

		if (c)
			add_copy(c);
		else
			cap_payload_store_host(&buffers[i], NULL);
	}
}

/* With the lock held; releases it while the content is stored. */
static void store_copy(struct copy *c)
{
	pthread_mutex_unlock(&copies.lock);
	put_payload(&c->buffer, cap_cu.cuEventQuery(c->event) == 0 ? c->data : NULL);
	pthread_mutex_lock(&copies.lock);
	copies.n--;
	pthread_mutex_unlock(&copies.lock);
	free_copy(c);
	pthread_mutex_lock(&copies.lock);
}

/* Stores copies that are complete, or failed. */
unsigned cap_payload_collect(void)
{
	struct copy **at = &copies.first, *c;
	unsigned n_stored = 0, left;

	pthread_mutex_lock(&copies.lock);
	while ((c = *at) && n_stored < MOST_A_ROUND) {
		if (cap_cu.cuEventQuery(c->event) == CU_NOT_READY) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		if (!*at)
			copies.last = at;
		store_copy(c);
		n_stored++;
	}
	left = copies.n;
	pthread_mutex_unlock(&copies.lock);
	return left;
}

bool cap_payload_is_done(void)
{
	bool done;

	pthread_mutex_lock(&copies.lock);
	done = copies.n == 0;
	pthread_mutex_unlock(&copies.lock);
	return done;
}

void cap_payload_drop_context(void *context)
{
	struct space *s;

	pthread_mutex_lock(&copies.lock);
	s = find_space(context);
	if (s) {
		s->context = NULL;
		s->arena = (struct cap_arena){0};
	}
	pthread_mutex_unlock(&copies.lock);
}
