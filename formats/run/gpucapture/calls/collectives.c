/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/calls/calls.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "formats/run/gpucapture/graphs/graphs.h"
#include "formats/run/gpucapture/process/times.h"

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

/* By ncclDataType_t, with PyTorch's names. */
static const char *const dtypes[] = {"Char",   "Byte",	   "Int",	    "UInt",
				     "Long",   "ULong",	   "Half",	    "Float",
				     "Double", "BFloat16", "Float8_e4m3fn", "Float8_e5m2"};

/* Annotations of PyTorch's process group, and the collective that their sends and receives form. */
static const struct {
	const char *range, *op;
} range_ops[] = {
	{"nccl:all_to_all", "all_to_all"},
	{"nccl:alltoall", "all_to_all"},
	{"nccl:gather", "gather"},
	{"nccl:scatter", "scatter"},
};

#define MOST_PARTS 256 /* maximum number of listed collectives of one kernel */

/* ---- calls */

/* Finds or adds a pending operation. Sends and receives of one group, communicator and stream are
 * combined. */
static struct rec_pending_collective *pending_of(struct rec_thread *t, uint32_t comm,
						 uint32_t stream, int is_message)
{
	struct rec_pending_collective *p;

	for (size_t i = 0; is_message && i < t->n_pending; i++)
		if (t->pending[i].collective.is_message && t->pending[i].collective.comm == comm &&
		    t->pending[i].stream == stream)
			return &t->pending[i];
	if (array_reserve(&t->pending, t->n_pending + 1, &t->pending_cap) < 0)
		return NULL;
	p = &t->pending[t->n_pending++];
	*p = (struct rec_pending_collective){
		.collective = {.comm = comm, .is_message = (uint8_t)is_message}, .stream = stream};
	return p;
}

static int add_message(struct rec_call *c, struct rec_pending_collective *p, int64_t bytes)
{
	struct rec_thread *t = c->thread;
	bool receives = rec_call_is(c, "ncclRecv");
	int64_t *sum = receives ? &p->received_bytes : &p->sent_bytes;

	if (array_reserve(&t->messages, t->n_messages + 1, &t->messages_cap) < 0)
		return -ENOMEM;
	t->messages[t->n_messages++] = (struct rec_pending_message){
		.pending = (uint32_t)(p - t->pending),
		.message = {(uint32_t)rec_call_value(c, "peer", 0), receives}};
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)bytes);
	p->collective.bytes = p->received_bytes > p->sent_bytes ? p->received_bytes : p->sent_bytes;
	return 0;
}

/* Returns the larger of a rank's input and output, for a communicator of that size. */
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

/* Returns the collective that the name of a range indicates, or NULL. */
static const char *op_of_range(const struct fmt_names *names, fmt_str range)
{
	const char *text = fmt_string(names, range, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(range_ops); i++)
		if (strncmp(text, range_ops[i].range, strlen(range_ops[i].range)) == 0)
			return range_ops[i].op;
	return NULL;
}

/* As op_of_range(), for the innermost open range that indicates an operation. */
static const char *op_of_ranges(const struct rec_call *c)
{
	const struct rec_process *p = c->process;
	const char *op = NULL;

	for (size_t i = c->thread->n_open; i-- > 0 && !op;)
		op = op_of_range(p->names, c->thread->open[i].text);
	for (size_t i = p->n_open; i-- > 0 && !op;)
		op = op_of_range(p->names, p->open[i].text);
	return op;
}

static int name_pending(struct rec_call *c, size_t which, struct rec_pending_collective *pending)
{
	struct fmt_names *names = c->process->names;
	uint64_t dtype = (uint64_t)rec_call_value(c, "datatype", -1);
	const char *op = pending->collective.is_message ? op_of_ranges(c) : NULL;
	int r = 0;

	pending->is_named = op != NULL;
	op = op ? op : ops[which].op;
	r = fmt_names_string(names, op, strlen(op), &pending->collective.op);
	if (r == 0 && dtype < ARRAY_SIZE(dtypes))
		r = fmt_names_string(names, dtypes[dtype], strlen(dtypes[dtype]),
				     &pending->collective.dtype);
	return r;
}

