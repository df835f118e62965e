/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/cut.h"

#include "base/array.h"
#include "formats/trace/facts.h"
#include "formats/trace/images.h"
#include "formats/trace/store/blobs.h"
#include "replay/device/build.h"
#include "replay/device/recorded.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A call of NCCL that needs another rank's: all ranks of a communicator make the n-th collective
 * together, a message has a sender and a receiver. */
struct need {
	uint64_t key;  /* of the communicator, or of messages between two of its ranks */
	uint32_t side; /* rank in the communicator; of messages 0 or 1 */
	uint32_t of;   /* ranks that have to make it */
	uint32_t process, call, group; /* `group`: the first call that belongs to it */
};

/* A communicator of the process that is read. */
struct comm {
	int64_t handle;
	uint64_t key;
	uint32_t rank, n_ranks, splits;
};

struct cut {
	struct need *needs; /* by key, side, process and call */
	size_t n, cap;
	struct comm *comms;
	size_t n_comms, comms_cap;
	uint32_t *stops;
};

static void cut_done(struct cut *c)
{
	free(c->needs);
	free(c->comms);
}

bool rex_is_cut_off(const struct fmt_trace *trace)
{
	const struct fmt_names *names = fmt_trace_names(trace);

	for (uint32_t i = 0; i < fmt_trace_n_ranks(trace); i++)
		if (fmt_fact_value(names, i, FMT_ENDING_KEY))
			return true;
	return fmt_fact_value(names, FMT_WHOLE_TRACE, FMT_CUT_OFF_KEY) ||
	       fmt_fact_value(names, FMT_WHOLE_TRACE, FMT_MISSING_PARTS_KEY);
}

/* ---- communicators */

