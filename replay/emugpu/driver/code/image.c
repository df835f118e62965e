/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/code/image.h"
#include "base/array.h"
#include "base/scope.h"
#include "formats/api/elf.h"

#include <elf.h>
#include <zstd.h>

#define WRAPPER_MAGIC 0x466243b1u
#define KIND_PTX 1
#define KIND_ELF 2
#define PART_BYTES_MAX (1u << 30)

/* A part of a fat binary. */
struct part {
	uint16_t kind;
	uint32_t arch;
	const uint8_t *payload;
	size_t bytes;
};

static uint64_t read_field(const uint8_t *at, int bytes)
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
	for (size_t i = 0; i < image->n_more; i++)
		free(image->more[i]);
	free(image->more);
	memset(image, 0, sizeof(*image));
}

/* Decompresses a part if needed and appends a NUL; the caller frees *ret. */
static int unpack(const struct part *p, uint8_t **ret, size_t *ret_bytes)
{
	int packed = p->bytes >= 4 && read_field(p->payload, 4) == ZSTD_MAGICNUMBER;
	unsigned long long bytes =
		packed ? ZSTD_getFrameContentSize(p->payload, p->bytes) : p->bytes;
	size_t frame;

	if (bytes > PART_BYTES_MAX)
		return -EBADMSG;
	scoped(free_ptr) uint8_t *data = calloc(1, bytes + 1);

	if (!data)
		return -ENOMEM;
	if (packed) {
		frame = ZSTD_findFrameCompressedSize(p->payload, p->bytes);
		if (ZSTD_isError(frame) || ZSTD_decompress(data, bytes, p->payload, frame) != bytes)
			return -EBADMSG;
	} else {
		memcpy(data, p->payload, bytes);
	}
	*ret = take(data);
	*ret_bytes = bytes;
	return 0;
}

static int parse_part(struct emu_image *image, const struct part *p)
{
	scoped(free_ptr) uint8_t *data = NULL;
	size_t bytes;
	int r = unpack(p, &data, &bytes);

	if (r < 0)
		return r;
	return p->kind == KIND_PTX ? emu_image_parse_ptx(image, (const char *)data)
				   : emu_image_parse_elf(image, data, bytes);
}

/* Higher than the compute capability of any GPU. */
#define ARCH_END 1000

/* Rates how well a part matches a GPU; the best part is used. */
static int rate_part(const struct part *p, int arch)
{
	int runs = (int)p->arch <= arch && (int)p->arch / 10 == arch / 10;

	if (p->kind == KIND_ELF)
		return runs ? 10000 + (int)p->arch : 1000 - (int)p->arch;
	return (int)p->arch <= arch ? 5000 + (int)p->arch : 1;
}

int emu_image_parse_fatbin(struct emu_image *image, const uint8_t *data, size_t bytes, int arch)
{
	uint64_t header, size, at, end;
	struct part best = {0};
	int score = -1;

	if (bytes < 16)
		return -EBADMSG;
	header = read_field(data + 6, 2);
	size = read_field(data + 8, 8);
	if (header < 16 || header > bytes || size > bytes - header || size > (1ull << 40))
		return -EBADMSG;
	at = header;
	end = header + size;
	while (at + 64 <= end) {
		struct part p = {.kind = (uint16_t)read_field(data + at, 2),
				 .arch = (uint32_t)read_field(data + at + 28, 4)};
		uint64_t skip = read_field(data + at + 4, 4), held = read_field(data + at + 8, 8);

		if (skip < 32 || skip > end - at || held > end - at - skip)
			return -EBADMSG;
		p.payload = data + at + skip;
		p.bytes = held;
		if ((p.kind == KIND_ELF || p.kind == KIND_PTX) && p.arch < ARCH_END &&
		    rate_part(&p, arch) > score) {
			best = p;
			score = rate_part(&p, arch);
		}
		at += skip + held;
	}
	if (score < 0)
		return -EBADMSG;
	image->arch = (int)best.arch;
	image->ptx = best.kind == KIND_PTX;
	return parse_part(image, &best);
}

/* Moves the contents of `part` into `image`; the caller still frees `part`. */
static int take_contents(struct emu_image *image, struct emu_image *part)
{
	size_t entries = image->n_entries + part->n_entries;
	size_t variables = image->n_variables + part->n_variables;

	if (array_reserve(&image->entries, entries + 1, &image->entries_cap) < 0 ||
	    array_reserve(&image->variables, variables + 1, &image->variables_cap) < 0 ||
	    array_reserve(&image->more, image->n_more + 1, &image->more_cap) < 0)
		return -ENOMEM;
	if (part->n_entries > 0)
		memcpy(image->entries + image->n_entries, part->entries,
		       part->n_entries * sizeof(*part->entries));
	if (part->n_variables > 0)
		memcpy(image->variables + image->n_variables, part->variables,
		       part->n_variables * sizeof(*part->variables));
	image->n_entries = entries;
	image->n_variables = variables;
	image->more[image->n_more++] = take(part->bytes);
	part->n_entries = part->n_variables = 0;
	return 0;
}

static int parse_linked(struct emu_image *image, const uint8_t *data, int arch)
{
	const uint8_t *end;
	struct emu_linked head;
	int r = 0;

	memcpy(&head, data, sizeof(head));
	data += sizeof(head);
	end = data + head.bytes;
	while (data < end && r == 0) {
		uint64_t bytes = read_field(data, 8);
		struct emu_image part;

		if (end - data < 16 || bytes > (uint64_t)(end - data) - 8)
			return -EBADMSG;
		r = emu_image_parse_bytes(data + 8, bytes, arch, &part);
		if (r < 0)
			break;
		r = take_contents(image, &part);
		emu_image_done(&part);
		data += 8 + ((bytes + 8) & ~7ull);
	}
	return r;
}

int emu_image_parse_bytes(const uint8_t *data, size_t bytes, int arch, struct emu_image *ret)
{
	struct emu_image image = {.arch = arch};
	int r;

	if (read_field(data, 4) == EMU_FATBIN_MAGIC) {
		r = emu_image_parse_fatbin(&image, data, bytes, arch);
	} else if (memcmp(data, ELFMAG, SELFMAG) == 0) {
		r = emu_image_parse_elf(&image, data, bytes);
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

int emu_image_parse(const void *image_data, int arch, struct emu_image *ret)
{
	const uint8_t *data = image_data;
	struct emu_image image = {.arch = arch};
	int r;

	if (read_field(data, 4) == WRAPPER_MAGIC)
		data = (const uint8_t *)(uintptr_t)read_field(data + 8, 8);
	if (read_field(data, 4) != EMU_FATBIN_MAGIC ||
	    read_field(data + 4, 2) != EMU_LINKED_VERSION)
		/* These forms contain their size or end with a NUL. */
		return emu_image_parse_bytes(
			data, memcmp(data, ELFMAG, SELFMAG) == 0 ? elf_bytes(data) : SIZE_MAX, arch,
			ret);
	r = parse_linked(&image, data, arch);
	if (r < 0)
		emu_image_done(&image);
	else
		*ret = image;
	return r;
}
