/* SPDX-License-Identifier: Apache-2.0 */

/* The ranks that a send or receive waits for, if they are not all participants: in one operation
 * of a star, the middle exchanges with everybody and each of the others with the middle alone.
 * The template of such a collective has an argument FMT_KEY_PEERS, a JSON list of ranks ("[0,
 * 2]"). Each rank of the list has a list that contains this rank.
 *
 * Reads only its arguments: any number of threads at once.
 */
#pragma once

#include "formats/trace/names.h"

#define FMT_KEY_PEERS "peers"

/* The list of a template, for fmt_peers_next(); NULL: no list. Valid as long as the template's
 * names. */
const char *fmt_template_peers(const struct fmt_names *n, const struct fmt_template *s);

/* Reads the next number of a list: 1 and moves *at behind it; 0 at the end, or at text that is not
 * a list of ranks. */
int fmt_peers_next(const char **at, uint32_t *rank);

int fmt_peers_hold(const char *list, uint32_t rank);
