/* SPDX-License-Identifier: Apache-2.0 */

/* Length of an ELF file in memory. CUDA's calls pass images without a length. */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <string.h>

/* Returns the end of the last section, segment or table. `image` is trusted, since the caller also
 * loads code from it. */
static inline uint64_t elf_bytes(const uint8_t *image)
{
	Elf64_Ehdr head;
	uint64_t end;

	memcpy(&head, image, sizeof(head));
	end = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
	if (head.e_phoff + (uint64_t)head.e_phnum * head.e_phentsize > end)
		end = head.e_phoff + (uint64_t)head.e_phnum * head.e_phentsize;
	for (unsigned i = 0; i < head.e_shnum && head.e_shentsize == sizeof(Elf64_Shdr); i++) {
		Elf64_Shdr s;

		memcpy(&s, image + head.e_shoff + i * sizeof(s), sizeof(s));
		if (s.sh_type != SHT_NOBITS && s.sh_offset + s.sh_size > end)
			end = s.sh_offset + s.sh_size;
	}
	return end;
}
