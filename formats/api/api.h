/* SPDX-License-Identifier: Apache-2.0 */

/* The public calls of the driver, NCCL, cuBLAS and cuBLASLt: the table of formats/api/\*.api.
 * Thread-safe: the table is constant.
 *
 * An index is a call's position in the table of this build and is never written to a file: a trace
 * contains the name. Sizes are those of 64-bit Linux. */
#pragma once

#include "formats/api/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A factor of a length. */
struct api_factor {
	uint8_t kind; /* enum api_factor_kind */
	uint8_t arg;  /* index of the argument */
	uint8_t less; /* subtracted from the argument's value */
};

/* Number of bytes that an argument points to: for a product, `bytes` times the factors. */
struct api_length {
	uint8_t kind; /* enum api_length_kind */
	uint8_t n;
	struct api_factor factors[3];
	uint32_t bytes;
};

struct api_value {
	const char *name; /* without the common prefix of the enum's names */
	int64_t value;
};

struct api_enum {
	const char *name;
	const struct api_value *values; /* if several have the same value, the first is its name */
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
	const struct api_struct *layout; /* if the meaning is STRUCT; else NULL */
	const struct api_enum *values;	 /* if the meaning is ENUM; else NULL */
	uint16_t word;			 /* index of its value in the words of the call */
	uint16_t bytes;	   /* of the passed value, not of the memory that it points to */
	uint8_t wire;	   /* enum api_wire: how it is passed */
	uint8_t meaning;   /* enum api_meaning: of the value, or, with a direction, of the memory it
			      points to */
	uint8_t direction; /* enum api_direction */
	struct api_length length;
};

/* A field of a struct, or of a struct or a union in it: its name is then a path,
 * `value.clusterDim.x`. Where it points and how far is as with arguments; its factors are fields of
 * the same struct, by number. */
struct api_field {
	struct api_arg arg;
	uint16_t offset; /* bytes from the start of the struct */
	uint16_t count;	 /* elements of an array */
	uint8_t n_when;
	/* Unions: the field is valid if each of these has one of the values whose bit is set in
	 * `values`. */
	struct api_when {
		uint64_t values;
		uint8_t field; /* of the struct; if `outer`, index of an argument */
		uint8_t outer;
	} when[2];
};

struct api_call {
	const char *name;
	struct api_arg result; /* without name; API_WIRE_NONE for a void function */
	const struct api_arg *args;
	uint8_t n_args;
	uint8_t n_words; /* 64-bit words that hold the values of all arguments */
	uint8_t library; /* enum api_library */
	uint8_t class;	 /* enum api_class */
	bool per_thread; /* *_ptsz, *_ptds: stream 0 is the per-thread default stream */
	int8_t stream; /* index of the argument with the stream that the call works on; -1: none */
};

extern const struct api_call api_calls[]; /* made by table.py, in the order of strcmp */
extern const unsigned api_n_calls;

unsigned api_count(void);

/* Returns NULL if the index is out of range. */
const struct api_call *api_call(unsigned index);

/* Returns the index of a call by its full name, including the version suffix; -ENOENT. */
int api_find(const char *name);

/* Returns the first argument with that meaning, or NULL. */
const struct api_arg *api_arg_of(const struct api_call *call, enum api_meaning meaning);

/* Returns true if a value of this meaning names an object that a call creates and another
 * destroys. */
static inline bool api_is_handle(enum api_meaning meaning)
{
	return meaning >= API_MEANING_CONTEXT && meaning < API_N_MEANINGS;
}

/* Returns true if later calls may depend on effects of the call other than contents of memory. */
bool api_has_lasting_effect(const struct api_call *call);

/* Returns true if a call that ends a capture ended it, according to its result: also if it failed
 * because the capture was invalidated, or a stream did not join it. */
static inline bool api_capture_is_over(int result)
{
	return result == 0 || result == 901 || result == 904;
}

/* Returns true if a call succeeded or is in progress. NCCL calls on a non-blocking communicator
 * return ncclInProgress; their outputs are valid then. */
static inline bool api_succeeded(const struct api_call *call, int64_t result)
{
	return (int32_t)result == 0 ||
	       (call && call->library == API_LIBRARY_NCCL && (int32_t)result == 7);
}

/* Returns the name of a value; NULL if the enum has none. */
const char *api_value_name(const struct api_enum *e, int64_t value);

/* Returns the value extended to 64 bits: the upper half of a word that passes 32 bits is
 * undefined. */
static inline uint64_t api_extended(const struct api_arg *a, uint64_t value)
{
	unsigned bits = a->bytes > 0 && a->bytes < 8 ? 64 - 8u * a->bytes : 0;

	if (a->wire == API_WIRE_INT)
		return (uint64_t)((int64_t)(value << bits) >> bits);
	return value << bits >> bits;
}

/* Returns the number of bytes that argument `arg` points to, from the words of the call; UINT64_MAX
 * if unknown (strings, images, kernel parameters, lengths behind a pointer). `ranks` is the size of
 * the communicator, 0 if unknown. */
uint64_t api_bytes(const struct api_call *call, unsigned arg, const uint64_t *words,
		   unsigned ranks);
