/* SPDX-License-Identifier: Apache-2.0 */

/* Cubins: ELF files whose sections .nv.info.KERNEL describe the parameters of kernels. */
#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/code/image.h"

#include <elf.h>

#define INFO ".nv.info."
#define SYMBOL_KERNEL 0x10  /* st_other */
#define SYMBOL_MANAGED 0x04 /* st_other */
#define PARAMS_MAX 4096

/* Attributes of .nv.info: form, number, then 16 bits: the value or its length. */
enum { FORM_SIZED = 4 };
enum {
	ATTR_MAX_THREADS = 0x05,
	ATTR_FRAME_SIZE = 0x11,
	ATTR_PARAM = 0x17,
	ATTR_REGISTERS = 0x2f,
	ATTR_PARAM_2 = 0x45,
};

struct elf {
	const uint8_t *data;
	size_t bytes;
	Elf64_Ehdr header;
};

static int read_section(const struct elf *e, size_t i, Elf64_Shdr *ret)
{
	uint64_t at = e->header.e_shoff + i * sizeof(*ret);

	if (i >= e->header.e_shnum || at > e->bytes || e->bytes - at < sizeof(*ret))
		return -EBADMSG;
	memcpy(ret, e->data + at, sizeof(*ret));
	if (ret->sh_type != SHT_NOBITS &&
	    (ret->sh_offset > e->bytes || ret->sh_size > e->bytes - ret->sh_offset))
		return -EBADMSG;
	return 0;
}

/* A string of a string table, or "". */
static const char *string(const struct elf *e, const Elf64_Shdr *table, uint64_t at)
{
	const char *s = (const char *)e->data + table->sh_offset;

	if (table->sh_type == SHT_NOBITS || at >= table->sh_size ||
	    !memchr(s + at, 0, table->sh_size - at))
		return "";
	return s + at;
}

static uint32_t load_u32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static int set_param(struct emu_entry *to, uint32_t ordinal, struct emu_param p)
{
	struct emu_param *grown;

	if (ordinal >= PARAMS_MAX)
		return -EBADMSG;
	if ((int)ordinal >= to->n_params) {
		grown = realloc(to->params, (ordinal + 1) * sizeof(p));
		if (!grown)
			return -ENOMEM;
		to->params = grown;
		for (uint32_t i = (uint32_t)to->n_params; i <= ordinal; i++)
			to->params[i] = (struct emu_param){0};
		to->n_params = (int)ordinal + 1;
	}
	to->params[ordinal] = p;
	return 0;
}

/* Parses the attributes of one kernel, or, if `to` is NULL, those of the whole image. */
static int parse_info(const struct elf *e, const Elf64_Shdr *s, struct emu_entry *to)
{
	const uint8_t *at = e->data + s->sh_offset, *end = at + s->sh_size;

	if (s->sh_type == SHT_NOBITS)
		return 0;
	while (end - at >= 4) {
		uint8_t form = at[0], attribute = at[1];
		uint16_t size = (uint16_t)(at[2] | at[3] << 8);

		at += 4;
		if (form != FORM_SIZED)
			continue;
		if (size > end - at)
			return -EBADMSG;
		if ((attribute == ATTR_PARAM || attribute == ATTR_PARAM_2) && size >= 12) {
			uint32_t bytes = load_u32(at + 8);
			struct emu_param p = {(uint32_t)(at[6] | at[7] << 8),
					      attribute == ATTR_PARAM ? bytes >> 18
								      : bytes & 0xffff};
			int r = set_param(to, (uint32_t)(at[4] | at[5] << 8), p);

			if (r < 0)
				return r;
		}
		if (attribute == ATTR_MAX_THREADS && size >= 12 && load_u32(at) > 0)
			to->max_threads = (int)(load_u32(at) * load_u32(at + 4) * load_u32(at + 8));
		at += size;
	}
	return 0;
}

/* Parses attributes that refer to a kernel by its symbol: registers and local memory. */
static void parse_global_info(const struct elf *e, const Elf64_Shdr *s, const Elf64_Shdr *symbols,
			      const Elf64_Shdr *strings, struct emu_image *image)
{
	const uint8_t *at = e->data + s->sh_offset, *end = at + s->sh_size;

	while (s->sh_type != SHT_NOBITS && end - at >= 12) {
		uint16_t size = (uint16_t)(at[2] | at[3] << 8);
		const uint8_t *next = at + 4 + (at[0] == FORM_SIZED ? size : 0);
		Elf64_Sym symbol;

		if (next > end)
			return;
		if (size == 8 && (at[1] == ATTR_REGISTERS || at[1] == ATTR_FRAME_SIZE) &&
		    load_u32(at + 4) < symbols->sh_size / sizeof(symbol)) {
			memcpy(&symbol,
			       e->data + symbols->sh_offset + load_u32(at + 4) * sizeof(symbol),
			       sizeof(symbol));
			const char *name = string(e, strings, symbol.st_name);

			for (size_t i = 0; i < image->n_entries; i++) {
				if (strcmp(image->entries[i].name, name) != 0)
					continue;
				if (at[1] == ATTR_REGISTERS)
					image->entries[i].registers = (int)load_u32(at + 8);
				else
					image->entries[i].local_bytes = (int)load_u32(at + 8);
			}
		}
		at = next;
	}
}

