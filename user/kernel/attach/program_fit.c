// SPDX-License-Identifier: GPL-2.0-only
/* The new program gets the constants of attach (seed, clock, sizes) from the instance map. A crash
 * leaves the old or the new program attached, or both behind a dispatcher. */

#include "kernel/attach/program_fit.h"

#include <errno.h>
#include <string.h>

#include "base/message.h"
#include "base/privilege.h"
#include "kernel/attach/companion.h"
#include "kernel/attach/features.h"
#include "kernel/attach/object.h"
#include "kernel/attach/tc.h"
#include "kernel/attach/xdp.h"
#include "kernel/failures.h"
#include "kernel/instance/find.h"
#include "kernel/maps/map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/filters.h"
#include "kernel/sets/sets.h"

static uint32_t program_number(const struct instance *instance)
{
	struct device_program program;

	return instance_program_find(instance, &program) ? 0 : program.id;
}

int program_swap(const struct instance *instance, uint32_t *before, uint32_t *after)
{
	struct rl_instance info = instance->info;
	uint32_t policy;
	int ret = 0;

	if (object_asks_conntrack(&instance->info))
		ret = conntrack_check(instance->device, &instance->info);
	if (ret)
		return ret;
	ret = map_id(instance->fd.policy, &policy);
	*before = program_number(instance);
	if (!ret) /* meanwhile any program counts as ours */
		ret = owner_record_write(instance->path, &instance->info, 0);
	if (ret) {
		fail("%s: replacing failed: %s", instance->device, strerror(-ret));
		return ret;
	}
	ret = info.mode == RL_MODE_TC
		      ? tc_program_put(instance->path, &info, instance->device, policy)
		      : xdp_program_replace(instance, policy);
	*after = ret ? *before : program_number(instance);
	owner_record_write(instance->path, &instance->info, *after);
	return ret;
}

/* ---- the program that a policy needs
 *
 * The instance map notes what the running program has the code for. A change of the program notes
 * first what the old and the new one have in common, with RL_USE_UNSETTLED: wherever a process is
 * killed, the program has at least what is noted, and that covers the policy in force. The next
 * writer then replaces the program in any case. */

static int uses_note(const struct instance *instance, struct rl_instance *info, uint64_t uses)
{
	int ret = instance_info_now(instance, info);

	if (ret)
		return ret;
	info->program_uses = uses;
	return map_put(instance->fd.instance, info);
}

static int report_change_error(const struct instance *instance, int error)
{
	fail("%s: changing its program failed: %s", instance->device, strerror(-error));
	return error;
}

/* The code and the maps that a program has, or is to have. */
struct fit {
	uint64_t uses;       /* of RL_USE_PROGRAM */
	uint32_t rules_room; /* of one half of its rules array */
	struct rl_filters filters;
};

static bool same_fit(const struct fit *a, const struct fit *b)
{
	return a->uses == b->uses && a->rules_room == b->rules_room &&
	       !memcmp(&a->filters, &b->filters, sizeof(a->filters));
}

static bool has_filters(const struct rl_filters *filters, const struct rl_filters *wanted)
{
	for (int i = 0; i < RL_FILTERS_MAX; i++)
		if (wanted->text[i][0] && strcmp(wanted->text[i], filters->text[i]) != 0)
			return false;
	return true;
}

/* Replaces the program by the one that is wanted. */
static int program_change(const struct instance *instance, struct rl_instance *info,
			  const struct fit *before, const struct fit *wanted)
{
	uint64_t noted = info->program_uses;
	uint32_t old, new;
	struct instance next = *instance;
	int ret;

	/* The filters are noted between the two notes of uses: a kill leaves those of the policy in
	 * force noted, perhaps with others. */
	ret = uses_note(instance, info, (before->uses & wanted->uses) | RL_USE_UNSETTLED);
	if (!ret)
		ret = filters_write(instance, &wanted->filters);
	if (!ret && wanted->rules_room > before->rules_room)
		ret = rules_grow(instance, wanted->rules_room);
	if (ret)
		return report_change_error(instance, ret);
	next.info = *info;
	next.info.program_uses = wanted->uses;
	ret = program_swap(&next, &old, &new);
	if (ret) {
		/* A replacement that failed may have put the new program there all the same. Where
		 * that lacks what the old one has, or has other rules, which are the same until the
		 * next policy, the note stays what both have. */
		filters_write(instance, &before->filters);
		if (!(before->uses & ~wanted->uses) && before->rules_room == wanted->rules_room &&
		    has_filters(&wanted->filters, &before->filters))
			uses_note(instance, info, noted);
		return ret;
	}
	ret = uses_note(instance, info, wanted->uses);
	return ret ? report_change_error(instance, ret) : 0;
}

/* ---- before a policy comes into force */

/* *wanted becomes what the program is to have, beside what it has. True if it has to be replaced
 * for that: after an interrupted change its filters may not be those that are noted, nor its rules
 * those that have a pin. */
static int fit_read(const struct instance *instance, struct rl_instance *info,
		    const struct compiled *next, struct fit *there, struct fit *wanted)
{
	int ret = instance_info_now(instance, info) ?: filters_read(instance, &there->filters)
		  ?: rules_room(instance, &there->rules_room);

	if (ret)
		return report_change_error(instance, ret);
	there->uses = info->program_uses & RL_USE_PROGRAM;
	*wanted = *there;
	wanted->uses |= next->header.uses & RL_USE_PROGRAM;
	if (wanted->rules_room < next->rules_room)
		wanted->rules_room = next->rules_room;
	filters_add(&wanted->filters, next);
	return info->program_uses & RL_USE_UNSETTLED || !same_fit(there, wanted);
}

