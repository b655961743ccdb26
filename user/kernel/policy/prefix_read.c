// SPDX-License-Identifier: GPL-2.0-only
/* Reads the rules of one prefix, or of all that are for one address, at a cost that does not depend
 * on the size of the policy.
 */

#include "kernel/policy/policy_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/units.h"
#include "compile/compile.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/comments.h"
#include "kernel/scope.h"
#include "kernel/sets/sets.h"
#include "policy/policy.h"
#include "policy/sets/set.h"

#define READ_RETRIES 100

struct reader {
	const struct instance *instance;
	struct compiled compiled; /* of it the header, the extras and the sets */
	int trie;                 /* -1: none */
	int index;                /* negative: none, or why it could not be opened */
	uint64_t now_ns;
	struct policy *out;
};

static int reader_open(const struct instance *instance, struct policy *out, struct reader *reader)
{
	struct compile_context ctx;
	int ret;

	instance_compile_context(instance, NULL, &ctx);
	*reader = (struct reader){.instance = instance,
				  .trie = -1,
				  .index = -EBADMSG,
				  .now_ns = ctx.now_ns,
				  .out = out};
	ret = policy_header_read(instance, &reader->compiled.header);
	if (!ret)
		ret = extras_read(instance, &reader->compiled);
	if (!ret)
		ret = set_groups_read(instance, &reader->compiled);
	if (!ret && reader->compiled.header.uses & RL_USE_INDEX)
		reader->index =
			inner_open(instance, instance->fd.rule_index, reader->compiled.header.half);
	if (ret || !reader->compiled.header.prefixes)
		return ret;
	reader->trie = inner_open(instance, instance->fd.tries, reader->compiled.header.half);
	return reader->trie < 0 ? reader->trie : 0;
}

static void reader_close(struct reader *reader)
{
	scope_fd(&reader->trie);
	scope_fd(&reader->index);
	compiled_clear(&reader->compiled);
}

/* *out is to be freed. */
static int entries_read(const struct reader *reader, const struct rl_range *range,
			struct rl_rule **out, uint32_t *count)
{
	bool indexed = range->match_mode == RL_MATCH_MODE_INDEXED;
	struct rl_index_entry root;
	uint32_t first = 0;
	int ret = 0;

	*out = NULL;
	*count = 0;
	if (range->count && indexed)
		ret = reader->index < 0 ? reader->index
					: bpf_map_lookup_elem(reader->index, &range->first, &root);
	if (!ret && range->count && !range_extent(range, &root, &first, count))
		ret = -EBADMSG;
	if (!ret)
		*out = calloc(*count + 1, sizeof(**out));
	if (!ret && !*out)
		ret = -ENOMEM;
	if (ret || !*count)
		return ret;
	CLOSED int fd = policy_map_open(reader->instance, POLICY_MAP_rules);
	return fd < 0 ? fd : array_read(fd, first, *out, sizeof(**out), *count);
}

static int group_read(const struct reader *reader, const struct rl_range *range,
		      const struct rule *prefix)
{
	FREED struct rl_rule *entries = NULL;
	uint32_t count;
	int ret = entries_read(reader, range, &entries, &count);

	return ret ? ret
		   : range_decompile(&reader->compiled, prefix, entries, count, reader->now_ns,
				     reader->out);
}

static int word_read(const struct reader *reader, enum prefix_kind kind)
{
	const struct rl_policy_header *header = &reader->compiled.header;

	return group_read(reader, kind == PREFIX_ANY ? &header->any : &header->device,
			  &(struct rule){.kind = kind});
}

/* The set of that number, and the rules for its members. */
static int set_read(const struct reader *reader, uint32_t id)
{
	const struct rl_set_groups *groups = reader->compiled.groups;
	struct rule prefix = {.kind = PREFIX_SET};
	struct policy_set set;
	int ret;

	set_decompile(&groups->words[id], id, &set);
	memcpy(prefix.set, set.name, sizeof(prefix.set));
	ret = policy_set_put(reader->out, &set);
	if (ret || !(groups->prefixes >> id & 1))
		return ret;
	return group_read(reader, &groups->range[id], &prefix);
}

/* All sets, or that of this name. */
static int sets_of_policy_read(const struct reader *reader, const char *name)
{
	const struct rl_set_groups *groups = reader->compiled.groups;
	int ret = 0;

	for (uint32_t id = 0; !ret && groups && id < RL_SETS_MAX; id++)
		if (groups->defined >> id & 1 && (!name || !strcmp(name, groups->words[id].name)))
			ret = set_read(reader, id);
	return ret;
}

