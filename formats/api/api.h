/* SPDX-License-Identifier: Apache-2.0 */

/* The public calls of the driver, NCCL, cuBLAS and cuBLASLt: the table of formats/api/\*.api. The
 * table is constant: any thread may read it at any time.
 *
 * An index is a call's position in the table of this build and is never written to a file: a
 * trace has the name. Sizes are those of 64-bit Linux.
 */
#pragma once

#include "formats/api/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A factor of a length. */
struct api_factor {
	uint8_t kind; /* enum api_factor_kind */
	uint8_t arg;  /* the argument that it is of */
	uint8_t less; /* taken off the argument's value */
};

/* Number of bytes that an argument points to: `bytes` times the factors when it is a product. */
struct api_length {
	uint8_t kind; /* enum api_length_kind */
	uint8_t n;
	struct api_factor by[3];
	uint32_t bytes;
};

struct api_value {
	const char *name; /* without what the names of an enum have in common */
	int64_t value;
};

struct api_enum {
	const char *name;
	const struct api_value *values; /* the first of a value is its name */
	uint16_t n_values;
};

struct api_struct {
	const char *name;
	const struct api_field *fields;
	uint16_t bytes;
	uint16_t n_fields;
};

struct api_arg {
	const char *name;
	const char *type;		 /* of an enum or a struct, as in the header; else NULL */
	const struct api_struct *layout; /* of what has the meaning STRUCT; else NULL */
	const struct api_enum *values;	 /* of what has the meaning ENUM; else NULL */
	uint16_t word;			 /* where its value starts among the words of the call */
	uint16_t bytes;			 /* of the value that is passed, not of what it points to */
	uint8_t wire;			 /* enum api_wire: how it is passed */
	uint8_t meaning;   /* enum api_meaning: of the value, or with a direction, of what it points
			      to */
	uint8_t direction; /* enum api_direction */
	struct api_length length;
};

/* A field of a struct, or of a struct or a union in it: its name is then a path,
 * `value.clusterDim.x`. Where it points and how far is as with arguments; its factors are fields of
 * the same struct, by number. */
struct api_field {
	struct api_arg is;
	uint16_t offset; /* bytes from the start of the struct */
	uint16_t count;	 /* elements of an array */
	uint8_t n_when;
	/* Of a union: the field counts when each of these has one of the values that `values` has a
	 * bit for. */
	struct api_when {
		uint64_t values;
		uint8_t field; /* of the struct; of an argument when `outer` */
		uint8_t outer;
	} when[2];
};

struct api_call {
	const char *name;
	struct api_arg result; /* no name; API_WIRE_NONE of a void function */
	const struct api_arg *args;
	uint8_t n_args;
	uint8_t n_words; /* 64-bit words that hold the values of all arguments */
	uint8_t library; /* enum api_library */
	uint8_t class;	 /* enum api_class */
	bool per_thread; /* *_ptsz, *_ptds: stream 0 is the thread's own */
	int8_t stream;	 /* the index of its argument with the stream that it is for; -1: none */
};

extern const struct api_call api_calls[]; /* made by table.py, in the order of strcmp */
extern const unsigned api_n_calls;

unsigned api_count(void);

/* NULL if the index is out of range. */
const struct api_call *api_call(unsigned index);

/* The index of a call by its full name, version suffix included; -ENOENT. */
int api_find(const char *name);

/* The first argument of that meaning; NULL. */
const struct api_arg *api_arg_of(const struct api_call *call, enum api_meaning meaning);

/* Whether a value of this meaning names an object that a call creates and another destroys. */
static inline bool api_is_handle(enum api_meaning meaning)
{
	return meaning >= API_MEANING_CONTEXT && meaning < API_N_MEANINGS;
}

/* Whether later calls may need what the call did, apart from contents of memory. */
bool api_has_lasting_effect(const struct api_call *call);

/* Whether a call that ends a capture ended it, by its result: also one that failed because the
 * capture was invalidated, or a stream of it not joined. */
static inline bool api_capture_is_over(int result)
{
	return result == 0 || result == 901 || result == 904;
}

/* Whether a call succeeded or is in progress. A call of NCCL on a non-blocking communicator returns
 * ncclInProgress; its outputs are valid then. */
static inline bool api_succeeded(const struct api_call *call, int64_t result)
{
	return (int32_t)result == 0 ||
	       (call && call->library == API_LIBRARY_NCCL && (int32_t)result == 7);
}

/* The name of a value; NULL if the enum does not name it. */
const char *api_value_name(const struct api_enum *e, int64_t value);

/* The value extended to 64 bits: the upper half of a word that passes 32 bits is undefined. */
static inline uint64_t api_extended(const struct api_arg *a, uint64_t value)
{
	unsigned bits = a->bytes > 0 && a->bytes < 8 ? 64 - 8u * a->bytes : 0;

	if (a->wire == API_WIRE_INT)
		return (uint64_t)((int64_t)(value << bits) >> bits);
	return value << bits >> bits;
}

/* Number of bytes that argument `arg` points to, from the words of the call; UINT64_MAX if unknown
 * (strings, images, kernel parameters, lengths that are behind a pointer). `ranks` is the
 * size of the communicator, 0 if unknown.
 */
uint64_t api_bytes(const struct api_call *call, unsigned arg, const uint64_t *words,
		   unsigned ranks);
