/* SPDX-License-Identifier: Apache-2.0 */

/* The tables of a slice as tab-separated text: one header line, then a line a record, by start.
 *
 * Times are nanoseconds, integers are exact, "-" stands where there is nothing. A tab, a newline, a
 * carriage return, a NUL and a backslash within a field are written \t \n \r \0 \\. The last column
 * of most tables, `args`, holds what has no column of its own as key=value;key=value, where ;
 * within a key or a value is written \; and = within a key \=.
 *
 * A struct fmt_tsv remembers how the rows of each template look, so one is made for a trace and
 * used for all its slices, by any number of threads while nobody adds to the names. Functions
 * return 0 or a negative errno: -EBADMSG where a slice refers to what its trace does not have.
 */
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

/* Appends what `digests` and a mount's contents/index say alike of a digest: number, access,
 * allocation, offset_bytes and length_bytes, without a tab behind them. */
void fmt_tsv_digest_buffer(const struct fmt_digest *d, struct text *out);

/* The bytes that fmt_tsv_rows() would append, by table. */
int fmt_tsv_lengths(struct fmt_tsv *x, const struct fmt_slice *slice, uint64_t lengths[FMT_TABLES]);
