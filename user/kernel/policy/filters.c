// SPDX-License-Identifier: GPL-2.0-only
/* A filter's bit is its place in rl_filters. The policy compiler gives a filter that the program
 * has its bit again, and a new one a free bit: so one program serves both the policy in force and
 * the next, while the one takes the place of the other. */

#include "kernel/policy/filters.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/message.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/policy/filter_code.h"
#include "kernel/scope.h"
#include "policy/filter.h"

int filters_read(const struct instance *instance, struct rl_filters *out)
{
	return map_get(instance->fd.filters, out);
}

int filters_read_at(const char *path, struct rl_filters *out)
{
	CLOSED int fd = pin_open_at(path, "filters", false);

	return fd < 0 ? fd : map_get(fd, out);
}

int filters_write(const struct instance *instance, const struct rl_filters *filters)
{
	return map_put(instance->fd.filters, filters);
}

void filters_add(struct rl_filters *filters, const struct compiled *compiled)
{
	for (uint32_t i = 0; i < compiled->extra_count; i++) {
		const struct rl_extra *extra = &compiled->extras[i];

		if (extra->filter[0] && extra->filter_bit < RL_FILTERS_MAX)
			memcpy(filters->text[extra->filter_bit], extra->filter,
			       sizeof(filters->text[0]));
	}
}

static void filter_of(const struct rule *rule, struct rl_filters *out, uint32_t *count)
{
	bool there = !(rule->match.flags & RL_MATCH_FILTER);

	for (uint32_t i = 0; !there && i < *count; i++)
		there = !strcmp(out->text[i], rule->extra->filter);
	if (!there && *count < RL_FILTERS_MAX)
		memcpy(out->text[(*count)++], rule->extra->filter, sizeof(out->text[0]));
}

void filters_of(const struct policy *policy, struct rl_filters *out)
{
	uint32_t count = 0;

	memset(out, 0, sizeof(*out));
	policy_for_each (policy, rule)
		filter_of(rule, out, &count);
	for (size_t i = 0; i < policy->alarm_count; i++)
		filter_of(&policy->alarms[i].counts, out, &count);
}

/* ---- instructions */

static int programs_make(const struct rl_filters *filters,
			 struct filter_program out[RL_FILTERS_MAX])
{
	char error[FILTER_ERROR_MAX];
	int ret = 0;

	for (int i = 0; filters && !ret && i < RL_FILTERS_MAX; i++)
		if (filters->text[i][0])
			ret = filter_compile(filters->text[i], &out[i], error);
	return ret;
}

int filters_code(const struct rl_instance *info, const struct rl_filters *filters,
		 struct bpf_insn out[RL_FILTER_STEPS])
{
	enum filter_loads loads = info->mode != RL_MODE_TC ? FILTER_LOADS_XDP
				  : info->outer_ip         ? FILTER_LOADS_SKB_NETWORK
							   : FILTER_LOADS_SKB;
	struct filter_program programs[RL_FILTERS_MAX] = {0};
	int ret = programs_make(filters, programs);

	if (!ret)
		ret = filter_code_make(programs, loads, out);
	for (int i = 0; i < RL_FILTERS_MAX; i++)
		filter_program_clear(&programs[i]);
	return ret;
}

const char *filters_longest(const struct rl_filters *filters)
{
	struct filter_program programs[RL_FILTERS_MAX] = {0};
	int found = 0;

	programs_make(filters, programs);
	for (int i = 0; i < RL_FILTERS_MAX; i++)
		if (programs[i].count > programs[found].count)
			found = i;
	for (int i = 0; i < RL_FILTERS_MAX; i++)
		filter_program_clear(&programs[i]);
	return filters->text[found];
}

int filters_check(const struct instance *instance, const struct rl_filters *filters)
{
	FREED struct bpf_insn *code = calloc(RL_FILTER_STEPS, sizeof(*code));
	int ret = code ? filters_code(&instance->info, filters, code) : -ENOMEM;

	if (ret >= 0)
		return 0;
	if (ret == -E2BIG)
		fail("%s: the filters of this policy and of that in force, which both count while "
		     "policies change, come to more than %d instructions: make them shorter, "
		     "first of all \"%s\", or remove some first",
		     instance->device, RL_FILTER_STEPS, filters_longest(filters));
	else
		fail("%s: compiling the policy's filters failed: %s", instance->device,
		     strerror(-ret));
	return ret;
}

