/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/image.h"
#include "base/array.h"
#include "base/scope.h"

#include <elf.h>
#include <zstd.h>

#define FATBIN_MAGIC 0xba55ed50u
#define WRAPPER_MAGIC 0x466243b1u
#define KIND_PTX 1
#define KIND_ELF 2
#define PTX_BYTES_MAX (256u << 20)

/* A part of a fat binary. */
struct part {
	uint16_t kind;
	uint32_t arch;
	const uint8_t *payload;
	size_t bytes;
};

static uint64_t get(const uint8_t *at, int bytes)
{
	uint64_t v = 0;

	memcpy(&v, at, (size_t)bytes);
	return v;
}

struct emu_entry *emu_image_add(struct emu_image *image, const char *name, size_t len)
{
	if (array_reserve(&image->entries, image->n_entries + 1, &image->entries_cap) < 0)
		return NULL;
	struct emu_entry *e = &image->entries[image->n_entries];

	memset(e, 0, sizeof(*e));
	e->name = strndup(name, len);
	e->max_threads = 1024;
	e->registers = 32;
	if (!e->name)
		return NULL;
	image->n_entries++;
	return e;
}

struct emu_variable *emu_image_add_variable(struct emu_image *image, const char *name, size_t len)
{
	if (array_reserve(&image->variables, image->n_variables + 1, &image->variables_cap) < 0)
		return NULL;
	struct emu_variable *v = &image->variables[image->n_variables];

	memset(v, 0, sizeof(*v));
	v->name = strndup(name, len);
	if (!v->name)
		return NULL;
	image->n_variables++;
	return v;
}

void emu_image_done(struct emu_image *image)
{
	for (size_t i = 0; i < image->n_entries; i++) {
		free(image->entries[i].name);
		free(image->entries[i].params);
	}
	for (size_t i = 0; i < image->n_variables; i++)
		free(image->variables[i].name);
	free(image->entries);
	free(image->variables);
	free(image->bytes);
	memset(image, 0, sizeof(*image));
}

/* PTX of a fat binary may be compressed. */
static int parse_ptx_part(struct emu_image *image, const struct part *p)
{
	unsigned long long bytes = ZSTD_getFrameContentSize(p->payload, p->bytes);
	int packed = p->bytes >= 4 && get(p->payload, 4) == ZSTD_MAGICNUMBER;

	if (!packed)
		bytes = p->bytes;
	if (bytes > PTX_BYTES_MAX)
		return -EBADMSG;
	scoped(free_ptr) char *text = calloc(1, bytes + 1);

	if (!text)
		return -ENOMEM;
	if (!packed) {
		memcpy(text, p->payload, bytes);
		return emu_image_parse_ptx(image, text);
	}
	size_t frame = ZSTD_findFrameCompressedSize(p->payload, p->bytes);

	if (ZSTD_isError(frame) || ZSTD_isError(ZSTD_decompress(text, bytes, p->payload, frame)))
		return -EBADMSG;
	return emu_image_parse_ptx(image, text);
}

/* How well a part suits a GPU; the highest is taken. */
static int suits(const struct part *p, int arch)
{
	int runs = (int)p->arch <= arch && (int)p->arch / 10 == arch / 10;

	if (p->kind == KIND_ELF)
		return runs ? 10000 + (int)p->arch : 1000 - (int)p->arch;
	return (int)p->arch <= arch ? 5000 + (int)p->arch : 1;
}

static int parse_fatbin(struct emu_image *image, const uint8_t *data, int arch)
{
	uint64_t header = get(data + 6, 2), size = get(data + 8, 8);
	uint64_t at = header, end = header + size;
	struct part best = {0};
	int score = -1;

	if (header < 16 || size > (1ull << 40))
		return -EBADMSG;
	while (at + 64 <= end) {
		struct part p = {.kind = (uint16_t)get(data + at, 2),
				 .arch = (uint32_t)get(data + at + 28, 4)};
		uint64_t skip = get(data + at + 4, 4), bytes = get(data + at + 8, 8);

		if (skip < 32 || skip > end - at || bytes > end - at - skip)
			return -EBADMSG;
		p.payload = data + at + skip;
		p.bytes = bytes;
		if ((p.kind == KIND_ELF || p.kind == KIND_PTX) && suits(&p, arch) > score) {
			best = p;
			score = suits(&p, arch);
		}
		at += skip + bytes;
	}
	if (score < 0)
		return -EBADMSG;
	image->arch = (int)best.arch;
	image->ptx = best.kind == KIND_PTX;
	return image->ptx ? parse_ptx_part(image, &best)
			  : emu_image_parse_elf(image, best.payload, best.bytes);
}

/* An ELF file in memory ends with its section headers or its last section. */
static size_t elf_bytes(const uint8_t *data)
{
	Elf64_Ehdr h;
	size_t end;

	memcpy(&h, data, sizeof(h));
	end = h.e_shoff + (size_t)h.e_shnum * h.e_shentsize;
	if (h.e_phoff + (size_t)h.e_phnum * h.e_phentsize > end)
		end = h.e_phoff + (size_t)h.e_phnum * h.e_phentsize;
	return end;
}

int emu_image_parse(const void *image_data, int arch, struct emu_image *ret)
{
	const uint8_t *data = image_data;
	struct emu_image image = {.arch = arch};
	uint32_t magic = (uint32_t)get(data, 4);
	int r;

	if (magic == WRAPPER_MAGIC) {
		data = (const uint8_t *)(uintptr_t)get(data + 8, 8);
		magic = (uint32_t)get(data, 4);
	}
	if (magic == FATBIN_MAGIC) {
		r = parse_fatbin(&image, data, arch);
	} else if (memcmp(data, ELFMAG, SELFMAG) == 0) {
		r = emu_image_parse_elf(&image, data, elf_bytes(data));
	} else {
		image.ptx = 1;
		r = emu_image_parse_ptx(&image, (const char *)data);
	}
	if (r < 0) {
		emu_image_done(&image);
		return r;
	}
	*ret = image;
	return 0;
}
