/* SPDX-License-Identifier: Apache-2.0 */

/* Registers host kernels: host implementations of a program's kernels, which emulated GPUs run in
 * their place. A program registers its own; a plug-in named in $GPUEMU_PLUGINS (gpuemu --kernels)
 * registers those of others. C and C++. Includes no CUDA header and links against nothing; on a
 * real GPU registration does nothing.
 *
 * A kernel is found by name: the symbol in the image ("_Z5saxpyifPKfPf"), or the plain name
 * ("saxpy"; with templates as the demangler writes it, "scale<float>"). In a .cu file:
 *
 *     __global__ void saxpy(int n, float a, const float *x, float *y) { ... }
 *     static void saxpy_host(int n, float a, const float *x, float *y) { ... the whole grid ... }
 *     GPUEMU_HOST_KERNEL(saxpy, saxpy_host)
 *
 * A kernel without a host kernel takes its time and leaves memory unchanged; gpuemu names such
 * kernels at the end of the run.
 */
#ifndef GPUEMU_H
#define GPUEMU_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpuemu_kernel;
struct gpuemu_launch {
	const char *name;
	uint32_t grid[3], block[3], shared_bytes;
	int device;
	int64_t start_ns; /* virtual time at which all earlier work of the stream has ended */
	int64_t end_ns;	  /* set by `run`; 0: determined by `cost` or the model */
	int error;	  /* a CUresult set by `run`; the context is then lost, as after a fault */
	uint64_t ticket;  /* the result of `issue`, for a kernel node of a graph */
	const struct gpuemu_kernel *kernel; /* the current host kernel */
	/* Returns the size of a parameter; 0: unknown. */
	size_t (*arg_bytes)(const struct gpuemu_launch *launch, unsigned i);
	const void *function; /* internal to the driver */
	int skipped;	      /* set by `run` if it computed nothing, for the report */
};

enum gpuemu_math {
	GPUEMU_FP32,
	GPUEMU_FP64,
	GPUEMU_TF32,
	GPUEMU_FP16, /* and bfloat16 */
	GPUEMU_FP8,
	GPUEMU_INT8,
	GPUEMU_MATHS
};

/* D = A B, m x n x k, `batch` times, column-major as in cuBLAS. */
struct gpuemu_product {
	double m, n, k, batch;
	double a_bytes, d_bytes; /* size of an element of A and B, and of D; 0: that of the math */
	int a_transposed, b_transposed, adds; /* adds: reads C too */
};

enum gpuemu_direction { GPUEMU_FORWARD, GPUEMU_DATA_GRADIENT, GPUEMU_FILTER_GRADIENT };

/* A convolution. `in` and `out` are depth, height and width of the forward convolution's input and
 * output; those and the other triples of 1d and 2d convolutions begin with ones. */
struct gpuemu_convolution {
	enum gpuemu_direction direction;
	double batch, in_channels, out_channels, groups;
	double in[3], out[3], kernel[3], stride[3], dilation[3];
	double element_bytes; /* 0: that of the math */
	int channels_last;
};

/* The work of one launch: a product (m is not 0), a convolution (batch is not 0), or flops and
 * bytes. `bytes` of a convolution, if not 0, include those of operations fused with it. */
struct gpuemu_cost {
	double flops, bytes; /* bytes: read and written */
	enum gpuemu_math math;
	int64_t ns; /* if not 0: the duration; other members are ignored */
	struct gpuemu_product product;
	int attention; /* product (keys x queries), softmax, product: 1; their gradients: 2 */
	int causal;    /* attention: scores above the diagonal are masked */
	struct gpuemu_convolution convolution;
};

/* `run` may wait for other GPUs or processes; it runs in a separate thread. */
#define GPUEMU_BLOCKS 1u

/* `post` is set. The driver may call it before `run`, while earlier operations of the stream are
 * still running, to announce the launch to the participants for which `run` will wait. `run` always
 * follows. */
#define GPUEMU_POSTS 2u

/* Results of `post`. */
enum { GPUEMU_POSTED = 1, GPUEMU_ALL_ARRIVED };

#define GPUEMU_ISSUES 4u /* `issue` is set */
#define GPUEMU_SMALL 8u	 /* `run` is called without data, too (gpuemu --no-data) */

