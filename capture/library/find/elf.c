/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the loader's functions of the same names as this library's, for which dlsym() cannot be
 * used. Reads the dynamic tables of objects that the loader has accepted and mapped. */
#include "capture/library/find/elf.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

struct search {
	const char *name;
	const char *file; /* prefix of the object's file name; NULL: objects after this library */
	void *found;
	bool behind; /* this library was passed */
};

/* First and last address of this library: defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

bool cap_is_own(const void *address)
{
	return (const char *)address >= __ehdr_start && (const char *)address < _end;
}

/* A constructor makes the first call: the path is written before the program starts threads. */
const char *cap_own_path(void)
{
	static char path[4096];
	Dl_info about;

	if (!path[0] && dladdr((void *)cap_own_path, &about) &&
	    strlen(about.dli_fname) < sizeof(path))
		strcpy(path, about.dli_fname);
	return path;
}

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash; /* DT_GNU_HASH */
};

static bool is_ours(const struct dl_phdr_info *info)
{
	return cap_is_own((const void *)info->dlpi_phdr);
}

/* The loader has converted most addresses of a dynamic section to absolute ones. */
static const void *absolute(const struct dl_phdr_info *info, ElfW(Addr) at)
{
	return (const void *)(at < info->dlpi_addr ? at + info->dlpi_addr : at);
}

static bool tables_of(const struct dl_phdr_info *info, struct tables *ret)
{
	*ret = (struct tables){0};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		const ElfW(Dyn) *d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);

		for (; d->d_tag != DT_NULL; d++) {
			if (d->d_tag == DT_SYMTAB)
				ret->symbols = absolute(info, d->d_un.d_ptr);
			else if (d->d_tag == DT_STRTAB)
				ret->strings = absolute(info, d->d_un.d_ptr);
			else if (d->d_tag == DT_GNU_HASH)
				ret->hash = absolute(info, d->d_un.d_ptr);
		}
	}
	return ret->symbols && ret->strings && ret->hash;
}

/* Not strcmp(): a sanitizer's strcmp() would call dlsym() of this library before it can run. */
static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* DT_GNU_HASH: number of buckets, first symbol, words of the filter, shift; filter, buckets,
 * chains. */
static const ElfW(Sym) * find_symbol(const struct tables *t, const char *name)
{
	uint32_t n_buckets = t->hash[0], first = t->hash[1], words = t->hash[2];
	const uint32_t *buckets = t->hash + 4 + words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = buckets + n_buckets;
	uint32_t hash = gnu_hash(name), i = n_buckets ? buckets[hash % n_buckets] : 0;

	for (; i >= first && i != 0; i++) {
		const ElfW(Sym) *s = &t->symbols[i];

		if ((chain[i - first] | 1) == (hash | 1) && s->st_shndx != SHN_UNDEF &&
		    is_same(t->strings + s->st_name, name))
			return s;
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

static bool has_file_prefix(const struct dl_phdr_info *info, const char *prefix)
{
	const char *file = strrchr(info->dlpi_name, '/');

	return file && strncmp(file + 1, prefix, strlen(prefix)) == 0;
}

static int search_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct tables t;
	const ElfW(Sym) * symbol;

	if (is_ours(info)) {
		s->behind = true;
		return 0;
	}
	if (s->file ? !has_file_prefix(info, s->file) : !s->behind)
		return 0;
	if (!tables_of(info, &t))
		return 0;
	symbol = find_symbol(&t, s->name);
	if (symbol)
		s->found = (void *)(info->dlpi_addr + symbol->st_value);
	return symbol != NULL;
}

void *cap_elf_find_next(const char *name)
{
	struct search s = {.name = name};

	dl_iterate_phdr(search_object, &s);
	return s.found;
}

void *cap_elf_find_in(const char *file, const char *name)
{
	struct search s = {.name = name, .file = file};

	dl_iterate_phdr(search_object, &s);
	return s.found;
}

/* ---- build ids */

static void read_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * p,
			  struct cap_elf_origin *o)
{
	const uint8_t *at = (const uint8_t *)info->dlpi_addr + p->p_vaddr, *end = at + p->p_memsz;

	while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		const uint8_t *name = at + sizeof(*note);
		const uint8_t *id = name + ((note->n_namesz + 3) & ~3u);

		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(name, "GNU", 4) == 0 && note->n_descsz <= CAP_MAX_BUILD_ID) {
			memcpy(o->id, id, note->n_descsz);
			o->id_len = note->n_descsz;
			return;
		}
		at = id + ((note->n_descsz + 3) & ~3u);
	}
}

struct origin_search {
	uintptr_t address;
	struct cap_elf_origin *origin;
};

static int find_origin(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct origin_search *s = arg;
	struct cap_elf_origin *o = s->origin;
	const ElfW(Phdr) *within = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && s->address - start < p->p_filesz)
			within = p;
	}
	if (!within || strlen(info->dlpi_name) >= sizeof(o->path))
		return 0;
	strcpy(o->path, info->dlpi_name);
	o->offset = s->address - info->dlpi_addr - within->p_vaddr + within->p_offset;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE && o->id_len == 0)
			read_build_id(info, &info->dlpi_phdr[i], o);
	return 1;
}

bool cap_elf_origin(const void *address, struct cap_elf_origin *ret)
{
	struct origin_search s = {(uintptr_t)address, ret};

	*ret = (struct cap_elf_origin){0};
	if (!dl_iterate_phdr(find_origin, &s) || ret->id_len == 0)
		return false;
	if (ret->path[0] == 0) {
		ssize_t n = readlink("/proc/self/exe", ret->path, sizeof(ret->path) - 1);

		ret->path[n < 0 ? 0 : n] = 0;
	}
	return true;
}
