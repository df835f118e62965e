/* SPDX-License-Identifier: Apache-2.0 */

/* Runs a CUDA program on emulated GPUs: preloads the libraries of replay/emugpu into it and its
 * children, and reports totals at the end. */
#include "base/host.h"
#include "base/scope.h"
#include "formats/trace/store/trace.h"
#include "replay/cost/gpu.h"
#include "tools/child.h"
#include "tools/cli.h"
#include "tools/gpuemu/report.h"
#include "tools/gpuemu/speed.h"
#include "tools/gpuemu/timing.h"
#include "tools/preload.h"
#include "tools/trace_arg.h"

#include <errno.h>
#include <limits.h>
#include <sys/mman.h>

enum {
	OPT_GPUS,
	OPT_LIKE,
	OPT_TIMING,
	OPT_KERNELS,
	OPT_SPEED,
	OPT_PACE,
	OPT_CLOCK,
	OPT_POISON,
	OPT_STRICT,
	OPT_NO_DATA,
	OPT_REPORT,
	OPT_JSON,
	OPT_OUTPUT,
};

static const struct cli_option options[] = {
	[OPT_GPUS] = {"gpus", 0, "N", "number of GPUs, up to 64 (default: 1)"},
	[OPT_LIKE] = {"like", 0, "MODEL",
		      "GPU model: H200 (default), H100, A100, V100, T4, L4, ..., "
		      "or a file in the format of share/gpureplay/gpus/*.gpu"},
	[OPT_TIMING] =
		{"timing", 0, "TRACE",
		 "take the durations of kernels, copies and collectives from a recorded run"},
	[OPT_KERNELS] = {"kernels", 0, "FILE.so", "plug-in with host kernels, see gpuemu.h"},
	[OPT_SPEED] =
		{"host-speed", 0, "X",
		 "the emulated host is X times as fast as this one; auto: the reference host"},
	[OPT_PACE] = {"pace", 0, NULL, "sleep for the virtual duration of operations"},
	[OPT_CLOCK] = {"clock", 0, "virtual|real",
		       "the clock that the program reads (default: virtual)"},
	[OPT_POISON] = {"poison", 0, NULL,
			"fill the outputs of kernels without a host kernel with NaN"},
	[OPT_STRICT] = {"strict", 0, NULL,
			"end the program when it uses a handle that was destroyed"},
	[OPT_NO_DATA] = {"no-data", 0, NULL,
			 "compute small kernels only; copies above 64 KiB write zeros"},
	[OPT_REPORT] = {"report", 0, NULL, "print virtual time and GPU utilisation at the end"},
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON"},
	[OPT_OUTPUT] = {"output", 'o', "FILE", "write the report to FILE instead of stderr"},
	{0},
};

#define MAX_GPUS 64

/* In preload order; libraries that were not built are skipped. */
static const char *const libraries[] = {
	"libgpuemu_threads.so", "libcuda.so.1",	  "libcudart.so.13",   "libcublas.so.13",
	"libcublasLt.so.13",	"libnccl.so.2",	  "libnvidia-ml.so.1", "libcudnn.so.9",
	"libcupti.so.13",	"libcufft.so.12", "libcusolver.so.12", "libcusparse.so.12",
};

extern const struct cli_command gpuemu;

/* The folder of the libraries. */
static int find_libraries(char **ret)
{
	return preload_folder("libcuda.so.1", "../replay/emugpu", "../" INSTALLED_LIBRARIES, ret);
}

/* Before other preloaded libraries, but after a capture library, which must see all calls. */
static int add_preload(const char *list)
{
	const char *old = getenv("LD_PRELOAD");
	scoped(free_ptr) char *both = NULL;

	if (!old || !strstr(old, "libgpucapture.so"))
		return preload_before("LD_PRELOAD", list);
	if (asprintf(&both, "%s:%s", old, list) < 0)
		return -ENOMEM;
	setenv("LD_PRELOAD", both, 1);
	return 0;
}

