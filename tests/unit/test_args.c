/* SPDX-License-Identifier: Apache-2.0 */

/* Arguments as the recorder stores them, printed as "key=value" in argument order. */
#include "base/array.h"
#include "formats/trace/value.h"
#include "tests/unit/rings.h"
#include "tests/unit/test.h"

#include <math.h>

enum { MEMORY = 0x100000 };

/* Makes a context, a stream, a kernel, and 4096 bytes of device memory. */
static void begin_recording(struct recording *m)
{
	recording_begin(m, 0);
	ring_out(&m->ring, 0, MEMORY);
	ring_call(&m->ring, "cuMemAlloc_v2", 0x100, 4096);
}

/* Checks the arguments of the last call. */
static void ck_args(struct recording *m, const char *wanted)
{
	const struct rec_process *p = m->process;
	const struct rec_event *e = NULL;
	scoped(text_done) struct text t = {0};
	const struct fmt_template *s;
	const int64_t *values;

	ring_look(&m->ring);
	for (size_t i = 0; i < p->n_events; i++)
		if (p->events[i].kind == FMT_CALL)
			e = &p->events[i];
	ck_assert_ptr_nonnull(e);
	s = fmt_template(m->names, e->template);
	values = p->values + e->first_value;
	for (uint32_t i = 0; i < s->n_args; i++) {
		text_printf(&t, "%s%s=", i > 0 ? " " : "",
			    fmt_string(m->names, s->args[i].key, NULL));
		fmt_value_text(&t, m->names, NULL, s, values, i);
	}
	text_char(&t, 0);
	ck_assert_str_eq(t.data, wanted);
}

TEST(test_launch_config)
{
	scoped(recording_end) struct recording m;
	const struct {
		uint32_t numbers[8];
		uint64_t stream, attrs, n;
	} config = {{4, 5, 6, 32, 1, 1, 99}, STREAM, 0x700, 3};
	const struct {
		uint32_t id, spare, value[16];
	} attrs[] = {{4, 0, {2, 1, 1}}, {2, 0, {1}}, {77, 0, {5}}};
	const struct {
		uint32_t n, layout[6], spare;
		uint64_t bytes[4];
	} params = {3, {0, 4, 8, 8, 16, 16}, 0, {7, MEMORY + 16, 0xffffffffffffffff, MEMORY}};

	begin_recording(&m);
	ring_blob(&m.ring, 0, CAP_BLOB_BEFORE, &config, sizeof(config));
	ring_field(&m.ring, 0, "cuLaunchKernelEx", "attrs", attrs, sizeof(attrs));
	ring_blob(&m.ring, 2, CAP_BLOB_PARAMS, &params, sizeof(params));
	ring_call(&m.ring, "cuLaunchKernelEx", 0x500, KERNEL, 0x600, 0);
	ck_args(&m, "config=1280 f=12288 f.id=1 kernelParams=1536 extra=0 config.gridDimX=4 "
		    "config.gridDimY=5 config.gridDimZ=6 config.blockDimX=32 config.blockDimY=1 "
		    "config.blockDimZ=1 config.sharedMemBytes=99 config.hStream=8192 "
		    "config.hStream.id=1 config.attrs[0].id=CLUSTER_DIMENSION "
		    "config.attrs[0].value.clusterDim.x=2 config.attrs[0].value.clusterDim.y=1 "
		    "config.attrs[0].value.clusterDim.z=1 config.attrs[1].id=COOPERATIVE "
		    "config.attrs[1].value.cooperative=1 config.attrs[2].id=77 config.numAttrs=3 "
		    "kernelParams[0]=7 kernelParams[1]=1048592 kernelParams[1].id=1 "
		    "kernelParams[1].offset=16 kernelParams[2].0=-1 kernelParams[2].8=1048576 "
		    "kernelParams[2].8.id=1 kernelParams[2].8.offset=0 "
		    "kernelParams.layout=0:4 8:8 16:16 result=0");
	ck_assert_uint_eq(m.process->counts.ops, 1);
}

/* Parameters are decoded by the layout that preceded them in the ring, even if the layout number
 * was reused before the launch returned. Parameters without a layout are damage. */
TEST(test_layouts)
{
	scoped(recording_end) struct recording m;
	const struct {
		struct cap_record head;
		uint32_t spare, n;
		struct cap_param params[2];
	} layout = {{.bytes = 32, .kind = CAP_LAYOUT, .flags = 5}, 0, 2, {{0, 4}, {8, 8}}},
	  other = {{.bytes = 32, .kind = CAP_LAYOUT, .flags = 5}, 0, 2, {{0, 1}, {1, 1}}};
	struct {
		struct cap_record head;
		uint64_t id, bytes[2];
	} params = {{.bytes = 32, .kind = CAP_PARAMS, .depth = 9, .flags = 5}, 0, {7, MEMORY + 16}};

	begin_recording(&m);
	params.id = ring_id(&m.ring);
	ring_put(&m.ring, &params);
	ring_put(&m.ring, &layout);
	ring_put(&m.ring, &params);
	ring_put(&m.ring, &other);
	ring_launch(&m.ring, KERNEL, STREAM);
	ck_args(&m, "f=12288 f.id=1 gridDimX=4 gridDimY=1 gridDimZ=1 blockDimX=32 blockDimY=1 "
		    "blockDimZ=1 sharedMemBytes=0 hStream=8192 hStream.id=1 kernelParams=0 extra=0 "
		    "kernelParams[0]=7 kernelParams[1]=1048592 kernelParams[1].id=1 "
		    "kernelParams[1].offset=16 kernelParams.layout=0:4 8:8 result=0");
	ck_assert_uint_eq(m.process->counts.damaged, 1);
}

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

