/* SPDX-License-Identifier: Apache-2.0 */

/* User objects: objects of the program that graphs keep alive by counted references. */
#include "base/array.h"
#include "replay/emugpu/driver/graph/graph.h"

#define MAGIC 0x4f626a65u

struct emu_user_object {
	uint32_t magic;
	unsigned refs;
	CUhostFn destroy;
	void *data;
};

static struct emu_user_object *object_of(CUuserObject handle)
{
	struct emu_user_object *o = (struct emu_user_object *)handle;

	return o && o->magic == MAGIC ? o : NULL;
}

static void drop_object(struct emu_user_object *o, unsigned count)
{
	if (__atomic_sub_fetch(&o->refs, count, __ATOMIC_ACQ_REL) != 0)
		return;
	o->destroy(o->data);
	o->magic = 0;
	free(o);
}

void emu_graph_drop_objects(struct emu_graph *g)
{
	for (size_t i = 0; i < g->n_objects; i++)
		drop_object(g->objects[i], 1);
	free(g->objects);
	g->objects = NULL;
	g->n_objects = g->objects_cap = 0;
}

EMU_API CUresult cuUserObjectCreate(CUuserObject *ret, void *data, CUhostFn destroy, unsigned refs,
				    unsigned flags)
{
	struct emu_user_object *o;

	if (!ret || !destroy || !refs || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	o = malloc(sizeof(*o));
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*o = (struct emu_user_object){MAGIC, refs, destroy, data};
	*ret = (CUuserObject)o;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuUserObjectRetain(CUuserObject handle, unsigned count)
{
	struct emu_user_object *o = object_of(handle);

	if (!o || !count)
		return CUDA_ERROR_INVALID_VALUE;
	__atomic_add_fetch(&o->refs, count, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuUserObjectRelease(CUuserObject handle, unsigned count)
{
	struct emu_user_object *o = object_of(handle);

	if (!o || !count)
		return CUDA_ERROR_INVALID_VALUE;
	drop_object(o, count);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject handle, unsigned count,
					 unsigned flags)
{
	struct emu_graph *g = emu_graph_of(graph);
	struct emu_user_object *o = object_of(handle);

	if (!g || !o || !count)
		return CUDA_ERROR_INVALID_VALUE;
	if (array_reserve(&g->objects, g->n_objects + count, &g->objects_cap) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
		__atomic_add_fetch(&o->refs, count, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < count; i++)
		g->objects[g->n_objects++] = o;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject handle, unsigned count)
{
	struct emu_graph *g = emu_graph_of(graph);
	struct emu_user_object *o = object_of(handle);
	size_t kept = 0;

	if (!g || !o || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < g->n_objects; i++) {
		if (g->objects[i] == o && count > 0) {
			count--;
			drop_object(o, 1);
			continue;
		}
		g->objects[kept++] = g->objects[i];
	}
	g->n_objects = kept;
	return CUDA_SUCCESS;
}
