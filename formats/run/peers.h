/* SPDX-License-Identifier: Apache-2.0 */

/* The ranks that a send or receive waits for, if they are not all participants: in a star-shaped
 * operation, the centre exchanges with all ranks, and each other rank with the centre only. The
 * template of such a collective has an argument FMT_KEY_PEERS, a JSON list of ranks ("[0, 2]").
 * Each rank of the list has a list that contains this rank.
 *
 * Thread-safe: reads only its arguments. */
#pragma once

#include "formats/trace/names.h"

#define FMT_KEY_PEERS "peers"

/* Returns the list of a template, for fmt_peers_next(), or NULL. Valid as long as the template's
 * names. */
const char *fmt_template_peers(const struct fmt_names *n, const struct fmt_template *s);

/* Reads the next number of a list. Returns 1 and advances *at, or 0 at the end and at invalid
 * text. */
int fmt_peers_next(const char **at, uint32_t *rank);

int fmt_peers_contain(const char *list, uint32_t rank);
