/* SPDX-License-Identifier: Apache-2.0 */

/* Code images that a program loads: their length and origin. An image in a file with a build id is
 * recorded by that id; any other is kept as a blob. */
#include "base/scope.h"
#include "capture/library/call/put.h"
#include "capture/library/ring/process.h"
#include "capture/library/ring/put.h"
#include "formats/api/elf.h"
#include "formats/trace/images.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FATBIN 0xba55ed50u  /* u32 magic, u16 version, u16 bytes of this, u64 bytes behind it */
#define WRAPPER 0x466243b1u /* u32 magic, u32 version, the address of a FATBIN */
#define MAX_IMAGE (UINT64_C(4) << 30)
#define MAX_ID 64

struct image {
	const void *bytes;
	uint64_t len;
	enum fmt_image_kind kind;
};

struct origin {
	uintptr_t address;
	char path[CAP_PATH];
	uint64_t offset;
	uint8_t id[MAX_ID];
	uint32_t id_len;
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

/* The image at an address that the driver is given. */
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

static void find_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * p, struct origin *o)
{
	const uint8_t *at = (const uint8_t *)info->dlpi_addr + p->p_vaddr, *end = at + p->p_memsz;

	while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		const uint8_t *name = at + sizeof(*note);
		const uint8_t *id = name + ((note->n_namesz + 3) & ~3u);

		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(name, "GNU", 4) == 0 && note->n_descsz <= MAX_ID) {
			memcpy(o->id, id, note->n_descsz);
			o->id_len = note->n_descsz;
			return;
		}
		at = id + ((note->n_descsz + 3) & ~3u);
	}
}

static int find_in_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct origin *o = arg;
	const ElfW(Phdr) *within = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && o->address - start < p->p_filesz)
			within = p;
	}
	if (!within || strlen(info->dlpi_name) >= sizeof(o->path))
		return 0;
	strcpy(o->path, info->dlpi_name);
	o->offset = o->address - info->dlpi_addr - within->p_vaddr + within->p_offset;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE && o->id_len == 0)
			find_build_id(info, &info->dlpi_phdr[i], o);
	return 1;
}

/* Whether the image lies in a file with a build id. */
static bool find_origin(const void *image, struct origin *o)
{
	o->address = (uintptr_t)image;
	if (!dl_iterate_phdr(find_in_object, o) || o->id_len == 0)
		return false;
	if (o->path[0] == 0) {
		ssize_t n = readlink("/proc/self/exe", o->path, sizeof(o->path) - 1);

		o->path[n < 0 ? 0 : n] = 0;
	}
	return true;
}

static void write_record(const struct cap_call *c, unsigned arg, const struct image *image,
			 bool embed, const struct origin *o)
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
	struct origin o = {0};
	bool embed = cap_process.control->embed_images || !find_origin(image.bytes, &o);

	if (embed)
		o = (struct origin){0};
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
	const struct origin nowhere = {0};
	struct image image;
	scoped(free_ptr) uint8_t *data = read_image(path, &image);

	if (data)
		write_record(c, arg, &image, true, &nowhere);
}
