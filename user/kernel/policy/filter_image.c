// SPDX-License-Identifier: GPL-2.0-only
/* The function's instructions are overwritten, and its symbol says how many there are now: libbpf
 * goes by the symbol, so that the rest of its room is in no program. Whatever else the object says
 * about it, type and place, stays true. */

#include "kernel/policy/filters.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define FUNCTION "filters_run"

struct image {
	char *bytes;
	size_t size;
	const Elf64_Shdr *sections;
	uint32_t section_count;
};

static bool is_within(const struct image *image, uint64_t at, uint64_t bytes)
{
	return at <= image->size && bytes <= image->size - at;
}

static bool image_open(char *bytes, size_t size, struct image *out)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;

	*out = (struct image){.bytes = bytes, .size = size};
	if (size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_shentsize != sizeof(Elf64_Shdr) ||
	    !is_within(out, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
		return false;
	out->sections = (const Elf64_Shdr *)(bytes + header->e_shoff);
	out->section_count = header->e_shnum;
	return true;
}

static const Elf64_Shdr *section_at(const struct image *image, uint32_t index)
{
	const Elf64_Shdr *section = index < image->section_count ? &image->sections[index] : NULL;

	return section && is_within(image, section->sh_offset, section->sh_size) ? section : NULL;
}

static bool symbol_is(const struct image *image, const Elf64_Shdr *names, const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	       symbol->st_name + sizeof(FUNCTION) <= names->sh_size &&
	       !strcmp(image->bytes + names->sh_offset + symbol->st_name, FUNCTION);
}

static Elf64_Sym *symbol_in(const struct image *image, const Elf64_Shdr *section)
{
	const Elf64_Shdr *names = section_at(image, section->sh_link);
	Elf64_Sym *symbols = (Elf64_Sym *)(image->bytes + section->sh_offset);

	for (size_t i = 0; names && i < section->sh_size / sizeof(*symbols); i++)
		if (symbol_is(image, names, &symbols[i]))
			return &symbols[i];
	return NULL;
}

static Elf64_Sym *function_find(const struct image *image)
{
	for (uint32_t i = 0; i < image->section_count; i++) {
		const Elf64_Shdr *section = section_at(image, i);

		if (section && section->sh_type == SHT_SYMTAB)
			return symbol_in(image, section);
	}
	return NULL;
}

static int function_put(const struct image *image, const struct bpf_insn *code, size_t bytes)
{
	Elf64_Sym *symbol = function_find(image);
	const Elf64_Shdr *section = symbol ? section_at(image, symbol->st_shndx) : NULL;

	if (!section || symbol->st_value > section->sh_size ||
	    symbol->st_size > section->sh_size - symbol->st_value)
		return -ENOEXEC;
	if (bytes > symbol->st_size)
		return -E2BIG;
	memcpy(image->bytes + section->sh_offset + symbol->st_value, code, bytes);
	symbol->st_size = bytes;
	return 0;
}

int filter_image_put(void *object, size_t size, const struct bpf_insn *code, uint32_t count)
{
	struct image image;

	if (!image_open(object, size, &image))
		return -ENOEXEC;
	return function_put(&image, code, count * sizeof(*code));
}
