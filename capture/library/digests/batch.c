/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/batch.h"

#include "capture/digest/gd128_image.h"
#include "capture/digest/gd128_work.h"
#include "capture/library/device/collector.h"
#include "capture/library/digests/arena.h"
#include "capture/library/digests/host_kernel.h"
#include "capture/library/digests/payload.h"
#include "capture/library/find/cu.h"
#include "capture/library/ring/put.h"
#include "capture/library/times/times.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CONTEXTS 64
#define THREADS 512 /* as in gd128.cu */

/* Both words of a sum that was not yet written. A real sum has this value with probability 2^-64:
 * the library would wait for it until the end, then use it as it is. */
#define SUM_PENDING 0x6770756361707475u

/* A buffer whose page sums are outstanding. */
struct result {
	struct cap_buffer buffer;
	const struct gd128 *sums;
};

struct batch {
	struct batch *next;
	struct device_code *code;
	struct cap_arena_chunk *chunk;
	struct gd128 *sums;
	size_t n_sums, n_results;
	struct result results[];
};

struct device_code {
	void *context;
	void *function; /* NULL: the kernel could not be loaded */
	unsigned most_blocks;
	struct cap_arena arena;
	unsigned n_batches; /* outstanding */
};

static struct {
	pthread_mutex_t lock;
	struct device_code codes[MOST_CONTEXTS];
	unsigned n_codes;
	struct batch *first, **last; /* outstanding, oldest first */
	unsigned n_batches;
	uint64_t missed; /* number of digests that could not be computed */
	int missed_result;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &queue.first};

int cap_batch_start(void)
{
	int r = gd128_image_bytes ? cap_cu_load() : -ENOSYS;

	if (r == 0)
		cap_host_kernel_register();
	return r;
}

static void count_missed(size_t n, int result)
{
	queue.missed += n;
	queue.missed_result = result;
}

void cap_batch_count_missed(size_t n, int result)
{
	pthread_mutex_lock(&queue.lock);
	count_missed(n, result);
	pthread_mutex_unlock(&queue.lock);
}

/* Two blocks for each multiprocessor of the current context's device: fewer do not saturate the
 * memory of an H200 (doc/hardware.md). */
static unsigned most_blocks(void)
{
	int device, count = 0;

	if (cap_cu.cuCtxGetDevice(&device) ||
	    cap_cu.cuDeviceGetAttribute(&count, CU_MULTIPROCESSOR_COUNT, device) || count < 1)
		return 1;
	return 2 * (unsigned)count;
}

static struct device_code *find_code(const void *context)
{
	for (unsigned i = 0; i < queue.n_codes; i++)
		if (queue.codes[i].context == context)
			return &queue.codes[i];
	return NULL;
}

/* With the lock held and the context current. */
static struct device_code *load_code(void *context)
{
	struct device_code *d = find_code(context);
	void *module;
	int r, mode;

	if (!d && !(d = find_code(NULL)) && queue.n_codes < MOST_CONTEXTS)
		d = &queue.codes[queue.n_codes++];
	if (!d || d->context)
		return d && d->function ? d : NULL;
	*d = (struct device_code){.context = context, .n_batches = d->n_batches};
	mode = cap_cu_relax_begin();
	r = cap_cu.cuModuleLoadData(&module, gd128_image);
	if (!r)
		r = cap_cu.cuModuleGetFunction(&d->function, module, GD128_KERNEL);
	cap_cu_relax_end(mode);
	if (r) {
		d->function = NULL;
		queue.missed_result = r;
		return NULL;
	}
	d->most_blocks = most_blocks();
	return d;
}

void cap_batch_prepare(void *context)
{
	struct device_code *d;
	bool is_new;

	pthread_mutex_lock(&queue.lock);
	is_new = context && !find_code(context);
	d = is_new ? load_code(context) : NULL;
	if (d)
		cap_arena_prepare(&d->arena);
	pthread_mutex_unlock(&queue.lock);
}

static int launch_kernel(const struct device_code *d, void *stream, struct gd128_work *work)
{
	void *params[] = {work};
	unsigned blocks = work->n_pages < d->most_blocks ? (unsigned)work->n_pages : d->most_blocks;
	int r = 0;

	if (work->n_pages > 0)
		r = cap_cu.cuLaunchKernel(d->function, blocks, 1, 1, THREADS, 1, 1, 0, stream,
					  params, NULL);
	memset(work, 0, sizeof(*work));
	return r;
}