/* ---- in a BPF object
 *
 * The function's instructions are overwritten, and its symbol says how many there are now: libbpf
 * goes by the symbol, so that the rest of its room is in no program. Whatever else the object says
 * about it, type and place, stays true. */

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

static Elf64_Sym *function_find(const struct image *image)
{
	const Elf64_Shdr *section = NULL, *names;
	Elf64_Sym *symbols;

	for (uint32_t i = 0; i < image->section_count; i++) {
		section = section_at(image, i);
		if (section && section->sh_type == SHT_SYMTAB)
			break;
		section = NULL;
	}
	names = section ? section_at(image, section->sh_link) : NULL;
	if (!names)
		return NULL;
	symbols = (Elf64_Sym *)(image->bytes + section->sh_offset);
	for (size_t i = 0; i < section->sh_size / sizeof(*symbols); i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
		    symbols[i].st_name + sizeof(FUNCTION) <= names->sh_size &&
		    !strcmp(image->bytes + names->sh_offset + symbols[i].st_name, FUNCTION))
			return &symbols[i];
	return NULL;
}

int filter_image_put(void *object, size_t size, const struct bpf_insn *code, uint32_t count)
{
	size_t bytes = count * sizeof(*code);
	const Elf64_Shdr *section;
	struct image image;
	Elf64_Sym *symbol;

	if (!image_open(object, size, &image))
		return -ENOEXEC;
	symbol = function_find(&image);
	section = symbol ? section_at(&image, symbol->st_shndx) : NULL;
	if (!section || symbol->st_value > section->sh_size ||
	    symbol->st_size > section->sh_size - symbol->st_value)
		return -ENOEXEC;
	if (bytes > symbol->st_size)
		return -E2BIG;
	memcpy(image.bytes + section->sh_offset + symbol->st_value, code, bytes);
	symbol->st_size = bytes;
	return 0;
}

/* ---- refused ones
 *
 * The kernel says of a program that it refuses it, and not because of which filter. So each is
 * loaded without the others, in a program that has nothing else. */

/* The caller of filters_run(): its view is the element of a map. */
#define VIEW_MAP 4 /* the instruction that names the map */
static const struct bpf_insn caller[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1},
	{.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4},
	{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
	{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4},
	{.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD},
	{0},
	{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
	{.code = BPF_JMP | BPF_JNE | BPF_K, .off = 1},
	{.code = BPF_JMP | BPF_EXIT},
	{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6},
	{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2},
	{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 1},
	{.code = BPF_JMP | BPF_EXIT},
};
#define CALLER (sizeof(caller) / sizeof(caller[0]))

/* Does the kernel refuse them, in a program without anything else? `code` has the room. */
static bool refuses(const struct rl_instance *info, const struct rl_filters *filters, int map_fd,
		    struct bpf_insn *code)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	enum bpf_prog_type type =
		info->mode == RL_MODE_TC ? BPF_PROG_TYPE_SCHED_CLS : BPF_PROG_TYPE_XDP;
	int count = filters_code(info, filters, code + CALLER);

	if (count < 0)
		return false;
	memcpy(code, caller, sizeof(caller));
	code[VIEW_MAP].imm = map_fd;
	CLOSED int fd = bpf_prog_load(type, "rlctl_filter", "GPL", code, CALLER + count, &opts);
	return fd < 0;
}

const char *filter_blame(const struct rl_instance *info, const struct rl_filters *filters)
{
	FREED struct bpf_insn *code = calloc(CALLER + RL_FILTER_STEPS, sizeof(*code));
	struct rl_filters alone = {0};
	CLOSED int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_view", sizeof(uint32_t),
				       sizeof(struct rl_filter_view), 1, NULL);

	/* A kernel that refuses the caller alone says nothing about filters. */
	if (!code || fd < 0 || refuses(info, &alone, fd, code))
		return NULL;
	for (int i = 0; i < RL_FILTERS_MAX; i++) {
		memcpy(alone.text[0], filters->text[i], sizeof(alone.text[0]));
		if (filters->text[i][0] && refuses(info, &alone, fd, code))
			return filters->text[i];
	}
	return NULL;
}
