/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/graph/condition.h"
#include "base/array.h"
#include "replay/emugpu/driver/graph/graph.h"

#include <pthread.h>

/* A handle is FIRST plus an index, so that few numbers look like a handle. */
#define FIRST (UINT64_C(0x436f6e64) << 32)

static struct {
	pthread_mutex_t lock;
	struct emu_condition *items;
	size_t n, cap;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

int emu_condition_is_valid(CUgraphConditionalHandle handle)
{
	int is;

	pthread_mutex_lock(&all.lock);
	is = handle - FIRST < all.n;
	pthread_mutex_unlock(&all.lock);
	return is;
}

struct emu_condition emu_condition_get(CUgraphConditionalHandle handle)
{
	struct emu_condition now;

	pthread_mutex_lock(&all.lock);
	now = all.items[handle - FIRST];
	pthread_mutex_unlock(&all.lock);
	return now;
}

void emu_condition_reset(CUgraphConditionalHandle handle)
{
	struct emu_condition *c;

	pthread_mutex_lock(&all.lock);
	c = &all.items[handle - FIRST];
	if (c->has_default)
		c->value = c->at_launch;
	pthread_mutex_unlock(&all.lock);
}

EMU_API void gpuemu_set_conditional(uint64_t handle, unsigned value)
{
	pthread_mutex_lock(&all.lock);
	if (handle - FIRST < all.n) {
		all.items[handle - FIRST].value = value;
		all.items[handle - FIRST].n_set++;
	}
	pthread_mutex_unlock(&all.lock);
}

EMU_API CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *ret, CUgraph graph,
						CUcontext context, unsigned at_launch,
						unsigned flags)
{
	int r;

	if (!ret || !emu_graph_of(graph) || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&all.lock);
	r = array_reserve(&all.items, all.n + 1, &all.cap);
	if (r == 0) {
		all.items[all.n] = (struct emu_condition){
			.at_launch = at_launch,
			.has_default = flags & CU_GRAPH_COND_ASSIGN_DEFAULT ? 1 : 0};
		*ret = FIRST + all.n++;
	}
	pthread_mutex_unlock(&all.lock);
	return r < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
