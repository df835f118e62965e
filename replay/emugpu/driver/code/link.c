/* SPDX-License-Identifier: Apache-2.0 */

/* Linking: the linked images are stored one after another and load as one image (image.h). */
#include "base/array.h"
#include "replay/emugpu/driver/code/image.h"
#include "replay/emugpu/driver/code/kernel.h"
#include "replay/emugpu/refuse.h"

#define MAGIC 0x4c696e6bu

struct emu_link {
	uint32_t magic;
	uint8_t *data; /* begins with a struct emu_linked */
	size_t bytes, cap;
};

static struct emu_link *link_of(CUlinkState state)
{
	struct emu_link *l = (struct emu_link *)state;

	return l && l->magic == MAGIC ? l : NULL;
}

EMU_API CUresult cuLinkCreate_v2(unsigned n, CUjit_option *options, void **values, CUlinkState *ret)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	const struct emu_linked head = {.magic = EMU_FATBIN_MAGIC,
					.version = EMU_LINKED_VERSION,
					.header_bytes = sizeof(head)};
	struct emu_context *c;
	CUresult r = emu_current(self, &c);
	struct emu_link *l;

	if (r)
		return r;
	if (!ret || (n && (!options || !values)))
		return CUDA_ERROR_INVALID_VALUE;
	l = calloc(1, sizeof(*l));
	if (!l || array_reserve(&l->data, sizeof(head), &l->cap) < 0) {
		free(l);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	memcpy(l->data, &head, sizeof(head));
	l->bytes = sizeof(head);
	l->magic = MAGIC;
	*ret = (CUlinkState)l;
	return CUDA_SUCCESS;
}

/* Appends a part: length, bytes, at least one zero byte up to a multiple of 8. */
static int append_part(struct emu_link *l, const void *data, uint64_t bytes)
{
	size_t padded_bytes = (bytes + 8) & ~(size_t)7;

	if (array_reserve(&l->data, l->bytes + 8 + padded_bytes, &l->cap) < 0)
		return -ENOMEM;
	memcpy(l->data + l->bytes, &bytes, 8);
	memcpy(l->data + l->bytes + 8, data, bytes);
	memset(l->data + l->bytes + 8 + bytes, 0, padded_bytes - bytes);
	l->bytes += 8 + padded_bytes;
	return 0;
}

static CUresult add_input(struct emu_link *l, CUjitInputType type, const void *data, size_t bytes)
{
	CUresult wrong =
		type == CU_JIT_INPUT_PTX ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE;
	struct emu_image image;
	size_t before = l->bytes;
	int r = append_part(l, data, bytes);

	if (r == 0)
		r = emu_image_parse_bytes(l->data + before + 8, bytes, 0, &image);
	if (r < 0) {
		l->bytes = before;
		return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : wrong;
	}
	emu_image_done(&image);
	((struct emu_linked *)l->data)->bytes = l->bytes - sizeof(struct emu_linked);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t bytes,
				  const char *name, unsigned n, CUjit_option *options,
				  void **values)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_link *l = link_of(state);

	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!data || bytes < 4)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_JIT_INPUT_CUBIN && type != CU_JIT_INPUT_PTX &&
	    type != CU_JIT_INPUT_FATBINARY) {
		emu_refuse_use("libcuda.so.1", "cuLinkAddData_v2 (objects, libraries, NVVM)");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return add_input(l, type, data, bytes);
}

EMU_API CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
				  unsigned n, CUjit_option *options, void **values)
{
	scoped(free_ptr) char *data = NULL;
	size_t bytes;
	CUresult r = path ? emu_image_read(path, &data, &bytes) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : cuLinkAddData_v2(state, type, data, bytes, path, n, options, values);
}

/* The image belongs to the link. */
EMU_API CUresult cuLinkComplete(CUlinkState state, void **image, size_t *bytes)
{
	struct emu_link *l = link_of(state);

	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	*image = l->data;
	if (bytes)
		*bytes = l->bytes;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuLinkDestroy(CUlinkState state)
{
	struct emu_link *l = link_of(state);

	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	l->magic = 0;
	free(l->data);
	free(l);
	return CUDA_SUCCESS;
}
