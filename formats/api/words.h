/* SPDX-License-Identifier: Apache-2.0 */

/* The words of the .api text as enumerators: the prefix, then the word in capitals, without
 * dashes. */
#pragma once

enum api_library {
	API_LIBRARY_CUDA,
	API_LIBRARY_NCCL,
	API_LIBRARY_CUBLAS,
	API_LIBRARY_CUBLASLT,
	API_N_LIBRARIES,
};

/* The effect of a call. */
enum api_class {
	API_CLASS_QUERY,  /* changes nothing */
	API_CLASS_STATE,  /* changes state not listed below, or names an object that later calls use
			   */
	API_CLASS_CREATE, /* creates the objects in arguments of direction out */
	API_CLASS_DESTROY,     /* destroys the first handle among its arguments */
	API_CLASS_MODULE_LOAD, /* creates a module or a library from code */
	API_CLASS_ALLOC, /* allocates memory: the first devptr or host argument of direction out */
	API_CLASS_FREE,	 /* frees memory: the first devptr or host argument */
	API_CLASS_RESERVE, /* reserves addresses without memory */
	API_CLASS_UNRESERVE,
	API_CLASS_MAP, /* maps memory at an address */
	API_CLASS_UNMAP,
	API_CLASS_LAUNCH, /* a kernel */
	API_CLASS_COPY,
	API_CLASS_SET,
	API_CLASS_PREFETCH,  /* moves memory, or drops contents that are not needed */
	API_CLASS_HOST_CALL, /* a stream calls the host */
	API_CLASS_MEMORY_OP, /* a stream waits for or writes a word of memory, or an external
				semaphore */
	API_CLASS_GRAPH_LAUNCH,
	API_CLASS_GRAPH_NODE, /* adds a node to a graph */
	API_CLASS_CAPTURE_BEGIN,
	API_CLASS_CAPTURE_END,
	API_CLASS_EVENT_RECORD,
	API_CLASS_EVENT_WAIT,  /* a stream waits for an event */
	API_CLASS_EVENT_QUERY, /* the host queries, without waiting */
	API_CLASS_STREAM_QUERY,
	API_CLASS_SYNC,	      /* the host waits: for its stream, event or context argument */
	API_CLASS_COLLECTIVE, /* all ranks of a communicator */
	API_CLASS_P2P,	      /* one rank sends to or receives from another */
	API_CLASS_GROUP_BEGIN,
	API_CLASS_GROUP_END,
	API_CLASS_GEMM,
	API_CLASS_BLAS, /* other linear algebra on the device */
	API_CLASS_PROFILE,
	API_N_CLASSES,
};

/* How a value is passed. */
enum api_wire {
	API_WIRE_NONE,
	API_WIRE_INT,	  /* i4: signed, of 4 bytes */
	API_WIRE_UINT,	  /* u8 */
	API_WIRE_FLOAT,	  /* f4 */
	API_WIRE_POINTER, /* ptr */
	API_WIRE_COMPLEX, /* c8: two floating-point numbers of half the size */
	API_WIRE_STRUCT,  /* s128: by value; up to 16 bytes are integers in registers, larger ones
			     are on the stack */
};

/* The memory that a pointer refers to, and its direction. The first three are host memory, used
 * during the call itself. The last three are used by the operation that the call adds to its
 * stream, so a recorder must not dereference the pointer. */
enum api_direction {
	API_DIRECTION_NONE, /* a value */
	API_DIRECTION_IN,
	API_DIRECTION_OUT,
	API_DIRECTION_INOUT,
	API_DIRECTION_READS,
	API_DIRECTION_WRITES,
	API_DIRECTION_UPDATES, /* reads and writes, or one of them */
	API_N_DIRECTIONS,
};