struct gpuemu_kernel {
	const char *name;
	unsigned flags;
	/* Runs the whole grid. args[i] points to the i-th parameter; device memory is readable and
	 * writable at its device address. */
	void (*run)(struct gpuemu_launch *launch, void *const *args);
	void (*cost)(const struct gpuemu_launch *launch, void *const *args,
		     struct gpuemu_cost *ret); /* may be NULL */
	void *context;			       /* for the owner of the host kernel */
	/* Sizes of the parameters, for images without parameter layouts; may be NULL. */
	const size_t *arg_bytes;
	unsigned n_args;
	/* Announces a launch that starts at launch->start_ns or, if `before` is not NULL, gap_ns
	 * after the end of the posted launch with parameters before[]. args[] are the parameters of
	 * the later `run`. Returns 0 (not posted), GPUEMU_POSTED, or GPUEMU_ALL_ARRIVED (posted,
	 * and `run` would no longer wait). */
	int (*post)(const struct gpuemu_launch *launch, void *const *args, void *const *before,
		    int64_t gap_ns);
	/* Called at each launch of a graph that contains the kernel, on the launching thread, in
	 * the order in which the graph's kernels will run, before any `run`. The result becomes
	 * launch->ticket. */
	uint64_t (*issue)(void *const *args);
};

/* The functions below are exported by the emulated libcuda.so.1. Any thread may call them. */

/* Registers a host kernel; replaces an earlier one of the same name. `k` is not copied. Returns 0
 * or -ENOMEM. Also exported by the emulated libcudart.so.13. */
typedef int gpuemu_register_kernel_fn(const struct gpuemu_kernel *k);

/* Reads a value of the device's GPU model (data/gpus). Returns 0 or -ENOENT. */
typedef int gpuemu_device_value_fn(int device, const char *key, double *ret);

/* Returns the duration of such a collective in the trace given by gpuemu --timing; -1 if the trace
 * has none. `kind` is "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
 * "all_to_all", "gather", "scatter" or "send_recv"; `bytes` is the larger of a rank's input and
 * output. */
typedef int64_t gpuemu_recorded_ns_fn(const char *kind, unsigned ranks, uint64_t bytes);

/* Returns 1 if kernels of the device may access [address, address + bytes). For other memory, where
 * the real kernel would fault, a host kernel sets launch->error. */
typedef int gpuemu_reaches_fn(int device, uint64_t address, uint64_t bytes);

/* Reports `problem`, why an operation is about to fail, on stderr and to log callbacks. */
typedef void gpuemu_explain_fn(const char *problem);

/* Sets a condition of a graph, as cudaGraphSetConditional() does on a device. doc/gpuemu.md
 * describes conditional nodes without such a host kernel. */
typedef void gpuemu_set_conditional_fn(uint64_t handle, unsigned value);

static inline void gpuemu_register(const struct gpuemu_kernel *k)
{
	gpuemu_register_kernel_fn *f =
		(gpuemu_register_kernel_fn *)dlsym(RTLD_DEFAULT, "gpuemu_register_kernel");

	if (f)
		f(k);
}

#ifdef __cplusplus
}

template <typename... P> struct gpuemu_adapter {
	static const size_t n = sizeof...(P);
	static const size_t *sizes()
	{
		static const size_t all[] = {sizeof(P)..., 0};
		return all;
	}
	template <void (*host)(P...), size_t... i> struct call {
		static void run(struct gpuemu_launch *, void *const *args)
		{
			host(*static_cast<P *>(args[i])...);
		}
	};
	template <size_t... i> struct indices {
	};
	template <size_t n, size_t... i> struct count : count<n - 1, n - 1, i...> {
	};
	template <size_t... i> struct count<0, i...> {
		typedef indices<i...> type;
	};
	typedef void (*runner)(struct gpuemu_launch *, void *const *);
	template <void (*host)(P...), size_t... i> static runner choose(indices<i...>)
	{
		return &call<host, i...>::run;
	}
	template <void (*host)(P...)> static runner run_of()
	{
		return choose<host>(typename count<sizeof...(P)>::type());
	}
};

template <typename... P> gpuemu_adapter<P...> gpuemu_parameters(void (*)(P...));

#define GPUEMU_JOIN_(a, b) a##b
#define GPUEMU_JOIN(a, b) GPUEMU_JOIN_(a, b)
#define GPUEMU_HOST_KERNEL_NAMED(kernel, host)                                                     \
	static int GPUEMU_JOIN(gpuemu_registered_, __LINE__) = [] {                                \
		typedef decltype(gpuemu_parameters(&host)) adapter;                                \
		static const struct gpuemu_kernel k = {                                            \
			kernel,	    0,	     adapter::run_of<&host>(),                             \
			nullptr,    nullptr, adapter::sizes(),                                     \
			adapter::n, nullptr};                                                      \
		gpuemu_register(&k);                                                               \
		return 0;                                                                          \
	}();
#define GPUEMU_HOST_KERNEL(kernel, host) GPUEMU_HOST_KERNEL_NAMED(#kernel, host)
#endif

#endif
