/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cudnn/backend.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Every graph has two engines: one with tensor cores, and one without. */
enum { ENGINES = 2 };

static size_t bytes_of(cudnnBackendAttributeType_t type)
{
	switch (type) {
	case CUDNN_TYPE_HANDLE:
	case CUDNN_TYPE_INT64:
	case CUDNN_TYPE_DOUBLE:
	case CUDNN_TYPE_VOID_PTR:
	case CUDNN_TYPE_BACKEND_DESCRIPTOR:
		return 8;
	case CUDNN_TYPE_BOOLEAN:
	case CUDNN_TYPE_CHAR:
		return 1;
	case CUDNN_TYPE_FRACTION:
		return sizeof(cudnnFraction_t);
	default: /* float, int32_t and enums */
		return 4;
	}
}

static void free_desc(struct emu_dnn_descriptor *d);

static void clear_attr(struct emu_dnn_attribute *a)
{
	struct emu_dnn_descriptor **children = a->values;

	for (int64_t i = 0; a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < a->n; i++)
		free_desc(children[i]);
	free(a->values);
	*a = (struct emu_dnn_attribute){.name = a->name};
}

static void free_desc(struct emu_dnn_descriptor *d)
{
	if (!d || __atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (size_t i = 0; i < d->n; i++)
		clear_attr(&d->attributes[i]);
	free(d->attributes);
	free(d);
}

const struct emu_dnn_attribute *emu_dnn_attribute(const struct emu_dnn_descriptor *d,
						  cudnnBackendAttributeName_t name)
{
	for (size_t i = 0; d && i < d->n; i++)
		if (d->attributes[i].name == name)
			return &d->attributes[i];
	return NULL;
}

struct emu_dnn_descriptor *emu_dnn_child(const struct emu_dnn_descriptor *d,
					 cudnnBackendAttributeName_t name, int64_t i)
{
	const struct emu_dnn_attribute *a = emu_dnn_attribute(d, name);

	if (!a || a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR || i >= a->n)
		return NULL;
	return ((struct emu_dnn_descriptor **)a->values)[i];
}

int64_t emu_dnn_integer(const struct emu_dnn_descriptor *d, cudnnBackendAttributeName_t name,
			int64_t i, int64_t otherwise)
{
	const struct emu_dnn_attribute *a = emu_dnn_attribute(d, name);

	if (!a || i >= a->n)
		return otherwise;
	switch (bytes_of(a->type)) {
	case 8:
		return ((int64_t *)a->values)[i];
	case 4:
		return ((int32_t *)a->values)[i];
	default:
		return ((uint8_t *)a->values)[i];
	}
}

double emu_dnn_number(const struct emu_dnn_descriptor *d, cudnnBackendAttributeName_t name,
		      double otherwise)
{
	const struct emu_dnn_attribute *a = emu_dnn_attribute(d, name);

	if (!a || a->n < 1)
		return otherwise;
	return a->type == CUDNN_TYPE_FLOAT ? *(float *)a->values : *(double *)a->values;
}

static cudnnStatus_t set_attr(struct emu_dnn_descriptor *d, cudnnBackendAttributeName_t name,
			      cudnnBackendAttributeType_t type, int64_t n, const void *values)
{
	struct emu_dnn_attribute new = {name, type, n, NULL};
	struct emu_dnn_descriptor *const *children = values;
	size_t bytes = (size_t)n * bytes_of(type), i = 0;

	new.values = malloc(bytes + 1);
	while (i < d->n && d->attributes[i].name != name)
		i++;
	if (!new.values || array_reserve(&d->attributes, i + 1, &d->cap) < 0) {
		free(new.values);
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	}
	if (bytes)
		memcpy(new.values, values, bytes);
	for (int64_t k = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && k < n; k++)
		if (children[k])
			__atomic_add_fetch(&children[k]->refs, 1, __ATOMIC_RELAXED);
	if (i == d->n)
		d->n++;
	else
		clear_attr(&d->attributes[i]);
	d->attributes[i] = new;
	return CUDNN_STATUS_SUCCESS;
}

/* Makes `to` equal to `from`. */
static cudnnStatus_t copy(struct emu_dnn_descriptor *to, const struct emu_dnn_descriptor *from)
{
	cudnnStatus_t r = CUDNN_STATUS_SUCCESS;

	if (to->type != from->type)
		return CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE;
	to->finalized = from->finalized;
	for (size_t i = 0; i < from->n && r == CUDNN_STATUS_SUCCESS; i++)
		r = set_attr(to, from->attributes[i].name, from->attributes[i].type,
			     from->attributes[i].n, from->attributes[i].values);
	return r;
}

static struct emu_dnn_descriptor *new_descriptor(cudnnBackendDescriptorType_t type)
{
	struct emu_dnn_descriptor *d = calloc(1, sizeof(*d));

	if (d)
		*d = (struct emu_dnn_descriptor){.refs = 1, .type = type};
	return d;
}

/* ---- the public functions ---- */

EMU_API cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
						   cudnnBackendDescriptor_t *ret)
{
	if (!ret)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*ret = new_descriptor(type);
	return *ret ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

EMU_API cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d)
{
	free_desc(d);
	return CUDNN_STATUS_SUCCESS;
}

EMU_API cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t d)
{
	return d ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
}

