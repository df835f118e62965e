/* SPDX-License-Identifier: Apache-2.0 */

/* An event template while files are read. Numbers are the importer's own. */
#pragma once

#include "formats/run/kineto/json.h"
#include "formats/trace/names.h"

/* Class of an event, by its "ph" and "cat". */
enum kineto_class {
	KINETO_CALL,
	KINETO_GPU_KERNEL,
	KINETO_GPU_MEMCPY,
	KINETO_GPU_MEMSET,
	KINETO_GPU_SYNC,
	KINETO_GPU_RANGE, /* gpu_user_annotation: a range on a stream */
	KINETO_RANGE,
	KINETO_MARK,
};

/* Additional use of a range. */
enum kineto_role {
	KINETO_NO_ROLE,
	KINETO_STEP,	 /* ProfilerStep#N */
	KINETO_NUMBERED, /* any other annotation that ends in a number */
	KINETO_COMMS,	 /* c10d::*, record_param_comms, nccl:*: around launches of collectives */
	KINETO_ROLES,
};

/* Sources of a collective's description, the weakest first. */
enum kineto_evidence {
	KINETO_FROM_NONE,
	KINETO_FROM_KERNEL,	/* its name: SendRecv may be an all-to-all; a copy names no type */
	KINETO_FROM_OPERATOR,	/* c10d::alltoall_base_, and shapes of its tensors */
	KINETO_FROM_ANNOTATION, /* nccl:all_to_all, and the shape of its input */
	KINETO_FROM_ARGUMENTS,	/* "Collective name", "In msg nelems", "dtype" */
};

struct kineto_slot_arg {
	uint32_t key;
	uint8_t type, varies;
	uint8_t moved; /* constant here, but varies in the trace */
	uint8_t spare;
	int64_t value; /* string numbers are the importer's */
};

struct kineto_template {
	uint8_t class, kind; /* enum kineto_class, enum fmt_kind */
	uint8_t role;
	uint8_t converts; /* values of its events need conversion when they are written */
	uint8_t refined;  /* its description of a collective comes from other events */
	uint32_t cat, name, n_args, n_varying;
	/* Collectives; string numbers, 0: unknown. */
	uint32_t op, dtype;
	int64_t message_bytes;			       /* -1: unknown */
	uint8_t op_source, dtype_source, bytes_source; /* enum kineto_evidence */
	/* Steps and numbered annotations. */
	uint32_t prefix; /* the name without the number */
	int64_t number;
	uint64_t events;
	uint32_t fmt;  /* 1 + its number in the trace; 0: not assigned yet */
	uint32_t args; /* index of its first argument */
};
