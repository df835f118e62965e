/* SPDX-License-Identifier: Apache-2.0 */

/* Polling: a thread asks over and over whether work has ended, and gets the same answer. Recording
 * each of these calls would fill the ring and take the recorder's processor time from the work that
 * is waited for. So a call is left out if the thread has made the same call, with the same answer,
 * since a stream or event was last found not ready. All calls that are left out up to the next
 * record become one record, CAP_CALL_REPEATED, of the time from the first to the last.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CAP_POLLS_SEEN = 8, CAP_POLLS_WORDS = 2 };

struct cap_call;
struct cap_thread;

/* Of a thread. */
struct cap_polls {
	uint64_t seen[CAP_POLLS_SEEN]; /* calls and their answers, hashed */
	uint32_t n_seen;	       /* 0: the thread does not poll */
	uint32_t n;		       /* calls left out since the last record */
	uint32_t api;		       /* of one of them; a query of a stream or event, if any */
	int32_t result;
	uint32_t n_words, is_query;
	uint64_t words[CAP_POLLS_WORDS]; /* its arguments */
	uint64_t id;			 /* of the first */
	uint64_t start, end;		 /* of all */
};

/* A call that only asks (CAP_HOW_ASKS) has ended: true if it is left out. */
bool cap_polls_leave_out(struct cap_thread *t, const struct cap_call *c);

/* The record of the calls that were left out: its bytes (0: there were none), and the record,
 * written where the thread has that much space. */
uint32_t cap_polls_bytes(const struct cap_thread *t);
void cap_polls_write(struct cap_thread *t);
