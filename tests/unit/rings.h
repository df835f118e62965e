/* SPDX-License-Identifier: Apache-2.0 */

/* Ring buffers with hand-written records, as a traced program would leave them, for tests of the
 * recorder. Not thread-safe; a failure ends the test. */
#pragma once

#include "base/scope.h"
#include "capture/consumer.h"
#include "formats/api/fields.h"
#include "formats/raw/ring.h"
#include "formats/run/gpucapture/calls/ring_reader.h"
#include "formats/run/gpucapture/trace/trace_writer.h"
#include "formats/trace/store/trace.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RINGS_DATA (1u << 20)

/* The ring buffer of one traced thread, and the recorder's state for it. */
struct made_ring {
	struct cap_ring *ring;
	struct cap_consumer *drain;
	struct rec_ring_reader *reader;
	uint64_t ordinal;
	int64_t now_ns; /* start of the next call; calls take 1 us, 1 us apart */
};

static inline void ring_open(struct made_ring *m, struct rec_process *p, uint32_t number)
{
	size_t size = CAP_RING_HEADER_BYTES + RINGS_DATA;

	m->ring = aligned_alloc(CAP_LINE, size);
	memset(m->ring, 0, size);
	m->ring->magic = CAP_MAGIC;
	m->ring->version = CAP_VERSION;
	m->ring->number = number;
	m->ring->pid = p->pid;
	m->ring->tid = p->pid + (int)number;
	m->ring->data_offset = CAP_RING_HEADER_BYTES;
	m->ring->data_bytes = RINGS_DATA;
	strcpy(m->ring->thread_name, "worker");
	ck_assert_int_eq(cap_consumer_attach(m->ring, size, &m->drain), 0);
	ck_assert_int_eq(rec_ring_reader_new(cap_consumer_info(m->drain), p, NULL, &m->reader), 0);
	m->ordinal = 1;
	m->now_ns = 1000000;
}

static inline void ring_close(struct made_ring *m)
{
	rec_ring_reader_free(m->reader);
	cap_consumer_close(m->drain);
	free(m->ring);
}

/* Makes the recorder process all records that were put into the ring so far. */
static inline void ring_look(struct made_ring *m)
{
	struct fmt_cursor c;

	if (cap_consumer_read(m->drain, &c) == 1)
		ck_assert_int_eq(rec_ring_reader_add(m->reader, &c), 0);
	ck_assert_int_eq(rec_ring_readers_process(&m->reader, 1, true), 0);
}

static inline void ring_put(struct made_ring *m, const void *record)
{
	uint32_t bytes = ((const struct cap_record *)record)->bytes;

	ck_assert_uint_le(m->ring->head + bytes, RINGS_DATA);
	memcpy((uint8_t *)m->ring + CAP_RING_HEADER_BYTES + m->ring->head, record, bytes);
	m->ring->head += bytes;
}

static inline uint64_t ring_id(const struct made_ring *m)
{
	return (uint64_t)m->ring->number << CAP_ORDINAL_BITS | m->ordinal;
}

/* Puts the memory that argument `arg` of the next call points to. */
static inline void ring_blob(struct made_ring *m, uint16_t arg, enum cap_blob_kind what,
			     const void *data, uint32_t len)
{
	_Alignas(8) uint8_t room[sizeof(struct cap_blob_record) + 512] = {0};
	struct cap_blob_record *b = (void *)room;

	ck_assert_uint_le(len, 512);
	b->head = (struct cap_record){.bytes = (uint32_t)(sizeof(*b) + (len + 7) / 8 * 8),
				      .kind = CAP_BLOB,
				      .flags = (uint8_t)what};
	b->arg = arg;
	b->len = len;
	b->whole_len = len;
	b->id = ring_id(m);
	memcpy(b->data, data, len);
	ring_put(m, room);
}

/* Puts the memory that a field of a struct points to; argument `arg` of the next call, `call`,
 * points to the struct. */
static inline void ring_field(struct made_ring *m, uint16_t arg, const char *call,
			      const char *field, const void *data, uint32_t len)
{
	const struct api_arg *a = &api_call((unsigned)api_find(call))->args[arg];
	uint64_t at = m->ring->head;
	struct cap_blob_record *b;

	ck_assert_ptr_nonnull(a->layout);
	ck_assert_ptr_nonnull(api_field(a->layout, field));
	ring_blob(m, arg, CAP_BLOB_FIELD, data, len);
	b = (void *)((uint8_t *)m->ring + CAP_RING_HEADER_BYTES + at);
	b->field = (uint16_t)(api_field(a->layout, field) - a->layout->fields);
}

