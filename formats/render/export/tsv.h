/* SPDX-License-Identifier: Apache-2.0 */

/* The tables of a slice as tab-separated text: one header line, then a line per record, sorted by
 * start.
 *
 * Times are nanoseconds, integers are exact, "-" means no value. Tab, newline, carriage return, NUL
 * and backslash within a field are written \t \n \r \0 \\. The last column of most tables, `args`,
 * contains the arguments without their own column as key=value;key=value, where ; within a key or a
 * value is written \; and = within a key \=.
 *
 * A struct fmt_tsv caches the row of each template, so make one for a trace and use it for all
 * slices, by any number of threads while no names are added. Functions return 0 or a negative
 * errno: -EBADMSG if a slice refers to missing names. */
#pragma once

#include "formats/render/export/table.h"
#include "formats/trace/names.h"

struct fmt_tsv;

/* `names` is not owned, and must outlive *ret. */
int fmt_tsv_new(const struct fmt_names *names, struct fmt_tsv **ret);
void fmt_tsv_free(struct fmt_tsv *x);
define_cleanup(fmt_tsv_freep, struct fmt_tsv *, fmt_tsv_free);

/* Appends the rows of a slice that was loaded with FMT_WANT_ALL, without the header. */
int fmt_tsv_rows(struct fmt_tsv *x, enum fmt_table table, const struct fmt_slice *slice,
		 struct text *out);

/* Appends the common columns of `digests` and a mount's contents/index: number, access, allocation,
 * offset_bytes and length_bytes, without a tab at the end. */
void fmt_tsv_digest_buffer(const struct fmt_digest *d, struct text *out);

/* Counts the bytes that fmt_tsv_rows() would append, by table. */
int fmt_tsv_lengths(struct fmt_tsv *x, const struct fmt_slice *slice, uint64_t lengths[FMT_TABLES]);
