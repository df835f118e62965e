/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/graph.h"

CUresult emu_capture_add(struct emu_stream *s, struct emu_op *op)
{
	emu_op_done(op);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult emu_capture_spoil(struct emu_stream *s)
{
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult emu_capture_wait(struct emu_stream *s, struct emu_event *e)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult emu_capture_record(struct emu_stream *s, struct emu_event *e)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult emu_capture_allows(struct emu_thread *self)
{
	return CUDA_SUCCESS;
}
