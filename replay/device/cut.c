/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/cut.h"

#include "base/array.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/images.h"
#include "formats/trace/store/blobs.h"
#include "replay/device/build.h"
#include "replay/device/nccl.h"
#include "replay/device/objects.h"
#include "replay/device/recorded.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LAST_DEFAULT_STREAM 2 /* CU_STREAM_PER_THREAD */
#define NO_CALL UINT32_MAX

/* A call of NCCL that needs another rank's: all ranks of a communicator make the n-th collective
 * together, a message has a sender and a receiver. Both are exchanges. */
struct need {
	uint64_t key;	  /* of the communicator, or of messages between two of its ranks */
	uint32_t side;	  /* rank in the communicator; of messages 0 or 1 */
	uint32_t n_sides; /* ranks that must make it */
	uint32_t process, call, group; /* `group`: the first call that belongs to it */
	uint32_t nth;		       /* exchange with this key */
	size_t first;		       /* index of the first need of the exchange */
	bool is_left_out;	       /* set in the first need: not all sides make the exchange */
};

/* A communicator of the current process. */
struct comm {
	uint64_t key;
	uint32_t rank, n_ranks, splits;
	uint32_t call; /* that created it */
};

struct cut {
	struct need *needs;
	size_t n, cap;
	struct comm *comms;
	size_t n_comms, comms_cap;
	struct rex_objects *handles; /* index in `comms`, by recorded handle; of other objects 0 */
	uint32_t *stops;
};

static void cut_done(struct cut *c)
{
	free(c->needs);
	free(c->comms);
	rex_objects_free(c->handles);
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
	uint64_t index;

	return rex_handle_get(c->handles, API_MEANING_COMM, (uint64_t)handle, &index)
		       ? &c->comms[index]
		       : NULL;
}

static int add_comm(struct cut *c, int64_t handle, const struct comm *comm)
{
	if (array_reserve(&c->comms, c->n_comms + 1, &c->comms_cap) < 0)
		return -ENOMEM;
	c->comms[c->n_comms] = *comm;
	return rex_handle_set(c->handles, API_MEANING_COMM, (uint64_t)handle, c->n_comms++);
}

static int add_need(struct cut *c, const struct need *need)
{
	if (array_reserve(&c->needs, c->n + 1, &c->cap) < 0)
		return -ENOMEM;
	c->needs[c->n++] = *need;
	return 0;
}

/* ncclCommInitAll: all ranks are in this process. */
static int add_all(struct cut *c, const struct rex_call *call, uint32_t process)
{
	uint64_t handles[64] = {0};
	size_t n = rex_args_bytes(&call->args, "comm.out", 8, handles, sizeof(handles)) / 8;

	for (size_t i = 0; i < n; i++) {
		const struct comm comm = {
			.key = mix(process + 1u, handles[0]),
			.rank = (uint32_t)i,
			.n_ranks = (uint32_t)n,
		};
		int r = add_comm(c, (int64_t)handles[i], &comm);

		if (r < 0)
			return r;
	}
	return 0;
}

/* The end of a group returns communicators of its calls. */
static int add_splits(struct cut *c, const struct rex_process *p, const struct rex_call *end)
{
	const struct rex_call *splits[64];
	uint64_t handles[ARRAY_SIZE(splits)];
	size_t n = rex_args_bytes(&end->args, "comms.out", 8, handles, sizeof(handles)) / 8;
	int r = 0;

	if (n > 0)
		n = rex_find_splits(p, end, splits, n);
	for (size_t i = 0; i < n && r == 0; i++)
		for (size_t k = 0; k < c->n_comms && r == 0; k++)
			if (&p->calls[c->comms[k].call] == splits[i])
				r = rex_handle_set(c->handles, API_MEANING_COMM, handles[i], k);
	return r;
}

/* A communicator begins, which its ranks do together. */
static int begin_comm(struct cut *c, const struct rex_call *call, struct need need)
{
	char id[2 * REX_SHARED_BYTES] = {0};
	struct comm comm = {.key = 1, .call = need.call},
		    *parent = comm_of(c, number(call, "comm", 0));
	size_t n;
	int r;

	if (strstr(call->api->name, "InitAll"))
		return add_all(c, call, need.process);
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
		need.n_sides = parent->n_ranks;
	} else {
		need.key = comm.key;
		need.side = comm.rank;
		need.n_sides = comm.n_ranks;
	}
	r = add_need(c, &need);
	if (r < 0)
		return r;
	return add_comm(c, number(call, "comm.out", number(call, "newcomm.out", 0)), &comm);
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
	need.n_sides = comm->n_ranks;
	if (call->api->class == API_CLASS_P2P) {
		peer = (uint32_t)number(call, "peer", 0);
		need.key = mix(mix(mix(comm->key, 1), sends ? comm->rank : peer),
			       sends ? peer : comm->rank);
		need.side = sends;
		need.n_sides = 2;
	}
	return add_need(c, &need);
}

/* ---- processes */

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

