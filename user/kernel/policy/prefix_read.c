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
#include "kernel/maps/prefix_maps.h"
#include "kernel/policy/comments.h"
#include "kernel/scope.h"
#include "kernel/sets/sets.h"
#include "policy/policy.h"

#define READ_RETRIES 100

/* Leaves the rules of this prefix alone in a policy that has no prefixes of addresses. */
static void others_drop(struct compiled *policy, const struct rule *prefix)
{
	struct rl_set_groups *groups = policy->groups;

	if (prefix->kind != PREFIX_ANY)
		policy->header.any.count = 0;
	if (prefix->kind != PREFIX_DEVICE)
		policy->header.device.count = 0;
	for (uint32_t id = 0; groups && id < RL_SETS_MAX; id++)
		if (prefix->kind != PREFIX_SET ||
		    strcmp(prefix->set, groups->words[id].name) != 0) {
			groups->defined &= ~(1ull << id);
			groups->range[id].count = 0;
		}
}

/* The prefix, where the trie has it, or all that hold it. */
static int prefixes_find(const struct instance *instance, const struct rule *prefix, bool all,
			 struct compiled *out)
{
	CLOSED int trie = inner_open(instance, instance->fd.tries, out->header.half);
	struct compiled_prefix at;
	int ret;

	if (trie < 0)
		return trie;
	out->prefixes = calloc(RL_FAMILY_BITS + 129, sizeof(*out->prefixes)); /* by length */
	if (!out->prefixes)
		return -ENOMEM;
	prefix_key_compile(prefix, &at.key);
	while (!(ret = bpf_map_lookup_elem(trie, &at.key, &at.value))) {
		if (at.value.len < RL_FAMILY_BITS || at.value.len > at.key.len)
			return -EBADMSG;
		if (!all && at.value.len != at.key.len)
			return 0;
		at.key.len = at.value.len;
		prefix_mask(at.key.addr, prefix->addr, at.key.len - RL_FAMILY_BITS);
		out->prefixes[out->prefix_count++] = at;
		if (!all || at.key.len == RL_FAMILY_BITS)
			return 0;
		at.key.len--;
	}
	return ret == -ENOENT ? 0 : ret;
}

/* Reads the rules of a range, and lets that, or its root, lead to where they are in *out. */
static int range_read(const struct instance *instance, struct rl_range *range, struct compiled *out)
{
	bool indexed = range->match_mode == RL_MATCH_MODE_INDEXED;
	struct rl_index_entry *root = indexed && range->first < out->index.count
					      ? &out->index.entries[range->first]
					      : NULL;
	uint32_t first, count;
	struct rl_rule *rules;

	if (!range->count)
		return 0;
	if (!range_extent(range, root, &first, &count))
		return -EBADMSG;
	rules = reallocarray(out->rules, out->rule_count + count + 1, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	out->rules = rules;
	*(root ? &root->first : &range->first) = out->rule_count;
	out->rule_count += count;
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_rules);
	return fd < 0 ? fd
		      : array_read(fd, first, rules + out->rule_count - count, sizeof(*rules),
				   count);
}

int policy_part_read(const struct instance *instance, const struct rule *prefix, bool all,
		     struct rl_policy_header *header, struct policy *out)
{
	struct compiled part = {0};
	struct compile_context ctx;
	int ret = policy_header_read(instance, &part.header), found;

	*header = part.header;
	if (!ret)
		ret = extras_read(instance, &part);
	if (!ret)
		ret = set_groups_read(instance, &part);
	if (!ret && prefix->kind == PREFIX_ADDR && part.header.prefixes)
		ret = prefixes_find(instance, prefix, all, &part);
	if (!ret && !all)
		others_drop(&part, prefix);
	found = part.prefix_count > 0;
	if (!ret)
		ret = index_roots_read(instance, &part);
	if (!ret)
		ret = range_read(instance, &part.header.device, &part);
	if (!ret)
		ret = range_read(instance, &part.header.any, &part);
	for (uint32_t i = 0; !ret && i < part.prefix_count; i++)
		ret = range_read(instance, &part.prefixes[i].value.range, &part);
	for (uint32_t id = 0; !ret && part.groups && id < RL_SETS_MAX; id++)
		ret = range_read(instance, &part.groups->range[id], &part);
	part.header.rules_begin = 0;
	instance_compile_context(instance, NULL, &ctx);
	if (!ret)
		ret = policy_decompile(&part, &ctx, out);
	compiled_clear(&part);
	return ret ? ret : found;
}

/* Retries if another process writes a whole policy meanwhile, as compiled_read does. */
static int part_read(const struct instance *instance, const struct rule *prefix, bool all,
		     struct policy *out)
{
	int ret = -EAGAIN;

	for (int i = 0; ret == -EAGAIN && i < READ_RETRIES; i++) {
		struct rl_policy_header before, after;

		ret = policy_part_read(instance, prefix, all, &before, out);
		if (!policy_header_read(instance, &after) && after.written != before.written) {
			policy_clear(out);
			ret = -EAGAIN;
		}
	}
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

int instance_address_read(const struct instance *instance, const uint8_t addr[16],
			  struct policy *out)
{
	struct rule prefix = {.kind = PREFIX_ADDR, .len = 128};

	memcpy(prefix.addr, addr, sizeof(prefix.addr));
	return part_read(instance, &prefix, true, out);
}

int instance_prefix_read(const struct instance *instance, const struct rule *prefix,
			 struct policy *out)
{
	return part_read(instance, prefix, false, out);
}
