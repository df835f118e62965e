/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/strings.h"

#include "base/array.h"

#include <xxhash.h>

#define BLOCK (256 << 10)

static const char *const known[KINETO_KNOWN] = {
	[KINETO_EMPTY] = "",
	[KINETO_PH] = "ph",
	[KINETO_CAT] = "cat",
	[KINETO_NAME] = "name",
	[KINETO_PID] = "pid",
	[KINETO_TID] = "tid",
	[KINETO_TS] = "ts",
	[KINETO_DUR] = "dur",
	[KINETO_ARGS] = "args",
	[KINETO_EVENTS] = "traceEvents",
	[KINETO_GPUTRACE] = "gputrace",
	[KINETO_CORRELATION] = "correlation",
	[KINETO_EXTERNAL_ID] = "External id",
	[KINETO_BANDWIDTH] = "memory bandwidth (GB/s)",
	[KINETO_BYTES] = "bytes",
	[KINETO_COMPLETE] = "X",
	[KINETO_INSTANT] = "i",
	[KINETO_METADATA] = "M",
	[KINETO_FLOW_START] = "s",
	[KINETO_FLOW_STEP] = "t",
	[KINETO_FLOW_END] = "f",
	[KINETO_CAT_RUNTIME] = "cuda_runtime",
	[KINETO_CAT_DRIVER] = "cuda_driver",
	[KINETO_CAT_KERNEL] = "kernel",
	[KINETO_CAT_MEMCPY] = "gpu_memcpy",
	[KINETO_CAT_MEMSET] = "gpu_memset",
	[KINETO_CAT_RUNTIME_OLD] = "Runtime",
	[KINETO_CAT_KERNEL_OLD] = "Kernel",
	[KINETO_CAT_MEMCPY_OLD] = "Memcpy",
	[KINETO_CAT_MEMSET_OLD] = "Memset",
	[KINETO_CAT_SYNC] = "cuda_sync",
	[KINETO_CAT_GPU_ANNOTATION] = "gpu_user_annotation",
	[KINETO_CAT_ANNOTATION] = "user_annotation",
	[KINETO_CAT_OP] = "cpu_op",
	[KINETO_CAT_PYTHON] = "python_function",
	[KINETO_CAT_LAUNCH] = "ac2g",
	[KINETO_CAT_LAUNCH_OLD] = "async_cpu_to_gpu",
	[KINETO_CAT_LAUNCH_OLDEST] = "async_gpu",
	[KINETO_CAT_AUTOGRAD] = "fwdbwd",
	[KINETO_CAT_AUTOGRAD_OLD] = "forward_backward",
	[KINETO_THREAD_NAME] = "thread_name",
	[KINETO_COLLECTIVE_NAME] = "Collective name",
	[KINETO_IN_NELEMS] = "In msg nelems",
	[KINETO_OUT_NELEMS] = "Out msg nelems",
	[KINETO_DTYPE] = "dtype",
	[KINETO_INPUT_DIMS] = "Input Dims",
	[KINETO_INPUT_TYPE] = "Input type",
	[KINETO_EV_IDX] = "Ev Idx",
	[KINETO_RECORD_FUNCTION] = "Record function id",
	[KINETO_SEQUENCE] = "Sequence number",
	[KINETO_PYTHON_ID] = "Python id",
	[KINETO_PYTHON_PARENT] = "Python parent id",
	[KINETO_WAIT_RECORD] = "wait_on_cuda_event_record_corr_id",
	[KINETO_ADDR] = "Addr",
	[KINETO_ADDRESS_BYTES] = "Bytes",
	[KINETO_TOTAL_ALLOCATED] = "Total Allocated",
	[KINETO_TOTAL_RESERVED] = "Total Reserved",
};

/* Room for `n` bytes that stay where they are. */
static char *room(struct kineto_strings *t, size_t n)
{
	size_t size = n > BLOCK ? n : BLOCK;
	char *at;

	if (n > t->left) {
		if (array_reserve(&t->blocks, t->n_blocks + 1, &t->blocks_cap) < 0)
			return NULL;
		at = malloc(size);
		if (!at)
			return NULL;
		t->blocks[t->n_blocks++] = at;
		t->at = at;
		t->left = size;
	}
	at = t->at;
	t->at += n;
	t->left -= n;
	return at;
}

int kineto_strings_add(struct kineto_strings *t, const char *s, size_t len, uint32_t *ret)
{
	uint32_t hash = (uint32_t)XXH3_64bits(s, len);
	char *copy;
	size_t at;

	if (kineto_table_room(&t->table) < 0)
		return -ENOMEM;
	for (at = kineto_probe(&t->table, hash); t->table.slots[at].number;
	     at = kineto_next(&t->table, at)) {
		uint32_t number = t->table.slots[at].number - 1;

		if (t->table.slots[at].hash == hash && kineto_string_is(t, number, s, len)) {
			*ret = number;
			return 0;
		}
	}
	if (t->n >= UINT32_MAX - 2 || len >= UINT32_MAX)
		return -EOVERFLOW;
	if (array_reserve(&t->strings, t->n + 1, &t->cap) < 0)
		return -ENOMEM;
	copy = room(t, len + 1);
	if (!copy)
		return -ENOMEM;
	if (len > 0)
		memcpy(copy, s, len);
	copy[len] = '\0';
	t->strings[t->n] = (struct kineto_string){copy, (uint32_t)len};
	kineto_table_put(&t->table, at, hash, (uint32_t)t->n);
	*ret = (uint32_t)t->n++;
	return 0;
}

int kineto_strings_init(struct kineto_strings *t)
{
	memset(t, 0, sizeof(*t));
	for (size_t i = 0; i < KINETO_KNOWN; i++) {
		uint32_t number;
		int r = kineto_strings_add(t, known[i], strlen(known[i]), &number);

		if (r < 0)
			return r;
	}
	return 0;
}

void kineto_strings_done(struct kineto_strings *t)
{
	for (size_t i = 0; i < t->n_blocks; i++)
		free(t->blocks[i]);
	free(t->blocks);
	free(t->strings);
	free(t->table.slots);
	memset(t, 0, sizeof(*t));
}