EMU_API cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d,
					       cudnnBackendAttributeName_t name,
					       cudnnBackendAttributeType_t type, int64_t n,
					       const void *values)
{
	struct emu_dnn_descriptor *to = d;

	if (!to || (n > 0 && !values))
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (n < 0 || to->finalized)
		return CUDNN_STATUS_BAD_PARAM;
	return set_attr(to, name, type, n, values);
}

EMU_API cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d)
{
	static const struct {
		cudnnBackendDescriptorType_t type;
		cudnnBackendAttributeName_t needs;
	} needed[] = {
		{CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS},
		{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS},
		{CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_OPERATION_GRAPH},
		{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE},
		{CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH},
		{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG},
		{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS},
	};
	struct emu_dnn_descriptor *to = d;

	if (!to)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (to->type == needed[i].type && !emu_dnn_attribute(to, needed[i].needs))
			return CUDNN_STATUS_BAD_PARAM;
	if (emu_dnn_integer(to, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0, 0) >= ENGINES)
		return CUDNN_STATUS_NOT_SUPPORTED;
	to->finalized = 1;
	return CUDNN_STATUS_SUCCESS;
}

/* ---- derived attributes ---- */

/* The configuration of engine i of the graph of a heuristic. */
static cudnnStatus_t fill_config(const struct emu_dnn_descriptor *heuristic, int64_t i,
				 struct emu_dnn_descriptor *config)
{
	struct emu_dnn_descriptor *graph =
		emu_dnn_child(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 0);
	struct emu_dnn_descriptor *engine = new_descriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	cudnnStatus_t r;

	if (!engine)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	r = set_attr(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
		     &graph);
	if (r == CUDNN_STATUS_SUCCESS)
		r = set_attr(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &i);
	engine->finalized = 1;
	if (r == CUDNN_STATUS_SUCCESS)
		r = set_attr(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
			     &engine);
	config->finalized = 1;
	free_desc(engine);
	return r;
}

/* Lists all engines, the fastest first; the fallback is the one without tensor cores. `most` is 0
 * if the program queries only their number. */
static cudnnStatus_t get_results(const struct emu_dnn_descriptor *heuristic, int64_t most,
				 int64_t *n, void *values)
{
	int first = emu_dnn_integer(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, 0, 0) ==
		    CUDNN_HEUR_MODE_FALLBACK;
	int64_t count = most > 0 && most < ENGINES ? most : ENGINES;
	struct emu_dnn_descriptor **to = values;
	cudnnStatus_t r = CUDNN_STATUS_SUCCESS;

	for (int64_t i = 0; to && most > 0 && i < count && r == CUDNN_STATUS_SUCCESS; i++)
		r = to[i] ? fill_config(heuristic, (first + i) % ENGINES, to[i])
			  : CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (n)
		*n = count;
	return r;
}

/* Numeric attributes that the program cannot set. */
static const struct {
	cudnnBackendAttributeName_t name;
	int64_t n, value;
} derived[] = {
	{CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, 1, ENGINES},
	{CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1, 0},
	{CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, 1, 0},
	{CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, 1, 0},
	{CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, 0, 0},
	{CUDNN_ATTR_ENGINE_KNOB_INFO, 0, 0},
	{CUDNN_ATTR_ENGINE_LAYOUT_INFO, 0, 0},
	{CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, 0, 0},
	{CUDNN_ATTR_ENGINECFG_INTERMEDIATE_INFO, 0, 0},
};

static cudnnStatus_t get_derived(const struct emu_dnn_descriptor *d,
				 cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
				 int64_t most, int64_t *n, void *values)
{
	int64_t count = -1, value = 0;

	if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
		count = emu_dnn_integer(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0, 0) == 0;
		value = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
	}
	for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++)
		if (derived[i].name == name) {
			count = derived[i].n;
			value = derived[i].value;
		}
	if (count < 0)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (n)
		*n = count;
	if (count && values && most > 0)
		memcpy(values, &value, bytes_of(type));
	return CUDNN_STATUS_SUCCESS;
}

/* Copies descriptors into those that the caller created. */
static cudnnStatus_t get_children(const struct emu_dnn_attribute *a, int64_t most, void *values)
{
	struct emu_dnn_descriptor **to = values, **from = a->values;
	cudnnStatus_t r = CUDNN_STATUS_SUCCESS;

	for (int64_t i = 0; i < a->n && i < most && r == CUDNN_STATUS_SUCCESS; i++)
		r = to[i] && from[i] ? copy(to[i], from[i]) : CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	return r;
}

EMU_API cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
					       cudnnBackendAttributeName_t name,
					       cudnnBackendAttributeType_t type, int64_t most,
					       int64_t *n, void *values)
{
	const struct emu_dnn_descriptor *d = descriptor;
	const struct emu_dnn_attribute *a = emu_dnn_attribute(d, name);

	if (!d)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS)
		return get_results(d, most, n, values);
	if (!a)
		return get_derived(d, name, type, most, n, values);
	if (a->type != type)
		return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
	if (n)
		*n = a->n;
	if (!values || most < 1)
		return CUDNN_STATUS_SUCCESS;
	if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		return get_children(a, most, values);
	memcpy(values, a->values, (size_t)(a->n < most ? a->n : most) * bytes_of(type));
	return CUDNN_STATUS_SUCCESS;
}
