/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/strings.h"

#include "formats/trace/model.h"

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
	[KINETO_CAT_GRAPH] = "graph",
	[KINETO_CAT_HOST_FUNCTION] = FMT_HOST_FUNCTION,
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
	[KINETO_GROUP] = FMT_KEY_GROUP,
	[KINETO_GROUP_RANKS] = FMT_KEY_GROUP_RANKS,
	[KINETO_GROUP_DESCRIPTION] = FMT_KEY_GROUP_DESCRIPTION,
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
	[KINETO_SEQ] = "Seq",
	[KINETO_TOTAL_ALLOCATED] = "Total Allocated",
	[KINETO_TOTAL_RESERVED] = "Total Reserved",
};

int kineto_strings_init(struct fmt_strings *t)
{
	int r = fmt_strings_init(t);

	for (uint32_t i = KINETO_EMPTY + 1; i < KINETO_KNOWN && r == 0; i++) {
		uint32_t number;

		r = fmt_strings_add(t, known[i], strlen(known[i]), &number);
	}
	return r;
}