/* Returns true if a content that the call needs was cut off, or its record, if the process has
 * contents of other calls. */
static bool misses_content(const struct rex_process *p, const struct rex_call *c)
{
	size_t n, len;
	const char *hash = rex_args_text(&c->args, "image.hash", &len);
	const struct rex_content *list;
	bool is_recorded = false;
	uint64_t name[2];

	if (hash && fmt_content_name_get(hash, len, name) &&
	    fmt_blob_is_listed(p->trace, name) <= 0)
		return true;
	if (c->api->class != API_CLASS_COPY)
		return false;
	list = rex_find_contents(p, c->correlation, &n);
	for (size_t i = 0; i < n; i++) {
		if (list[i].access == FMT_WRITTEN &&
		    fmt_blob_is_listed(p->trace, list[i].name) <= 0)
			return true;
		is_recorded |= list[i].access == FMT_WRITTEN;
	}
	return !is_recorded && !c->before && p->n_contents > 0 && copies_from_host(c->api);
}

/* Objects that another thread may have created just before. */
static bool is_shared(enum api_meaning meaning)
{
	return meaning == API_MEANING_FUNCTION || meaning == API_MEANING_KERNEL ||
	       meaning == API_MEANING_STREAM || meaning == API_MEANING_EVENT ||
	       meaning == API_MEANING_MODULE || meaning == API_MEANING_LIBRARY;
}

/* Returns true if the call that created an object was cut off. Notes the objects that this call
 * creates; a kernel is a function, too. */
static bool misses_object(struct cut *c, const struct rex_call *call)
{
	char key[REX_KEY_BYTES];
	uint64_t values[1024], index;
	bool misses = false;

	for (unsigned i = 0; i < call->api->n_args; i++) {
		const struct api_arg *a = &call->api->args[i];
		enum api_meaning meaning = (enum api_meaning)a->meaning;
		size_t n = 0;

		if (!is_shared(meaning))
			continue;
		if (meaning == API_MEANING_KERNEL)
			meaning = API_MEANING_FUNCTION;
		if (a->direction == API_DIRECTION_OUT)
			n = rex_args_bytes(&call->args, rex_key(key, a->name, "out"), 8, values,
					   sizeof(values));
		for (size_t k = 0; k < n / 8; k++)
			rex_handle_set(c->handles, meaning, values[k], 0);
		if (a->direction == API_DIRECTION_NONE) {
			uint64_t value = (uint64_t)number(call, a->name, 0);

			misses |= value > LAST_DEFAULT_STREAM &&
				  !rex_handle_get(c->handles, meaning, value, &index);
		}
	}
	return misses;
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

/* A thread of the current process. */
struct thread {
	uint32_t group_depth, group; /* `group`: its first call */
	uint32_t within;	     /* first nested call since the last other one; NO_CALL: none */
};

/* Notes calls within a call that was not recorded, unless the thread made other calls later: that
 * call was in progress when the recording was cut off. */
static void note_depth(struct thread *t, const struct rex_call *call, uint32_t index)
{
	if (call->nested || number(call, "depth", 0) == 0)
		t->within = NO_CALL;
	else if (t->within == NO_CALL)
		t->within = index;
}

static int read_process(struct cut *c, const struct rex_process *p, uint32_t process)
{
	scoped(free_ptr) struct thread *threads = calloc(p->n_threads + 1, sizeof(*threads));
	int r = threads ? 0 : -ENOMEM;

	c->n_comms = 0;
	rex_objects_free(take(c->handles));
	if (r == 0)
		r = rex_objects_new(&c->handles);
	for (size_t i = 0; i < p->n_threads && r == 0; i++)
		threads[i].within = NO_CALL;
	c->stops[process] = (uint32_t)p->n_calls;
	for (uint32_t i = 0; i < p->n_calls && r == 0; i++) {
		const struct rex_call *call = &p->calls[i];
		struct thread *t = &threads[call->thread];

		note_depth(t, call, i);
		if (call->skipped || !api_succeeded(call->api, call->result))
			continue;
		if (misses_object(c, call) || misses_content(p, call)) {
			c->stops[process] = i;
			break;
		}
		if (call->api->class == API_CLASS_GROUP_BEGIN && t->group_depth++ == 0)
			t->group = i;
		if (call->api->class == API_CLASS_GROUP_END && t->group_depth > 0)
			t->group_depth--;
		if (call->api->class == API_CLASS_GROUP_END)
			r = add_splits(c, p, call);
		else if (call->api->library == API_LIBRARY_NCCL)
			r = read_call(c, call,
				      (struct need){.process = process,
						    .call = i,
						    .group = t->group_depth ? t->group : i});
	}
	/* Ignores calls and groups that did not end: they had no effect. */
	for (size_t i = 0; i < p->n_threads && r == 0; i++) {
		uint32_t first = threads[i].within;

		if (threads[i].group_depth > 0 && threads[i].group < first)
			first = threads[i].group;
		if (first < c->stops[process])
			c->stops[process] = first;
	}
	return r;
}

/* ---- exchanges of all sides */

static int by_side(const void *a, const void *b)
{
	const struct need *x = a, *y = b;

	return array_order(x->key, y->key) ?: array_order(x->side, y->side)
	       ?: array_order(x->process, y->process) ?: array_order(x->call, y->call);
}

static int by_exchange(const void *a, const void *b)
{
	const struct need *x = a, *y = b;

	return array_order(x->key, y->key) ?: array_order(x->nth, y->nth)
	       ?: array_order(x->side, y->side);
}

static int by_group(const void *a, const void *b)
{
	const struct need *x = *(struct need *const *)a, *y = *(struct need *const *)b;

	return array_order(x->process, y->process) ?: array_order(x->group, y->group);
}

/* Sorts the needs by exchange: each side makes the exchanges with a key in the same order. */
static void find_exchanges(struct cut *c)
{
	qsort(c->needs, c->n, sizeof(c->needs[0]), by_side);
	for (size_t i = 1; i < c->n; i++)
		if (c->needs[i].key == c->needs[i - 1].key &&
		    c->needs[i].side == c->needs[i - 1].side)
			c->needs[i].nth = c->needs[i - 1].nth + 1;
	qsort(c->needs, c->n, sizeof(c->needs[0]), by_exchange);
	for (size_t i = 1; i < c->n; i++)
		c->needs[i].first = c->needs[i].key == c->needs[i - 1].key &&
						    c->needs[i].nth == c->needs[i - 1].nth
					    ? c->needs[i - 1].first
					    : i;
}

/* Each exchange is removed once, and each need is taken from `by_group` once. */
struct search {
	struct cut *cut;
	struct need **by_group; /* owned: by process, then by group */
	size_t *ends;	  /* owned: of each process, index after the last need that it meets */
	size_t *left_out; /* owned: exchanges whose processes have not been stopped yet */
	size_t n_left_out;
};

static void search_done(struct search *s)
{
	free(s->by_group);
	free(s->ends);
	free(s->left_out);
}

static int search_begin(struct search *s, uint32_t n_processes)
{
	struct cut *c = s->cut;

	s->by_group = calloc(c->n + 1, sizeof(struct need *));
	s->ends = calloc(n_processes + 1u, sizeof(*s->ends));
	s->left_out = calloc(c->n + 1, sizeof(*s->left_out));
	if (!s->by_group || !s->ends || !s->left_out)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i++)
		s->by_group[i] = &c->needs[i];
	qsort(s->by_group, c->n, sizeof(struct need *), by_group);
	for (size_t i = 0; i < c->n; i++)
		s->ends[s->by_group[i]->process] = i + 1;
	return 0;
}

