/* SPDX-License-Identifier: Apache-2.0 */

/* Bandwidths of a collective as defined by NCCL's tests (nccl-tests, doc/PERFORMANCE.md): for S
 * bytes in t seconds,
 *
 *     algbw = S / t
 *     busbw = algbw * factor, comparable to the speed of a link for any number n of ranks
 *
 *     all_reduce                              2 (n - 1) / n
 *     all_gather, reduce_scatter, all_to_all  (n - 1) / n
 *     broadcast, reduce, send_recv            1
 *
 * S is FMT_COLLECTIVE_BYTES, the larger of a rank's input and output. For gather and scatter, S is
 * the whole message on the root only, so these have no bandwidth here.
 *
 * Thread-safe: reads only its arguments. */
#pragma once

#include "formats/trace/store/trace.h"

/* In bytes per second; negative: unknown. */
struct fmt_bandwidth {
	double algorithm, bus;
};

/* `op` is the kind of collective ("all_reduce"), `n_ranks` the size of its communicator (0:
 * unknown), `ns` its duration without wait time. */
struct fmt_bandwidth fmt_bandwidth(const char *op, uint32_t n_ranks, int64_t bytes, int64_t ns);

/* Returns the number of ranks of communicator `comm`, recorded or not; 0: unknown. `template` is
 * that of one of its collectives. */
uint32_t fmt_comm_size(const struct fmt_trace *t, int64_t comm,
		       const struct fmt_template *template);
