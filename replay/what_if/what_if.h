/* SPDX-License-Identifier: Apache-2.0 */

/* The changes of an emulated run: the text after `--what-if`.
 *
 *     SPEC = CHANGE[,CHANGE ...]
 *     CHANGE = [SCOPE:]KEY=VALUE
 *
 * A scope applies to the one change after it. It is `rank1,3-5`, `kernel~GLOB`, `comm NAME` or a
 * kind of collectives (`all_reduce`), or a rank scope and another scope joined by a colon. VALUE is
 * `2x` (twice as fast) for most keys. A SPEC contains no slash, so it can be the name of a file.
 * doc/emulation.md lists the keys.
 *
 * Thread-safe. */
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

/* The operations of a GPU that may overlap collectives. */
enum what_if_overlap {
	OVERLAP_RECORDED,
	OVERLAP_OFF,  /* none: collectives wait for earlier operations, and later operations for
			 collectives */
	OVERLAP_FULL, /* all that do not wait for events of collectives */
};

/* Changes of dependencies, which cannot be expressed as factors. */
struct what_if_structure {
	enum what_if_overlap overlap;
	uint32_t copies; /* data-parallel copies of the model; 0: as recorded */
};

#define WHAT_IF_COPIES_MOST 65536

/* Maximum numbers: of changes in a spec, and of rank ranges in a change. */
#define WHAT_IF_CHANGES 32
#define WHAT_IF_RANGES 64

/* Limits of speeds; times are divided by the speed. */
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
	char *spec; /* the text as given; owned */
	struct what_if_change changes[WHAT_IF_CHANGES];
	uint32_t n;
};

/* Why a spec is invalid, as in "invalid value 'fast' for gpu; expected ...". */
struct what_if_error {
	char why[700];
};

/* The caller frees *ret by what_if_free(). Returns 0, -EINVAL with the reason in *err, or
 * -ENOMEM. */
int what_if_parse(const char *spec, struct what_if **ret, struct what_if_error *err);
void what_if_free(struct what_if *w);

struct what_if_structure what_if_structure(const struct what_if *w);

/* Returns true if `name` is a kind of collectives that a scope can name, such as "all_reduce". */
int what_if_is_op(const char *name);

/* Returns true if the scope contains the rank with the recorder's number `number`. */
int what_if_has_rank(const struct what_if_change *c, uint32_t number);
