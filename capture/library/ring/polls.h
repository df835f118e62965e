/* SPDX-License-Identifier: Apache-2.0 */

/* Repeated queries of a polling thread, gathered into one record: cap_write_wait_space() writes it
 * before the next record. call/poll_filter.h selects the calls. */
#pragma once

#include <stdint.h>

enum { CAP_POLLS_SEEN = 8, CAP_POLLS_WORDS = 2 };

/* State of a thread. */
struct cap_polls {
	uint64_t seen[CAP_POLLS_SEEN]; /* hashes of calls and their results: poll_filter.c */
	uint32_t n_seen;	       /* 0: the thread is not polling */
	uint32_t n;		       /* calls left out since the last record */
	uint32_t api; /* function of one of them; a query of a stream or event, if any */
	int32_t result;
	uint32_t n_words, is_query;
	uint64_t words[CAP_POLLS_WORDS]; /* its arguments */
	uint64_t id;			 /* of the first */
	uint64_t start, end;		 /* of all */
	uint64_t began, returned;	 /* in the order of struct cap_call, of all */
};
