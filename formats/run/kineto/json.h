/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the JSON of a Chrome trace: an object with "traceEvents", or the bare array. Passes on one
 * event at a time; memory is bounded by the largest single value. */
#pragma once

#include "formats/run/kineto/source.h"
#include "formats/run/kineto/strings.h"
#include "formats/trace/model.h"

#include <stdbool.h>

enum kineto_presence { KINETO_MISSING, KINETO_PRESENT, KINETO_INVALID };

/* A value: FMT_INT, or the number of a string or of JSON text without white space. */
struct kineto_arg {
	uint32_t key;
	uint32_t type; /* enum fmt_type */
	int64_t value;
};

/* Returns true if two ids of processes or threads are equal. */
static inline bool kineto_same_id(const struct kineto_arg *a, const struct kineto_arg *b)
{
	return a->value == b->value && (a->type == FMT_INT) == (b->type == FMT_INT);
}

struct kineto_event {
	uint64_t offset; /* of its "{", in the unpacked JSON */
	uint32_t ph, cat, name;
	struct kineto_arg pid, tid; /* FMT_JSON "" if missing */
	enum kineto_presence has_ts, has_dur;
	int64_t ts_ns, dur_ns;	       /* from microseconds */
	int rounded;		       /* a time had digits below the nanosecond */
	const struct kineto_arg *args; /* args and others are valid until the callback returns */
	size_t n_args;
	const struct kineto_arg *others; /* members of the event other than the above */
	size_t n_others;
};

struct kineto_json {
	struct fmt_strings *strings;
	/* Both return 0, or a negative errno that ends reading. */
	int (*event)(void *context, const struct kineto_event *e);
	/* A member of the top-level object other than "traceEvents"; `json` is its text without
	 * white space. */
	int (*member)(void *context, uint32_t key, const char *json, size_t len);
	/* Called periodically; may be NULL. */
	int (*progress)(void *context);
	void *context;
};

/* Bytes read, and numbers of tolerated errors. */
struct kineto_json_counts {
	uint64_t bytes;
	uint64_t not_numbers; /* NaN, Infinity, -inf ...: kept as texts */
	uint64_t commas;      /* trailing commas */
};

/* Reads the whole document; *counts is always set. The closing bracket of an array of events may be
 * missing. Returns -EBADMSG with *err for invalid JSON and for documents that are not traces; else
 * the error of a callback. `path` is used in *err. */
int kineto_json_read(struct kineto_source *s, const char *path, const struct kineto_json *j,
		     struct kineto_json_counts *counts, struct fmt_error *err);

/* Converts microseconds as text ("4458676983423.243", "1.5e6") to nanoseconds; sets *rounded to 1
 * if digits were lost. Returns 0, -ERANGE beyond 64 bits, or -EINVAL if it is not a number. */
int kineto_time_ns(const char *s, size_t len, int64_t *ret, int *rounded);