/* Attach makes the companion and notes what the program will need. */
static int widen_unattached(const struct instance *instance, struct rl_instance *info,
			    const struct fit *there, const struct fit *wanted)
{
	int ret = filters_write(instance, &wanted->filters);

	if (!ret && wanted->rules_room > there->rules_room)
		ret = rules_grow(instance, wanted->rules_room);
	if (!ret)
		ret = uses_note(instance, info, wanted->uses);
	if (ret)
		return report_change_error(instance, ret);
	return instance_asks(info, wanted->uses) ? companion_attach(instance, info) : 0;
}

/* A companion that others have removed comes back with the next policy. */
static int widen(const struct instance *instance, struct rl_instance *info, uint64_t uses,
		 const struct fit *there, const struct fit *wanted, bool lacking)
{
	bool had_companion = info->companion;
	int ret = instance_asks(info, uses) ? companion_attach(instance, info) : 0;

	if (ret || !lacking)
		return ret;
	ret = program_change(instance, info, there, wanted);
	if (ret && info->companion && !had_companion)
		companion_detach(instance, info);
	return ret;
}

bool program_may_change(void)
{
	uint32_t raised;
	bool may = privileges_raise(PRIVILEGES_PROGRAM, &raised);

	privileges_lower(raised);
	return may;
}

int program_widen(const struct instance *instance, const struct compiled *next)
{
	uint64_t uses = next->header.uses;
	uint32_t raised;
	struct fit there, wanted, least;
	struct rl_instance info;
	int ret, lacking = fit_read(instance, &info, next, &there, &wanted);

	if (lacking < 0)
		return lacking;
	if (!has_pins(instance))
		return lacking ? report_change_error(instance, -EOPNOTSUPP) : 0;
	if (!lacking && !instance_asks(&info, uses))
		return 0;
	ret = filters_check(instance, &wanted.filters);
	if (ret)
		return ret;
	if (is_being_made(instance))
		return widen_unattached(instance, &info, &there, &wanted);
	/* Without the cache of prefixes their packets only take longer. */
	least = wanted;
	if (!(there.uses & RL_USE_PREFIXES))
		least.uses &= ~RL_USE_PREFIXES;
	if (privileges_raise(PRIVILEGES_PROGRAM, &raised)) {
		ret = widen(instance, &info, uses, &there, &wanted, lacking);
	} else if (lacking && (info.program_uses & RL_USE_UNSETTLED || !same_fit(&there, &least))) {
		fail("%s: for this policy the running program is replaced, as it has only the code "
		     "that the policy in force needs: that needs CAP_SYS_ADMIN, CAP_NET_ADMIN and "
		     "CAP_PERFMON: run it as root (sudo)",
		     instance->device);
		ret = -EPERM;
	}
	privileges_lower(raised);
	return ret;
}

/* Does the kernel load the program? */
static int load_check(const struct instance *instance, const struct rl_instance *info,
		      const struct rl_filters *filters)
{
	int ret = object_asks_conntrack(info) ? conntrack_check(instance->device, info) : 0;

	if (!ret)
		ret = filters_check(instance, filters);
	if (ret)
		return ret;
	ret = object_load_check(instance->path, info, filters);
	return ret ? report_load_failure(instance->device, info, LOAD_STAGE_PROGRAM, filters, ret)
		   : 0;
}

int program_widen_check(const struct instance *instance, const struct compiled *next)
{
	struct fit there, wanted;
	struct rl_instance info;
	uint32_t raised;
	int ret = fit_read(instance, &info, next, &there, &wanted);

	if (ret <= 0)
		return ret;
	info.program_uses = wanted.uses;
	ret = 0;
	if (privileges_raise(PRIVILEGES_PROGRAM, &raised))
		ret = load_check(instance, &info, &wanted.filters);
	privileges_lower(raised);
	return ret;
}

/* ---- when it is in force */

void policy_settle(const struct instance *instance, const struct compiled *policy)
{
	uint64_t uses = policy->header.uses;
	struct fit there = {0}, wanted = {.uses = uses & RL_USE_PROGRAM}; /* rules do not shrink */
	struct rl_instance info;
	uint32_t raised;
	int ret = 0;

	filters_add(&wanted.filters, policy);
	if (has_pins(instance) && !is_being_made(instance) && !instance_info_now(instance, &info) &&
	    !filters_read(instance, &there.filters)) {
		bool change, companion = info.companion && !instance_asks(&info, uses);

		there.uses = info.program_uses & RL_USE_PROGRAM;
		change = info.program_uses != wanted.uses || !same_fit(&there, &wanted);
		if (change || companion) {
			bool may = privileges_raise(PRIVILEGES_PROGRAM, &raised);

			if (may && change)
				ret = program_change(instance, &info, &there, &wanted);
			if (may && !ret && companion)
				companion_detach(instance, &info);
			privileges_lower(raised);
		}
	}
	if (ret) /* a program with more code than the policy needs is no error */
		note("%s: the policy is in force, but its program keeps code that it does not "
		     "need: the next change of the policy tries to replace it again",
		     instance->device);
	/* The code that its programs have, as far as it is known: the companion may have stayed
	 * where the program could not be replaced. */
	if (instance_info_now(instance, &info))
		uses |= RL_USE_PROGRAM;
	else
		uses |= info.program_uses | (info.companion ? RL_USE_ASKED | RL_USE_PROOF : 0);
	if (sets_settle(instance, policy->groups, uses & RL_USE_ANY_SETS))
		note("%s: the policy is in force, but its sets could not be tidied up: the next "
		     "change of the policy tries it again",
		     instance->device);
	policy_maps_trim(instance, uses);
}
