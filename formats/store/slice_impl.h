/* SPDX-License-Identifier: Apache-2.0 */

/* What the parts of the slice coding share. Each part is one function for both directions: coding,
 * it reads what the items hold; decoding, it fills them. */
#pragma once

#include "formats/store/context.h"
#include "formats/store/names_code.h"
#include "formats/store/slice_code.h"

#define FMT_NONE UINT32_MAX
/* The place of a correlation among the values. */
#define FMT_SLOT_CORRELATION 0xfffu

#define FMT_HAS_REFERENCE 1u
#define FMT_RANGES_CORRELATE 2u
#define FMT_DEVICE_RESTS 4u
#define FMT_SLICE_FLAGS 7u

/* No byte of a payload can stand for more items: each takes at least a symbol. */
#define FMT_ITEMS_PER_BYTE 16384
#define FMT_ITEMS_MAX (1u << 24)
#define FMT_VALUES_MAX (1u << 27)
/* Decoding, of each item and of each byte: what varies takes some of them. */
#define FMT_VALUES_PER_ITEM 32
#define FMT_VALUES_PER_BYTE 1024

/* What is known of one of the values of a site's events. */
struct fmt_slot {
	uint32_t key, number;			 /* the place among the values */
	uint8_t type;				 /* enum fmt_type */
	struct fmt_context *of_key, *of_slot[2]; /* the second where the reference is repeated;
						    found at first use */
};

struct fmt_key_context {
	uint32_t key;
	struct fmt_context *context;
};

/* What is known of a site that the slice uses, so that it is looked up once. */
struct fmt_card {
	const struct fmt_site *site;
	uint32_t first_slot; /* of the values, and then of the correlation */
	int8_t launches;     /* whether its calls launch ops; -1: not known yet */
	struct fmt_int_contexts times[FMT_OP_LEAF + 1]; /* by class */
};

/* An event or range, in the order of coding: by lane, in it by start, the enclosing first. */
struct fmt_item {
	int64_t start, end;
	uint64_t correlation;
	uint32_t site;	  /* the file's number */
	uint32_t pops;	  /* how many that were open on its lane end before it starts */
	uint32_t parent;  /* what encloses it; the launching call of an op; or FMT_NONE */
	uint32_t match;	  /* the item of the reference that it repeats, or FMT_NONE */
	uint32_t values;  /* index of the first of its values */
	uint32_t call;	  /* coding: of an op, the index of its call among the run's; or FMT_NONE */
	uint32_t card;	  /* of its site */
	uint8_t launches; /* coding: of a call, 1 if its site launches ops here */
	uint8_t kind;	  /* enum fmt_kind */
	uint8_t leaf;	  /* 1: encloses nothing */
};

struct fmt_item_lane {
	uint32_t number; /* of the rank's lanes */
	uint32_t first, n;
	uint8_t device; /* 1: a stream */
};

/* An edge between items. */
struct fmt_item_edge {
	uint32_t to, from; /* from: FMT_NONE when it lies in another slice */
	int64_t far;	   /* then: how many numbers before `to` */
	int64_t lag_ns;
	uint8_t kind, rule;
};

struct fmt_history;

/* What is kept of a slice that others refer to. */
struct fmt_reference {
	struct fmt_contexts contexts;
	struct fmt_history *history;
	int64_t *steps; /* of each value, from the last of its key; by index of value */
	size_t n_values;
	uint32_t *values;     /* of each item: index of its first value */
	uint32_t *sites;      /* of each item */
	int64_t *call_steps;  /* of each op: how far on its call is; of a host event: its
				 correlation */
	uint32_t *first_edge; /* of each item, and one more: index of its first edge */
	struct fmt_item_edge *edges;
	uint32_t n_items;
	uint32_t slice;
};

struct fmt_run_code {
	struct fmt_coder coder;
	struct fmt_contexts contexts;
	const struct fmt_reference *reference; /* or NULL */
	const struct fmt_names *names;
	const struct fmt_names_map *map; /* NULL: the file's numbers are the names' */
	uint32_t n_sites;		 /* that the file may use */
	int64_t origin_ns;		 /* start of the iteration */
	int64_t host_unit, device_unit;	 /* nanoseconds */
	int device_rests;		 /* 1: device times are near multiples of the unit, not on
					    them */
	struct fmt_item_lane *lanes;
	size_t n_lanes;
	struct fmt_item *items;
	uint32_t n_items;
	struct fmt_card *cards;
	struct fmt_slot *slots;
	size_t n_cards, cards_cap, n_slots, slots_cap;
	struct fmt_key_context keys[64]; /* by key, the last that was asked for */
	uint32_t *card_of;		 /* by site: its card plus 1, or 0 */
	uint32_t *order;		 /* items of host lanes by start: all of them, in the end */
	uint32_t n_order;
	uint32_t *calls; /* calls that can launch ops, by start */
	uint8_t *taken;	 /* of each of them: 1 if an op was its already */
	uint32_t n_calls;
	int ranges_correlate;  /* 1: ranges have correlations too */
	const int64_t *source; /* coding: the slice's values */
	size_t most_values;    /* that there may be */
	int64_t *values;
	int64_t *steps;
	int64_t *call_steps;
	size_t n_values, values_cap, steps_cap;
	struct fmt_history *history;
	struct fmt_item_edge *edges; /* by `to` */
	size_t n_edges;
	uint32_t *below; /* of each item of a stream: what encloses it */
	double *bits;	 /* by column, or NULL */
	double bits_now, bits_before;
};

/* Sets the card of an item by its site, and its kind. -EBADMSG: there is no such site. */
int fmt_set_card(struct fmt_run_code *r, struct fmt_item *item);

static inline struct fmt_card *fmt_card(const struct fmt_run_code *r, const struct fmt_item *item)
{
	return &r->cards[item->card];
}

/* Which sites, in which order, how nested: sets site, pops, match, kind of the lane's items. */
int fmt_code_tokens(struct fmt_run_code *r, struct fmt_item_lane *lane);
void fmt_history_free(struct fmt_history *h);

/* Start and end of the items of a lane of a thread; sets parent and leaf of any lane. */
void fmt_nest(struct fmt_run_code *r, const struct fmt_item_lane *lane);
void fmt_code_times(struct fmt_run_code *r, const struct fmt_item_lane *lane);
/* The same of a stream. Its ops have their calls as parents: below[i] is what encloses item i. */
void fmt_code_op_times(struct fmt_run_code *r, const struct fmt_item_lane *lane,
		       const uint32_t *below);

/* Orders the host's items by start. */
int fmt_order_items(struct fmt_run_code *r);
/* Correlations of calls, and values of all items of threads. */
int fmt_code_values(struct fmt_run_code *r);
/* Which call launched each op of a lane; its correlation; parent is set to the call. */
void fmt_code_calls(struct fmt_run_code *r, const struct fmt_item_lane *lane);
/* Values of the ops. */
int fmt_code_op_values(struct fmt_run_code *r, const struct fmt_item_lane *lane);
/* All edges, last. Decoding, s->n_edges says how many there must be. */
int fmt_code_edges(struct fmt_run_code *r, struct fmt_slice *s);

/* Everything behind the head, in either direction. know_calls() (coding) is called when the calls
 * are in order. */
int fmt_run_code(struct fmt_run_code *r, struct fmt_slice *s,
		 int (*know_calls)(struct fmt_run_code *r));
/* Makes a reference of a run that had none, and takes what it needs from it. */
int fmt_run_keep(struct fmt_run_code *r, uint32_t slice, struct fmt_reference **ret);
void fmt_run_done(struct fmt_run_code *r);
