/* SPDX-License-Identifier: Apache-2.0 */

/* How a program, or a plug-in named in $GPUEMU_PLUGINS, gives emulated GPUs the code of its
 * kernels. C and C++; includes nothing of CUDA, links against nothing: without an emulated GPU
 * (that is, with a real one) all of it does nothing.
 *
 * A kernel is known by its name: as in the image ("_Z5saxpyifPKfPf"), or plain ("saxpy", which also
 * fits that symbol; with templates as the demangler writes it, "scale<float>"). In a .cu file:
 *
 *     __global__ void saxpy(int n, float a, const float *x, float *y) { ... }
 *     static void saxpy_host(int n, float a, const float *x, float *y) { ... the whole grid ... }
 *     GPUEMU_TWIN(saxpy, saxpy_host)
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

struct gpuemu_launch {
	const char *name;
	uint32_t grid[3], block[3], shared_bytes;
	int device;
	int64_t start_ns; /* virtual time at which everything before it is done */
	int64_t end_ns;	  /* set by `run` when it knows better than `cost`; 0: it does not */
	int error;     /* a CUresult, set by `run`: the context is lost with it, as after a fault */
	uint64_t turn; /* what `issue` gave; of a kernel in a graph */
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

/* The work of one launch, for the roofline. */
struct gpuemu_cost {
	double flops;
	double bytes; /* read and written */
	enum gpuemu_math math;
	int64_t ns; /* when not 0: the duration, and the rest is not looked at */
};

/* `run` may wait for other GPUs or processes: it gets a thread of its own, and the call that
 * launches it returns at once. */
#define GPUEMU_BLOCKS 1u

/* `post` is there. It may be called before `run`, and before what comes before the launch on its
 * stream has ended, to tell those for whom `run` waits on the other side that it will come; `run`
 * follows in any case. */
#define GPUEMU_POSTS 2u

enum { GPUEMU_POSTED = 1, GPUEMU_ALL_CAME };

/* `issue` is there. */
#define GPUEMU_ISSUES 4u

struct gpuemu_kernel {
	const char *name;
	unsigned flags;
	/* args[i] points to the i-th parameter. The whole grid, with device memory at its own
	 * address. */
	void (*run)(struct gpuemu_launch *launch, void *const *args);
	void (*cost)(const struct gpuemu_launch *launch, void *const *args,
		     struct gpuemu_cost *ret); /* may be NULL */
	void *context;			       /* the caller's own */
	/* Sizes of the parameters, for images that do not tell; may be NULL. */
	const size_t *arg_bytes;
	unsigned n_args;
	/* Virtual time starts at launch->start_ns; and gap_ns after the end of a launch that was
	 * posted before it, whose parameters are before[], unless that is NULL. args[] are those
	 * that `run` will have. 0: it was not posted; or GPUEMU_ALL_CAME: `run` would not wait any
	 * more. */
	int (*post)(const struct gpuemu_launch *launch, void *const *args, void *const *before,
		    int64_t gap_ns);
	/* A graph that the kernel is in is launched, with these parameters: on the thread that
	 * launches it, in the order in which its kernels run, long before `run`. */
	uint64_t (*issue)(void *const *args);
};

/* Exported by the emulated libcuda.so.1 and libcudart.so.13, and by nothing else. `k` is kept by
 * address; the latest of two with the same name counts. 0, or -ENOMEM. Any thread. */
typedef int gpuemu_register_kernel_fn(const struct gpuemu_kernel *k);

/* A value of the table of a GPU model (data/gpus): "nvlink_bytes_per_s". 0, or -ENOENT. Exported by
 * the emulated libcuda.so.1. */
typedef int gpuemu_device_value_fn(int device, const char *key, double *ret);

/* How long a collective ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
 * "all_to_all", "gather", "scatter", "send_recv") of so many ranks took in the recording that
 * durations come from, with `bytes` the larger of what goes in and what comes out on a rank; -1:
 * none is like it. Exported by the emulated libcuda.so.1. */
typedef int64_t gpuemu_recorded_ns_fn(const char *what, unsigned ranks, uint64_t bytes);

/* Whether kernels of the device may use [address, address + bytes): `run` would fault elsewhere, if
 * it were the kernel. Exported by the emulated libcuda.so.1. */
typedef int gpuemu_reaches_fn(int device, uint64_t address, uint64_t bytes);

/* Tells the user and the program's log callbacks why work is about to fail: `problem` and what is
 * known of its cause. Exported by the emulated libcuda.so.1. */
typedef void gpuemu_explain_fn(const char *problem);

static inline void gpuemu_register(const struct gpuemu_kernel *k)
{
	gpuemu_register_kernel_fn *f =
		(gpuemu_register_kernel_fn *)dlsym(RTLD_DEFAULT, "gpuemu_register_kernel");

	if (f)
		f(k);
}

#ifdef __cplusplus
}

template <typename... P> struct gpuemu_twin {
	static const size_t n = sizeof...(P);
	static const size_t *sizes()
	{
		static const size_t all[] = {sizeof(P)..., 0};
		return all;
	}
	template <void (*host)(P...), size_t... i> struct call {
		static void run(struct gpuemu_launch *, void *const *args)
		{
			(void)args;
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

template <typename... P> gpuemu_twin<P...> gpuemu_parameters(void (*)(P...));

#define GPUEMU_JOIN_(a, b) a##b
#define GPUEMU_JOIN(a, b) GPUEMU_JOIN_(a, b)
#define GPUEMU_TWIN_NAMED(kernel, host)                                                            \
	static int GPUEMU_JOIN(gpuemu_twin_, __LINE__) = [] {                                      \
		typedef decltype(gpuemu_parameters(&host)) twin;                                   \
		static const struct gpuemu_kernel k = {kernel,	0,	 twin::run_of<&host>(),    \
						       nullptr, nullptr, twin::sizes(),            \
						       twin::n, nullptr};                          \
		gpuemu_register(&k);                                                               \
		return 0;                                                                          \
	}();
#define GPUEMU_TWIN(kernel, host) GPUEMU_TWIN_NAMED(#kernel, host)
#endif

#endif