static int add_pending(struct rec_call *c, size_t which)
{
	struct rec_process *p = c->process;
	const struct rec_object *thing = rec_handles_find(p->handles, API_MEANING_COMM,
							  (uint64_t)rec_call_value(c, "comm", 0));
	const struct rec_comm *comm;
	const struct rec_object *stream;
	struct rec_pending_collective *pending;
	int r;

	if (!thing || thing->index >= p->nccl.n_comms)
		return 0;
	comm = &p->nccl.comms[thing->index];
	rec_call_set_device(c, comm->device);
	stream = rec_call_stream(c);
	pending = stream ? pending_of(c->thread, (uint32_t)(comm - p->nccl.comms), stream->number,
				      c->api->class == API_CLASS_P2P)
			 : NULL;
	if (!pending)
		return -ENOMEM;
	r = name_pending(c, which, pending);
	if (r == 0 && pending->collective.is_message)
		return add_message(c, pending, bytes_of(c, 1));
	/* The size of a split communicator is not yet known. */
	pending->collective.per_rank = comm->n == 0 && bytes_of(c, 2) != bytes_of(c, 1);
	pending->collective.bytes = bytes_of(c, comm->n > 0 ? comm->n : 1);
	return r;
}

int rec_collectives_add_call(struct rec_call *c)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ops) && r == 0; i++)
		if (rec_call_is(c, ops[i].stem))
			r = add_pending(c, i);
	return r < 0 || c->thread->group > 0 ? r : rec_collectives_assign_kernels(c);
}

/* ---- sends and receives */