static int preload_libraries(const char *folder)
{
	scoped(text_done) struct text list = {0};

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		scoped(free_ptr) char *path = NULL;

		/* In a sanitizer build: AddressSanitizer must be first; ThreadSanitizer must come
		 * after our pthread_create(), so that it sees the start of each thread. */
		if (i == SANITIZER_INDEX && SANITIZER[0] != '\0') {
			if (list.len)
				text_char(&list, ':');
			text_str(&list, SANITIZER);
		}
		if (asprintf(&path, "%s/%s", folder, libraries[i]) < 0 || access(path, R_OK) != 0)
			continue;
		if (list.len)
			text_char(&list, ':');
		text_str(&list, path);
	}
	text_char(&list, 0);
	if (list.error || add_preload(list.data) < 0)
		return -ENOMEM;
	return preload_before("LD_LIBRARY_PATH", folder);
}

/* An unnamed file, which children open through /proc: nothing remains if this process is killed. */
static int make_file(const char *variable)
{
	char path[64];
	int fd = memfd_create(variable, 0);

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	setenv(variable, path, 1);
	return fd;
}

static int use_timing(const char *path)
{
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	struct fmt_error err = {0};
	int r = trace_arg_open(path, &trace), fd;

	if (r != CLI_OK)
		return r;
	r = fmt_trace_check_complete(trace, &err);
	fd = r < 0 ? r : make_file("GPUEMU_TIMING");
	r = fd < 0 ? fd : gpuemu_timing_write(trace, fd, &err);
	return r < 0 ? cli_fail(r, &err, "read the durations of", path, NULL) : CLI_OK;
}

/* The name of a model, or the absolute path of a model file. */
static int use_model(const char *like)
{
	struct cost_gpu model;
	char why[600];
	scoped(free_ptr) char *path = realpath(like, NULL);

	if (cost_gpu_load(like, &model, why, sizeof(why)) < 0) {
		cli_error("cannot use the GPU model %s: %s", like, why);
		return path ? CLI_INPUT : CLI_USAGE;
	}
	setenv("GPUEMU_LIKE", path && strchr(like, '/') ? path : like, 1);
	return CLI_OK;
}

