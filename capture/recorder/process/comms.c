/* SPDX-License-Identifier: Apache-2.0 */

/* NCCL: communicators, and what the operations that its calls launch are for. */
#include "capture/recorder/process/call.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/recorder/graphs/graphs.h"

static const struct {
	const char *stem, *op;
} ops[] = {
	{"ncclAllReduce", "all_reduce"},
	{"ncclAllGather", "all_gather"},
	{"ncclReduceScatter", "reduce_scatter"},
	{"ncclBroadcast", "broadcast"},
	{"ncclBcast", "broadcast"},
	{"ncclReduce", "reduce"},
	{"ncclAlltoAll", "all_to_all"},
	{"ncclGather", "gather"},
	{"ncclScatter", "scatter"},
	{"ncclSend", "send_recv"},
	{"ncclRecv", "send_recv"},
};

/* By ncclDataType_t, as PyTorch calls them. */
static const char *const dtypes[] = {"Char",   "Byte",	   "Int",	    "UInt",
				     "Long",   "ULong",	   "Half",	    "Float",
				     "Double", "BFloat16", "Float8_e4m3fn", "Float8_e5m2"};

/* FNV-1a, of identities that are drawn at random. */
static uint64_t hash_of(const void *bytes, size_t n)
{
	const uint8_t *at = bytes;
	uint64_t h = 0xcbf29ce484222325u;

	while (n-- > 0)
		h = (h ^ *at++) * 0x100000001b3u;
	return h ? h : 1;
}

/* ---- communicators */

static int add_comm(struct rec_call *c, uint64_t handle, const struct rec_comm *comm)
{
	struct rec_process *p = c->process;
	struct rec_thing *t = rec_handles_find(p->things, API_MEANING_COMM, handle);

	if (!t || array_reserve(&p->comms, p->n_comms + 1, &p->comms_cap) < 0)
		return t ? -ENOMEM : 0;
	t->index = (uint32_t)p->n_comms;
	p->comms[p->n_comms++] = *comm;
	return 0;
}

static int by_id(struct rec_call *c)
{
	const struct rec_blob *made = rec_pointed_at(c, 0, CAP_BLOB_AFTER);
	const struct rec_blob *ids = rec_pointed(c, "commIds", CAP_BLOB_BEFORE);
	int id = rec_arg(c, "commId");
	struct rec_comm comm = {.n = (uint32_t)rec_value(c, "nranks", 0),
				.device = (int16_t)rec_current_device(c)};
	uint64_t handle;

	comm.rank = (uint32_t)rec_value(c, "rank", rec_value(c, "myrank", 0));
	if (id >= 0 && c->api->args[id].word + 16u <= c->n_words)
		comm.id = hash_of(&c->record->words[c->api->args[id].word], 128);
	else if (ids)
		comm.id = hash_of(ids->data, ids->len < 128 ? ids->len : 128);
	else
		return 0;
	return rec_number(made, 0, 8, &handle) ? add_comm(c, handle, &comm) : 0;
}

/* All of one process: nobody else, on whatever host, has this id. */
static int all_here(struct rec_call *c)
{
	const struct rec_blob *made = rec_pointed_at(c, 0, CAP_BLOB_AFTER);
	const struct rec_blob *list = rec_pointed(c, "devlist", CAP_BLOB_BEFORE);
	const uint64_t key[] = {(uint64_t)c->process->pid, c->process->started, c->record->id,
				c->record->start};
	struct rec_comm comm = {.n = (uint32_t)rec_value(c, "ndev", 0),
				.id = hash_of(key, sizeof(key))};
	uint64_t handle, device;
	int r = 0;

	for (size_t i = 0; r == 0 && rec_number(made, 8 * i, 8, &handle); i++) {
		comm.rank = (uint32_t)i;
		comm.device = (int16_t)(rec_number(list, 4 * i, 4, &device) ? device : i);
		r = add_comm(c, handle, &comm);
	}
	return r;
}

/* Ranks that split with the same color at the same time are one; which of them comes first is known
 * when all are. */