enum api_length_kind {
	API_LENGTH_NONE,
	API_LENGTH_UNKNOWN, /* ? */
	API_LENGTH_NUL,	    /* nul: up to a zero byte */
	API_LENGTH_IMAGE,   /* image: length from the header of the cubin, fat binary or PTX */
	API_LENGTH_PARAMS,  /* params: an array of pointers to kernel parameters; number from the
			       kernel's code */
	API_LENGTH_EXTRA,   /* extra: CU_LAUNCH_PARAM_* pairs, up to CU_LAUNCH_PARAM_END */
	API_LENGTH_PRODUCT, /* 8*numOptions, 8*[numNodes], count*{datatype}*{ranks}, 24 */
};

enum api_factor_kind {
	API_FACTOR_VALUE,    /* name or name-1: the value of an argument */
	API_FACTOR_POINTED,  /* [name]: the value that an argument points to; after the call, if the
				direction is out */
	API_FACTOR_DATATYPE, /* {name}: bytes of an element of an argument's ncclDataType_t */
	API_FACTOR_RANKS,    /* {ranks}: ranks of the call's communicator */
};

enum api_meaning {
	API_MEANING_NONE,
	API_MEANING_NUMBER,
	API_MEANING_SIZE,
	API_MEANING_FLAGS,
	API_MEANING_ENUM,   /* api_arg.type */
	API_MEANING_STATUS, /* 0 is success */
	API_MEANING_STRUCT, /* api_arg.type */
	API_MEANING_BYTES,
	API_MEANING_STRING,
	API_MEANING_STRING_ADDRESS, /* a pointer to a string that lives longer than the call */
	API_MEANING_SCALAR, /* host or device memory, depending on the pointer mode of the library's
			       handle */
	API_MEANING_ADDRESS,   /* host memory with unknown contents */
	API_MEANING_CALLBACK,  /* a function of the program */
	API_MEANING_HOST,      /* host memory that operations use */
	API_MEANING_DEVPTR,    /* memory of a device */
	API_MEANING_IMAGE,     /* code */
	API_MEANING_PARAMS,    /* of a kernel */
	API_MEANING_EXTRA,     /* of a kernel */
	API_MEANING_DEVICE,    /* ordinal */
	API_MEANING_UNIQUE_ID, /* of a new communicator */
	API_MEANING_REDUCTION, /* ncclRedOp_t: a number, or an object */
	API_MEANING_FD,	       /* file descriptor of exported memory */
	/* Handles from here on. */
	API_MEANING_CONTEXT,
	API_MEANING_GREEN_CONTEXT,
	API_MEANING_STREAM,
	API_MEANING_EVENT,
	API_MEANING_MODULE,
	API_MEANING_LIBRARY,
	API_MEANING_FUNCTION,
	API_MEANING_KERNEL,
	API_MEANING_LINKER,
	API_MEANING_GRAPH,
	API_MEANING_GRAPH_EXEC,
	API_MEANING_GRAPH_NODE,
	API_MEANING_CONDITIONAL,
	API_MEANING_USER_OBJECT,
	API_MEANING_POOL,
	API_MEANING_MEMORY, /* CUmemGenericAllocationHandle */
	API_MEANING_ARRAY,
	API_MEANING_MIPMAP,
	API_MEANING_TEXREF,
	API_MEANING_SURFREF,
	API_MEANING_TEXTURE,
	API_MEANING_SURFACE,
	API_MEANING_EXTERNAL_MEMORY,
	API_MEANING_EXTERNAL_SEMAPHORE,
	API_MEANING_GRAPHICS_RESOURCE,
	API_MEANING_EGL_CONNECTION,
	API_MEANING_RESOURCE_DESC,
	API_MEANING_NOTIFICATION,
	API_MEANING_COMM,
	API_MEANING_WINDOW,
	API_MEANING_REGISTRATION,
	API_MEANING_BLAS,
	API_MEANING_BLAS_XT,
	API_MEANING_LT,
	API_MEANING_LT_MATMUL,
	API_MEANING_LT_LAYOUT,
	API_MEANING_LT_TRANSFORM,
	API_MEANING_LT_PREFERENCE,
	API_MEANING_LT_EMULATION,
	API_N_MEANINGS,
};
