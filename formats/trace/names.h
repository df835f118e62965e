/* SPDX-License-Identifier: Apache-2.0 */

/* The names of a trace, each stored once: strings, templates, tracks, devices, communicators,
 * rules, facts. Numbers are assigned at first use, so the same calls give the same numbers and the
 * same bytes. All ranks of a trace share one fmt_names. One thread may add; any number of threads
 * may read while none adds.
 *
 * Functions return 0 or a negative errno (-ENOMEM, -EOVERFLOW beyond 2^32 - 2 items); after an
 * error *ret is unchanged. Returned pointers are owned by the fmt_names and valid until it is freed
 * or, for templates, until the next item is added. */
#pragma once

#include "base/scope.h"
#include "base/text.h"
#include "formats/trace/model.h"

struct fmt_names;

int fmt_names_new(struct fmt_names **ret);
void fmt_names_free(struct fmt_names *n);
define_cleanup(fmt_names_freep, struct fmt_names *, fmt_names_free);

/* Finds or adds a string of `len` arbitrary bytes; `s` needs no terminator. */
int fmt_names_string(struct fmt_names *n, const char *s, size_t len, fmt_str *ret);

/* Copies `template` and its args; computes n_values. */
int fmt_names_template(struct fmt_names *n, const struct fmt_template *template, uint32_t *ret);

int fmt_names_track(struct fmt_names *n, uint32_t rank, const struct fmt_track *track,
		    uint32_t *ret);
int fmt_names_device(struct fmt_names *n, uint32_t rank, const struct fmt_device *device);
int fmt_names_comm(struct fmt_names *n, const struct fmt_comm *comm, uint32_t *ret);
int fmt_names_rule(struct fmt_names *n, const char *name, int inferred, uint8_t *ret);

#define FMT_WHOLE_TRACE UINT32_MAX
/* Sets a fact about `rank`, or about the trace with FMT_WHOLE_TRACE; replaces the value of an
 * existing key. */
int fmt_names_fact(struct fmt_names *n, uint32_t rank, const char *key, fmt_str value);
/* Set a fact to a JSON text that may be a new string. Return 0 or a negative errno. */
int fmt_names_fact_text(struct fmt_names *n, uint32_t rank, const char *key,
			const struct text *json);
int fmt_names_fact_json(struct fmt_names *n, uint32_t rank, const char *key, const char *json,
			size_t len);

/* Adds the rules, communicators and facts that were added to a copy (fmt_names_copy). No rules or
 * communicators may have been added to `to` meanwhile, since they would have the same numbers. */
int fmt_names_merge(struct fmt_names *to, const struct fmt_names *copy, uint32_t n_ranks);

/* Returns the bytes of a string, followed by a NUL that `len` (may be NULL) does not count; "" for
 * an invalid number. */
const char *fmt_string(const struct fmt_names *n, fmt_str s, size_t *len);

/* Return NULL for an invalid number. */
const struct fmt_template *fmt_template(const struct fmt_names *n, uint32_t template);
const struct fmt_track *fmt_track(const struct fmt_names *n, uint32_t rank, uint32_t track);
const struct fmt_device *fmt_device(const struct fmt_names *n, uint32_t rank, uint32_t index);
const struct fmt_comm *fmt_comm(const struct fmt_names *n, uint32_t comm);
const struct fmt_rule *fmt_rule(const struct fmt_names *n, uint32_t rule);
const struct fmt_fact *fmt_fact(const struct fmt_names *n, uint32_t rank, uint32_t index);

uint32_t fmt_n_strings(const struct fmt_names *n);
uint32_t fmt_n_templates(const struct fmt_names *n);
uint32_t fmt_n_tracks(const struct fmt_names *n, uint32_t rank);
uint32_t fmt_n_comms(const struct fmt_names *n);

/* Returns the JSON text of a fact, or NULL. */
const char *fmt_fact_value(const struct fmt_names *n, uint32_t rank, const char *key);

/* Find the argument `key` of a template: its constant; the index among the values that vary. Both
 * return 1 if found, else 0. */
int fmt_template_const(const struct fmt_names *n, const struct fmt_template *s, const char *key,
		       int64_t *ret);
int fmt_template_varying(const struct fmt_names *n, const struct fmt_template *s, const char *key,
			 uint32_t *ret);
