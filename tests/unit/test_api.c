/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/api/api.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

static const struct api_call *call(const char *name)
{
	int index = api_find(name);

	ck_assert_msg(index >= 0, "no %s", name);
	return api_call((unsigned)index);
}

static unsigned arg(const struct api_call *c, const char *name)
{
	for (unsigned i = 0; i < c->n_args; i++) {
		if (strcmp(c->args[i].name, name) == 0)
			return i;
	}
	ck_abort_msg("%s has no %s", c->name, name);
}

TEST(test_every_call_is_found)
{
	ck_assert_uint_gt(api_count(), 1300);
	for (unsigned i = 0; i < api_count(); i++)
		ck_assert_int_eq(api_find(api_call(i)->name), (int)i);
	ck_assert_ptr_null(api_call(api_count()));
	ck_assert_ptr_null(api_call(UINT32_MAX));
	ck_assert_int_eq(api_find("cuMemcpyHtoD_v99"), -ENOENT);
	ck_assert_int_eq(api_find(""), -ENOENT);
}

/* Properties of every call's argument table that the recorder relies on. */
TEST(test_arguments_are_whole)
{
	for (unsigned i = 0; i < api_count(); i++) {
		const struct api_call *c = api_call(i);
		unsigned words = 0;

		for (unsigned n = 0; n < c->n_args; n++) {
			const struct api_arg *a = &c->args[n];
			const bool pointer = a->wire == API_WIRE_POINTER;

			ck_assert_uint_eq(a->word, words);
			words += (a->bytes + 7u) / 8;
			ck_assert_uint_gt(a->bytes, 0);
			ck_assert_uint_ne(a->meaning, API_MEANING_NONE);
			ck_assert_msg(!a->direction == !a->length.kind, "%s(%s)", c->name, a->name);
			ck_assert_msg(!a->direction || pointer || a->meaning == API_MEANING_DEVPTR,
				      "%s(%s) points nowhere", c->name, a->name);
			ck_assert(!!a->values == (a->meaning == API_MEANING_ENUM));
			ck_assert(!!a->layout == (a->meaning == API_MEANING_STRUCT));
			ck_assert(!!a->type == (a->values || a->layout));
		}
		ck_assert_uint_eq(c->n_words, words);
	}
}

static const struct {
	const char *call, *arg;
	enum api_class class;
	enum api_wire wire;
	unsigned bytes;
	enum api_meaning meaning;
	enum api_direction direction;
	enum api_length_kind length;
} rows[] = {
	{"cuMemAlloc_v2", "dptr", API_CLASS_ALLOC, API_WIRE_POINTER, 8, API_MEANING_DEVPTR,
	 API_DIRECTION_OUT, API_LENGTH_PRODUCT},
	{"cuMemAlloc_v2", "bytesize", API_CLASS_ALLOC, API_WIRE_UINT, 8, API_MEANING_SIZE,
	 API_DIRECTION_NONE, API_LENGTH_NONE},
	{"cuMemcpyHtoDAsync_v2_ptsz", "srcHost", API_CLASS_COPY, API_WIRE_POINTER, 8,
	 API_MEANING_HOST, API_DIRECTION_READS, API_LENGTH_PRODUCT},
	{"cuLaunchKernel", "kernelParams", API_CLASS_LAUNCH, API_WIRE_POINTER, 8,
	 API_MEANING_PARAMS, API_DIRECTION_IN, API_LENGTH_PARAMS},
	{"cuGetErrorName", "pStr", API_CLASS_QUERY, API_WIRE_POINTER, 8, API_MEANING_STRING_ADDRESS,
	 API_DIRECTION_OUT, API_LENGTH_PRODUCT},
	/* PyTorch registers a log callback in every process (CUDA 12.9 and later). */
	{"cuLogsRegisterCallback", "callback_out", API_CLASS_CREATE, API_WIRE_POINTER, 8,
	 API_MEANING_NOTIFICATION, API_DIRECTION_OUT, API_LENGTH_PRODUCT},
	{"cuLogsUnregisterCallback", "callback", API_CLASS_DESTROY, API_WIRE_POINTER, 8,
	 API_MEANING_NOTIFICATION, API_DIRECTION_NONE, API_LENGTH_NONE},
	{"ncclCommInitRank", "commId", API_CLASS_CREATE, API_WIRE_STRUCT, 128,
	 API_MEANING_UNIQUE_ID, API_DIRECTION_NONE, API_LENGTH_NONE},
	{"pncclAllReduce", "comm", API_CLASS_COLLECTIVE, API_WIRE_POINTER, 8, API_MEANING_COMM,
	 API_DIRECTION_NONE, API_LENGTH_NONE},
	{"cublasSgemm_v2", "alpha", API_CLASS_GEMM, API_WIRE_POINTER, 8, API_MEANING_SCALAR,
	 API_DIRECTION_IN, API_LENGTH_PRODUCT},
	{"cublasZaxpy", "alpha", API_CLASS_BLAS, API_WIRE_COMPLEX, 16, API_MEANING_SCALAR,
	 API_DIRECTION_NONE, API_LENGTH_NONE},
	{"cublasSgetrfBatched", "info", API_CLASS_BLAS, API_WIRE_POINTER, 8, API_MEANING_DEVPTR,
	 API_DIRECTION_UPDATES, API_LENGTH_UNKNOWN},
	{"cublasLtMatmul", "algo", API_CLASS_GEMM, API_WIRE_POINTER, 8, API_MEANING_BYTES,
	 API_DIRECTION_IN, API_LENGTH_PRODUCT},
	{"cuLaunchKernelEx", "config", API_CLASS_LAUNCH, API_WIRE_POINTER, 8, API_MEANING_STRUCT,
	 API_DIRECTION_IN, API_LENGTH_PRODUCT},
};

