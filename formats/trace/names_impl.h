/* SPDX-License-Identifier: Apache-2.0 */

/* What a fmt_names is made of; for names.c and for the code that stores names. */
#pragma once

#include "base/arena.h"
#include "base/scope.h"
#include "formats/trace/names.h"

struct fmt_name_slot {
	uint64_t hash;
	uint32_t number; /* plus 1; 0: free */
};

struct fmt_name_table {
	struct fmt_name_slot *slots;
	size_t cap, used;
};

struct fmt_name_string {
	const char *s;
	size_t len;
};

struct fmt_name_facts {
	struct fmt_fact *facts;
	uint64_t *changed;	     /* the version at which each got its value */
	struct fmt_name_table table; /* by key */
	uint32_t n;
	size_t facts_cap, changed_cap;
};

struct fmt_rank_names {
	struct fmt_track *tracks;
	uint64_t *track_changed; /* the version at which each was renamed; 0: never */
	struct fmt_name_table track_table;
	struct fmt_device *devices;
	struct fmt_name_facts facts;
	uint32_t n_tracks, n_devices;
	size_t tracks_cap, track_changed_cap, devices_cap;
};

struct fmt_names {
	struct fmt_name_string *strings;
	struct fmt_name_table string_table;
	struct fmt_template *templates;
	struct fmt_name_table template_table;
	struct fmt_comm *comms;
	struct fmt_name_table comm_table;
	struct fmt_rule *rules;
	struct fmt_rank_names *ranks;
	struct fmt_name_facts trace_facts;
	uint64_t version; /* counts what was changed after it was added: facts, names of tracks */
	uint32_t n_strings, n_templates, n_comms, n_rules, n_ranks;
	size_t strings_cap, templates_cap, comms_cap, rules_cap, ranks_cap;
	struct arena arena; /* of what does not grow */
};

/* Room for one more. */
int fmt_name_table_grow(struct fmt_name_table *t);
/* The slot of the thing with `hash` for which same(key, thing) holds, or a free one (number 0). */
struct fmt_name_slot *fmt_name_table_find(const struct fmt_name_table *t, uint64_t hash,
					  int (*same)(const void *a, const void *b),
					  const void *key, const void *things, size_t size);
void fmt_name_table_set(struct fmt_name_table *t, struct fmt_name_slot *s, uint64_t hash,
			uint32_t number);

/* The number of a string that is there, or 0. */
fmt_str fmt_names_find_string(const struct fmt_names *n, const char *s);