/* Returns the sums of an equal buffer that is already in the batch, or NULL. */
static const struct gd128 *find_equal(const struct batch *b, size_t before,
				      const struct cap_buffer *like)
{
	for (size_t i = before; i-- > 0 && before - i < 64;)
		if (b->results[i].buffer.address == like->address &&
		    b->results[i].buffer.bytes == like->bytes)
			return b->results[i].sums;
	return NULL;
}

/* Lists each buffer once, and launches whenever the kernel's list is full. Returns the driver's
 * result. */
static int launch_all(struct batch *b, const struct device_code *d, void *stream,
		      const struct cap_buffer *buffers, size_t n)
{
	struct gd128_work work = {0};
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		struct result *to = &b->results[i];

		*to = (struct result){.buffer = buffers[i], .sums = find_equal(b, i, &buffers[i])};
		if (to->sums)
			continue;
		to->sums = b->sums + b->n_sums;
		b->n_sums += gd128_pages(buffers[i].bytes);
		work.parts[work.n_parts++] = (struct gd128_part){
			.address = buffers[i].address,
			.bytes = buffers[i].bytes,
			.pages_at = (uintptr_t)to->sums,
			.first_page = work.n_pages,
		};
		work.n_pages += gd128_pages(buffers[i].bytes);
		if (work.n_parts == GD128_PARTS)
			r = launch_kernel(d, stream, &work);
	}
	b->n_results = n;
	return r ? r : launch_kernel(d, stream, &work);
}

static void free_batch(struct batch *b)
{
	if (b && b->chunk)
		cap_arena_release(b->chunk);
	free(b);
}

/* With the lock held: frees a queued batch. */
static void free_queued(struct batch *b)
{
	b->code->n_batches--;
	queue.n_batches--;
	free_batch(b);
}

/* With the lock held. */
static int queue_batch(const struct cap_stream_ref *ref, const struct cap_buffer *buffers, size_t n)
{
	struct device_code *d = load_code(ref->context);
	struct batch *b = d ? calloc(1, sizeof(*b) + n * sizeof(b->results[0])) : NULL;
	size_t pages = 0;
	int r;

	if (!b)
		return d ? -ENOMEM : queue.missed_result;
	for (size_t i = 0; i < n; i++)
		pages += gd128_pages(buffers[i].bytes);
	b->sums = cap_arena_alloc(&d->arena, pages, &b->chunk);
	for (size_t i = 0; b->sums && i < pages; i++)
		b->sums[i] = (struct gd128){SUM_PENDING, SUM_PENDING};
	r = b->sums ? launch_all(b, d, ref->stream, buffers, n) : -ENOMEM;
	if (r) {
		free_batch(b);
		return r;
	}
	*queue.last = b;
	queue.last = &b->next;
	b->code = d;
	d->n_batches++;
	queue.n_batches++;
	return 0;
}

void cap_batch_announce(uint64_t id, size_t n)
{
	struct cap_announced_record *r = n > 0 ? cap_reserve(sizeof(*r), CAP_ANNOUNCED) : NULL;

	if (!r)
		return;
	r->n = (uint32_t)(cap_payload_is_enabled() ? 2 * n : n);
	r->spare = 0;
	r->id = id;
	cap_publish();
}

/* The announced digest of the buffer will not follow. */
static void put_empty(const struct cap_buffer *b)
{
	struct cap_digest_record *r = cap_reserve(sizeof(*r), CAP_DIGEST);

	if (!r)
		return;
	memset((uint8_t *)r + sizeof(r->head), 0, sizeof(*r) - sizeof(r->head));
	r->head.flags = CAP_DIGEST_EMPTY;
	r->id = b->id;
	cap_publish();
}

void cap_batch_launch(const struct cap_stream_ref *ref, const struct cap_buffer *buffers, size_t n)
{
	int r;

	if (n == 0)
		return;
	pthread_mutex_lock(&queue.lock);
	r = queue_batch(ref, buffers, n);
	if (r)
		count_missed(n, r);
	pthread_mutex_unlock(&queue.lock);
	for (size_t i = 0; r && i < n; i++)
		put_empty(&buffers[i]);
	cap_payload_store(ref, buffers, n);
	cap_times_interrupt(ref);
}

