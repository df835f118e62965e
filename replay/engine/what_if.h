/* SPDX-License-Identifier: Apache-2.0 */

/* What is to be different in an emulated run: the text behind `--what-if`.
 *
 *     SPEC = CHANGE[,CHANGE ...]
 *     CHANGE = [SCOPE:]KEY=VALUE
 *
 * A scope belongs to the one change that it precedes. It is `rank1,3-5`, `kernel~GLOB`, `comm NAME`
 * or a kind of collectives (`all_reduce`), or a rank scope and one of the others with a colon
 * between. VALUE is `2x` (twice as fast) for most keys. A SPEC contains no slash, so it can be the
 * name of a file. doc/emulation.md lists the keys.
 *
 * Any number of threads at once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum what_if_key {
	WHAT_IF_GPU,
	WHAT_IF_NETWORK,
	WHAT_IF_LATENCY,
	WHAT_IF_BANDWIDTH,
	WHAT_IF_COPY,
	WHAT_IF_HOST,
	WHAT_IF_LAUNCH,
	WHAT_IF_STRAGGLER,
	WHAT_IF_OVERLAP,
	WHAT_IF_COPIES, /* ranks.dp */
	WHAT_IF_BATCH,	/* always refused */
	WHAT_IF_KEYS,
};

/* Which operations of a GPU may run beside collectives. */
enum what_if_overlap {
	OVERLAP_RECORDED,
	OVERLAP_OFF,  /* none: collectives wait for earlier operations, and later ones for them */
	OVERLAP_FULL, /* all that do not wait for their events */
};

/* Changes of what waits for what, which no factor expresses. */
struct what_if_structure {
	enum what_if_overlap overlap;
	uint32_t copies; /* data-parallel copies of the model; 0: as recorded */
};

#define WHAT_IF_COPIES_MOST 65536

/* Changes of a spec, ranges of ranks of a change. */
#define WHAT_IF_CHANGES 32
#define WHAT_IF_RANGES 64

/* Speeds are between these: times are divided by them. */
#define WHAT_IF_SLOWEST 0.001
#define WHAT_IF_FASTEST 1000

struct what_if_change {
	enum what_if_key key;
	double speed;	 /* 2: takes half the time; 1 for a key without speed */
	uint32_t number; /* of WHAT_IF_OVERLAP: enum what_if_overlap; of WHAT_IF_COPIES */
	struct {
		uint32_t first, last;
	} * ranks;	  /* the recorder's numbers; owned */
	uint32_t n_ranks; /* ranges; 0: all ranks */
	char *model;	  /* of WHAT_IF_GPU: name of a GPU model; NULL: a speed; owned */
	char *kernel;	  /* glob over kernel names; NULL: all; owned */
	char *comm;	  /* name of a communicator; NULL: all; owned */
	char *op;	  /* kind of collective; NULL: all; owned */
};

struct what_if {
	char *spec; /* as given; owned */
	struct what_if_change changes[WHAT_IF_CHANGES];
	uint32_t n;
};

/* Why a spec is invalid, as in "invalid value 'fast' for gpu; expected ...". */
struct what_if_error {
	char why[200];
};

/* *ret is freed by what_if_free(). Returns 0, -EINVAL with the reason in *err, or -ENOMEM. */
int what_if_parse(const char *spec, struct what_if **ret, struct what_if_error *err);
void what_if_free(struct what_if *w);

struct what_if_structure what_if_structure(const struct what_if *w);

/* Whether it is a kind of collectives that a scope can name, such as "all_reduce". */
int what_if_is_op(const char *name);

/* Whether a rank with the recorder's number `number` is in the scope. */
int what_if_has_rank(const struct what_if_change *c, uint32_t number);