static void leave_out(struct search *s, size_t first)
{
	if (!s->cut->needs[first].is_left_out)
		s->left_out[s->n_left_out++] = first;
	s->cut->needs[first].is_left_out = true;
}

/* Stops a process before a call, and removes the exchanges that it then does not make. */
static void stop_process(struct search *s, uint32_t process, uint32_t call)
{
	uint32_t *at = &s->cut->stops[process];
	size_t *end = &s->ends[process];

	*at = call < *at ? call : *at;
	while (*end > 0 && s->by_group[*end - 1]->process == process &&
	       s->by_group[*end - 1]->group >= *at)
		leave_out(s, s->by_group[--*end]->first);
}

static int stop_all(struct cut *c, uint32_t n_processes)
{
	scoped(search_done) struct search s = {.cut = c};
	size_t end;

	if (c->n == 0)
		return 0;
	find_exchanges(c);
	if (search_begin(&s, n_processes) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i = end) {
		for (end = i; end < c->n && c->needs[end].first == i; end++)
			;
		if (end - i < c->needs[i].n_sides)
			leave_out(&s, i);
	}
	for (uint32_t i = 0; i < n_processes; i++)
		stop_process(&s, i, c->stops[i]);
	while (s.n_left_out > 0) {
		size_t first = s.left_out[--s.n_left_out];

		for (size_t i = first; i < c->n && c->needs[i].first == first; i++)
			stop_process(&s, c->needs[i].process, c->needs[i].group);
	}
	return 0;
}

int rex_cut_find(struct fmt_trace *trace, struct rex_iteration_range range, uint32_t *stops,
		 uint32_t n, uint64_t *left_out, struct fmt_error *err)
{
	scoped(cut_done) struct cut c = {.stops = stops};
	uint64_t all = 0;
	int r;

	for (uint32_t i = 0; i < n; i++) {
		scoped(rex_process_done) struct rex_process p = {0};

		r = rex_process_read(trace, i, range, &p, err);
		if (r == 0)
			r = read_process(&c, &p, i);
		if (r < 0)
			return r;
		all += p.n_calls;
	}
	r = stop_all(&c, n);
	if (r < 0)
		return r;
	*left_out = all;
	for (uint32_t i = 0; i < n; i++)
		*left_out -= stops[i];
	return 0;
}