static int add_symbol(const struct elf *e, const Elf64_Sym *s, const char *name,
		      struct emu_image *image)
{
	Elf64_Shdr home;
	struct emu_variable *v;

	if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && (s->st_other & SYMBOL_KERNEL) && *name)
		return emu_image_add(image, name, strlen(name)) ? 0 : -ENOMEM;
	if (ELF64_ST_TYPE(s->st_info) != STT_OBJECT || s->st_shndx == SHN_UNDEF || !*name ||
	    s->st_size == 0)
		return 0;
	if (read_section(e, s->st_shndx, &home) < 0)
		return 0;
	v = emu_image_add_variable(image, name, strlen(name));
	if (!v)
		return -ENOMEM;
	v->bytes = s->st_size;
	v->managed = (s->st_other & SYMBOL_MANAGED) != 0;
	if (home.sh_type != SHT_NOBITS && s->st_value <= home.sh_size &&
	    s->st_size <= home.sh_size - s->st_value)
		v->init = image->bytes + home.sh_offset + s->st_value;
	return 0;
}

static int parse_symbols(const struct elf *e, const Elf64_Shdr *table, const Elf64_Shdr *strings,
			 struct emu_image *image)
{
	Elf64_Sym s;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < table->sh_size / sizeof(s); i++) {
		memcpy(&s, e->data + table->sh_offset + i * sizeof(s), sizeof(s));
		r = add_symbol(e, &s, string(e, strings, s.st_name), image);
	}
	return r;
}

static struct emu_entry *entry_named(struct emu_image *image, const char *name)
{
	for (size_t i = 0; i < image->n_entries; i++)
		if (strcmp(image->entries[i].name, name) == 0)
			return &image->entries[i];
	return NULL;
}

/* Reads a section by its name, after the kernels were found. */
static int parse_section(const struct elf *e, const Elf64_Shdr *s, const char *name,
			 struct emu_image *image)
{
	struct emu_entry *to;

	if (strncmp(name, INFO, strlen(INFO)) == 0 && (to = entry_named(image, name + 9)))
		return parse_info(e, s, to);
	if (strncmp(name, ".nv.shared.", 11) == 0 && (to = entry_named(image, name + 11)))
		to->shared_bytes = (int)s->sh_size;
	if (strncmp(name, ".nv.constant2.", 14) == 0 && (to = entry_named(image, name + 14)))
		to->const_bytes = (int)s->sh_size;
	return 0;
}

int emu_image_parse_elf(struct emu_image *image, const uint8_t *data, size_t bytes)
{
	struct elf e = {data, bytes, {{0}}};
	Elf64_Shdr names, s, symbols = {0}, strings = {0};
	int r = 0;

	if (bytes < sizeof(e.header))
		return -EBADMSG;
	memcpy(&e.header, data, sizeof(e.header));
	if (memcmp(data, ELFMAG, SELFMAG) != 0 || e.header.e_shentsize != sizeof(s) ||
	    read_section(&e, e.header.e_shstrndx, &names) < 0)
		return -EBADMSG;
	image->bytes = malloc(bytes);
	if (!image->bytes)
		return -ENOMEM;
	memcpy(image->bytes, data, bytes);
	for (size_t i = 0; r == 0 && i < e.header.e_shnum; i++) {
		r = read_section(&e, i, &s);
		if (r == 0 && s.sh_type == SHT_SYMTAB &&
		    read_section(&e, s.sh_link, &strings) == 0) {
			symbols = s;
			r = parse_symbols(&e, &s, &strings, image);
		}
	}
	for (size_t i = 0; r == 0 && i < e.header.e_shnum; i++) {
		r = read_section(&e, i, &s);
		if (r == 0)
			r = parse_section(&e, &s, string(&e, &names, s.sh_name), image);
		if (r == 0 && strcmp(string(&e, &names, s.sh_name), ".nv.info") == 0 &&
		    symbols.sh_size)
			parse_global_info(&e, &s, &symbols, &strings, image);
	}
	return r;
}
