/* SPDX-License-Identifier: Apache-2.0 */

/* The tables of a trace and their columns. Constant. */
#pragma once

#include "base/text.h"

enum fmt_table {
	FMT_TABLE_CALLS,
	FMT_TABLE_KERNELS,
	FMT_TABLE_MEMCPY,
	FMT_TABLE_MEMSET,
	FMT_TABLE_COLLECTIVES,
	FMT_TABLE_SYNCS,  /* recorded synchronisations, and edges */
	FMT_TABLE_MEMORY, /* calls that allocate and free, and memory events */
	FMT_TABLE_DIGESTS,
	FMT_TABLES,
};

/* Appends the header line. */
void fmt_table_header(enum fmt_table table, struct text *out);

enum fmt_field {
	FMT_FIELD_TEXT, /* literal bytes */
	FMT_FIELD_NUMBER,
	FMT_FIELD_START,
	FMT_FIELD_DURATION,
	FMT_FIELD_OWNER, /* pid or device of the track */
	FMT_FIELD_TRACK, /* tid or stream of the track */
	FMT_FIELD_CORRELATION,
	FMT_FIELD_INT, /* a value that varies */
	FMT_FIELD_STRING,
	FMT_FIELD_RATE, /* an argument computed from others: FMT_RATE */
	/* Only in the tables of columns: */
	FMT_FIELD_NAME,
	FMT_FIELD_CATEGORY,
	FMT_FIELD_ARG,	   /* the argument with one of `keys` */
	FMT_FIELD_ADDRESS, /* address of an allocation; if the call has no description, the argument
			      with one of `keys` */
	FMT_FIELD_ARGS,	   /* all arguments without a column */
};

struct fmt_table_column {
	const char *name;
	enum fmt_field field;
	const char *keys[5]; /* FMT_FIELD_ARG; of FMT_FIELD_TEXT: the literal text, in keys[0] */
};

struct fmt_table_columns {
	const struct fmt_table_column *columns;
	size_t n;
};

const struct fmt_table_columns *fmt_table_columns(enum fmt_table table);
