/* SPDX-License-Identifier: Apache-2.0 */

/* Bandwidths of a collective as NCCL's tests define them (nccl-tests, doc/PERFORMANCE.md): of S
 * bytes in t seconds,
 *
 *     algbw = S / t
 *     busbw = algbw * factor, comparable to the speed of a link whatever the number n of ranks
 *
 *     all_reduce                              2 (n - 1) / n
 *     all_gather, reduce_scatter, all_to_all  (n - 1) / n
 *     broadcast, reduce, send_recv            1
 *
 * S is FMT_COLLECTIVE_BYTES, the larger of what goes in and what comes out on a rank. Of a gather
 * or scatter that is all of the message on the root only, so these have no bandwidths here.
 *
 * Reads only its arguments: any number of threads at once.
 */
#pragma once

#include "formats/trace/store/trace.h"

/* In bytes per second; negative: unknown. */
struct fmt_bandwidth {
	double algorithm, bus;
};

/* `op` is the collective's kind ("all_reduce"), `n_ranks` the size of its communicator (0:
 * unknown), `ns` its time without waiting for ranks. */
struct fmt_bandwidth fmt_bandwidth(const char *op, uint32_t n_ranks, int64_t bytes, int64_t ns);

/* The number of ranks in communicator `comm`, recorded or not; 0: unknown. `template` is that of
 * one of its collectives. */
uint32_t fmt_comm_size(const struct fmt_trace *t, int64_t comm,
		       const struct fmt_template *template);
