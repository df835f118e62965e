/* SPDX-License-Identifier: Apache-2.0 */

/* contents [BYTE]: copies known bytes to a GPU and back by every kind of driver copy. Prints the
 * expected digests: "want NAME LENGTH DIGEST". With BYTE, that byte of the first buffer
 * differs. contents load FILE...: loads each code image, from memory and by file name. */
#include "capture/digest/gd128.h"
#include "tests/emugpu/check_driver.h"

#include <inttypes.h>
#include <string.h>

#define BYTES 200000
#define LINES 10

static unsigned char host[BYTES], back[BYTES];

static void print_wanted(const char *name, const void *data, size_t bytes)
{
	struct gd128 d = gd128_of(data, bytes);

	printf("want %s %zu %016" PRIx64 "%016" PRIx64 "\n", name, bytes, d.lo, d.hi);
}

static void copies(CUstream stream)
{
	CUdeviceptr a, b;

	OK(cuMemAlloc(&a, BYTES));
	OK(cuMemAlloc(&b, BYTES));
	OK(cuMemcpyHtoD(a, host, BYTES));
	print_wanted("whole", host, BYTES);
	OK(cuMemcpyDtoDAsync(b + 16, a + 1000, 100000, stream));
	OK(cuMemcpyDtoHAsync(back, b + 16, 100000, stream));
	OK(cuStreamSynchronize(stream));
	print_wanted("part", host + 1000, 100000);
	if (memcmp(back, host + 1000, 100000) != 0)
		exit(2);
	OK(cuMemFree(a));
	OK(cuMemFree(b));
}

/* Lines of 100 bytes: each line is a buffer; the padding between them is not digested. */
static void lines(void)
{
	CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = host,
			      .srcPitch = 1000,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .WidthInBytes = 100,
			      .Height = LINES};

	OK(cuMemAllocPitch(&copy.dstDevice, &copy.dstPitch, 100, LINES, 4));
	OK(cuMemcpy2D(&copy));
	for (int i = 0; i < LINES; i++)
		print_wanted("line", host + i * 1000, 100);
	OK(cuMemFree(copy.dstDevice));
}

/* A few bytes of pageable memory are digested on the host. */
static void small(void)
{
	CUdeviceptr managed;
	void *pinned;

	OK(cuMemAllocManaged(&managed, 5000, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemcpyHtoD(managed, host, 5000));
	print_wanted("managed", host, 5000);
	OK(cuMemcpyDtoH(back, managed, 77));
	print_wanted("few", host, 77);
	OK(cuMemHostAlloc(&pinned, 300, 0));
	OK(cuMemcpyDtoH(pinned, managed, 300));
	print_wanted("pinned", host, 300);
	OK(cuMemFreeHost(pinned));
	OK(cuMemFree(managed));
}

/* The byte after the image is unmapped; a program may keep its image so. */
static void load(const char *path)
{
	static char image[1 << 20];
	CUmodule module;
	FILE *file = fopen(path, "rb");

	memset(image, 0, sizeof(image));
	if (!file || fread(image, 1, sizeof(image) - 1, file) == 0)
		exit(3);
	fclose(file);
	OK(cuModuleLoadData(&module, image));
	OK(cuModuleUnload(module));
	OK(cuModuleLoad(&module, path));
	OK(cuModuleUnload(module));
}

int main(int argc, char **argv)
{
	int loads = argc > 1 && strcmp(argv[1], "load") == 0;
	CUstream stream;

	for (size_t i = 0; i < BYTES; i++)
		host[i] = (unsigned char)(i * 2654435761u >> 13);
	if (argc > 1 && !loads)
		host[atoi(argv[1])] ^= 1;
	use_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 2; loads && i < argc; i++)
		load(argv[i]);
	copies(stream);
	lines();
	small();
	OK(cuStreamDestroy(stream));
	return 0;
}