static inline void ring_out(struct made_ring *m, uint16_t arg, uint64_t handle)
{
	ring_blob(m, arg, CAP_BLOB_AFTER, &handle, sizeof(handle));
}

/* Puts a call with its argument words at nesting depth `depth`. Returns the call's id. */
static inline uint64_t ring_call_at(struct made_ring *m, const char *name, uint8_t depth,
				    int32_t result, const uint64_t *words, uint32_t n)
{
	_Alignas(8) uint8_t room[sizeof(struct cap_call_record) + 8 * 64] = {0};
	struct cap_call_record *c = (void *)room;
	int api = api_find(name);

	ck_assert_msg(api >= 0, "no call %s", name);
	c->head = (struct cap_record){
		.bytes = (uint32_t)(sizeof(*c) + 8ul * n), .kind = CAP_CALL, .depth = depth};
	c->api = (uint32_t)api;
	c->result = result;
	c->id = ring_id(m);
	c->start = (uint64_t)m->now_ns;
	c->end = (uint64_t)m->now_ns + 1000;
	m->now_ns += 2000;
	m->ordinal++;
	if (n > 0)
		memcpy(c->words, words, 8ul * n);
	ring_put(m, room);
	return c->id;
}

#define ring_call(m, name, ...)                                                                    \
	ring_call_at((m), (name), 0, 0, (const uint64_t[]){__VA_ARGS__},                           \
		     sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static inline void ring_times(struct made_ring *m, uint64_t id, int64_t start_ns, int64_t end_ns)
{
	struct cap_times_record t = {.head = {.bytes = sizeof(t), .kind = CAP_TIMES},
				     .id = id,
				     .start_ns = start_ns,
				     .end_ns = end_ns};

	ring_put(m, &t);
}

/* Announces `n` digests of the next call. */
static inline void ring_announce(struct made_ring *m, uint32_t n)
{
	struct cap_announced_record r = {
		.head = {.bytes = sizeof(r), .kind = CAP_ANNOUNCED}, .n = n, .id = ring_id(m)};

	ring_put(m, &r);
}

/* Puts a digest of one page whose value is the call's id. */
static inline void ring_digest(struct made_ring *m, uint64_t id, uint8_t flags)
{
	_Alignas(8) uint8_t room[sizeof(struct cap_digest_record) + 16] = {0};
	struct cap_digest_record *r = (void *)room;

	r->head = (struct cap_record){.bytes = sizeof(room), .kind = CAP_DIGEST, .flags = flags};
	r->n_pages = 1;
	r->id = id;
	r->allocation = 1;
	r->length_bytes = 64;
	r->digest[0] = r->pages[0] = id;
	ring_put(m, room);
}

/* Puts the contents for the digest of ring_digest(). */
static inline void ring_content(struct made_ring *m, uint64_t id)
{
	struct cap_payload_record r = {.head = {.bytes = sizeof(r), .kind = CAP_PAYLOAD},
				       .id = id,
				       .allocation = 1,
				       .length_bytes = 64,
				       .hash = {id}};

	ring_put(m, &r);
}

/* Puts the calls that make a context of device `device`, and a stream and a kernel in it. */
static inline void ring_begin(struct made_ring *m, int device, uint64_t context, uint64_t stream,
			      uint64_t kernel)
{
	ring_out(m, 0, context);
	ring_call(m, "cuDevicePrimaryCtxRetain", 0x100, (uint64_t)device);
	ring_call(m, "cuCtxSetCurrent", context);
	ring_out(m, 0, stream);
	ring_call(m, "cuStreamCreate", 0x100, 1);
	ring_out(m, 0, kernel);
	ring_blob(m, 2, CAP_BLOB_BEFORE, "step", 5);
	ring_call(m, "cuModuleGetFunction", 0x100, 0x77, 0x200);
}

static inline uint64_t ring_launch(struct made_ring *m, uint64_t kernel, uint64_t stream)
{
	return ring_call(m, "cuLaunchKernel", kernel, 4, 1, 1, 32, 1, 1, 0, stream, 0, 0);
}

enum { CONTEXT = 0x1000, STREAM = 0x2000, KERNEL = 0x3000, COMM = 0x5000 };

static inline struct rec_process *process(struct fmt_names *names, int pid, uint32_t index)
{
	struct rec_process *p;

	ck_assert_int_eq(rec_process_new(names, pid, 1, &p), 0);
	p->index = index;
	return p;
}

/* One process with one thread that has created a context. */
struct recording {
	struct fmt_names *names;
	struct rec_process *process;
	struct made_ring ring;
};

static inline void recording_begin(struct recording *r, int device)
{
	ck_assert_int_eq(fmt_names_new(&r->names), 0);
	r->process = process(r->names, 100, 0);
	ring_open(&r->ring, r->process, 0);
	ring_begin(&r->ring, device, CONTEXT, STREAM, KERNEL);
}

static inline void recording_end(struct recording *r)
{
	ring_close(&r->ring);
	rec_process_free(r->process);
	fmt_names_free(r->names);
}

/* A trace in a temporary folder, which written_done() removes. */
struct written {
	char folder[32];
	struct fmt_trace *trace;
	struct rec_trace_counts result;
};

static inline void written_done(struct written *w)
{
	char command[96];

	fmt_trace_close(w->trace);
	snprintf(command, sizeof(command), "rm -rf %s", w->folder);
	ck_assert_int_eq(system(command), 0);
}

/* Makes the folder. Returns the path of the trace to write there, until the next call. */
static inline const char *written_begin(struct written *w)
{
	static char path[64];

	strcpy(w->folder, "/tmp/test-recorder-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->folder));
	snprintf(path, sizeof(path), "%s/trace", w->folder);
	return path;
}

static inline void write_window(struct rec_process *const *p, size_t n, struct fmt_names *names,
				const struct rec_window *window, struct written *w)
{
	const char *path = written_begin(w);
	struct fmt_error err = {0};

	ck_assert_msg(rec_run_write(p, n, names, window, path, &w->result, &err) == 0, "%s",
		      err.what);
	ck_assert_msg(fmt_trace_open(path, &w->trace, &err) == 0, "%s", err.what);
}

static inline void write_trace(struct rec_process *const *p, size_t n, struct fmt_names *names,
			       struct written *w)
{
	static const struct rec_window all = {.first = -1, .last = -1};

	write_window(p, n, names, &all, w);
}

static inline void join_comm(struct made_ring *m, uint64_t n, uint64_t rank)
{
	uint64_t words[20] = {0x100, n};

	memset(words + 2, 0x5a, 128); /* the unique id, passed by value */
	words[18] = rank;
	ring_out(m, 0, COMM);
	ring_call_at(m, "ncclCommInitRank", 0, 0, words, 19);
}

/* Puts an all-reduce and the kernel launch inside it. All times are deterministic, so the rank that
 * waited is known. */
static inline void reduce(struct made_ring *m, int64_t start_ns, int64_t end_ns)
{
	const uint64_t launch[] = {KERNEL, 8, 1, 1, 512, 1, 1, 0, STREAM, 0, 0};
	const uint64_t words[] = {0x10000, 0x10000, 256, 7, 0, COMM, STREAM};
	uint64_t outer = m->ordinal++, id = ring_call_at(m, "cuLaunchKernel", 1, 0, launch, 11);
	uint64_t next = m->ordinal;

	ring_times(m, id, start_ns, end_ns);
	m->ordinal = outer;
	m->now_ns -= 2000;
	ring_call_at(m, "ncclAllReduce", 0, 0, words, 7);
	m->now_ns += 2000;
	m->ordinal = next;
}

/* Puts a send or receive for each bit of `peers`. */
static inline void exchange_calls(struct made_ring *m, uint64_t peers, const char *call)
{
	for (uint64_t peer = 0; peer < 64; peer++) {
		const uint64_t words[] = {0x10000, 64, 7, peer, COMM, STREAM};

		if (peers >> peer & 1)
			ring_call_at(m, call, 0, 0, words, 6);
	}
}

/* Puts the end of a NCCL group with the kernel launch inside it. */
static inline void end_group(struct made_ring *m, int64_t start_ns, int64_t end_ns)
{
	const uint64_t launch[] = {KERNEL, 8, 1, 1, 512, 1, 1, 0, STREAM, 0, 0};
	uint64_t outer = m->ordinal++;
	uint64_t id = ring_call_at(m, "cuLaunchKernel", 1, 0, launch, 11), next = m->ordinal;

	ring_times(m, id, start_ns, end_ns);
	m->ordinal = outer;
	ring_call_at(m, "ncclGroupEnd", 0, 0, NULL, 0);
	m->ordinal = next;
}