static int by_split(struct rec_call *c)
{
	const struct rec_blob *made = rec_pointed(c, "newcomm", CAP_BLOB_AFTER);
	struct rec_thing *t = rec_handles_find(c->process->things, API_MEANING_COMM,
					       (uint64_t)rec_value(c, "comm", 0));
	struct rec_comm comm = {.key = rec_value(c, "key", 0)}, *parent;
	uint64_t handle, key[3];

	if (!t || t->index >= c->process->n_comms)
		return 0;
	parent = &c->process->comms[t->index];
	key[0] = parent->id;
	key[1] = parent->splits++;
	key[2] = (uint64_t)rec_value(c, "color", -1);
	comm.id = hash_of(key, sizeof(key));
	comm.parent = parent->id;
	comm.rank = parent->rank;
	comm.device = parent->device;
	return rec_number(made, 0, 8, &handle) && handle ? add_comm(c, handle, &comm) : 0;
}

/* ---- operations */

/* A send or receive joins those of the same group, communicator and stream. */
static struct rec_pending *pending_of(struct rec_thread *t, uint32_t comm, uint32_t stream,
				      int is_message)
{
	struct rec_pending *p;

	for (size_t i = 0; is_message && i < t->n_pending; i++)
		if (t->pending[i].is_message && t->pending[i].comm == comm &&
		    t->pending[i].stream == stream)
			return &t->pending[i];
	if (array_reserve(&t->pending, t->n_pending + 1, &t->pending_cap) < 0)
		return NULL;
	p = &t->pending[t->n_pending++];
	*p = (struct rec_pending){
		.comm = comm, .stream = stream, .is_message = (uint8_t)is_message};
	return p;
}

static int add_message(struct rec_call *c, const struct rec_pending *p)
{
	struct rec_thread *t = c->thread;

	if (array_reserve(&t->messages, t->n_messages + 1, &t->messages_cap) < 0)
		return -ENOMEM;
	t->messages[t->n_messages++] = (struct rec_sent){
		.pending = (uint32_t)(p - t->pending),
		.message = {(uint32_t)rec_value(c, "peer", 0), rec_is(c, "ncclRecv")}};
	return 0;
}

/* The larger of what goes in and what comes out on this rank. */
static int64_t bytes_of(const struct rec_call *c, uint32_t ranks)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < c->api->n_args; i++) {
		uint64_t bytes;

		if (c->api->args[i].meaning != API_MEANING_DEVPTR || c->n_words < c->api->n_words)
			continue;
		bytes = api_bytes(c->api, i, c->record->words, ranks);
		if (bytes != UINT64_MAX && bytes > most)
			most = bytes;
	}
	return (int64_t)most;
}

static int add_pending(struct rec_call *c, size_t which)
{
	struct rec_process *p = c->process;
	const struct rec_thing *comm =
		rec_handles_find(p->things, API_MEANING_COMM, (uint64_t)rec_value(c, "comm", 0));
	uint64_t dtype = (uint64_t)rec_value(c, "datatype", -1);
	const struct rec_thing *stream;
	struct rec_pending *pending;
	uint32_t index;
	int64_t bytes;
	int r = 0, is_message = c->api->class == API_CLASS_P2P;

	if (!comm || comm->index >= p->n_comms)
		return 0;
	index = comm->index;
	stream = rec_stream(c);
	pending = stream ? pending_of(c->thread, index, stream->number, is_message) : NULL;
	if (!pending)
		return -ENOMEM;
	bytes = bytes_of(c, p->comms[index].n);
	pending->bytes = (int64_t)((is_message ? (uint64_t)pending->bytes : 0) + (uint64_t)bytes);
	r = fmt_names_string(p->names, ops[which].op, strlen(ops[which].op), &pending->op);
	if (r == 0 && dtype < ARRAY_SIZE(dtypes))
		r = fmt_names_string(p->names, dtypes[dtype], strlen(dtypes[dtype]),
				     &pending->dtype);
	if (r == 0 && is_message)
		r = add_message(c, pending);
	return r;
}

