/* SPDX-License-Identifier: Apache-2.0 */

/* Each text of the files, once. Numbers are given in the order of the files, and are the importer's
 * own: those of the trace are given when it is written. Number 0 is the empty string. One thread.
 */
#pragma once

#include "formats/run/kineto/table.h"

#include <string.h>

/* Texts that the importer knows; their numbers are the same in each kineto_strings. */
enum kineto_known {
	KINETO_EMPTY,
	KINETO_PH,
	KINETO_CAT,
	KINETO_NAME,
	KINETO_PID,
	KINETO_TID,
	KINETO_TS,
	KINETO_DUR,
	KINETO_ARGS,
	KINETO_EVENTS,
	KINETO_GPUTRACE,
	KINETO_CORRELATION,
	KINETO_EXTERNAL_ID,
	KINETO_BANDWIDTH,
	KINETO_BYTES,
	KINETO_COMPLETE,
	KINETO_INSTANT,
	KINETO_METADATA,
	KINETO_FLOW_START,
	KINETO_FLOW_STEP,
	KINETO_FLOW_END,
	KINETO_CAT_RUNTIME,
	KINETO_CAT_DRIVER,
	KINETO_CAT_KERNEL,
	KINETO_CAT_MEMCPY,
	KINETO_CAT_MEMSET,
	KINETO_CAT_RUNTIME_OLD,
	KINETO_CAT_KERNEL_OLD,
	KINETO_CAT_MEMCPY_OLD,
	KINETO_CAT_MEMSET_OLD,
	KINETO_CAT_SYNC,
	KINETO_CAT_GPU_ANNOTATION,
	KINETO_CAT_ANNOTATION,
	KINETO_CAT_OP,
	KINETO_CAT_PYTHON,
	KINETO_CAT_LAUNCH,
	KINETO_CAT_LAUNCH_OLD,
	KINETO_CAT_LAUNCH_OLDEST,
	KINETO_CAT_AUTOGRAD,
	KINETO_CAT_AUTOGRAD_OLD,
	KINETO_THREAD_NAME,
	KINETO_COLLECTIVE_NAME,
	KINETO_IN_NELEMS,
	KINETO_OUT_NELEMS,
	KINETO_DTYPE,
	KINETO_INPUT_DIMS,
	KINETO_INPUT_TYPE,
	KINETO_EV_IDX,
	KINETO_FIRST_VARYING = KINETO_EV_IDX,
	KINETO_RECORD_FUNCTION,
	KINETO_SEQUENCE,
	KINETO_PYTHON_ID,
	KINETO_PYTHON_PARENT,
	KINETO_WAIT_RECORD,
	KINETO_ADDR,
	KINETO_ADDRESS_BYTES,
	KINETO_TOTAL_ALLOCATED,
	KINETO_TOTAL_RESERVED,
	KINETO_LAST_VARYING = KINETO_TOTAL_RESERVED,
	KINETO_KNOWN,
};

struct kineto_string {
	const char *s; /* terminated by a NUL */
	uint32_t len;
};

struct kineto_strings {
	struct kineto_string *strings;
	size_t n, cap;
	struct kineto_table table;
	char **blocks; /* owned: what the strings lie in */
	size_t n_blocks, blocks_cap;
	char *at;
	size_t left;
};

/* 0 or -ENOMEM; _done() is right after either. */
int kineto_strings_init(struct kineto_strings *t);
void kineto_strings_done(struct kineto_strings *t);

/* Finds or adds. 0, -ENOMEM, or -EOVERFLOW when there are too many. */
int kineto_strings_add(struct kineto_strings *t, const char *s, size_t len, uint32_t *ret);

/* Whether two texts of `len` bytes, 8 to 16, are the same. */
static inline int kineto_same_words(const char *a, const char *b, size_t len)
{
	uint64_t x, y, v, w;

	memcpy(&x, a, 8);
	memcpy(&y, b, 8);
	memcpy(&v, a + len - 8, 8);
	memcpy(&w, b + len - 8, 8);
	return x == y && v == w;
}

/* memcmp() == 0, for texts that are mostly short. */
static inline int kineto_same(const char *a, const char *b, size_t len)
{
	if (len < 8) {
		while (len > 0 && a[len - 1] == b[len - 1])
			len--;
		return len == 0;
	}
	if (len <= 16)
		return kineto_same_words(a, b, len);
	if (len <= 32)
		return kineto_same_words(a, b, 16) &&
		       kineto_same_words(a + len - 16, b + len - 16, 16);
	return memcmp(a, b, len) == 0;
}

/* 1 when `number` is the text `s`. */
static inline int kineto_string_is(const struct kineto_strings *t, uint32_t number, const char *s,
				   size_t len)
{
	return number < t->n && t->strings[number].len == len &&
	       kineto_same(t->strings[number].s, s, len);
}
