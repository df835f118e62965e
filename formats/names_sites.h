/* SPDX-License-Identifier: Apache-2.0 */

/* Call sites, coded one after another: the name, the shape (kind, category, keys and types of the
 * arguments), and each constant argument by the first guess that is right. */
#pragma once

#include "formats/names.h"
#include "formats/store/context.h"

struct fmt_sites_code;

/* Strings below `next` were there before; those from there on are met in order. */
int fmt_sites_start(uint32_t next, struct fmt_sites_code **ret);
void fmt_sites_free(struct fmt_sites_code *s);

/* The coder, which the caller starts and ends. */
struct fmt_coder *fmt_sites_coder(struct fmt_sites_code *s);

/* Coding: codes *site. Decoding: fills *site; its args stand until the next call. String numbers
 * are the file's, and not checked. -EBADMSG for what cannot be. */
int fmt_sites_code(struct fmt_sites_code *s, struct fmt_site *site);
