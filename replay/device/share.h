/* SPDX-License-Identifier: Apache-2.0 */

/* Values that one process of a re-execution makes and others need: unique ids of communicators,
 * handles of memory and events for other processes. A recorded value of up to 128 bytes stands for
 * the one that was made in its place. The table lies in a file that all processes map; it has no
 * locks that a killed process could hold. Processes that a launcher started, maybe on other hosts,
 * have a table each, and give values to each other as files in a folder. Any thread. */
#pragma once

#include "replay/device/window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REX_SHARED_BYTES 128

struct rex_share;

/* Options of all processes; set before they start. */
#define REX_PROCESSES 4096

struct rex_settings {
	struct rex_range range; /* iterations to be executed */
	char folder[4096];	/* for values of other tables; "": there are none */
	int32_t device;		/* the GPU of a process with one rank; -1: as recorded */
	bool same_addresses;	/* memory has to be at its recorded addresses */
	bool keeps_gaps;	/* the host takes its time between calls */
	bool is_alone;		/* only one process runs, whose rank gets what it received */
	bool checks_inputs;	/* and what it sends is compared */
	bool is_cut_off;
	uint32_t stops[REX_PROCESSES]; /* then: the number of calls that each process makes */
};

/* Makes the file; its descriptor stays open in processes that are started. -errno. */
int rex_share_make(void);
/* Maps it. A negative descriptor: a table of this process alone. 0 or -errno. */
int rex_share_open(int fd, struct rex_share **ret);
/* Unmaps it, and closes the descriptor. */
void rex_share_close(struct rex_share *s, int fd);

struct rex_settings *rex_share_settings(struct rex_share *s);

/* -ENOSPC: the table is full. */
int rex_share_put(struct rex_share *s, const void *recorded, size_t bytes, const void *here);

/* Waits until another process or thread puts it. -ETIMEDOUT. */
int rex_share_get(struct rex_share *s, const void *recorded, size_t bytes, void *ret);

/* Counts of what processes did. */
struct rex_counts {
	uint64_t made;		/* calls */
	uint64_t seeded;	/* copies from the host whose contents are not recorded */
	uint64_t missing_bytes; /* of memory when the window began, whose contents are not known */
	uint64_t regions;	/* of memory that were mapped */
	uint64_t moved_regions; /* of these: at another address than recorded */
	/* Addresses of such regions in memory that was filled; they were not rewritten. */
	uint64_t old_addresses;
	/* Of a rank that runs alone: */
	uint64_t delivered;	  /* collectives and receives */
	uint64_t delivered_bytes; /* recorded contents that were copied in their place */
	uint64_t inputs;	  /* buffers that it sent, compared with the recorded ones */
	uint64_t other_inputs;	  /* of these: different ones */
};

void rex_counts_add(struct rex_counts *to, const struct rex_counts *from);

/* Adds the counts of a process to those of all. */
void rex_share_count(struct rex_share *s, const struct rex_counts *counts);
void rex_share_counts(const struct rex_share *s, struct rex_counts *ret);

/* Keeps a text for the report; the first one. */
#define REX_NOTE_BYTES 200
void rex_share_note(struct rex_share *s, const char *text);
/* "" without one. */
const char *rex_share_noted(const struct rex_share *s);

/* Writes a file that appears complete or not at all. Any thread. 0 or a negative errno. */
int rex_share_file(const char *folder, const char *name, const void *data, size_t bytes);
