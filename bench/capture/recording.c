/* SPDX-License-Identifier: Apache-2.0 */

/* recording FILE PROCESSES GPUS EVENTS: writes a raw recording of a made-up training run, for
 * measuring its import. Each of PROCESSES has a thread for each of GPUS. An iteration of a GPU is
 * an NVTX range "step N" with kernels, copies, events, and all-reduces over all GPUs: EVENTS calls
 * and operations in all. Times follow from a fixed sequence of numbers, so files of the same
 * arguments differ only in their headers. */
#include "base/array.h"
#include "base/scope.h"
#include "formats/api/api.h"
#include "formats/raw/raw.h"

#include <stdio.h>

/* Handles of the first GPU of a process; own() has those of the others. */
enum { CONTEXT = 0x1000, STREAM = 0x2000, COMM_STREAM = 0x2100, EVENT = 0x4000, COMM = 0x5000 };
enum { KERNELS = 24, LAUNCHES = 400, ALL_REDUCES = 8, COPIES = 8 };
enum { OUTSTANDING = 64, ROUND_NS = 50000000 };

#define MEMORY 0x7f0000000000u
#define MEMORY_BYTES (1ull << 30)
#define FUNCTION(k) (0x3000 + 16ull * (k))

/* A thread that works for one GPU. */
struct thread {
	struct cap_ring_info about;
	struct text bytes; /* of its ring since the last round */
	uint64_t position, ordinal, events;
	int64_t now_ns, free_ns[2]; /* free_ns: when each of its two streams is idle */
	struct cap_times_record outstanding[OUTSTANDING];
	uint32_t n_launched, device, rank, n_ranks, random;
};

static uint64_t own(const struct thread *t, uint64_t handle)
{
	return handle + ((uint64_t)t->device << 32);
}

static void put_record(struct thread *t, const void *record)
{
	text_bytes(&t->bytes, record, ((const struct cap_record *)record)->bytes);
}

static uint64_t next_id(const struct thread *t)
{
	return (uint64_t)t->about.number << CAP_ORDINAL_BITS | t->ordinal;
}

static uint32_t draw(struct thread *t, uint32_t below)
{
	t->random = t->random * 1664525 + 1013904223;
	return (t->random >> 8) % below;
}

static uint64_t call_at(struct thread *t, const char *name, uint8_t depth, const uint64_t *words,
			uint32_t n)
{
	_Alignas(8) uint8_t space[sizeof(struct cap_call_record) + 8 * 32] = {0};
	struct cap_call_record *c = (void *)space;

	*c = (struct cap_call_record){
		.head = {.bytes = (uint32_t)sizeof(*c) + 8 * n, .kind = CAP_CALL, .depth = depth},
		.api = (uint32_t)api_find(name),
		.id = next_id(t),
		.start = (uint64_t)t->now_ns,
	};
	t->now_ns += 1000 + draw(t, 3000);
	c->end = (uint64_t)t->now_ns;
	t->now_ns += 200;
	t->ordinal++;
	t->events++;
	if (n > 0)
		memcpy(c->words, words, 8ul * n);
	put_record(t, c);
	return c->id;
}