/* A struct of many bytes is stored as one string; of a NCCL kernel only its length is stored. */
TEST(test_long_parameter)
{
	static const struct {
		const char *kernel, *wanted;
	} rows[] = {
		{"_Z5scaleP6struct", "kernelParams[0]=" ZEROS ZEROS ZEROS ZEROS "00000000"},
		{"_Z18ncclDevKernel_Reduce", "kernelParams[0].bytes=132"},
	};
	const struct {
		uint32_t n, layout[2], spare;
		uint8_t bytes[132];
	} params = {.n = 1, .layout = {0, 132}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		scoped(recording_end) struct recording m;
		char wanted[600];

		begin_recording(&m);
		ring_out(&m.ring, 0, 0x3100);
		ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, rows[i].kernel,
			  (uint32_t)strlen(rows[i].kernel) + 1);
		ring_call(&m.ring, "cuModuleGetFunction", 0x100, 0x77, 0x200);
		ring_blob(&m.ring, 9, CAP_BLOB_PARAMS, &params, sizeof(params));
		ring_launch(&m.ring, 0x3100, STREAM);
		snprintf(wanted, sizeof(wanted),
			 "f=12544 f.id=2 gridDimX=4 gridDimY=1 gridDimZ=1 blockDimX=32 blockDimY=1 "
			 "blockDimZ=1 sharedMemBytes=0 hStream=8192 hStream.id=1 kernelParams=0 "
			 "extra=0 %s kernelParams.layout=0:132 result=0",
			 rows[i].wanted);
		ck_args(&m, wanted);
	}
}

/* The program was compiled with older headers: the struct is shorter, and the missing fields are
 * not read. */
TEST(test_short_struct)
{
	scoped(recording_end) struct recording m;
	const struct {
		uint64_t size;
		uint32_t magic, version;
		int32_t blocking, cga, min, max;
		uint64_t net_name;
	} config = {40, 0xcafebeef, 21800, 1, -5, 0, 7, 0x900};

	begin_recording(&m);
	ring_blob(&m.ring, 4, CAP_BLOB_BEFORE, &config, sizeof(config));
	ring_field(&m.ring, 4, "ncclCommInitRankConfig", "netName", "Socket", 6);
	ring_call(&m.ring, "ncclCommInitRankConfig", 0x500, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		  0, 0, 0, 0, 1, 0x600);
	ck_args(&m, "comm=1280 nranks=2 commId=" ZEROS ZEROS ZEROS ZEROS " rank=1 config=1536 "
		    "config.size=40 config.magic=3405692655 config.version=21800 "
		    "config.blocking=1 config.cgaClusterSize=-5 config.minCTAs=0 config.maxCTAs=7 "
		    "config.netName=Socket result=0");
}

TEST(test_arrays)
{
	scoped(recording_end) struct recording m;
	const struct {
		uint32_t type, id, flags;
	} access[] = {{1, 0, 3}, {1, 1, 1}};
	const uint64_t nodes[] = {0x10, 0x20, 0x30};

	begin_recording(&m);
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, access, sizeof(access));
	ring_call(&m.ring, "cuMemSetAccess", MEMORY, 4096, 0x500, 2);
	ck_args(&m, "ptr=1048576 ptr.id=1 ptr.offset=0 size=4096 desc=1280 count=2 "
		    "desc[0].location.type=DEVICE desc[0].location.id=0 "
		    "desc[0].flags=READWRITE desc[1].location.type=DEVICE "
		    "desc[1].location.id=1 desc[1].flags=READ result=0");
	ring_out(&m.ring, 0, 0x20);
	ring_call(&m.ring, "cuGraphAddEmptyNode", 0x100, 0x400, 0, 0);
	ring_out(&m.ring, 0, 0x40);
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, nodes, sizeof(nodes));
	ring_call(&m.ring, "cuGraphAddEmptyNode", 0x100, 0x400, 0x500, 3);
	ck_args(&m, "phGraphNode=256 hGraph=1024 hGraph.id=1 dependencies=1280 numDependencies=3 "
		    "phGraphNode.out=64 phGraphNode.id=2 dependencies.in=[16, 32, 48] "
		    "dependencies.in.id=[0, 1, 0] result=0");
}