TEST(test_rows)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct api_call *c = call(rows[i].call);
		const struct api_arg *a = &c->args[arg(c, rows[i].arg)];

		ck_assert_int_eq(c->class, rows[i].class);
		ck_assert_int_eq(a->wire, rows[i].wire);
		ck_assert_uint_eq(a->bytes, rows[i].bytes);
		ck_assert_int_eq(a->meaning, rows[i].meaning);
		ck_assert_int_eq(a->direction, rows[i].direction);
		ck_assert_int_eq(a->length.kind, rows[i].length);
	}
	ck_assert(call("cuMemcpyHtoDAsync_v2_ptsz")->per_thread);
	ck_assert(!call("cuMemcpyHtoDAsync_v2")->per_thread);
	ck_assert_int_eq(call("cublasXerbla")->result.wire, API_WIRE_NONE);
	ck_assert_int_eq(call("cublasCdotu")->result.wire, API_WIRE_COMPLEX);
	ck_assert_int_eq(call("ncclGetErrorString")->result.meaning, API_MEANING_STRING);
	ck_assert(api_is_handle(API_MEANING_STREAM));
	ck_assert(!api_is_handle(API_MEANING_DEVPTR));
}

static const struct {
	const char *call, *arg;
	uint64_t words[8];
	unsigned ranks;
	uint64_t bytes;
} lengths[] = {
	{"cuMemcpyHtoD_v2", "srcHost", {1, 2, 4096}, 0, 4096},
	/* Only the low 32 bits of a register hold a 32-bit argument; the high bits are
	 * undefined. */
	{"cuMemcpyHtoD", "srcHost", {1, 2, 0xabcdef0000000010}, 0, 16},
	{"cuMemsetD32_v2", "dstDevice", {1, 2, 100}, 0, 400},
	{"cuModuleLoadDataEx", "options", {1, 2, 3, 4, 5}, 0, 12},
	{"ncclCommInitAll", "devlist", {1, UINT32_MAX, 3}, 0, 0},
	{"ncclAllReduce", "sendbuff", {1, 2, 10, 7, 0, 5, 6}, 0, 40},
	{"ncclAllGather", "recvbuff", {1, 2, 10, 9, 5, 6}, 4, 80},
	{"ncclAllGather", "recvbuff", {1, 2, 10, 9, 5, 6}, 0, UINT64_MAX},
	{"ncclAllGather", "recvbuff", {1, 2, 10, 99, 5, 6}, 4, UINT64_MAX},
	{"ncclAllGather", "recvbuff", {1, 2, UINT64_MAX / 2, 9, 5, 6}, 4, UINT64_MAX},
	{"cuGraphGetNodes", "nodes", {1, 2, 3}, 0, UINT64_MAX},
	{"cuModuleGetFunction", "name", {1, 2, 3}, 0, UINT64_MAX},
	{"cuTensorMapEncodeTiled", "globalStrides", {1, 2, 5}, 0, 32},
	{"cuTensorMapEncodeTiled", "globalStrides", {1, 2, 0}, 0, 0},
};

TEST_ROWS(test_lengths, lengths)
{
	const struct api_call *c = call(row->call);
	const uint64_t bytes = api_bytes(c, arg(c, row->arg), row->words, row->ranks);

	ck_assert_msg(bytes == row->bytes, "%s(%s): %lu", c->name, row->arg, (unsigned long)bytes);
}

static const struct api_field *field(const struct api_struct *s, const char *name)
{
	for (unsigned i = 0; i < s->n_fields; i++) {
		if (strcmp(s->fields[i].arg.name, name) == 0)
			return &s->fields[i];
	}
	ck_abort_msg("%s has no %s", s->name, name);
}

TEST(test_structs)
{
	const struct api_call *c = call("cuLaunchKernelEx"), *set = call("cuStreamSetAttribute");
	const struct api_struct *config = c->args[arg(c, "config")].layout;
	const struct api_field *attrs = field(config, "attrs");
	const struct api_field *cluster = field(attrs->arg.layout, "value.clusterDim.y");
	const struct api_field *outer = field(set->args[arg(set, "param")].layout, "clusterDim.y");

	ck_assert_uint_eq(config->bytes, 56);
	ck_assert_int_eq(attrs->arg.direction, API_DIRECTION_IN);
	ck_assert_uint_eq(attrs->arg.length.bytes, attrs->arg.layout->bytes);
	ck_assert_str_eq(config->fields[attrs->arg.length.factors[0].arg].arg.name, "numAttrs");
	ck_assert_uint_eq(cluster->offset, 12);
	ck_assert_uint_eq(cluster->n_when, 1);
	ck_assert(!cluster->when[0].outer);
	ck_assert_str_eq(attrs->arg.layout->fields[cluster->when[0].field].arg.name, "id");
	ck_assert_uint_eq(cluster->when[0].values, 1u << 4);
	ck_assert(outer->when[0].outer);
	ck_assert_str_eq(set->args[outer->when[0].field].name, "attr");
}

TEST(test_enums)
{
	const struct api_call *c = call("cublasGemmEx");
	const struct api_enum *type = c->args[arg(c, "Atype")].values;

	ck_assert_str_eq(api_value_name(type, 14), "R_16BF");
	ck_assert_ptr_null(api_value_name(type, 12345));
	ck_assert_str_eq(api_value_name(c->args[arg(c, "algo")].values, -1), "DFALT");
}