/* The first that is to run on that stream; else the first. */
static struct rec_pending *next_pending(struct rec_thread *t, uint32_t stream)
{
	struct rec_pending *first = NULL;

	for (size_t i = 0; i < t->n_pending; i++) {
		if (t->pending[i].done)
			continue;
		if (t->pending[i].stream == stream)
			return &t->pending[i];
		first = first ? first : &t->pending[i];
	}
	return first;
}

/* The sends and receives that are pending, one after the other. */
static int gather(const struct rec_thread *t, const struct rec_pending *pending,
		  struct fmt_message **ret, uint32_t *ret_n)
{
	uint32_t n = 0;

	*ret = calloc(t->n_messages + 1, sizeof(**ret));
	for (size_t i = 0; i < t->n_messages && *ret; i++)
		if (t->messages[i].pending == (uint32_t)(pending - t->pending))
			(*ret)[n++] = t->messages[i].message;
	*ret_n = n;
	return *ret ? 0 : -ENOMEM;
}

static int settle_one(struct rec_call *c, struct rec_pending *pending, const struct rec_launched *l)
{
	scoped(free_ptr) struct fmt_message *messages = NULL;
	struct rec_collective made = {.comm = pending->comm,
				      .op = pending->op,
				      .dtype = pending->dtype,
				      .bytes = pending->bytes,
				      .is_message = pending->is_message};

	pending->done = 1;
	if (pending->is_message && gather(c->thread, pending, &messages, &made.n_messages) < 0)
		return -ENOMEM;
	if (l->captured)
		return rec_graph_meets(c->process, &(struct rec_graph_at){l->graph, l->node}, &made,
				       messages);
	return rec_add_collective(c->process, &made, messages, l->event);
}

static bool is_kernel(const struct rec_process *p, const struct rec_launched *l)
{
	if (l->captured)
		return rec_graph_is_kernel(p, &(struct rec_graph_at){l->graph, l->node});
	return p->events[l->event].kind == FMT_KERNEL;
}

static uint32_t stream_of(const struct rec_process *p, const struct rec_launched *l)
{
	return l->captured ? l->stream : (uint32_t)p->lanes[p->events[l->event].lane].number;
}

/* What was launched inside this call is what was pending, in its order by stream. */
static int settle(struct rec_call *c)
{
	struct rec_thread *t = c->thread;
	uint64_t ordinal = cap_id_ordinal(c->record->id);
	int r = 0;

	for (size_t i = 0; i < t->n_launched && r == 0; i++) {
		const struct rec_launched *l = &t->launched[i];
		struct rec_pending *pending;

		if (l->ordinal <= ordinal || l->depth <= c->record->head.depth ||
		    !is_kernel(c->process, l))
			continue;
		pending = next_pending(t, stream_of(c->process, l));
		if (!pending)
			break;
		r = settle_one(c, pending, l);
	}
	t->n_pending = t->n_messages = 0;
	return r;
}

static int operate(struct rec_call *c)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (rec_is(c, ops[i].stem))
			r = add_pending(c, i);
	return r < 0 || c->thread->group > 0 ? r : settle(c);
}

int rec_call_comms(struct rec_call *c)
{
	struct rec_thread *t = c->thread;

	/* What NCCL calls of itself is not the program's. */
	if (!c->api || c->api->library != API_LIBRARY_NCCL || c->record->head.depth > 0)
		return 0;
	if (c->api->class == API_CLASS_GROUP_END && t->group > 0 && --t->group == 0)
		return settle(c);
	if (!api_succeeded(c->api, c->record->result))
		return 0;
	switch ((enum api_class)c->api->class) {
	case API_CLASS_GROUP_BEGIN:
		t->group++;
		return 0;
	case API_CLASS_COLLECTIVE:
	case API_CLASS_P2P:
		return operate(c);
	case API_CLASS_CREATE:
		if (rec_is(c, "ncclCommInitAll"))
			return all_here(c);
		if (rec_arg(c, "nranks") >= 0)
			return by_id(c);
		return rec_arg(c, "newcomm") >= 0 ? by_split(c) : 0;
	default:
		return 0;
	}
}
