/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a profiler file of any size: a training run of one rank in the format of PyTorch's
 * profiler. The same arguments give the same file.
 *
 *     generate BYTES [SEED] >FILE
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LAYERS 48
#define OPS 9 /* operators in a layer */

struct run {
	uint64_t state; /* state of the random numbers */
	uint64_t written;
	int64_t host_ns, autograd_ns, stream_ns, comm_ns;
	uint64_t correlation, external, event, sequence;
	int more;
};

static uint64_t next(struct run *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state;
}

/* Returns `ns` with a random deviation of up to 10 %. */
static int64_t about(struct run *r, int64_t ns)
{
	return ns - ns / 10 + (int64_t)(next(r) % (uint64_t)(ns / 5 + 1));
}

__attribute__((format(printf, 2, 3))) static void put(struct run *r, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vprintf(format, args);
	va_end(args);
	if (n < 0)
		exit(1);
	r->written += (uint64_t)n;
}

static void open_event(struct run *r, const char *cat, const char *name, int pid, int tid,
		       int64_t ts, int64_t dur)
{
	put(r,
	    "%s  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": "
	    "%d,\n"
	    "    \"ts\": %" PRId64 ".%03d, \"dur\": %" PRId64 ".%03d,\n    \"args\": {\n      ",
	    r->more ? ",\n" : "", cat, name, pid, tid, ts / 1000, (int)(ts % 1000), dur / 1000,
	    (int)(dur % 1000));
	r->more = 1;
}

static void flow(struct run *r, const char *ph, uint64_t id, int pid, int tid, int64_t ts)
{
	put(r,
	    ",\n  {\n    \"ph\": \"%s\", \"id\": %" PRIu64
	    ", \"pid\": %d, \"tid\": %d, \"ts\": %" PRId64
	    ".%03d,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"%s\n  }",
	    ph, id, pid, tid, ts / 1000, (int)(ts % 1000), *ph == 'f' ? ", \"bp\": \"e\"" : "");
}

static const char *const names[OPS] = {
	"aten::layer_norm", "aten::linear",  "aten::addmm", "aten::split",   "aten::transpose",
	"aten::bmm",	    "aten::softmax", "aten::gelu",  "aten::dropout",
};

/* Writes an operator, with a kernel launch if `kernel` is set. */
static void operator(struct run *r, int tid, int64_t *now, int which, int kernel, int64_t length)
{
	int64_t start = *now, call = start + about(r, 4000), dur = about(r, 12000), end;
	uint64_t external = r->external++;

	open_event(r, "cpu_op", names[which], 4000, tid, start, dur);
	put(r,
	    "\"External id\": %" PRIu64 ",\"Record function id\": %" PRIu64
	    ", \"Sequence number\": %" PRIu64 ", \"Fwd thread id\": %d, \"Input Dims\": "
	    "[[16, 1024, %d], [%d]], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\"], "
	    "\"Ev Idx\": %" PRIu64 "\n    }\n  }",
	    external, external, r->sequence, tid == 4001 ? 0 : 1, 1024 << which % 3,
	    1024 << which % 2, r->event++);
	*now = start + dur + about(r, 3000);
	if (!kernel)
		return;
	r->correlation += 1 + next(r) % 3;
	open_event(r, "cuda_runtime", "cudaLaunchKernel", 4000, tid, call, about(r, 5000));
	put(r,
	    "\"External id\": %" PRIu64 ",      \"cbid\": 211, \"correlation\": %" PRIu64
	    "\n    }\n  }",
	    external, r->correlation);
	flow(r, "s", r->correlation, 4000, tid, call);
	r->stream_ns = r->stream_ns > call + 6000 ? r->stream_ns : call + 6000;
	end = about(r, length);
	open_event(r, "kernel",
		   "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<"
		   "c10::BFloat16>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<"
		   "c10::BFloat16>, at::detail::Array<char*, 3>)",
		   0, 7, r->stream_ns, end);
	put(r,
	    "\"External id\": %" PRIu64 ",      \"queued\": 0, \"device\": 0, \"context\": 1,      "
	    "\"stream\": 7, \"correlation\": %" PRIu64 ",      \"registers per thread\": %d,      "
	    "\"shared memory\": 0,      \"blocks per SM\": %d.%06d,      \"warps per SM\": 12.5,   "
	    "   "
	    "\"grid\": [%d, 1, 1],      \"block\": [256, 1, 1],      "
	    "\"est. achieved occupancy %%\": %d\n    }\n  }",
	    external, r->correlation, 24 + which, which, 484848, 512 << which, 50 + which);
	flow(r, "f", r->correlation, 0, 7, r->stream_ns);
	r->stream_ns += end + about(r, 1500);
}

