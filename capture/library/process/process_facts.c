/* SPDX-License-Identifier: Apache-2.0 */

#include "capture/library/process/process_facts.h"

#include "capture/library/find/emulated.h"
#include "capture/library/find/real.h"
#include "capture/library/ring/put.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* Variables that change the behaviour of a program, or contain its rank. */
static const char *const kept_variables[] = {
	"CUDA_",
	"NCCL_",
	"CUBLAS",
	"RANK=",
	"LOCAL_RANK=",
	"WORLD_SIZE=",
	"LOCAL_WORLD_SIZE=",
	"SLURM_",
	"OMPI_COMM_WORLD_",
	"PMI_",
	"MASTER_ADDR=",
	"MASTER_PORT=",
	"PYTORCH_",
	"TORCH_NCCL_",
	"OMP_NUM_THREADS=",
	"GPUEMU_GPUS=",
	"GPUEMU_LIKE=",
};

static void put_text(const char *key, const char *value)
{
	cap_put_fact(key, value, strlen(value));
}

static void put_number(const char *key, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", value);
	put_text(key, text);
}

static void put_file(const char *key, const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	if (n > 0)
		cap_put_fact(key, text, (size_t)n);
}

static void put_environment(void)
{
	for (char **e = environ; e && *e; e++) {
		const char *equals = strchr(*e, '=');
		char key[128];

		for (size_t i = 0; i < sizeof(kept_variables) / sizeof(kept_variables[0]); i++) {
			if (!equals ||
			    strncmp(*e, kept_variables[i], strlen(kept_variables[i])) != 0)
				continue;
			snprintf(key, sizeof(key), "env.%.*s", (int)(equals - *e), *e);
			put_text(key, equals + 1);
			break;
		}
	}
}

void cap_put_process_facts(void)
{
	char text[4096];
	ssize_t n = readlink("/proc/self/exe", text, sizeof(text));

	if (n > 0)
		cap_put_fact("executable", text, (size_t)n);
	put_file("command", "/proc/self/cmdline"); /* each argument ends with a zero byte */
	if (gethostname(text, sizeof(text)) == 0)
		put_text("host", text);
	put_number("parent", getppid());
	put_environment();
}

/* In the form of nvidia-smi. */
static void put_uuid(const char *key, const uint8_t id[16])
{
	char text[48];
	size_t n = (size_t)snprintf(text, sizeof(text), "GPU-");

	for (int i = 0; i < 16; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%02x",
				      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
	put_text(key, text);
}

#define ATTRIBUTES 160 /* CUdevice_attribute; the driver rejects those that it does not support */

static void put_device(int device, int (*name)(char *, int, int), int (*uuid)(uint8_t *, int),
		       int (*attribute)(int *, int, int), int (*total)(size_t *, int))
{
	char key[64], text[4096];
	uint8_t id[16];
	size_t bytes, len = 0;
	int value;

	snprintf(key, sizeof(key), "device.%d.name", device);
	if (name && name(text, 256, device) == 0)
		put_text(key, text);
	snprintf(key, sizeof(key), "device.%d.uuid", device);
	if (uuid && uuid(id, device) == 0)
		put_uuid(key, id);
	snprintf(key, sizeof(key), "device.%d.memory_bytes", device);
	if (total && total(&bytes, device) == 0)
		put_number(key, (long long)bytes);
	for (int i = 1; attribute && i < ATTRIBUTES; i++)
		if (attribute(&value, i, device) == 0 && value != 0)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%d=%d ", i, value);
	snprintf(key, sizeof(key), "device.%d.attributes", device);
	cap_put_fact(key, text, len);
}

void cap_put_driver_facts(void)
{
	int (*count)(int *) = (int (*)(int *))cap_real(CAP_DRIVER, "cuDeviceGetCount");
	int (*version)(int *) = (int (*)(int *))cap_real(CAP_DRIVER, "cuDriverGetVersion");
	int n = 0, kept = errno;

	cap_clock_pause();
	if (version && version(&n) == 0)
		put_number("version.driver", n);
	put_number("emulated", cap_is_emulated());
	n = 0;
	if (count && count(&n) == 0)
		put_number("devices", n);
	for (int i = 0; i < n; i++)
		put_device(i, (int (*)(char *, int, int))cap_real(CAP_DRIVER, "cuDeviceGetName"),
			   (int (*)(uint8_t *, int))cap_real(CAP_DRIVER, "cuDeviceGetUuid_v2"),
			   (int (*)(int *, int, int))cap_real(CAP_DRIVER, "cuDeviceGetAttribute"),
			   (int (*)(size_t *, int))cap_real(CAP_DRIVER, "cuDeviceTotalMem_v2"));
	cap_clock_resume();
	errno = kept;
}