#define call(t, name, ...)                                                                         \
	call_at((t), (name), 0, (const uint64_t[]){__VA_ARGS__},                                   \
		sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static void put_blob(struct thread *t, uint16_t arg, enum cap_blob_kind what, const void *data,
		     uint32_t len)
{
	_Alignas(8) uint8_t space[sizeof(struct cap_blob_record) + 64] = {0};
	struct cap_blob_record *b = (void *)space;

	*b = (struct cap_blob_record){.head = {.bytes = (uint32_t)sizeof(*b) + ((len + 7) & ~7u),
					       .kind = CAP_BLOB,
					       .flags = (uint8_t)what},
				      .arg = arg,
				      .len = len,
				      .id = next_id(t),
				      .whole_len = len};
	memcpy(b->data, data, len);
	put_record(t, b);
}

static void put_result(struct thread *t, uint64_t handle)
{
	put_blob(t, 0, CAP_BLOB_AFTER, &handle, sizeof(handle));
}

/* An operation of the call: it starts when its stream is idle. Its times are read later. */
static void operate(struct thread *t, uint64_t id, int stream, int64_t duration_ns)
{
	struct cap_times_record *times = &t->outstanding[t->n_launched++ % OUTSTANDING];
	int64_t start_ns = t->now_ns + 4000;

	if (times->id)
		put_record(t, times);
	start_ns = start_ns > t->free_ns[stream] ? start_ns : t->free_ns[stream] + 800;
	t->free_ns[stream] = start_ns + duration_ns;
	t->events++;
	*times = (struct cap_times_record){.head = {.bytes = sizeof(*times), .kind = CAP_TIMES},
					   .id = id,
					   .start_ns = start_ns,
					   .end_ns = start_ns + duration_ns};
}

static void launch(struct thread *t, uint32_t kernel)
{
	_Alignas(8) uint8_t space[sizeof(struct cap_params_record) + 24] = {0};
	struct cap_params_record *p = (void *)space;
	uint64_t params[3] = {own(t, MEMORY) + (uint64_t)kernel * 4096,
			      own(t, MEMORY) + MEMORY_BYTES / 2, kernel};

	*p = (struct cap_params_record){
		.head = {.bytes = sizeof(space), .kind = CAP_PARAMS, .depth = 9}, .id = next_id(t)};
	memcpy(p->data, params, 20);
	put_record(t, p);
	operate(t,
		call(t, "cuLaunchKernel", own(t, FUNCTION(kernel)), 64 + kernel, 1, 1, 256, 1, 1, 0,
		     own(t, STREAM), 0x7fff0000, 0),
		0, 2000 + 500 * kernel + draw(t, 200));
}

static void all_reduce(struct thread *t)
{
	const uint64_t kernel[] = {own(t, FUNCTION(KERNELS)), 8, 1, 1, 512, 1, 1, 0,
				   own(t, COMM_STREAM),	      0, 0};
	const uint64_t words[] = {own(t, MEMORY), own(t, MEMORY),     1u << 20, 7, 0,
				  own(t, COMM),	  own(t, COMM_STREAM)};
	uint64_t outer = t->ordinal++, after;
	int64_t begin_ns = t->now_ns;

	operate(t, call_at(t, "cuLaunchKernel", 1, kernel, 11), 1, 40000 + draw(t, 2000));
	after = t->ordinal;
	t->ordinal = outer;
	call_at(t, "ncclAllReduce", 0, words, 7);
	((struct cap_call_record *)(void *)(t->bytes.data + t->bytes.len -
					    sizeof(struct cap_call_record) - sizeof(words)))
		->start = (uint64_t)begin_ns - 100;
	t->ordinal = after;
}

static void range(struct thread *t, enum cap_range_kind what, const char *text)
{
	_Alignas(8) uint8_t space[sizeof(struct cap_range_record) + 32] = {0};
	struct cap_range_record *r = (void *)space;
	uint32_t len = (uint32_t)strlen(text);

	*r = (struct cap_range_record){.head = {.bytes = (uint32_t)sizeof(*r) + ((len + 7) & ~7u),
						.kind = CAP_RANGE,
						.flags = (uint8_t)what},
				       .text_len = len,
				       .at = (uint64_t)t->now_ns,
				       .id = next_id(t)};
	memcpy(r->data, text, len);
	put_record(t, r);
	t->now_ns += 100;
}

static void iterate(struct thread *t, uint32_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "step %u", number);
	range(t, CAP_RANGE_PUSH, text);
	for (uint32_t i = 0; i < COPIES; i++)
		operate(t,
			call(t, "cuMemcpyHtoDAsync_v2", own(t, MEMORY), 0x10000, 1u << 16,
			     own(t, STREAM)),
			0, 9000 + draw(t, 300));
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		launch(t, i % KERNELS);
		if (i % (LAUNCHES / ALL_REDUCES) != 0)
			continue;
		call(t, "cuEventRecord", own(t, EVENT), own(t, STREAM));
		call(t, "cuStreamWaitEvent", own(t, COMM_STREAM), own(t, EVENT), 0);
		all_reduce(t);
	}
	call(t, "cuStreamSynchronize", own(t, STREAM));
	t->now_ns = t->now_ns > t->free_ns[0] ? t->now_ns : t->free_ns[0] + 1000;
	range(t, CAP_RANGE_POP, "");
}

static void begin_thread(struct thread *t)
{
	_Alignas(8) uint8_t space[sizeof(struct cap_layout_record) + 3 * sizeof(struct cap_param)];
	struct cap_layout_record *layout = (void *)space;
	uint64_t id[20] = {0x100, t->n_ranks};
	char name[32];

	*layout = (struct cap_layout_record){.head = {.bytes = sizeof(space), .kind = CAP_LAYOUT},
					     .n = 3};
	memcpy(layout->params, (const struct cap_param[]){{0, 8}, {8, 8}, {16, 4}},
	       3 * sizeof(struct cap_param));
	put_record(t, layout);
	put_result(t, own(t, CONTEXT));
	call(t, "cuDevicePrimaryCtxRetain", 0x100, t->device);
	call(t, "cuCtxSetCurrent", own(t, CONTEXT));
	put_result(t, own(t, STREAM));
	call(t, "cuStreamCreate", 0x100, 1);
	put_result(t, own(t, COMM_STREAM));
	call(t, "cuStreamCreate", 0x100, 1);
	put_result(t, own(t, EVENT));
	call(t, "cuEventCreate", 0x100, 2);
	put_result(t, own(t, MEMORY));
	call(t, "cuMemAlloc_v2", 0x100, MEMORY_BYTES);
	for (uint32_t k = 0; k <= KERNELS; k++) {
		snprintf(name, sizeof(name), k < KERNELS ? "kernel_%u" : "ncclAllReduce", k);
		put_result(t, own(t, FUNCTION(k)));
		put_blob(t, 2, CAP_BLOB_BEFORE, name, (uint32_t)strlen(name));
		call(t, "cuModuleGetFunction", 0x100, 0x77, 0x200);
	}
	memset(id + 2, 0x5a, 128);
	id[18] = t->rank;
	put_result(t, own(t, COMM));
	call_at(t, "ncclCommInitRank", 0, id, 19);
}