static void all_reduce(struct run *r, int tid, int64_t *now)
{
	uint64_t external = r->external++;
	int64_t dur = about(r, 900000);

	r->correlation += 1 + next(r) % 3;
	open_event(r, "cuda_runtime", "cudaLaunchKernelExC", 4000, tid, *now, about(r, 6000));
	put(r,
	    "\"External id\": %" PRIu64 ",      \"cbid\": 430, \"correlation\": %" PRIu64
	    "\n    }\n  }",
	    external, r->correlation);
	flow(r, "s", r->correlation, 4000, tid, *now);
	r->comm_ns = r->comm_ns > r->stream_ns ? r->comm_ns : r->stream_ns;
	open_event(r, "kernel",
		   "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 0,
		   23, r->comm_ns, dur);
	put(r,
	    "\"External id\": %" PRIu64 ",      \"queued\": 0, \"device\": 0, \"context\": 1,      "
	    "\"stream\": 23, \"correlation\": %" PRIu64
	    ",      \"grid\": [24, 1, 1],      \"block\": "
	    "[544, 1, 1], \"Collective name\": \"allreduce\", \"In msg nelems\": 12582912, \"Out "
	    "msg "
	    "nelems\": 12582912, \"Group size\": 8, \"dtype\": \"BFloat16\", \"Process Group "
	    "Name\": \"0\", \"Process Group Ranks\": \"[0, 1, 2, 3, 4, 5, 6, 7]\"\n    }\n  }",
	    external, r->correlation);
	flow(r, "f", r->correlation, 0, 23, r->comm_ns);
	r->comm_ns += dur;
	*now += about(r, 8000);
}

static void step(struct run *r, int64_t number)
{
	int64_t start = r->host_ns;
	char name[48];

	for (int layer = 0; layer < LAYERS; layer++, r->sequence++) {
		for (int i = 0; i < OPS; i++)
			operator(r, 4001, &r->host_ns, i, i % 3 != 0, 30000);
	}
	r->autograd_ns = r->host_ns + about(r, 20000);
	for (int layer = 0; layer < LAYERS; layer++) {
		for (int i = OPS - 1; i >= 0; i--)
			operator(r, 4002, &r->autograd_ns, i, i % 3 != 0, 60000);
		if (layer % 4 == 3)
			all_reduce(r, 4002, &r->autograd_ns);
	}
	r->host_ns = r->autograd_ns > r->stream_ns ? r->autograd_ns : r->stream_ns;
	r->host_ns = r->host_ns > r->comm_ns ? r->host_ns : r->comm_ns;
	snprintf(name, sizeof(name), "ProfilerStep#%" PRId64, number);
	open_event(r, "user_annotation", name, 4000, 4001, start, r->host_ns - start);
	put(r, "\"External id\": %" PRIu64 ",\"Ev Idx\": %" PRIu64 "\n    }\n  }", r->external++,
	    r->event++);
	r->host_ns += about(r, 30000);
}

int main(int argc, char **argv)
{
	static char buffer[1 << 20];
	struct run r = {.state = 88172645463325252ull, .correlation = 1000, .external = 1};
	uint64_t bytes;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: generate BYTES [SEED] >FILE\n");
		return 2;
	}
	bytes = strtoull(argv[1], NULL, 10);
	r.state += argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	r.host_ns = r.stream_ns = r.comm_ns = 4458676983423243;
	put(&r, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, "
		"\"name\": \"NVIDIA H100 80GB HBM3\", \"numSms\": 132\n    }\n  ],\n  "
		"\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 8},\n  "
		"\"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1759300074000000000,\n  "
		"\"traceEvents\": [\n");
	for (int64_t i = 1; r.written < bytes; i++)
		step(&r, i);
	put(&r, "\n  ]\n}\n");
	return fflush(stdout) == 0 ? 0 : 1;
}
