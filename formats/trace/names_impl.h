/* SPDX-License-Identifier: Apache-2.0 */

/* The members of fmt_names, for names.c and the code that stores names. */
#pragma once

#include "base/arena.h"
#include "base/scope.h"
#include "formats/trace/names.h"
#include "formats/trace/strings.h"

struct fmt_name_facts {
	struct fmt_fact *facts;
	struct fmt_hash_table table; /* by key */
	uint32_t n;
	size_t facts_cap;
};

struct fmt_rank_names {
	struct fmt_track *tracks;
	struct fmt_hash_table track_table;
	struct fmt_device *devices;
	struct fmt_name_facts facts;
	uint32_t n_tracks, n_devices;
	size_t tracks_cap, devices_cap;
};

struct fmt_names {
	struct fmt_strings strings;
	struct fmt_template *templates;
	struct fmt_hash_table template_table;
	struct fmt_comm *comms;
	struct fmt_hash_table comm_table;
	struct fmt_rule *rules;
	struct fmt_rank_names *ranks;
	struct fmt_name_facts trace_facts;
	uint32_t n_templates, n_comms, n_rules, n_ranks;
	size_t templates_cap, comms_cap, rules_cap, ranks_cap;
	struct arena arena; /* for items of constant size */
};
