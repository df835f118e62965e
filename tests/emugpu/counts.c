/* SPDX-License-Identifier: Apache-2.0 */

/* $GPUEMU_COUNTS: public calls are counted by name, a library's internal calls are not, and a child
 * counts separately. */
#include "tests/emugpu/check_driver.h"

#include <nccl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

CUresult cuStreamQuery_ptsz(CUstream stream);

/* Expected counts of the parent, and of a child that the parent forks at the end. */
static const char *const expected[] = {
	"libcuda.so.1 cuCtxCreate_v4 1\n",	     "libcuda.so.1 cuDeviceGetCount 1\n",
	"libcuda.so.1 cuDeviceGetCount 3\n",	     "libcuda.so.1 cuGetProcAddress_v2 1\n",
	"libcuda.so.1 cuGraphicsUnmapResources 2\n", "libcuda.so.1 cuStreamQuery 2\n",
	"libcuda.so.1 cuStreamQuery_ptsz 1\n",	     "libnccl.so.2 ncclGetVersion 2\n",
	"libnccl.so.2 pncclGetVersion 1\n",
};

static int counted_calls(void)
{
	CUresult (*query)(CUstream);
	CUcontext context;
	int n, status;
	pid_t child;

	OK(cuInit(0));
	for (int i = 0; i < 3; i++)
		OK(cuDeviceGetCount(&n));
	for (int i = 0; i < 2; i++)
		FAILS(cuGraphicsUnmapResources(0, NULL, NULL), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuCtxCreate(&context, NULL, 0, 0));
	OK(cuStreamQuery(NULL));
	OK(cuStreamQuery_ptsz(NULL));
	OK(cuGetProcAddress("cuStreamQuery", (void **)&query, CUDA_VERSION, 0, NULL));
	OK(query(NULL));
	TRUE(ncclGetVersion(&n) == ncclSuccess && ncclGetVersion(&n) == ncclSuccess);
	TRUE(pncclGetVersion(&n) == ncclSuccess);
	child = fork();
	if (child == 0) {
		OK(cuDeviceGetCount(&n));
		return 0;
	}
	TRUE(waitpid(child, &status, 0) == child && status == 0);
	return 0;
}

/* Creates a temporary file and sets $VARIABLE to its path. */
static int set_file_variable(const char *variable, char *path)
{
	int fd = mkstemp(path);

	return fd < 0 || setenv(variable, path, 1) < 0 ? -1 : fd;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/gpuemu-counts-XXXXXX", text[8192] = "";
	const char *at;
	int fd, status;
	ssize_t n;
	pid_t child;

	if (argc > 1)
		return counted_calls();
	fd = set_file_variable("GPUEMU_COUNTS", path);
	TRUE(fd >= 0);
	child = fork();
	if (child == 0) {
		execl("/proc/self/exe", argv[0], "counted", NULL);
		_exit(127);
	}
	TRUE(waitpid(child, &status, 0) == child && status == 0);
	n = read(fd, text, sizeof(text) - 1);
	unlink(path);
	TRUE(n > 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		if (!strstr(text, expected[i])) {
			fprintf(stderr, "no line %sin\n%s", expected[i], text);
			return 1;
		}
	at = strstr(text, "cuInit");
	TRUE(at && !strstr(at + 1, "cuInit"));
	return 0;
}