static bool is_elf_file(const char *path)
{
	scoped(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char magic[4];

	return fd >= 0 && read(fd, magic, 4) == 4 && memcmp(magic, "\177ELF", 4) == 0;
}

static int use_kernels(const char *file)
{
	scoped(free_ptr) char *path = realpath(file, NULL);

	if (!path || preload_before("GPUEMU_PLUGINS", path) < 0)
		return cli_fail(-errno, NULL, "open", file, NULL);
	if (is_elf_file(path))
		return CLI_OK;
	cli_error("cannot load the host kernels in %s: not a shared library", file);
	return CLI_INPUT;
}

/* Sets the environment that configures the libraries. */
static int set_environment(const struct cli_args *args)
{
	const char *speed = args->values[OPT_SPEED];
	scoped(free_ptr) char *folder = NULL;
	char *end, number[32], measured[32];
	int64_t gpus;
	int r = CLI_OK;

	if (cli_number(args, &gpuemu, OPT_GPUS, 1, MAX_GPUS, 1, &gpus) < 0)
		return CLI_USAGE;
	if (speed && strcmp(speed, "auto") == 0) {
		snprintf(measured, sizeof(measured), "%.3f", gpuemu_host_speed());
		speed = measured;
	}
	if (speed && (!(strtod(speed, &end) > 0) || *end)) {
		cli_error("--host-speed: invalid value '%s'; expected a number above 0 or auto",
			  speed);
		return CLI_USAGE;
	}
	if (find_libraries(&folder) < 0 || preload_libraries(folder) < 0) {
		cli_error("cannot find the emulated libraries beside this program");
		return CLI_MACHINE;
	}
	if (cli_choice(args, options, OPT_CLOCK, 0) < 0)
		return CLI_USAGE;
	if (args->values[OPT_CLOCK])
		setenv("GPUEMU_CLOCK", args->values[OPT_CLOCK], 1);
	snprintf(number, sizeof(number), "%d", (int)gpus);
	setenv("GPUEMU_GPUS", number, 1);
	if (speed)
		setenv("GPUEMU_HOST_SPEED", speed, 1);
	if (args->values[OPT_NO_DATA])
		setenv("GPUEMU_DATA", "0", 1);
	if (args->values[OPT_POISON])
		setenv("GPUEMU_POISON", "1", 1);
	if (args->values[OPT_STRICT])
		setenv("GPUEMU_STRICT", "1", 1);
	if (args->values[OPT_PACE])
		setenv("GPUEMU_PACE", "1", 1);
	if (args->values[OPT_LIKE])
		r = use_model(args->values[OPT_LIKE]);
	if (r == CLI_OK && args->values[OPT_KERNELS])
		r = use_kernels(args->values[OPT_KERNELS]);
	if (r == CLI_OK && args->values[OPT_TIMING])
		r = use_timing(args->values[OPT_TIMING]);
	return r;
}

/* Prints the report to `to`, the output file or stderr. */
static int print_report(const struct cli_args *args, const struct emu_run *totals, FILE *to)
{
	scoped(gpuemu_report_done) struct gpuemu_report report = {0};
	scoped(text_done) struct text out = {0};
	const char *path = args->values[OPT_OUTPUT];
	int r = gpuemu_report_read(totals, &report);

	if (r < 0)
		return cli_fail(r, NULL, "read", "the report", NULL);
	if (args->values[OPT_JSON])
		gpuemu_report_json(&report, &out);
	else if (args->values[OPT_REPORT] || path)
		gpuemu_report_text(&report, &out);
	if (!args->values[OPT_JSON])
		gpuemu_report_remarks(&report, &out);

	if ((out.len && fwrite(out.data, 1, out.len, to) != out.len) || fflush(to) != 0)
		return cli_fail_output(-errno, path ? path : "to stderr");
	return CLI_OK;
}

/* Maps the memory that the processes of the run share; *fd is its file. Returns 0 or a negative
 * errno. */
static int share_memory(int *fd, struct emu_run **ret)
{
	void *at;

	*fd = make_file("GPUEMU_RUN");
	if (*fd < 0)
		return *fd;
	if (ftruncate(*fd, sizeof(**ret)) < 0)
		return -errno;
	at = mmap(NULL, sizeof(**ret), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	*ret = at;
	(*ret)->zero_ns = host_clock_ns(CLOCK_MONOTONIC);
	return 0;
}

static int run(const struct cli_args *args)
{
	const char *path = args->values[OPT_OUTPUT];
	struct emu_run *totals = NULL;
	scoped(close_fd) int shared = -1;
	int r = set_environment(args), status;
	FILE *report;
	pid_t pid;

	if (r != CLI_OK)
		return r;
	report = path ? fopen(path, "we") : stderr;
	if (!report)
		return cli_fail_output(-errno, path);
	r = share_memory(&shared, &totals);
	if (r < 0)
		return cli_fail(r, NULL, "make", "memory for the totals", NULL);
	totals->no_data = args->values[OPT_NO_DATA] != NULL;
	pid = child_start(args->operands);
	if (pid < 0)
		return child_print_error(pid, args->operands[0]);
	status = child_wait(NULL, NULL);
	if (status < 0)
		return cli_fail(status, NULL, "wait for", args->operands[0], NULL);
	gpuemu_report_ended(totals, (uint64_t)pid, status);
	r = print_report(args, totals, report);
	return child_end(status, r);
}

const struct cli_command gpuemu = {
	.name = "gpuemu",
	.operands = "-- COMMAND [ARGUMENT...]",
	.min_operands = 1,
	.max_operands = INT_MAX,
	.what = "Run a CUDA program on emulated GPUs",
	.options = options,
	.run = run,
	.starts = 1,
};

int main(int argc, char **argv)
{
	return cli_main_one(&gpuemu, argc, argv);
}
