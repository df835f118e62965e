/* SPDX-License-Identifier: Apache-2.0 */

/* Descriptors of cuDNN's backend (graph) API: a type and a list of attributes. A descriptor shares
 * the descriptors among its attributes, so a plan lives longer than the graph that it was made
 * of. */
#pragma once

#include "replay/emugpu/refuse.h"

#include <cudnn.h>

struct emu_dnn_attribute {
	cudnnBackendAttributeName_t name;
	cudnnBackendAttributeType_t type;
	int64_t n;
	void *values; /* n of the type; descriptors: one reference each */
};

struct emu_dnn_descriptor {
	int refs;
	int finalized;
	cudnnBackendDescriptorType_t type;
	struct emu_dnn_attribute *attributes;
	size_t n, cap;
};

/* Returns the attribute, or NULL. `d` may be NULL. */
const struct emu_dnn_attribute *emu_dnn_attribute(const struct emu_dnn_descriptor *d,
						  cudnnBackendAttributeName_t name);

/* Returns the i-th descriptor of an attribute, or NULL. */
struct emu_dnn_descriptor *emu_dnn_child(const struct emu_dnn_descriptor *d,
					 cudnnBackendAttributeName_t name, int64_t i);

/* Returns the i-th value of an attribute of an integer, enum or float type, or `otherwise`. */
int64_t emu_dnn_integer(const struct emu_dnn_descriptor *d, cudnnBackendAttributeName_t name,
			int64_t i, int64_t otherwise);
double emu_dnn_number(const struct emu_dnn_descriptor *d, cudnnBackendAttributeName_t name,
		      double otherwise);

/* Returns the address of a tensor in a variant pack, or NULL. */
const void *emu_dnn_address(const struct emu_dnn_descriptor *pack,
			    const struct emu_dnn_descriptor *tensor);
