// SPDX-License-Identifier: GPL-2.0-only
/* Reads the policy in force, whole: what is read is of one policy, even while another takes its
 * place.
 */

#include "kernel/policy/policy_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/message.h"
#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/maps/prefix_maps.h"
#include "kernel/policy/comments.h"
#include "kernel/scope.h"
#include "kernel/sets/sets.h"
#include "kernel/state/alarm_maps.h"

#define READ_RETRIES 100

void instance_compile_context(const struct instance *instance, const struct policy_context *text,
			      struct compile_context *out)
{
	*out = (struct compile_context){
		.rules_max = instance->info.rules,
		.prefixes_max = instance->info.prefixes,
		.slots_max = 2 * instance->info.prefixes,
		.batches_max = instance->info.slots,
		.tick_ns = instance->info.tick_ns,
		.cpus = instance->info.cpus,
		.possible_cpus = instance->info.possible_cpus,
		.share = instance->info.table == RL_TABLE_CPU,
		.hot = instance->info.table == RL_TABLE_HOT,
		.conntrack = instance->info.proof == RL_PROOF_CONNTRACK,
		.no_refusals = instance->no_refusals,
		.hook = instance->info.hook,
		.log_max = instance->info.log_depth,
		.now_ns = instance_now(instance),
		.text = text,
	};
}

/* ---- reading */

int extras_read(const struct instance *instance, struct compiled *out)
{
	struct bpf_map_info info;
	int ret;

	if (!(out->header.uses & (RL_USE_EXTRAS | RL_USE_ANY_ALARMS)))
		return 0;
	CLOSED int fd = inner_open(instance, instance->fd.extras, out->header.half);
	if (fd == -ENOENT)
		return 0; /* only `not` is used, or alarms that need none */
	ret = fd < 0 ? fd : map_info(fd, &info);
	if (ret)
		return ret;
	out->extras = calloc(info.max_entries, sizeof(*out->extras));
	if (!out->extras)
		return -ENOMEM;
	out->extra_count = info.max_entries;
	return array_read(fd, 0, out->extras, sizeof(*out->extras), out->extra_count);
}

static int rules_read(const struct instance *instance, struct compiled *out)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_rules);

	if (fd < 0)
		return fd;
	out->rules = calloc(out->header.rules + 1, sizeof(*out->rules));
	if (!out->rules)
		return -ENOMEM;
	out->rule_count = out->header.rules;
	return array_read(fd, out->header.rules_begin, out->rules, sizeof(*out->rules),
			  out->rule_count);
}

static int prefixes_read(const struct instance *instance, struct compiled *out)
{
	CLOSED int fd = inner_open(instance, instance->fd.tries, out->header.half);
	struct rl_prefix_key key, *last = NULL;
	int ret = fd < 0 ? fd : 0, next = 0;
	size_t capacity = 0;

	while (!ret && !(next = bpf_map_get_next_key(fd, last, &key))) {
		size_t more = capacity ? 2 * capacity : out->header.prefixes + 1;
		struct compiled_prefix *prefix = out->prefixes;

		if (out->prefix_count == capacity) {
			prefix = reallocarray(prefix, more, sizeof(*prefix));
			if (!prefix)
				return -ENOMEM;
			out->prefixes = prefix;
			capacity = more;
		}
		prefix += out->prefix_count;
		prefix->key = key;
		last = &prefix->key;
		ret = bpf_map_lookup_elem(fd, &key, &prefix->value);
		out->prefix_count += !ret;
		ret = ret == -ENOENT ? 0 : ret; /* another process has just removed it */
	}
	return ret || next == -ENOENT ? ret : next;
}

/* Prefixes are read before rules. The rules of a prefix that has just changed were written before
 * the prefix, so reading the header again includes them. */
static int compiled_read_once(const struct instance *instance, struct compiled *out)
{
	static int (*const parts[])(const struct instance *, struct compiled *) = {
		extras_read, set_groups_read, alarms_get, index_roots_read, rules_read};
	uint64_t written = out->header.written;
	int ret = out->header.prefixes ? prefixes_read(instance, out) : 0;

	if (!ret)
		ret = policy_header_read(instance, &out->header);
	if (!ret && out->header.written != written)
		ret = -EAGAIN;
	for (size_t i = 0; !ret && i < sizeof(parts) / sizeof(parts[0]); i++)
		ret = parts[i](instance, out);
	return ret;
}

/* If another process wrote a whole policy meanwhile, what was read mixes two policies and is read
 * again. Changes of single prefixes do no harm. */
static int compiled_read(const struct instance *instance, struct compiled *out)
{
	for (int i = 0; i < READ_RETRIES; i++) {
		struct rl_policy_header before = {0}, after;
		int ret = policy_header_read(instance, &before);

		out->header = before;
		if (ret)
			return ret;
		ret = compiled_read_once(instance, out);
		if (!policy_header_read(instance, &after) && after.written == before.written)
			return ret;
		compiled_clear(out);
	}
	return -EAGAIN;
}

void report_read_error(const struct instance *instance, int error)
{
	const char *why = strerror(-error);

	if (error == -ESTALE)
		why = "it was detached meanwhile";
	else if (error == -EPERM)
		why = "one of its pins was removed: run `rlctl detach`, then attach again";
	fail("%s: reading the policy in force failed: %s", instance->device, why);
}

/* 1 if a comment is missing. */
static int policy_read_once(const struct instance *instance, const struct compile_context *ctx,
			    struct rl_policy_header *header, struct policy *out)
{
	struct compiled compiled = {0};
	int ret = compiled_read(instance, &compiled);

	*header = compiled.header;
	if (ret == -ENOENT && !compiled.header.generation)
		ret = 0;
	else if (!ret)
		ret = policy_decompile(&compiled, ctx, out);
	compiled_clear(&compiled);
	return ret ? ret : comments_read(instance, out);
}

/* *header is all zero, and the policy empty, if none was written yet. If a comment is missing
 * because a writer has just replaced its rule, reads again. */
int policy_read(const struct instance *instance, const struct compile_context *ctx,
		struct rl_policy_header *header, struct policy *out)
{
	int ret = 1;

	for (int i = 0; ret > 0 && i < READ_RETRIES; i++) {
		policy_clear(out);
		ret = policy_read_once(instance, ctx, header, out);
		if (ret > 0 && instance_generation(instance) == header->generation)
			ret = 0; /* lost for good */
	}
	if (ret > 0)
		ret = -EAGAIN;
	if (ret) {
		policy_clear(out);
		report_read_error(instance, ret);
	}
	return ret;
}

int instance_policy_read(const struct instance *instance, struct policy *out)
{
	struct rl_policy_header header;
	struct policy_context text;
	struct compile_context ctx;

	instance_context(instance, &text);
	instance_compile_context(instance, &text, &ctx);
	return policy_read(instance, &ctx, &header, out);
}
