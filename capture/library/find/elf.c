/* SPDX-License-Identifier: Apache-2.0 */

/* The loader's functions behind our own of the same names: dlsym cannot be asked for dlsym. Reads
 * the tables of objects that the loader has accepted and mapped. */
#include "capture/library/find/real.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

struct search {
	const char *name;
	const char *file; /* how the object's file name begins; NULL: those behind this library */
	void *found;
	bool behind; /* this library was passed */
};

/* Where this library lies: the linker's names. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

bool cap_is_own(const void *address)
{
	return (const char *)address >= __ehdr_start && (const char *)address < _end;
}

/* A constructor makes the first call, so the path is written before there are threads. */
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

/* The loader has turned most addresses of a dynamic section into absolute ones. */
static const void *address(const struct dl_phdr_info *info, ElfW(Addr) at)
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
				ret->symbols = address(info, d->d_un.d_ptr);
			else if (d->d_tag == DT_STRTAB)
				ret->strings = address(info, d->d_un.d_ptr);
			else if (d->d_tag == DT_GNU_HASH)
				ret->hash = address(info, d->d_un.d_ptr);
		}
	}
	return ret->symbols && ret->strings && ret->hash;
}

/* Not the C library's strcmp(): a sanitizer's stands before it, which asks us for what it is to
 * call before it can be called itself. */
static bool same(const char *a, const char *b)
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

/* GNU hash: n buckets, first symbol, words of a filter, its shift; filter, buckets, chains. */
static const ElfW(Sym) * find_symbol(const struct tables *t, const char *name)
{
	uint32_t n_buckets = t->hash[0], first = t->hash[1], words = t->hash[2];
	const uint32_t *buckets = t->hash + 4 + words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = buckets + n_buckets;
	uint32_t hash = gnu_hash(name), i = n_buckets ? buckets[hash % n_buckets] : 0;

	for (; i >= first && i != 0; i++) {
		const ElfW(Sym) *s = &t->symbols[i];

		if ((chain[i - first] | 1) == (hash | 1) && s->st_shndx != SHN_UNDEF &&
		    same(t->strings + s->st_name, name))
			return s;
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

static bool is_called(const struct dl_phdr_info *info, const char *begin)
{
	const char *file = strrchr(info->dlpi_name, '/');

	return file && strncmp(file + 1, begin, strlen(begin)) == 0;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct tables t;
	const ElfW(Sym) * symbol;

	if (is_ours(info)) {
		s->behind = true;
		return 0;
	}
	if (s->file ? !is_called(info, s->file) : !s->behind)
		return 0;
	if (!tables_of(info, &t))
		return 0;
	symbol = find_symbol(&t, s->name);
	if (symbol)
		s->found = (void *)(info->dlpi_addr + symbol->st_value);
	return symbol != NULL;
}

void *cap_elf_next(const char *name)
{
	struct search s = {.name = name};

	dl_iterate_phdr(look, &s);
	return s.found;
}

void *cap_elf_in(const char *file, const char *name)
{
	struct search s = {.name = name, .file = file};

	dl_iterate_phdr(look, &s);
	return s.found;
}
