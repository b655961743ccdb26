// SPDX-License-Identifier: GPL-2.0-only
/* Writes whole policies. The next policy is built where packets do not read, then one
 * slot is changed: a process that dies at any point leaves the old or the new policy in force. */

#include "kernel/policy/policy_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/message.h"
#include "kernel/attach/object.h"
#include "kernel/attach/program_fit.h"
#include "kernel/attach/qdisc.h"
#include "kernel/attach/trial_record.h"
#include "kernel/instance/change.h"
#include "kernel/maps/hot_table.h"
#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/maps/prefix_maps.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/policy/comments.h"
#include "kernel/policy/filters.h"
#include "kernel/policy/policy_read.h"
#include "kernel/proof/connections.h"
#include "kernel/scope.h"
#include "kernel/sets/sets.h"
#include "kernel/state/accounts.h"
#include "kernel/state/alarm_maps.h"
#include "kernel/state/share_counts.h"
#include "policy/alarm.h"
#include "policy/sets/set.h"

static int trie_write(const struct instance *instance, const struct compiled *compiled)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	uint32_t count = compiled->prefix_count;
	int ret;

	if (!count)
		return 0;
	FREED struct rl_prefix_key *keys = calloc(count, sizeof(*keys));
	FREED struct rl_prefix_value *values = calloc(count, sizeof(*values));
	if (!keys || !values)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		keys[i] = compiled->prefixes[i].key;
		values[i] = compiled->prefixes[i].value;
	}
	CLOSED int fd = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "rlctl_trie", sizeof(*keys),
				       sizeof(*values), instance->info.prefixes, &opts);
	ret = fd < 0 ? fd
		     : map_fill(fd, keys, sizeof(*keys), values, sizeof(*values), count,
				"prefixes");
	return ret ? ret : inner_put(instance, instance->fd.tries, compiled->header.half, fd);
}

static int extras_write(const struct instance *instance, const struct compiled *compiled)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP);
	const size_t size = sizeof(*compiled->extras);
	int ret;

	if (!compiled->extra_count)
		return 0;
	CLOSED int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_extras", sizeof(uint32_t), size,
				       compiled->extra_count, &opts);
	ret = fd < 0 ? fd : array_fill(fd, 0, compiled->extras, size, compiled->extra_count);
	return ret ? ret : inner_put(instance, instance->fd.extras, compiled->header.half, fd);
}

/* The kernel waits for running programs before it returns. */
int policy_header_swap(const struct instance *instance, const struct rl_policy_header *header)
{
	const struct inner_map map = {"rlctl_policy", sizeof(*header), BPF_F_MMAPABLE};

	return inner_make(instance, instance->fd.policy, 0, &map, header);
}

int report_write_error(const struct instance *instance, int error)
{
	fail("%s: writing the policy failed: %s%s; the previous policy stays in force",
	     instance->device, strerror(-error),
	     error == -ENOMEM ? " (no memory for its prefixes)" : "");
	return error;
}

int policy_program_ready(const struct instance *instance, const struct compiled *compiled)
{
	int ret = policy_maps_make(instance, compiled->header.uses);

	return ret ? report_write_error(instance, ret) : program_widen(instance, compiled);
}

int compiled_rules_write(const struct instance *instance, const struct compiled *compiled,
			 const struct policy *next)
{
	int ret = comments_write(instance, next);
	CLOSED int fd = ret ? ret : policy_map_open(instance, POLICY_MAP_rules);

	if (fd < 0)
		return fd;
	ret = array_fill(fd, compiled->header.rules_begin + compiled->first_rule, compiled->rules,
			 sizeof(*compiled->rules), compiled->rule_count);
	return ret ? ret : slots_prepare(instance, compiled);
}

void policy_in_force_settle(const struct instance *instance)
{
	struct compiled in_force = {0};

	if (!policy_header_read(instance, &in_force.header) && !extras_read(instance, &in_force) &&
	    !set_groups_read(instance, &in_force))
		policy_settle(instance, &in_force);
	compiled_clear(&in_force);
}

void policy_write_undo(const struct instance *instance)
{
	if (!instance->on_trial)
		policy_in_force_settle(instance);
}

/* Until the policy is in force. */
static int compiled_put(const struct instance *instance, const struct compiled *compiled,
			const struct policy *next)
{
	static int (*const steps[])(const struct instance *, const struct compiled *) = {
		extras_write, trie_write,   prefix_guide_write, index_write,
		sets_write,   alarms_write, alarms_go_on,       share_counts_begin,
	};
	int ret = policy_program_ready(instance, compiled);

	if (ret)
		return ret;
	ret = compiled_rules_write(instance, compiled, next);
	for (size_t i = 0; !ret && i < sizeof(steps) / sizeof(steps[0]); i++)
		ret = steps[i](instance, compiled);
	if (!ret)
		ret = connections_begin(instance, next);
	if (!ret)
		ret = policy_header_swap(instance, &compiled->header);
	return ret ? report_write_error(instance, ret) : 0;
}

static int compiled_write(const struct instance *instance, const struct compiled *compiled,
			  const struct policy *next)
{
	const struct instance_maps *fd = &instance->fd;
	const int halves[] = {fd->tries,      fd->guides, fd->extras,      fd->rule_index,
			      fd->set_groups, fd->alarms, fd->alarm_counts};
	int ret;

	inner_tidy(instance);
	ret = compiled_put(instance, compiled, next);
	if (ret) {
		policy_write_undo(instance);
		return ret;
	}
	for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++)
		inner_drop(instance, halves[i], !compiled->header.half);
	slots_trim(instance, compiled);
	comments_trim(instance, next);
	if (!instance->on_trial) { /* else the former policy may come back, with its states */
		connections_settle(instance, next);
		policy_settle(instance, compiled);
	}
	return 0;
}

