/* SPDX-License-Identifier: Apache-2.0 */

/* Members of a file beside its events. All texts are valid JSON and end with a NUL. Reads only its
 * arguments. */
#pragma once

#include "formats/trace/names.h"

/* The string member `key` of an object: 0, -ENOENT, or -ENOMEM. */
int kineto_document_string(const char *json, const char *key, char *ret, size_t cap);

/* The integer member: 0, -ENOENT, or -ENOMEM. */
int kineto_document_int(const char *json, const char *key, int64_t *ret);

/* Fills name and properties of `device`, whose ordinal is set, from the list of all devices. 0
 * (also when it is not there) or -errno. */
int kineto_document_device(const char *json, struct fmt_names *names, struct fmt_device *device);

struct kineto_hint_id {
	const char *text; /* NULL: it is a number */
	int64_t number;
	int missing;
};

/* The ranks of an exported file: see README.md. */
struct kineto_hint {
	/* Called in order, with JSON texts. 0, or a negative errno that ends the reading. */
	int (*rank)(void *context, int64_t number);
	int (*fact)(void *context, const char *key, const char *json, size_t len);
	/* A name of a process or thread: an M event. */
	int (*name)(void *context, const char *name, const struct kineto_hint_id *pid,
		    const struct kineto_hint_id *tid, const char *args, size_t len);
	/* A pid in the file, and the original pid. */
	int (*pid)(void *context, const struct kineto_hint_id *shown,
		   const struct kineto_hint_id *real);
	/* The moment that times in the file are relative to. */
	int (*base)(void *context, int64_t ns);
	void *context;
};

/* 0, -EBADMSG for an invalid document (see README.md), or the error of a callback. */
int kineto_document_hint(const char *json, const struct kineto_hint *hint);