/* ---- results */

static void put_digest(const struct cap_buffer *b, const struct gd128 *sums)
{
	uint32_t n = (uint32_t)gd128_pages(b->bytes);
	struct gd128 digest = gd128_fold(sums, b->bytes);
	struct cap_digest_record *r =
		cap_reserve((uint32_t)(sizeof(*r) + n * sizeof(*sums)), CAP_DIGEST);

	if (!r)
		return;
	r->head.flags = (uint8_t)b->output;
	r->n_pages = n;
	r->spare = 0;
	r->id = b->id;
	r->at = b->at;
	r->allocation = b->allocation;
	r->offset_bytes = b->offset_bytes;
	r->length_bytes = b->bytes;
	r->digest[0] = digest.lo;
	r->digest[1] = digest.hi;
	memcpy(r->pages, sums, n * sizeof(*sums));
	cap_publish();
}

void cap_batch_digest_host(const struct cap_buffer *b, const void *data)
{
	struct gd128 sums[CAP_HOST_BYTES / GD128_PAGE_BYTES + 1] = {{0, 0}};

	gd128_add(sums, 0, data, b->bytes);
	put_digest(b, sums);
}

static int is_complete(const struct batch *b)
{
	for (size_t i = b->n_sums; i-- > 0;)
		if (__atomic_load_n(&b->sums[i].lo, __ATOMIC_ACQUIRE) == SUM_PENDING ||
		    __atomic_load_n(&b->sums[i].hi, __ATOMIC_ACQUIRE) == SUM_PENDING)
			return 0;
	return 1;
}

/* Removes the oldest complete batch from the list; NULL. */
static struct batch *take_complete(void)
{
	struct batch **at, *b;

	pthread_mutex_lock(&queue.lock);
	for (at = &queue.first; (b = *at) && !is_complete(b);)
		at = &b->next;
	if (b) {
		*at = b->next;
		if (!*at)
			queue.last = at;
	}
	pthread_mutex_unlock(&queue.lock);
	return b;
}

unsigned cap_batch_collect(void)
{
	struct batch *b;
	unsigned left;

	pthread_mutex_lock(&queue.lock);
	left = queue.n_batches;
	pthread_mutex_unlock(&queue.lock);
	/* Batches that are launched meanwhile are left to the next round. */
	while (left-- > 0 && (b = take_complete())) {
		for (size_t i = 0; i < b->n_results; i++)
			put_digest(&b->results[i].buffer, b->results[i].sums);
		pthread_mutex_lock(&queue.lock);
		free_queued(b);
		pthread_mutex_unlock(&queue.lock);
	}
	pthread_mutex_lock(&queue.lock);
	left = queue.n_batches;
	pthread_mutex_unlock(&queue.lock);
	return left;
}

/* ---- ends of contexts */

static bool is_context_done(void *context)
{
	const struct device_code *d;
	bool has;

	pthread_mutex_lock(&queue.lock);
	d = find_code(context);
	has = !d || d->n_batches == 0;
	pthread_mutex_unlock(&queue.lock);
	return has && cap_payload_is_done();
}

void cap_batch_wait_context(void *context)
{
	cap_collector_await(is_context_done, context);
}

/* The context's page-locked memory is gone and must not be read again. The descriptions of chunks
 * are not freed: the library's thread may be using a batch. */
void cap_batch_drop_context(const void *context)
{
	struct batch **at = &queue.first, *b;
	struct device_code *d;

	pthread_mutex_lock(&queue.lock);
	d = find_code(context);
	while (d && (b = *at)) {
		if (b->code != d) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		count_missed(b->n_results, 0);
		free_queued(b);
	}
	if (d) {
		queue.last = at;
		*d = (struct device_code){.n_batches = d->n_batches};
	}
	pthread_mutex_unlock(&queue.lock);
}

void cap_batch_end(void)
{
	char text[128];
	int n;

	pthread_mutex_lock(&queue.lock);
	for (struct batch *b = queue.first; b; b = b->next)
		queue.missed += b->n_results;
	n = snprintf(text, sizeof(text), "{\"missed\": %llu, \"result\": %d}",
		     (unsigned long long)queue.missed, queue.missed_result);
	pthread_mutex_unlock(&queue.lock);
	if (queue.missed)
		cap_put_fact("digests", text, (size_t)n);
}
