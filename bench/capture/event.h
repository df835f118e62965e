/* SPDX-License-Identifier: Apache-2.0 */

/* LTTng-UST events of the size of our records: a call with one argument, and a launch with its
 * eleven arguments and the packed kernel parameters. */
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER gpureplay_bench

#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "bench/capture/event.h"

#if !defined(BENCH_CAPTURE_EVENT_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_CAPTURE_EVENT_H

#include <lttng/tracepoint.h>
#include <stdint.h>

#ifndef BENCH_CAPTURE_WORDS
#define BENCH_CAPTURE_WORDS
static const uint64_t bench_words[24];
#endif

TRACEPOINT_EVENT(gpureplay_bench, empty, TP_ARGS(uint64_t, id, uint64_t, start, uint64_t, end),
		 TP_FIELDS(ctf_integer(uint64_t, id, id) ctf_integer(uint64_t, start, start)
				   ctf_integer(uint64_t, end, end)
					   ctf_array(uint64_t, words, bench_words, 4)))

TRACEPOINT_EVENT(gpureplay_bench, launch, TP_ARGS(uint64_t, id, uint64_t, start, uint64_t, end),
		 TP_FIELDS(ctf_integer(uint64_t, id, id) ctf_integer(uint64_t, start, start)
				   ctf_integer(uint64_t, end, end)
					   ctf_array(uint64_t, words, bench_words, 24)))

#endif

#include <lttng/tracepoint-event.h>
