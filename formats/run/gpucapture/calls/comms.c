/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/calls/calls.h"

#include "base/array.h"

/* FNV-1a, for random ids. */
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
	struct rec_object *t = rec_handles_find(p->handles, API_MEANING_COMM, handle);

	if (!t || array_reserve(&p->nccl.comms, p->nccl.n_comms + 1, &p->nccl.comms_cap) < 0)
		return t ? -ENOMEM : 0;
	t->index = (uint32_t)p->nccl.n_comms;
	p->nccl.comms[p->nccl.n_comms++] = *comm;
	return 0;
}

static int by_id(struct rec_call *c)
{
	const struct rec_blob *made = rec_call_blob_at(c, 0, CAP_BLOB_AFTER);
	const struct rec_blob *ids = rec_call_blob(c, "commIds", CAP_BLOB_BEFORE);
	int id = rec_call_arg(c, "commId");
	struct rec_comm comm = {.n = (uint32_t)rec_call_value(c, "nranks", 0),
				.device = (int16_t)rec_call_device(c)};
	uint64_t handle;

	comm.rank = (uint32_t)rec_call_value(c, "rank", rec_call_value(c, "myrank", 0));
	if (id >= 0 && c->api->args[id].word + 16u <= c->n_words)
		comm.id = hash_of(&c->record->words[c->api->args[id].word], 128);
	else if (ids)
		comm.id = hash_of(ids->data, ids->len < 128 ? ids->len : 128);
	else
		return 0;
	return rec_blob_number(made, 0, 8, &handle) ? add_comm(c, handle, &comm) : 0;
}

/* All ranks are in one process: the id is globally unique. */
static int all_here(struct rec_call *c)
{
	const struct rec_blob *made = rec_call_blob_at(c, 0, CAP_BLOB_AFTER);
	const struct rec_blob *list = rec_call_blob(c, "devlist", CAP_BLOB_BEFORE);
	const uint64_t key[] = {(uint64_t)c->process->pid, c->process->started, c->record->id,
				c->record->start};
	struct rec_comm comm = {.n = (uint32_t)rec_call_value(c, "ndev", 0),
				.id = hash_of(key, sizeof(key))};
	uint64_t handle, device;
	int r = 0;

	for (size_t i = 0; r == 0 && rec_blob_number(made, 8 * i, 8, &handle); i++) {
		comm.rank = (uint32_t)i;
		comm.device = (int16_t)(rec_blob_number(list, 4 * i, 4, &device) ? device : i);
		r = add_comm(c, handle, &comm);
	}
	return r;
}

/* Ranks that split with the same color at the same time form one communicator; their order is known
 * once all are recorded. */
static int by_split(struct rec_call *c)
{
	const struct rec_blob *made = rec_call_blob(c, "newcomm", CAP_BLOB_AFTER);
	struct rec_object *t = rec_handles_find(c->process->handles, API_MEANING_COMM,
						(uint64_t)rec_call_value(c, "comm", 0));
	struct rec_comm comm = {.key = rec_call_value(c, "key", 0)}, *parent;
	struct rec_thread *thread = c->thread;
	uint64_t handle, key[3];

	if (!t || t->index >= c->process->nccl.n_comms)
		return 0;
	parent = &c->process->nccl.comms[t->index];
	key[0] = parent->id;
	key[1] = parent->splits++;
	key[2] = (uint64_t)rec_call_value(c, "color", -1);
	comm.id = hash_of(key, sizeof(key));
	comm.parent = parent->id;
	comm.rank = parent->rank;
	comm.device = parent->device;
	if (rec_blob_number(made, 0, 8, &handle) && handle)
		return add_comm(c, handle, &comm);
	if (thread->group == 0)
		return 0;
	if (array_reserve(&thread->splits, thread->n_splits + 1, &thread->splits_cap) < 0)
		return -ENOMEM;
	thread->splits[thread->n_splits++] = comm;
	return 0;
}

/* The handles of the communicators that the calls of the group created. */
static int add_splits(struct rec_call *c)
{
	const struct rec_blob *made = rec_call_blob_at(c, 0, CAP_BLOB_HANDLES);
	struct rec_thread *t = c->thread;
	uint64_t handle;
	int r = 0;

	for (size_t i = 0; i < t->n_splits && r == 0; i++)
		if (rec_blob_number(made, 8 * i, 8, &handle) && handle)
			r = add_comm(c, handle, &t->splits[i]);
	t->n_splits = 0;
	return r;
}

int rec_call_update_comms(struct rec_call *c)
{
	struct rec_thread *t = c->thread;

	/* Ignores NCCL calls made by NCCL itself. */
	if (!c->api || c->api->library != API_LIBRARY_NCCL || c->record->head.depth > 0)
		return 0;
	if (c->api->class == API_CLASS_GROUP_END && t->group > 0 && --t->group == 0)
		return rec_collectives_assign_kernels(c) ?: add_splits(c);
	if (!api_succeeded(c->api, c->record->result))
		return 0;
	switch ((enum api_class)c->api->class) {
	case API_CLASS_GROUP_BEGIN:
		t->group++;
		return 0;
	case API_CLASS_COLLECTIVE:
	case API_CLASS_P2P:
		return rec_collectives_add_call(c);
	case API_CLASS_CREATE:
		if (rec_call_is(c, "ncclCommInitAll"))
			return all_here(c);
		if (rec_call_arg(c, "nranks") >= 0)
			return by_id(c);
		return rec_call_arg(c, "newcomm") >= 0 ? by_split(c) : 0;
	default:
		return 0;
	}
}
