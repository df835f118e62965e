/* SPDX-License-Identifier: Apache-2.0 */

/* Code images that a program loads: their length and origin. An image in a file with a build id is
 * recorded by that id; other images are stored as blobs. */
#include "base/scope.h"
#include "capture/library/call/put.h"
#include "capture/library/find/elf.h"
#include "capture/library/ring/process.h"
#include "capture/library/ring/put.h"
#include "formats/api/elf.h"
#include "formats/trace/images.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FATBIN 0xba55ed50u  /* u32 magic, u16 version, u16 header size, u64 size after it */
#define WRAPPER 0x466243b1u /* u32 magic, u32 version, the address of a FATBIN */
#define MAX_IMAGE (UINT64_C(4) << 30)

struct image {
	const void *bytes;
	uint64_t len;
	enum fmt_image_kind kind;
};

static enum fmt_image_kind kind_of(const uint8_t *at)
{
	uint32_t magic;

	memcpy(&magic, at, sizeof(magic));
	if (memcmp(at, ELFMAG, SELFMAG) == 0)
		return FMT_IMAGE_CUBIN;
	return magic == FATBIN ? FMT_IMAGE_FATBIN : FMT_IMAGE_PTX;
}

static uint64_t fatbin_bytes(const uint8_t *at)
{
	uint16_t head_bytes;
	uint64_t len;

	memcpy(&head_bytes, at + 6, sizeof(head_bytes));
	memcpy(&len, at + 8, sizeof(len));
	return len + head_bytes;
}

/* Describes the image at an address that is passed to the driver. */
static struct image image_at(const uint8_t *at)
{
	uint32_t magic;

	memcpy(&magic, at, sizeof(magic));
	if (magic == WRAPPER)
		memcpy(&at, at + 8, sizeof(at));
	switch (kind_of(at)) {
	case FMT_IMAGE_CUBIN:
		return (struct image){at, elf_bytes(at), FMT_IMAGE_CUBIN};
	case FMT_IMAGE_FATBIN:
		return (struct image){at, fatbin_bytes(at), FMT_IMAGE_FATBIN};
	default:
		return (struct image){at, strlen((const char *)at), FMT_IMAGE_PTX};
	}
}

static void write_record(const struct cap_call *c, unsigned arg, const struct image *image,
			 bool embed, const struct cap_elf_origin *o)
{
	uint64_t hash[2] = {0};
	bool stored = embed && cap_put_blob(image->bytes, image->len, hash) == 0;
	uint32_t path_len = (uint32_t)strlen(o->path);
	uint32_t bytes = (uint32_t)sizeof(struct cap_image_record) + path_len + o->id_len;
	struct cap_image_record *r = cap_reserve((bytes + 7) & ~7u, CAP_IMAGE);

	if (!r)
		return;
	r->head.flags = (uint8_t)((unsigned)image->kind << 1 | (stored ? CAP_IMAGE_STORED : 0));
	r->arg = (uint16_t)arg;
	r->build_id_len = (uint16_t)o->id_len;
	r->path_len = path_len;
	r->id = c->id;
	r->hash[0] = hash[0];
	r->hash[1] = hash[1];
	r->size = image->len;
	r->offset = o->offset;
	memcpy(r->data, o->path, path_len);
	memcpy(r->data + path_len, o->id, o->id_len);
	cap_publish();
}

void cap_put_image(const struct cap_call *c, unsigned arg, const void *at)
{
	struct image image = image_at(at);
	struct cap_elf_origin o = {0};
	bool embed = cap_process.control->embed_images || !cap_elf_origin(image.bytes, &o);

	if (embed)
		o = (struct cap_elf_origin){0};
	if (image.len <= MAX_IMAGE)
		write_record(c, arg, &image, embed, &o);
}

/* The caller frees the result. NULL: the file cannot be read, or is not an image. */
static uint8_t *read_image(const char *path, struct image *ret)
{
	scoped(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(free_ptr) uint8_t *data = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 16 ||
	    (uint64_t)st.st_size > MAX_IMAGE)
		return NULL;
	data = malloc((size_t)st.st_size);
	for (off_t at = 0; data && at < st.st_size;) {
		ssize_t n = read(fd, data + at, (size_t)(st.st_size - at));

		if (n <= 0)
			return NULL;
		at += n;
	}
	if (data)
		*ret = (struct image){data, (uint64_t)st.st_size, kind_of(data)};
	return take(data);
}

/* Files of code have no build id: the contents are kept. */
void cap_put_image_file(const struct cap_call *c, unsigned arg, const char *path)
{
	const struct cap_elf_origin nowhere = {0};
	struct image image;
	scoped(free_ptr) uint8_t *data = read_image(path, &image);

	if (data)
		write_record(c, arg, &image, true, &nowhere);
}