/* Concatenates the pending sends and receives. */
static int concatenate_messages(const struct rec_thread *t,
				const struct rec_pending_collective *pending,
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

/* Returns true if the messages include each rank of the communicator, as receiver or as sender. */
static bool reaches_all(const struct fmt_message *m, uint32_t n, uint8_t receives, uint32_t ranks)
{
	scoped(free_ptr) uint8_t *seen = calloc(ranks + (size_t)1, 1);
	uint32_t found = 0;

	for (uint32_t i = 0; i < n && seen; i++) {
		if (m[i].receives != receives || m[i].peer >= ranks || seen[m[i].peer])
			continue;
		seen[m[i].peer] = 1;
		found++;
	}
	return found == ranks;
}

/* Sends to all ranks and receives from all ranks, including itself, are an all-to-all. */
static int name_messages(struct rec_process *p, const struct rec_pending_collective *pending,
			 const struct fmt_message *m, uint32_t n, fmt_str *op)
{
	uint32_t ranks = p->nccl.comms[pending->collective.comm].n;

	if (pending->is_named || ranks < 2 || n < 2 * ranks || !reaches_all(m, n, 0, ranks) ||
	    !reaches_all(m, n, 1, ranks))
		return 0;
	return fmt_names_string(p->names, "all_to_all", 10, op);
}

/* ---- kernels */

static bool is_kernel(const struct rec_process *p, const struct rec_launched_op *l)
{
	if (l->captured)
		return rec_graph_is_kernel(p, &(struct rec_graph_node_ref){l->graph, l->node});
	return l->kind == FMT_KERNEL;
}

static uint32_t stream_of(const struct rec_process *p, const struct rec_launched_op *l)
{
	return l->captured ? l->stream : (uint32_t)p->tracks[l->track].number;
}

static int device_of(const struct rec_process *p, const struct rec_launched_op *l)
{
	return l->captured ? -1 : p->tracks[l->track].device;
}

/* Likelihood that a kernel implements a call: same stream; same device as its communicator (for
 * calls on a default stream, which is that of the communicator, not of the current context);
 * neither. */
enum likeness { NO_LIKENESS, SAME_DEVICE, SAME_STREAM };

static enum likeness likeness_of(const struct rec_process *p, const struct rec_launched_op *l,
				 const struct rec_pending_collective *pending)
{
	if (pending->stream == stream_of(p, l))
		return SAME_STREAM;
	return p->nccl.comms[pending->collective.comm].device == device_of(p, l) ? SAME_DEVICE
										 : NO_LIKENESS;
}

static bool is_within(const struct rec_call *c, const struct rec_launched_op *l)
{
	return l->ordinal > cap_id_ordinal(c->record->id) && l->depth > c->record->head.depth &&
	       is_kernel(c->process, l);
}

static bool has_kernel(const struct rec_call *c, uint32_t stream)
{
	const struct rec_thread *t = c->thread;

	for (size_t i = 0; i < t->n_launched; i++)
		if (is_within(c, &t->launched[i]) &&
		    stream_of(c->process, &t->launched[i]) == stream)
			return true;
	return false;
}

/* The most likely calls of a kernel. */
struct candidates {
	const struct rec_pending_collective *first;
	uint32_t n;	 /* of the first one's communicator */
	uint32_t others; /* candidates of other communicators */
	enum likeness likeness;
};

static bool is_candidate(const struct rec_call *c, const struct rec_launched_op *l, size_t pending,
			 enum likeness likeness)
{
	const struct rec_pending_collective *p = &c->thread->pending[pending];

	return !p->done && likeness_of(c->process, l, p) == likeness;
}

/* Returns true if an earlier candidate has the same communicator. */
static bool was_seen(const struct rec_call *c, const struct rec_launched_op *l, size_t pending,
		     enum likeness likeness)
{
	const struct rec_pending_collective *all = c->thread->pending;

	for (size_t i = 0; i < pending; i++)
		if (all[i].collective.comm == all[pending].collective.comm &&
		    is_candidate(c, l, i, likeness))
			return true;
	return false;
}

/* Returns true if the kernel may implement that call as well as the first one: NCCL makes all
 * streams of a group wait, and launches the kernel on one of them. */
static bool may_share(const struct rec_call *c, const struct rec_launched_op *l, size_t pending,
		      const struct candidates *of)
{
	const struct rec_pending_collective *p = &c->thread->pending[pending];

	if (p->done || p->collective.comm != of->first->collective.comm)
		return false;
	return likeness_of(c->process, l, p) == of->likeness ||
	       (of->likeness == SAME_STREAM && !has_kernel(c, p->stream));
}

static struct candidates candidates_of(const struct rec_call *c, const struct rec_launched_op *l)
{
	const struct rec_thread *t = c->thread;
	struct candidates found = {.likeness = NO_LIKENESS};

	for (size_t i = 0; i < t->n_pending; i++)
		if (!t->pending[i].done &&
		    likeness_of(c->process, l, &t->pending[i]) > found.likeness)
			found.likeness = likeness_of(c->process, l, &t->pending[i]);
	for (size_t i = 0; i < t->n_pending && !found.first; i++)
		if (is_candidate(c, l, i, found.likeness))
			found.first = &t->pending[i];
	for (size_t i = 0; i < t->n_pending && found.first; i++) {
		found.n += may_share(c, l, i, &found);
		found.others += t->pending[i].collective.comm != found.first->collective.comm &&
				is_candidate(c, l, i, found.likeness) &&
				!was_seen(c, l, i, found.likeness);
	}
	return found;
}

static int put_part(const struct fmt_names *names, const struct rec_pending_collective *p,
		    struct text *json)
{
	text_printf(json, "%s{\"collective\": \"%s\", \"dtype\": \"%s\", \"message_bytes\": ",
		    json->len > 0 ? ", " : "[", fmt_string(names, p->collective.op, NULL),
		    fmt_string(names, p->collective.dtype, NULL));
	text_i64(json, p->collective.bytes);
	text_char(json, '}');
	return json->error;
}

/* Merges the next n calls of that communicator into one: adds their sizes, and keeps kind and type
 * if equal. */
static int merge_calls(struct rec_call *c, const struct rec_launched_op *l,
		       const struct candidates *of, uint32_t n, struct rec_pending_collective *ret)
{
	struct rec_thread *t = c->thread;
	struct rec_process *p = c->process;
	scoped(text_done) struct text json = {0};
	uint32_t taken = 0;
	int r = fmt_names_string(p->names, "group", 5, &ret->collective.op);
	fmt_str group = ret->collective.op;

	for (size_t i = 0; i < t->n_pending && taken < n && r == 0; i++) {
		struct rec_pending_collective *next = &t->pending[i];

		if (!may_share(c, l, i, of))
			continue;
		if (taken++ < MOST_PARTS)
			r = put_part(p->names, next, &json);
		next->done = 1;
		if (taken == 1) {
			*ret = *next;
			continue;
		}
		ret->collective.bytes = (int64_t)((uint64_t)ret->collective.bytes +
						  (uint64_t)next->collective.bytes);
		ret->collective.op =
			ret->collective.op == next->collective.op ? ret->collective.op : group;
		ret->collective.dtype =
			ret->collective.dtype == next->collective.dtype ? ret->collective.dtype : 0;
		ret->collective.is_message = 0; /* a collective among them involves all ranks */
	}
	text_char(&json, ']');
	if (r == 0)
		r = json.error;
	return r < 0 ? r : fmt_names_string(p->names, json.data, json.len, &ret->collective.parts);
}

static int assign_launch(struct rec_call *c, struct rec_pending_collective *pending,
			 struct rec_launched_op *l)
{
	scoped(free_ptr) struct fmt_message *messages = NULL;
	struct rec_collective made = pending->collective;
	int r = 0;

	pending->done = 1;
	if (pending->collective.is_message)
		r = concatenate_messages(c->thread, pending, &messages, &made.n_messages);
	if (r == 0 && pending->collective.is_message)
		r = name_messages(c->process, pending, messages, made.n_messages, &made.op);
	if (r < 0)
		return r;
	if (l->captured)
		return rec_graph_set_collective(c->process,
						&(struct rec_graph_node_ref){l->graph, l->node},
						&made, messages);
	l->kind = FMT_COLLECTIVE;
	r = rec_add_collective(c->process, &made, messages, l->event);
	return r < 0 ? r
		     : rec_times_expect_planned(c->process,
						(uint64_t)c->thread->ring << CAP_ORDINAL_BITS |
							l->ordinal);
}

/* Counts the kernels from operation `from` that run on the stream of that operation. */
static uint32_t count_kernels(const struct rec_call *c, size_t from)
{
	const struct rec_thread *t = c->thread;
	uint32_t n = 0;

	for (size_t i = from; i < t->n_launched; i++)
		n += is_within(c, &t->launched[i]) &&
		     stream_of(c->process, &t->launched[i]) ==
			     stream_of(c->process, &t->launched[from]);
	return n;
}

/* Assigns the next call of its stream to the kernel, or several calls if there are fewer kernels
 * than calls. */
static int assign_kernel(struct rec_call *c, size_t launched)
{
	struct rec_launched_op *l = &c->thread->launched[launched];
	const struct candidates of = candidates_of(c, l);
	uint32_t kernels = count_kernels(c, launched), each;
	struct rec_pending_collective merged;
	int r;

	if (!of.first)
		return 0;
	kernels = kernels > of.others ? kernels - of.others : 1;
	each = (of.n + kernels - 1) / kernels;
	if (each == 1)
		return assign_launch(c, &c->thread->pending[of.first - c->thread->pending], l);
	r = merge_calls(c, l, &of, each, &merged);
	return r < 0 ? r : assign_launch(c, &merged, l);
}

int rec_collectives_assign_kernels(struct rec_call *c)
{
	struct rec_thread *t = c->thread;
	int r = 0;

	for (size_t i = 0; i < t->n_launched && r == 0; i++)
		if (is_within(c, &t->launched[i]))
			r = assign_kernel(c, i);
	t->n_pending = t->n_messages = 0;
	return r;
}
