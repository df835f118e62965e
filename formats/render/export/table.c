/* SPDX-License-Identifier: Apache-2.0 */

#include "formats/render/export/table.h"

#include "base/array.h"
#include "formats/trace/model.h"

#define NUMBER                                                                                     \
	{                                                                                          \
		"number", FMT_FIELD_NUMBER                                                         \
	}
#define TIMES                                                                                      \
	{"start_ns", FMT_FIELD_START},                                                             \
	{                                                                                          \
		"duration_ns", FMT_FIELD_DURATION                                                  \
	}
#define THREAD                                                                                     \
	{"process", FMT_FIELD_OWNER},                                                              \
	{                                                                                          \
		"thread", FMT_FIELD_TRACK                                                          \
	}
#define STREAM                                                                                     \
	{"device", FMT_FIELD_OWNER},                                                               \
	{                                                                                          \
		"stream", FMT_FIELD_TRACK                                                          \
	}
#define NAME                                                                                       \
	{                                                                                          \
		"name", FMT_FIELD_NAME                                                             \
	}
#define REST                                                                                       \
	{"correlation", FMT_FIELD_CORRELATION},                                                    \
	{                                                                                          \
		"args", FMT_FIELD_ARGS                                                             \
	}
#define ARG(name, ...)                                                                             \
	{                                                                                          \
		name, FMT_FIELD_ARG,                                                               \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define LITERAL(name, text)                                                                        \
	{                                                                                          \
		name, FMT_FIELD_TEXT,                                                              \
		{                                                                                  \
			text                                                                       \
		}                                                                                  \
	}

static const struct fmt_table_column calls[] = {
	NUMBER, TIMES, THREAD, NAME, {"category", FMT_FIELD_CATEGORY}, REST,
};

static const struct fmt_table_column kernels[] = {
	NUMBER,
	TIMES,
	STREAM,
	NAME,
	ARG("grid", "grid"),
	ARG("block", "block"),
	ARG("registers", "registers per thread"),
	ARG("shared_bytes", "shared memory"),
	REST,
};

static const struct fmt_table_column copies[] = {
	NUMBER, TIMES, STREAM, NAME, ARG("bytes", "bytes", "size"), REST,
};

static const struct fmt_table_column collectives[] = {
	NUMBER,
	TIMES,
	STREAM,
	NAME,
	ARG("collective", FMT_KEY_OP),
	ARG("dtype", FMT_KEY_DTYPE),
	ARG("bytes", FMT_KEY_BYTES),
	ARG("communicator", FMT_KEY_COMM),
	ARG("sequence", FMT_KEY_SEQ),
	REST,
};

/* Edges have the same columns: fmt_tsv_rows() writes them. */
static const struct fmt_table_column syncs[] = {
	LITERAL("source", "recorded"),
	LITERAL("kind", "sync"),
	LITERAL("rule", "-"),
	LITERAL("from", "-"),
	{"to", FMT_FIELD_NUMBER},
	LITERAL("lag_ns", "-"),
	TIMES,
	{"process_or_device", FMT_FIELD_OWNER},
	{"thread_or_stream", FMT_FIELD_TRACK},
	NAME,
	REST,
};

static const struct fmt_table_column memory[] = {
	TIMES,
	THREAD,
	NAME,
	ARG("bytes", "Bytes", "bytes.out", "bytes", "bytesize", "size"),
	{"address", FMT_FIELD_ADDRESS, {"Addr", "addr", "ptr"}},
	ARG("allocated_bytes", "Total Allocated"),
	ARG("reserved_bytes", "Total Reserved"),
	REST,
};

/* Written by fmt_tsv_rows(), not by templates. */
static const struct fmt_table_column digests[] = {
	{"number"},	  {"access"}, {"allocation"}, {"offset_bytes"},
	{"length_bytes"}, {"digest"}, {"pages"},
};

static const struct fmt_table_columns tables[FMT_TABLES] = {
	[FMT_TABLE_CALLS] = {calls, ARRAY_SIZE(calls)},
	[FMT_TABLE_KERNELS] = {kernels, ARRAY_SIZE(kernels)},
	[FMT_TABLE_MEMCPY] = {copies, ARRAY_SIZE(copies)},
	[FMT_TABLE_MEMSET] = {copies, ARRAY_SIZE(copies)},
	[FMT_TABLE_COLLECTIVES] = {collectives, ARRAY_SIZE(collectives)},
	[FMT_TABLE_SYNCS] = {syncs, ARRAY_SIZE(syncs)},
	[FMT_TABLE_MEMORY] = {memory, ARRAY_SIZE(memory)},
	[FMT_TABLE_DIGESTS] = {digests, ARRAY_SIZE(digests)},
};

const struct fmt_table_columns *fmt_table_columns(enum fmt_table table)
{
	return &tables[table];
}

void fmt_table_header(enum fmt_table table, struct text *out)
{
	for (size_t i = 0; i < tables[table].n; i++) {
		if (i > 0)
			text_char(out, '\t');
		text_str(out, tables[table].columns[i].name);
	}
	text_char(out, '\n');
}