static void report_compile_errors(const struct instance *instance, const struct policy_source *file,
				  const struct policy_errors *errors)
{
	for (size_t i = 0; i < policy_errors_kept(errors); i++) {
		const struct policy_error *err = &errors->first[i];

		if (!file || !err->line) {
			fail("%s: %s", instance->device, err->text);
		} else {
			struct policy_place place = policy_place(file, err->line);

			fail("%s:%u:%u: %s", place.name, place.line, err->column, err->text);
		}
	}
	if (errors->count > 1)
		fail("%s: %zu errors", file ? file->name : instance->device, errors->count);
	if (!errors->count)
		fail("%s: out of memory", instance->device);
}

/* The context of compiling a policy for the instance, and what it points to. */
struct compiling {
	struct policy_context text;
	struct compile_context ctx;
	struct rl_filters filters;
	struct rl_set sets[RL_SETS_MAX];
};

static int compiling_begin(const struct instance *instance, struct compiling *out)
{
	int ret;

	instance_context(instance, &out->text);
	instance_compile_context(instance, &out->text, &out->ctx);
	out->ctx.filters = &out->filters;
	out->ctx.sets = out->sets;
	ret = filters_read(instance, &out->filters);
	if (!ret)
		ret = sets_read(instance, out->sets);
	return ret ? ret : rules_room(instance, &out->ctx.rules_room);
}

static int policy_prepare(const struct instance *instance, struct policy *next, bool keep_expiry,
			  const struct policy_source *file, struct compiled *out,
			  struct policy *former)
{
	struct rl_policy_header header = {0};
	struct policy current = {0};
	struct policy_errors errors;
	struct compiling of;
	int ret = compiling_begin(instance, &of);

	of.ctx.rules_stay = !program_may_change();
	if (ret)
		report_read_error(instance, ret);
	else
		ret = policy_read(instance, &of.ctx, &header, &current);
	if (ret)
		return ret;
	ret = policy_compile(next, &current, &header, keep_expiry, &of.ctx, out, &errors);
	if (ret) {
		report_compile_errors(instance, file, &errors);
	} else {
		alarms_inherit(next, &current, out);
		lru_notes(instance, &current, next);
	}
	if (!ret && former)
		*former = current;
	else
		policy_clear(&current);
	return ret;
}

void policy_change_tell(const struct instance *instance, const struct policy *from,
			const struct policy *to)
{
	struct policy_context ctx;

	instance_context(instance, &ctx);
	instance_change_tell(instance,
			     (struct instance_change){
				     .kind = CHANGE_POLICY, .from = from, .to = to, .ctx = &ctx});
}

int instance_policy_write(const struct instance *instance, struct policy *next, bool keep_expiry,
			  const struct policy_source *file, struct policy *former)
{
	struct compiled compiled = {0};
	struct policy before = {0};
	int ret = trial_refuse(instance);

	if (!ret)
		ret = policy_prepare(instance, next, keep_expiry, file, &compiled, &before);
	if (!ret)
		ret = compiled_write(instance, &compiled, next);
	if (!ret && instance->info.hook == RL_HOOK_EGRESS && !instance->clock_injected)
		fq_missing_note(instance, next);
	if (!ret)
		policy_change_tell(instance, &before, next);
	/* If it fails, the next one finds what is left. */
	if (!ret && compiled.header.uses & RL_USE_ACCOUNTS && !instance->clock_injected)
		(void)accounts_sweep(instance);
	compiled_clear(&compiled);
	if (!ret && former)
		*former = before;
	else
		policy_clear(&before);
	return ret;
}

/* The rules still own their slots: the next policy did not reuse the slots of the policy in force,
 * and limit ids are never reused. The policy on trial may have the same alarms, which then go on.
 */
int instance_policy_restore(const struct instance *instance, const struct policy *before)
{
	struct rl_policy_header header = {0};
	struct policy next = {0}, on_trial = {0};
	struct compiled compiled = {0};
	struct instance settled = *instance;
	struct policy_errors errors;
	struct compiling of;
	int ret = 0;

	settled.on_trial = false; /* the policy on trial does not come back */
	policy_for_each (before, rule)
		ret = ret ? ret : policy_append(&next, rule);
	if (!ret)
		ret = policy_names_copy(&next, before);
	if (!ret)
		ret = compiling_begin(instance, &of);
	if (!ret)
		ret = policy_header_read(instance, &header);
	if (!ret)
		ret = policy_compile(&next, before, &header, true, &of.ctx, &compiled, &errors);
	if (ret)
		fail("%s: restoring the previous policy failed: %s", instance->device,
		     strerror(-ret));
	else {
		if (next.alarm_count && !policy_read(instance, &of.ctx, &header, &on_trial))
			alarms_inherit(&next, &on_trial, &compiled);
		ret = compiled_write(&settled, &compiled, &next);
	}
	compiled_clear(&compiled);
	policy_clear(&on_trial);
	policy_clear(&next);
	return ret;
}

int instance_policy_check(const struct instance *instance, struct policy *next,
			  const struct policy_source *file)
{
	struct compiled compiled = {0};
	int ret = policy_prepare(instance, next, true, file, &compiled, NULL);

	if (!ret)
		ret = program_widen_check(instance, &compiled);
	compiled_clear(&compiled);
	return ret;
}