/* The longest prefix that holds the key and is not longer than it; -ENOENT if there is none. */
static int trie_lookup(const struct reader *reader, const struct rl_prefix_key *key,
		       struct rl_prefix_value *out)
{
	return reader->trie < 0 ? -ENOENT : bpf_map_lookup_elem(reader->trie, key, out);
}

static int value_read(const struct reader *reader, const struct rl_prefix_key *key,
		      const struct rl_prefix_value *value)
{
	struct compiled_prefix prefix = {.key = *key, .value = *value};
	FREED struct rl_rule *entries = NULL;
	uint32_t count;
	int ret = entries_read(reader, &value->range, &entries, &count);

	return ret ? ret
		   : prefix_decompile(&reader->compiled, &prefix, entries, count, reader->now_ns,
				      reader->out);
}

/* 1 if the trie has the prefix. */
static int prefix_read(const struct reader *reader, const struct rule *prefix)
{
	struct rl_prefix_value value;
	struct rl_prefix_key key;
	int ret;

	if (prefix->kind == PREFIX_SET)
		return sets_of_policy_read(reader, prefix->set);
	if (prefix->kind != PREFIX_ADDR)
		return word_read(reader, prefix->kind);
	prefix_key_compile(prefix, &key);
	ret = trie_lookup(reader, &key, &value);
	if (ret == -ENOENT || (!ret && value.len != key.len))
		return 0;
	if (!ret)
		ret = value_read(reader, &key, &value);
	return ret ? ret : 1;
}

/* Reads every prefix that holds the address. */
static int around_read(const struct reader *reader, const uint8_t addr[16])
{
	struct rule prefix = {.kind = PREFIX_ADDR, .len = 128};
	struct rl_prefix_value value;
	struct rl_prefix_key key;
	int ret;

	memcpy(prefix.addr, addr, sizeof(prefix.addr));
	prefix_key_compile(&prefix, &key);
	while (!(ret = trie_lookup(reader, &key, &value))) {
		key.len = value.len;
		prefix_mask(key.addr, addr, key.len - RL_FAMILY_BITS);
		ret = value_read(reader, &key, &value);
		if (ret || key.len == RL_FAMILY_BITS)
			return ret;
		key.len--;
	}
	return ret == -ENOENT ? 0 : ret;
}

static int read_end(const struct instance *instance, int ret, struct policy *out)
{
	if (ret == -ENOENT) /* no policy was written yet */
		ret = 0;
	if (ret >= 0)
		ret = comments_read(instance, out);
	if (ret >= 0)
		return 0;
	policy_clear(out);
	report_read_error(instance, ret);
	return ret;
}

/* Retries if another process writes a whole policy meanwhile, as compiled_read does. */
int instance_address_read(const struct instance *instance, const uint8_t addr[16],
			  struct policy *out)
{
	int ret = -EAGAIN;

	for (int i = 0; ret == -EAGAIN && i < READ_RETRIES; i++) {
		struct rl_policy_header after;
		struct reader reader;
		uint64_t written;

		ret = reader_open(instance, out, &reader);
		if (!ret)
			ret = word_read(&reader, PREFIX_DEVICE);
		if (!ret)
			ret = word_read(&reader, PREFIX_ANY);
		if (!ret)
			ret = sets_of_policy_read(&reader, NULL);
		if (!ret)
			ret = around_read(&reader, addr);
		written = reader.compiled.header.written;
		reader_close(&reader);
		if (!policy_header_read(instance, &after) && after.written != written) {
			policy_clear(out);
			ret = -EAGAIN;
		}
	}
	policy_sort(out, NULL);
	return read_end(instance, ret, out);
}

int prefix_rules_read(const struct instance *instance, const struct rule *prefix,
		      struct policy *out, struct rl_policy_header *header)
{
	struct reader reader;
	int ret = reader_open(instance, out, &reader);

	if (!ret)
		ret = prefix_read(&reader, prefix);
	*header = reader.compiled.header;
	reader_close(&reader);
	policy_sort(out, NULL);
	return ret;
}

int instance_prefix_read(const struct instance *instance, const struct rule *prefix,
			 struct policy *out)
{
	struct rl_policy_header header;

	return read_end(instance, prefix_rules_read(instance, prefix, out, &header), out);
}