/* Another argument selects the member of the union. */
TEST(test_union_by_argument)
{
	scoped(recording_end) struct recording m;
	const struct {
		uint64_t base, bytes;
		float ratio;
		uint32_t hit, miss, spare[9];
	} window = {MEMORY + 256, 1024, 0.5f, 2, 1, {0}};

	begin_recording(&m);
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, &window, sizeof(window));
	ring_call(&m.ring, "cuStreamSetAttribute", STREAM, 1, 0x500);
	ck_args(&m, "hStream=8192 hStream.id=1 attr=ACCESS_POLICY_WINDOW param=1280 "
		    "param.accessPolicyWindow.base_ptr=1048832 "
		    "param.accessPolicyWindow.base_ptr.id=1 "
		    "param.accessPolicyWindow.base_ptr.offset=256 "
		    "param.accessPolicyWindow.num_bytes=1024 param.accessPolicyWindow.hitRatio=0.5 "
		    "param.accessPolicyWindow.hitProp=PERSISTING "
		    "param.accessPolicyWindow.missProp=STREAMING result=0");
}

TEST(test_scalars)
{
	static const struct {
		const char *call;
		double values[2];
		uint32_t len;
		const char *wanted;
	} rows[] = {
		{"cublasDscal_v2", {0.1}, 8, "alpha.in=0.10000000000000001 "},
		{"cublasZscal_v2",
		 {0.1, -2},
		 16,
		 "alpha.in.re=0.10000000000000001 alpha.in.im=-2 "},
		{"cublasDscal_v2", {INFINITY}, 8, "alpha.in=inf "},
		{"cublasZdscal_v2", {3}, 8, "alpha.in=3 "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		scoped(recording_end) struct recording m;
		char wanted[200];

		begin_recording(&m);
		ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, rows[i].values, rows[i].len);
		ring_call(&m.ring, rows[i].call, 0x9, 4, 0x500, MEMORY + 8, 1);
		snprintf(wanted, sizeof(wanted),
			 "handle=9 handle.id=0 n=4 alpha=1280 x=1048584 x.id=1 x.offset=8 incx=1 "
			 "%sresult=0",
			 rows[i].wanted);
		ck_args(&m, wanted);
	}
}

/* The traced program may overwrite its ring: a layout must never read beyond the parameters. */
TEST(test_invalid_layouts)
{
	static const uint32_t layouts[][8] = {
		{UINT32_MAX, 0, 4}, {1, UINT32_MAX, UINT32_MAX},
		{1, 24, 4},	    {1, 20, UINT32_MAX - 8},
		{3, 0, 4, 4, 4},
	};

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		for (uint32_t len = 0; len <= sizeof(layouts[i]); len += 4) {
			scoped(recording_end) struct recording m;

			begin_recording(&m);
			ring_blob(&m.ring, 9, CAP_BLOB_PARAMS, layouts[i], len);
			ring_launch(&m.ring, KERNEL, STREAM);
			ring_look(&m.ring);
		}
}

/* cuBLASLt attributes have the type of the attribute; an unknown attribute is stored as a
 * number. */
TEST(test_attributes)
{
	scoped(recording_end) struct recording m;
	const uint32_t epilogue = 6, unknown = 5;
	const uint64_t bias = MEMORY + 512;
	const float waves = 1.5f;

	begin_recording(&m);
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, &epilogue, sizeof(epilogue));
	ring_call(&m.ring, "cublasLtMatmulDescSetAttribute", 0x500, 7, 0x600, 4);
	ck_args(&m, "matmulDesc=1280 matmulDesc.id=0 attr=EPILOGUE buf=1536 sizeInBytes=4 "
		    "buf.EPILOGUE=RELU_BIAS result=0");
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, &bias, sizeof(bias));
	ring_call(&m.ring, "cublasLtMatmulDescSetAttribute", 0x500, 8, 0x600, 8);
	ck_args(&m, "matmulDesc=1280 matmulDesc.id=0 attr=BIAS_POINTER buf=1536 sizeInBytes=8 "
		    "buf.BIAS_POINTER=1049088 buf.BIAS_POINTER.id=1 buf.BIAS_POINTER.offset=512 "
		    "result=0");
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, &waves, sizeof(waves));
	ring_call(&m.ring, "cublasLtMatmulPreferenceSetAttribute", 0x500, 9, 0x600, 4);
	ck_args(&m, "pref=1280 pref.id=0 attr=MAX_WAVES_COUNT buf=1536 sizeInBytes=4 "
		    "buf.MAX_WAVES_COUNT=1.5 result=0");
	ring_blob(&m.ring, 2, CAP_BLOB_BEFORE, &unknown, sizeof(unknown));
	ring_call(&m.ring, "cublasLtMatmulDescSetAttribute", 0x500, 60, 0x600, 4);
	ck_args(&m, "matmulDesc=1280 matmulDesc.id=0 attr=60 buf=1536 sizeInBytes=4 buf.in=5 "
		    "result=0");
}
