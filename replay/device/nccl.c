/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/nccl.h"

#include "base/array.h"
#include "replay/device/functions.h"

#include <time.h>

#define NCCL_IN_PROGRESS 7
#define POLL_NS 20000L

/* Communicators of this thread's calls since a group began; of the call outside of groups. */
static __thread struct {
	uint64_t *comms; /* owned */
	size_t n, cap;
	unsigned depth; /* of groups */
} nccl;

static int add_comm(uint64_t comm)
{
	if (!comm)
		return 0;
	if (array_reserve(&nccl.comms, nccl.n + 1, &nccl.cap) < 0)
		return -ENOMEM;
	nccl.comms[nccl.n++] = comm;
	return 0;
}

/* Adds the communicators that the call uses or has created. */
static int add_comms(const struct rex_frame *b)
{
	const struct api_call *call = b->call->api;
	int r = 0;

	for (unsigned i = 0; i < call->n_args && r == 0; i++) {
		const struct api_arg *a = &call->args[i];
		uint64_t comm = b->words[a->word];

		if (a->meaning != API_MEANING_COMM)
			continue;
		if (a->direction == API_DIRECTION_OUT && comm)
			memcpy(&comm, (void *)comm, sizeof(comm));
		r = add_comm(comm);
	}
	return r;
}

/* Waits until the communicators have completed the operation. Returns their error. */
static int wait_for_comms(void)
{
	const struct api_call *query = api_call((unsigned)api_find("ncclCommGetAsyncError"));
	void *function = rex_function(query->name, API_LIBRARY_NCCL);
	const struct timespec nap = {0, POLL_NS};
	int state = 0;

	for (size_t i = 0; i < nccl.n && state == 0 && function; i++) {
		uint64_t words[2] = {nccl.comms[i], (uint64_t)&state};

		while (rex_invoke(function, query, words) == 0 && state == NCCL_IN_PROGRESS)
			nanosleep(&nap, NULL);
	}
	return state;
}

int64_t rex_nccl_complete(const struct rex_frame *b, int64_t result)
{
	enum api_class class = b->call->api->class;

	if (class == API_CLASS_GROUP_BEGIN)
		nccl.depth++;
	if (class == API_CLASS_GROUP_END && nccl.depth > 0)
		nccl.depth--;
	if (add_comms(b) < 0)
		return -ENOMEM;
	if (nccl.depth > 0)
		return (int32_t)result == NCCL_IN_PROGRESS ? 0 : result;
	if ((int32_t)result == NCCL_IN_PROGRESS)
		result = wait_for_comms();
	nccl.n = 0;
	return result;
}

void rex_nccl_done(void)
{
	free(nccl.comms);
	nccl.comms = NULL;
	nccl.n = nccl.cap = 0;
}

/* ---- communicators of recorded groups */

/* Returns true if the call was to create a communicator and returned none. */
static bool is_split(const struct rex_call *c)
{
	int64_t value;

	return c->api->class == API_CLASS_CREATE && api_succeeded(c->api, c->result) &&
	       rex_args_int(&c->args, "newcomm", NULL, &value) &&
	       rex_args_int(&c->args, "comm", NULL, &value) &&
	       !rex_args_int(&c->args, "newcomm.out", NULL, &value);
}

size_t rex_find_splits(const struct rex_process *p, const struct rex_call *end,
		       const struct rex_call **ret, size_t most)
{
	size_t last = (size_t)(end - p->calls), n = 0;

	for (size_t i = end->group; i < last && n < most; i = p->calls[i].next)
		if (!p->calls[i].nested && is_split(&p->calls[i]))
			ret[n++] = &p->calls[i];
	return n;
}
