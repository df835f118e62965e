/* SPDX-License-Identifier: Apache-2.0 */

/* Whom a send or receive waits for, where it is not all who meet: in one operation of a star, the
 * middle exchanges with everybody and each of the others with the middle alone. The template of
 * such a collective has an argument FMT_KEY_PEERS, a JSON list of ranks ("[0, 2]"), which each of
 * them answers with a list that holds the rank itself.
 *
 * Reads only what it is given: any number of threads at once. */
#pragma once

#include "formats/trace/names.h"

#define FMT_KEY_PEERS "peers"

/* The list of a template, for fmt_peers_next(); NULL where it has none. It stands as the template's
 * names do. */
const char *fmt_template_peers(const struct fmt_names *n, const struct fmt_template *s);

/* The next number of a list: 1 and moves *at behind it; 0 at the end, or at what is no list of
 * ranks. */
int fmt_peers_next(const char **at, uint32_t *rank);

int fmt_peers_hold(const char *list, uint32_t rank);
