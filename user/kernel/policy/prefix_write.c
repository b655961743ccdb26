// SPDX-License-Identifier: GPL-2.0-only
/* Changes the rules of one prefix in place, at a cost that does not depend on the size of
 * the policy.
 *
 * New rules are written after those in force, where packets do not read. Then the trie's element is
 * replaced, which is atomic, and the generation is increased, which voids what packets have cached.
 * Between these two steps a packet sees the old or the new rules, depending on whether its address
 * is cached, but never a mixture. If the process is killed there, cached addresses keep the old
 * rules until the next change. The other fields of the header are written first, so that they
 * always cover what the trie holds.
 *
 * `any` and `device` are part of the header, which is replaced as a whole for them.
 */

#include "kernel/policy/policy_write.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "compile/compile.h"
#include "kernel/attach/qdisc.h"
#include "kernel/attach/trial_record.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/hot_table.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/maps/prefix_maps.h"
#include "kernel/policy/comments.h"
#include "kernel/policy/header_in_force.h"
#include "kernel/policy/policy_read.h"
#include "kernel/scope.h"
#include "policy/policy.h"

struct change {
	const struct instance *instance;
	const struct rule *prefix;
	struct policy *next;
	struct compiled compiled;
};

static int element_exchange(const struct change *change)
{
	const struct compiled *compiled = &change->compiled;
	const struct instance *instance = change->instance;
	CLOSED int fd = inner_open(instance, instance->fd.tries, compiled->header.half);
	struct rl_prefix_key key;
	int ret;

	if (fd < 0)
		return fd;
	prefix_key_compile(change->prefix, &key);
	if (!compiled->prefix_count) {
		ret = bpf_map_delete_elem(fd, &key);
		return ret == -ENOENT ? 0 : ret;
	}
	ret = prefix_guide_extend(instance, compiled->header.half, &key);
	if (!ret)
		ret = bpf_map_update_elem(fd, &key, &compiled->prefixes[0].value, BPF_ANY);
	return ret == -ENOSPC ? -EAGAIN : ret; /* created before --prefixes was raised */
}

static int change_in_place(const struct change *change)
{
	const struct rl_policy_header *next = &change->compiled.header;
	struct rl_policy_header *live = header_in_force_map(change->instance);
	int ret;

	if (!live)
		return -EAGAIN;
	/* First all fields that are also correct while the trie still has the old element. */
	live->next_limit_id = next->next_limit_id;
	live->next_counter_id = next->next_counter_id;
	live->next_comment_id = next->next_comment_id;
	live->rules = next->rules;
	memcpy(live->lengths, next->lengths, sizeof(live->lengths));
	__atomic_store_n(&live->shortest4, next->shortest4, __ATOMIC_RELEASE);
	__atomic_store_n(&live->shortest6, next->shortest6, __ATOMIC_RELEASE);
	__atomic_store_n(&live->uses, next->uses, __ATOMIC_RELEASE);
	__atomic_store_n(&live->refusal_class.ipv6, next->refusal_class.ipv6, __ATOMIC_RELEASE);
	if (next->prefixes > live->prefixes)
		__atomic_store_n(&live->prefixes, next->prefixes, __ATOMIC_RELEASE);
	ret = element_exchange(change);
	if (!ret)
		ret = packets_loads_order();
	if (!ret) {
		__atomic_store_n(&live->prefixes, next->prefixes, __ATOMIC_RELEASE);
		__atomic_store_n(&live->generation, next->generation, __ATOMIC_RELEASE);
	}
	munmap(live, sizeof(*live));
	return ret;
}

/* Compiles the new rules of the prefix and reads the current ones; -EAGAIN if the whole policy must
 * be rewritten. */
static int change_compile(struct change *change, struct policy *current)
{
	struct policy_context text;
	struct compile_context ctx;
	struct rl_policy_header header;
	bool trie_has;
	int ret = policy_part_read(change->instance, change->prefix, false, &header, current);

	if (ret < 0)
		return ret == -ENOENT ? -EAGAIN : ret; /* no policy was written yet */
	trie_has = ret;
	ret = comments_read(change->instance, current);
	if (ret < 0)
		return ret;
	instance_context(change->instance, &text);
	instance_compile_context(change->instance, &text, &ctx);
	ret = rules_room(change->instance, &ctx.rules_room);
	if (ret)
		return ret;
	return prefix_compile(change->prefix, trie_has, change->next, current, &header, &ctx,
			      &change->compiled);
}

static int change_put(struct change *change)
{
	const struct instance *instance = change->instance;
	int ret = policy_program_ready(instance, &change->compiled);

	if (ret)
		return ret;
	ret = compiled_rules_write(instance, &change->compiled, change->next);
	if (!ret && change->prefix->kind == PREFIX_ADDR)
		ret = change_in_place(change);
	else if (!ret)
		ret = policy_header_swap(instance, &change->compiled.header);
	return ret && ret != -EAGAIN ? report_write_error(instance, ret) : ret;
}

/* The whole policy after the change. */
static int whole_read(const struct instance *instance, const struct rule *prefix,
		      const struct policy *next, struct policy *out)
{
	int ret = instance_policy_read(instance, out);

	if (ret)
		return ret;
	ret = policy_prefix_replace(out, prefix, next);
	return ret ? report_write_error(instance, ret) : 0;
}

int instance_prefix_check(const struct instance *instance, const struct rule *prefix,
			  struct policy *next)
{
	struct policy whole = {0};
	int ret = trial_refuse(instance);

	if (!ret)
		ret = whole_read(instance, prefix, next, &whole);
	if (!ret)
		ret = instance_policy_check(instance, &whole, NULL);
	policy_clear(&whole);
	return ret;
}

int instance_prefix_write(const struct instance *instance, const struct rule *prefix,
			  struct policy *next)
{
	struct change change = {.instance = instance, .prefix = prefix, .next = next};
	struct policy current = {0}, whole = {0};
	int ret = trial_refuse(instance);

	if (ret)
		return ret;
	ret = change_compile(&change, &current);
	if (!ret) {
		ret = change_put(&change);
		if (ret && ret != -EAGAIN) /* then the whole policy is written */
			policy_write_undo(instance);
	} else if (ret != -EAGAIN && ret != -EINVAL) {
		report_read_error(instance, ret);
	}
	if (!ret) {
		comments_remove(instance, &current, next);
		lru_notes(instance, &current, next);
		policy_change_tell(instance, &current, next);
		if (instance->info.hook == RL_HOOK_EGRESS)
			fq_missing_note(instance, next);
	} else if (ret == -EAGAIN) {
		ret = whole_read(instance, prefix, next, &whole);
		if (!ret)
			ret = instance_policy_write(instance, &whole, false, NULL, NULL);
	}
	compiled_clear(&change.compiled);
	policy_clear(&current);
	policy_clear(&whole);
	return ret;
}
