/* SPDX-License-Identifier: Apache-2.0 */

/* Plans: copy the memory that a call's arguments point to. hooks.py compiles the description of a
 * call into a list of steps before the call and a list of steps after it, each ended by
 * CAP_PLAN_END; cap_plan_run() executes a list in one pass. Any thread. */
#pragma once

#include "capture/library/call/hook.h"

#include <stdbool.h>
#include <stdint.h>

enum cap_plan_step_kind {
	CAP_PLAN_END,
	CAP_PLAN_COPY,	 /* the bytes at the pointer */
	CAP_PLAN_SCALAR, /* the scalar at the pointer; the factor says its type */
	CAP_PLAN_STRING, /* the string at the pointer */
	CAP_PLAN_IMAGE,	 /* the code image at the pointer */
	CAP_PLAN_FILE,	 /* the code image in the file that the string names */
	CAP_PLAN_PARAMS, /* kernel parameters: `factor_word` is the word of the function, `bytes`
			    the word of CU_LAUNCH_PARAM_*; 0: the call has none */
	CAP_PLAN_COMM,	 /* the new communicator at the pointer: NCCL may set it at the end of the
			    group */
	CAP_PLAN_NODES,	 /* the graph nodes at the pointer that the call returned; their
			    number is a size_t that word `factor_word` points to */
	CAP_PLAN_BYTES,	 /* the size of the memory at the address that the call returned */
	CAP_PLAN_GROUP_BEGIN, /* ncclGroupStart returned */
	CAP_PLAN_GROUP_LEAVE, /* before the end of a group */
	CAP_PLAN_GROUP_END,   /* after it */
	CAP_PLAN_UNLOAD,      /* code is unloaded: invalidates layouts of parameters */
};

/* A COPY has `bytes` bytes times a factor. The type of a SCALAR is in argument word `factor_word`.
 */
enum cap_plan_factor {
	CAP_FACTOR_NONE,
	CAP_FACTOR_WORD,      /* argument word `factor_word`, minus `less` */
	CAP_FACTOR_POINTED_4, /* the number of 4 bytes that argument word `factor_word` points to */
	CAP_FACTOR_POINTED_8,
	CAP_FACTOR_TYPE,      /* a cudaDataType */
	CAP_FACTOR_COMPUTE,   /* a cublasComputeType_t; complex if the cudaDataType in word `less`
				 is */
	CAP_FACTOR_MATMUL,    /* a cublasLtMatmulDesc_t */
	CAP_FACTOR_TRANSFORM, /* a cublasLtMatrixTransformDesc_t */
	CAP_FACTOR_REDUCTION, /* an ncclDataType_t; word `less` says where the scalar is */
};

/* Flags of a COPY. */
#define CAP_PLAN_ON_HOST 1   /* only if the pointer mode of the cuBLAS handle is host */
#define CAP_PLAN_FIELDS 2    /* a struct whose fields contain pointers, unless it is an array */
#define CAP_PLAN_SIZED 4     /* the first 8 bytes are the size of the program's struct */
#define CAP_PLAN_FUNCTIONS 8 /* handles of functions, announced to params.h */
#define CAP_PLAN_KERNELS 16  /* the same for kernels */

struct cap_plan_step {
	uint8_t kind; /* enum cap_plan_step_kind */
	uint8_t arg;  /* number of the argument, for the record */
	uint8_t word; /* of the pointer */
	uint8_t flags;
	uint8_t factor; /* enum cap_plan_factor */
	uint8_t factor_word, less;
	uint32_t bytes;
};

/* Executes the steps up to CAP_PLAN_END and returns the step after it. `when` is CAP_BLOB_BEFORE,
 * or CAP_BLOB_AFTER: copies nothing if the call failed. Keeps errno. */
const struct cap_plan_step *cap_plan_run(const struct cap_call *c, const struct cap_plan_step *step,
					 enum cap_blob_kind when);

/* Reports that the program set this pointer mode on a cuBLAS handle. From the first mode other than
 * host (0) on, the mode of a handle is queried before its scalars are copied: a stream may write
 * scalars on the device, and the host may be unable to read them. */
void cap_plan_set_pointer_mode(int mode);