/* ---- the recording */

struct recording {
	struct rec_raw raw;
	struct thread *threads; /* owned */
	uint32_t n;
};

static void recording_done(struct recording *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		text_done(&r->threads[i].bytes);
	free(r->threads);
	rec_raw_done(&r->raw);
}

static int put_piece(struct recording *r, enum rec_piece_kind kind, const struct thread *t,
		     const void *data, size_t bytes)
{
	const struct rec_piece piece = {.kind = kind,
					.ring = t ? t->about.number : 0,
					.position = t && kind == REC_PIECE_BYTES ? t->position : 0,
					.bytes = bytes};

	return rec_raw_put(&r->raw, &piece, data);
}

static int begin(struct recording *r, const char *path, uint32_t processes, uint32_t gpus)
{
	struct rec_raw_header header = {.realtime_ns = 1, .host = "bench"};
	struct rec_piece_session session = {.settings = {.magic = CAP_MAGIC,
							 .version = CAP_VERSION,
							 .device_times = OUTSTANDING,
							 .first_iteration = -1,
							 .last_iteration = -1,
							 .first_payload = -1,
							 .last_payload = -1}};
	int e = rec_raw_create(path, &header, &r->raw);

	r->threads = calloc(processes * (size_t)gpus, sizeof(*r->threads));
	if (e == 0)
		e = r->threads ? put_piece(r, REC_PIECE_SESSION, NULL, &session, sizeof(session))
			       : -ENOMEM;
	for (; r->n < processes * gpus && e == 0; r->n++) {
		struct thread *t = &r->threads[r->n];

		*t = (struct thread){.about = {.number = r->n,
					       .pid = 1000 + (int32_t)(r->n / gpus),
					       .tid = 1000 + (int32_t)r->n,
					       .process_start = 1,
					       .thread_name = "worker"},
				     .ordinal = 1,
				     .now_ns = 1000000000 + r->n,
				     .device = r->n % gpus,
				     .rank = r->n,
				     .n_ranks = processes * gpus,
				     .random = 1};
		e = put_piece(r, REC_PIECE_RING, t, &t->about, sizeof(t->about));
		begin_thread(t);
	}
	return e;
}

static int put_bytes(struct recording *r, struct thread *t)
{
	int e = put_piece(r, REC_PIECE_BYTES, t, t->bytes.data, t->bytes.len);

	t->position += t->bytes.len;
	t->bytes.len = 0;
	return t->bytes.error ? t->bytes.error : e;
}

static int end(struct recording *r)
{
	const struct rec_unrecorded none = {.processes = r->n};
	int e = 0;

	for (uint32_t i = 0; i < r->n && e == 0; i++) {
		struct thread *t = &r->threads[i];
		const struct cap_ring_status status = {.state = CAP_PROCESS_EXITED,
						       .last_call = next_id(t) - 1};

		for (uint32_t k = 0; k < OUTSTANDING; k++)
			if (t->outstanding[(t->n_launched + k) % OUTSTANDING].id)
				put_record(t, &t->outstanding[(t->n_launched + k) % OUTSTANDING]);
		e = put_bytes(r, t);
		if (e == 0)
			e = put_piece(r, REC_PIECE_STATUS, t, &status, sizeof(status));
	}
	if (e == 0)
		e = put_piece(r, REC_PIECE_ROUND, NULL, NULL, 0);
	if (e == 0)
		e = put_piece(r, REC_PIECE_END, NULL, &none, sizeof(none));
	return e < 0 ? e : rec_raw_flush(&r->raw);
}

static int record(struct recording *r, uint64_t events)
{
	int64_t round_ns = r->threads[0].now_ns + ROUND_NS;
	uint64_t made = 0;
	int e = 0;

	for (uint32_t number = 0; made < events && e == 0; number++) {
		bool is_round = r->threads[0].now_ns >= round_ns;

		made = 0;
		for (uint32_t i = 0; i < r->n && e == 0; i++) {
			iterate(&r->threads[i], number);
			made += r->threads[i].events;
			if (is_round)
				e = put_bytes(r, &r->threads[i]);
		}
		if (is_round && e == 0)
			e = put_piece(r, REC_PIECE_ROUND, NULL, NULL, 0);
		if (is_round)
			round_ns = r->threads[0].now_ns + ROUND_NS;
	}
	return e;
}

int main(int argc, char **argv)
{
	scoped(recording_done) struct recording r = {.raw = {.fd = -1}};
	int e;

	if (argc != 5) {
		fprintf(stderr, "usage: recording FILE PROCESSES GPUS EVENTS\n");
		return 2;
	}
	e = begin(&r, argv[1], (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
	if (e == 0)
		e = record(&r, strtoull(argv[4], NULL, 10));
	if (e == 0)
		e = end(&r);
	if (e < 0)
		fprintf(stderr, "recording: %s: %s\n", argv[1], strerror(-e));
	return e < 0;
}