static uint64_t mix(uint64_t key, uint64_t value)
{
	return (key ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (key >> 29);
}

static int64_t number(const struct rex_call *c, const char *key, int64_t otherwise)
{
	rex_args_int(&c->args, key, NULL, &otherwise);
	return otherwise;
}

static struct comm *comm_of(struct cut *c, int64_t handle)
{
	for (size_t i = c->n_comms; i-- > 0;)
		if (c->comms[i].handle == handle)
			return &c->comms[i];
	return NULL;
}

static int add_comm(struct cut *c, const struct comm *comm)
{
	if (array_reserve(&c->comms, c->n_comms + 1, &c->comms_cap) < 0)
		return -ENOMEM;
	c->comms[c->n_comms++] = *comm;
	return 0;
}

static int add_need(struct cut *c, const struct need *need)
{
	if (array_reserve(&c->needs, c->n + 1, &c->cap) < 0)
		return -ENOMEM;
	c->needs[c->n++] = *need;
	return 0;
}

/* ncclCommInitAll: all ranks are of this process. */
static int add_all(struct cut *c, const struct rex_call *call, uint32_t process)
{
	uint64_t handles[64] = {0};
	size_t n = rex_args_bytes(&call->args, "comm.out", 8, handles, sizeof(handles)) / 8;

	for (size_t i = 0; i < n; i++) {
		const struct comm comm = {
			.handle = (int64_t)handles[i],
			.key = mix(process + 1u, handles[0]),
			.rank = (uint32_t)i,
			.n_ranks = (uint32_t)n,
		};
		int r = add_comm(c, &comm);

		if (r < 0)
			return r;
	}
	return 0;
}

/* A communicator begins, which its ranks do together. */
static int begin_comm(struct cut *c, const struct rex_call *call, struct need need)
{
	char id[2 * REX_SHARED_BYTES] = {0};
	struct comm comm = {.key = 1}, *parent = comm_of(c, number(call, "comm", 0));
	size_t n;
	int r;

	if (strstr(call->api->name, "InitAll"))
		return add_all(c, call, need.process);
	comm.handle = number(call, "comm.out", number(call, "newcomm.out", 0));
	comm.rank = (uint32_t)number(call, "rank", number(call, "myrank", 0));
	comm.n_ranks = (uint32_t)number(call, "nranks", 0);
	n = rex_args_bytes(&call->args, "commId", 1, id, sizeof(id));
	if (n == 0)
		n = rex_args_bytes(&call->args, "commIds.in", 1, id, sizeof(id));
	for (size_t i = 0; i < n; i++)
		comm.key = mix(comm.key, (uint8_t)id[i]);
	if (n == 0 && parent) { /* split, or shrunk: its ranks keep their order */
		comm.key =
			mix(mix(parent->key, ++parent->splits), (uint64_t)number(call, "color", 0));
		comm.rank = parent->rank;
		need.key = parent->key;
		need.side = parent->rank;
		need.of = parent->n_ranks;
	} else {
		need.key = comm.key;
		need.side = comm.rank;
		need.of = comm.n_ranks;
	}
	r = add_need(c, &need);
	return r < 0 ? r : add_comm(c, &comm);
}

static int add_exchange(struct cut *c, const struct rex_call *call, struct need need)
{
	const struct comm *comm = comm_of(c, number(call, "comm", 0));
	bool sends = strstr(call->api->name, "Send");
	uint32_t peer;

	if (!comm)
		return 0;
	need.key = comm->key;
	need.side = comm->rank;
	need.of = comm->n_ranks;
	if (call->api->class == API_CLASS_P2P) {
		peer = (uint32_t)number(call, "peer", 0);
		need.key = mix(mix(mix(comm->key, 1), sends ? comm->rank : peer),
			       sends ? peer : comm->rank);
		need.side = sends;
		need.of = 2;
	}
	return add_need(c, &need);
}

/* ---- processes */

static bool is_there(const struct fmt_trace *t, const uint64_t name[2])
{
	return fmt_blob_is_there(t, name) > 0;
}

static bool copies_from_host(const struct api_call *call)
{
	bool reads_host = false, writes_device = false;

	for (unsigned i = 0; i < call->n_args && call->class == API_CLASS_COPY; i++) {
		const struct api_arg *a = &call->args[i];

		reads_host |= a->direction == API_DIRECTION_READS && a->meaning == API_MEANING_HOST;
		writes_device |=
			a->direction == API_DIRECTION_WRITES && a->meaning == API_MEANING_DEVPTR;
	}
	return reads_host && writes_device;
}

/* Whether a content that the call brings was cut off; its record as well, if the process has
 * contents of others. */
static bool misses_content(const struct rex_process *p, const struct rex_call *c)
{
	size_t n, len;
	const char *hash = rex_args_text(&c->args, "image.hash", &len);
	const struct rex_content *list;
	bool is_recorded = false;
	uint64_t name[2];

	if (hash && fmt_content_name_get(hash, len, name) && !is_there(p->trace, name))
		return true;
	if (c->api->class != API_CLASS_COPY)
		return false;
	list = rex_contents_of(p, c->correlation, &n);
	for (size_t i = 0; i < n; i++) {
		if (list[i].access == FMT_WRITTEN && !is_there(p->trace, list[i].name))
			return true;
		is_recorded |= list[i].access == FMT_WRITTEN;
	}
	return !is_recorded && !c->before && p->n_contents > 0 && copies_from_host(c->api);
}

static int read_call(struct cut *c, const struct rex_call *call, struct need need)
{
	switch ((enum api_class)call->api->class) {
	case API_CLASS_CREATE:
		return strstr(call->api->name, "ncclComm") ? begin_comm(c, call, need) : 0;
	case API_CLASS_COLLECTIVE:
	case API_CLASS_P2P:
		return add_exchange(c, call, need);
	default:
		return 0;
	}
}

static int read_process(struct cut *c, const struct rex_process *p, uint32_t process)
{
	scoped(free_ptr) uint32_t *groups = calloc(p->n_threads + 1, sizeof(*groups));
	scoped(free_ptr) uint32_t *depths = calloc(p->n_threads + 1, sizeof(*depths));
	int r = groups && depths ? 0 : -ENOMEM;

	c->n_comms = 0;
	c->stops[process] = (uint32_t)p->n_calls;
	for (uint32_t i = 0; i < p->n_calls && r == 0; i++) {
		const struct rex_call *call = &p->calls[i];
		uint32_t thread = call->thread;

		if (call->skipped || !api_succeeded(call->api, call->result))
			continue;
		if (misses_content(p, call)) {
			c->stops[process] = i;
			break;
		}
		if (call->api->class == API_CLASS_GROUP_BEGIN && depths[thread]++ == 0)
			groups[thread] = i;
		if (call->api->class == API_CLASS_GROUP_END && depths[thread] > 0)
			depths[thread]--;
		if (call->api->library == API_LIBRARY_NCCL)
			r = read_call(c, call,
				      (struct need){.process = process,
						    .call = i,
						    .group = depths[thread] ? groups[thread] : i});
	}
	/* A group that did not end did nothing. */
	for (size_t i = 0; i < p->n_threads && r == 0; i++)
		if (depths[i] > 0 && groups[i] < c->stops[process])
			c->stops[process] = groups[i];
	return r;
}

/* ---- the calls that all ranks make */

static int by_key(const void *a, const void *b)
{
	const struct need *x = a, *y = b;

	return array_order(x->key, y->key) ?: array_order(x->side, y->side)
	       ?: array_order(x->process, y->process) ?: array_order(x->call, y->call);
}

/* Lets processes end before calls with this key that not all sides make; true if one ends earlier
 * than before. */
static bool stop_unmatched(struct cut *c, size_t first, size_t end)
{
	size_t least = SIZE_MAX, sides = 0, made = 0;
	bool changed = false;

	for (size_t i = first; i < end; i++) {
		const struct need *n = &c->needs[i];

		made += n->group < c->stops[n->process];
		if (i + 1 < end && n[1].side == n->side)
			continue;
		least = made < least ? made : least;
		sides++;
		made = 0;
	}
	if (sides < c->needs[first].of)
		least = 0;
	for (size_t i = first; i < end; i++) {
		const struct need *n = &c->needs[i];

		made = i > first && n[-1].side == n->side ? made + 1 : 1;
		if (made > least && n->group < c->stops[n->process]) {
			c->stops[n->process] = n->group;
			changed = true;
		}
	}
	return changed;
}

static void stop_all(struct cut *c)
{
	bool changed = c->n > 0;

	if (changed)
		qsort(c->needs, c->n, sizeof(c->needs[0]), by_key);
	while (changed) {
		changed = false;
		for (size_t i = 0, end; i < c->n; i = end) {
			for (end = i; end < c->n && c->needs[end].key == c->needs[i].key; end++)
				;
			changed |= stop_unmatched(c, i, end);
		}
	}
}

int rex_cut_find(struct fmt_trace *trace, struct rex_range range, uint32_t *stops, uint32_t n,
		 uint64_t *left_out, struct fmt_error *err)
{
	scoped(cut_done) struct cut c = {.stops = stops};
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++) {
		scoped(rex_process_done) struct rex_process p = {0};
		int r = rex_process_read(trace, i, range, &p, err);

		if (r == 0)
			r = read_process(&c, &p, i);
		if (r < 0)
			return r;
		all += p.n_calls;
	}
	stop_all(&c);
	*left_out = all;
	for (uint32_t i = 0; i < n; i++)
		*left_out -= stops[i];
	return 0;
}
