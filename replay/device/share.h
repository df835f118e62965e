/* SPDX-License-Identifier: Apache-2.0 */

/* Values that one process of a re-execution creates and others need: unique ids of communicators,
 * handles of memory and events for other processes. A recorded value of up to 128 bytes is the key
 * of the new value. The table is a file that all processes map; it has no locks that a killed
 * process could hold. Processes that a launcher started, possibly on other hosts, each have their
 * own table, and exchange values through files in a folder. Any thread. */
#pragma once

#include "replay/device/window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REX_SHARED_BYTES 128

struct rex_share;

/* Options of all processes, set before they start. */
#define REX_PROCESSES 4096

struct rex_settings {
	struct rex_iteration_range range; /* iterations to execute */
	char folder[4096];		  /* exchanges values with other tables; "": not used */
	int32_t device;			  /* GPU of a process with one rank; -1: as recorded */
	bool same_addresses;		  /* memory has to be at its recorded addresses */
	bool keeps_gaps;		  /* the host waits between calls as recorded */
	bool is_alone; /* only one process runs; recorded data replaces what its rank received */
	bool checks_inputs; /* also compares the data that the rank sends */
	bool is_cut_off;
	uint32_t stops[REX_PROCESSES]; /* if is_cut_off: the number of calls of each process */
};

/* Creates the file. Its descriptor remains open in child processes. Returns the descriptor or
 * -errno. */
int rex_share_create(void);
/* Maps the file. A negative descriptor: a table of this process alone. Returns 0 or -errno. */
int rex_share_open(int fd, struct rex_share **ret);
/* Unmaps the table and closes the descriptor. */
void rex_share_close(struct rex_share *s, int fd);

struct rex_settings *rex_share_settings(struct rex_share *s);

/* Announces that this process will add a value. Other processes then fail at once instead of
 * waiting for a value that no process announced. Each process ends its announcements when it
 * starts. -ENOSPC: the table is full. */
int rex_share_announce(struct rex_share *s, const void *recorded, size_t bytes);
void rex_share_end_announcements(struct rex_share *s, uint32_t n_processes);

/* Adds a value. -ENOSPC: the table is full. */
int rex_share_put(struct rex_share *s, const void *recorded, size_t bytes, const void *here);

/* Waits until a process or thread adds the value. -ENOENT: no process will add it.
 * -ETIMEDOUT: two minutes passed. */
int rex_share_get(struct rex_share *s, const void *recorded, size_t bytes, void *ret);

/* Publishes that the process has made all calls before the one with this `returned`; INT64_MAX:
 * that it makes no more calls, or does not share anything. */
void rex_share_set_progress(struct rex_share *s, uint32_t process, int64_t returned);
/* Returns true if the process has made the calls that returned until `began`; of calls without
 * duration at one time, that of the lower process is first, and `self` waits. */
bool rex_share_has_reached(const struct rex_share *s, uint32_t process, uint32_t self,
			   int64_t began);

/* Counters of a re-execution. */
struct rex_counts {
	uint64_t made;		/* executed calls */
	uint64_t seeded;	/* copies from the host whose contents are not recorded */
	uint64_t missing_bytes; /* memory at the start of the window whose contents are unknown */
	uint64_t regions;	/* mapped memory regions */
	uint64_t moved_regions; /* of these: at another address than recorded */
	/* Addresses of such regions in memory that was filled; they were not rewritten. */
	uint64_t old_addresses;
	/* For a rank that runs alone: */
	uint64_t delivered;	  /* replaced collectives and receives */
	uint64_t delivered_bytes; /* recorded contents that were copied for them */
	uint64_t inputs;	  /* sent buffers that were compared with the recorded ones */
	uint64_t other_inputs;	  /* of these: different */
};

void rex_counts_add(struct rex_counts *to, const struct rex_counts *from);

/* Adds the counters of a process to the total. */
void rex_share_add_counts(struct rex_share *s, const struct rex_counts *counts);
void rex_share_get_counts(const struct rex_share *s, struct rex_counts *ret);

/* Keeps a text for the report, if it is the first one. */
#define REX_NOTE_BYTES 200
void rex_share_set_note(struct rex_share *s, const char *text);
/* Returns the text, or "". */
const char *rex_share_get_note(const struct rex_share *s);

/* Returns true in one of the processes that fail: it reports the failure. */
bool rex_share_is_first_failure(struct rex_share *s);

/* Writes a file atomically: it is complete or missing. Any thread. Returns 0 or a negative
 * errno. */
int rex_write_file_atomically(const char *folder, const char *name, const void *data, size_t bytes);
