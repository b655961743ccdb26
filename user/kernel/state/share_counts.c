// SPDX-License-Identifier: GPL-2.0-only
/* The program numbers limits that are shared anew in each policy (rl_parts.index). The counts of a
 * number are those of the limit that its state names: a policy that gives the number to another
 * limit zeroes them, and until a packet meets that limit it has none. */

#include "kernel/state/share_counts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "algorithm/share_step.h"
#include "base/units.h"
#include "kernel/maps/map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/header_in_force.h"
#include "kernel/scope.h"

const char *const share_class_names[RL_SHARE_COUNTS] = {"established", "known", "strangers",
							"unasked"};

bool has_share(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT && rule->limit.share[0];
}

bool has_classes(const struct rule *rule)
{
	return has_share(rule) && rule->limit.key == RL_KEY_RULE;
}

static size_t counts_size(const struct instance *instance)
{
	return instance->info.possible_cpus * sizeof(struct rl_share_counts);
}

/* ---- reading */

/* One element of a map, which the caller frees. */
static int element_read(const struct instance *instance, enum policy_map map, uint32_t index,
			size_t size, void **out)
{
	CLOSED int fd = policy_map_open(instance, map);
	int ret = fd < 0 ? fd : map_value_check(fd, size);

	*out = ret ? NULL : malloc(size);
	if (ret || !*out)
		return ret ? ret : -ENOMEM;
	return bpf_map_lookup_elem(fd, &index, *out);
}

/* The limits in force by their numbers; 0: the number is not in use. */
static int limits_read(const struct instance *instance, uint32_t limits[RL_SHARES_MAX])
{
	struct rl_policy_header header;
	struct rl_rule rule;
	int ret = policy_header_read(instance, &header);
	/* After the header: where the array has grown since, the larger one has what that names. */
	CLOSED int fd = ret ? ret : policy_map_open(instance, POLICY_MAP_rules);

	ret = fd < 0 ? fd : 0;
	for (uint32_t i = 0; !ret && i < header.rules; i++) {
		uint32_t index = header.rules_begin + i;

		ret = bpf_map_lookup_elem(fd, &index, &rule);
		if (!ret && rule.backend == RL_BACKEND_PARTS)
			limits[rule.parts.index % RL_SHARES_MAX] = rule.limit_id;
	}
	return ret;
}

static int counts_read(const struct instance *instance, uint32_t number, struct share_counts *out)
{
	FREED void *value = NULL;
	int ret = element_read(instance, POLICY_MAP_share_counts, number, counts_size(instance),
			       &value);
	const struct rl_share_counts *counts = value;

	for (uint32_t cpu = 0; !ret && cpu < instance->info.possible_cpus; cpu++)
		for (int i = 0; i < RL_SHARE_COUNTS; i++) {
			out->arrived[i] += counts[cpu].arrived[i];
			out->passed[i] += counts[cpu].passed[i];
		}
	return ret;
}

static uint64_t per_second(const struct rl_share *share, uint64_t amount)
{
	unsigned __int128 scaled = (unsigned __int128)amount * NS_PER_SECOND;

	return share->parts.step_ns ? (uint64_t)(scaled / share->parts.step_ns >> RL_SHARE_SHIFT)
				    : 0;
}

static void state_note(const struct rl_share *share, uint64_t now_ns, struct share_counts *out)
{
	const struct rl_share_part *part = &share->part[RL_SHARE_KNOWN]; /* of all keys */

	out->busy_ns = share->busy_ns;
	out->is_short = share->busy_ns > now_ns;
	if (!out->has_classes) {
		out->keys = share_senders(part, RL_SHARE_KNOWN) >> SHARE_SENDERS_SHIFT;
		out->key_pace = per_second(share, part->pace);
	}
	for (int i = 0; i < RL_SHARE_CLASSES; i++) {
		out->room[i] = per_second(share, share->part[i].room);
		out->pace[i] = per_second(share, share->part[i].pace);
	}
}

int share_counts_read(const struct instance *instance, const struct policy *policy,
		      struct share_counts **out)
{
	uint64_t now_ns = instance_now(instance);
	uint32_t limits[RL_SHARES_MAX] = {0};
	const struct rl_share *share;
	FREED void *shares = NULL;
	bool any = false;
	int ret;

	*out = NULL;
	policy_for_each (policy, rule)
		any = any || has_share(rule);
	if (!any)
		return 0;
	ret = element_read(instance, POLICY_MAP_shares, 0, sizeof(struct rl_shares), &shares);
	if (ret)
		return ret == -ENOENT ? 0 : ret; /* the policy has just gone */
	share = ((const struct rl_shares *)shares)->share;
	*out = calloc(policy->count, sizeof(**out));
	ret = *out ? limits_read(instance, limits) : -ENOMEM;
	for (size_t i = 0; !ret && i < policy->count; i++) {
		const struct rule *rule = &policy->rules[i];

		(*out)[i].has_classes = has_classes(rule);
		for (uint32_t n = 0; !ret && has_share(rule) && n < RL_SHARES_MAX; n++) {
			if (limits[n] != rule->limit_id || share[n].limit_id != rule->limit_id)
				continue;
			state_note(&share[n], now_ns, &(*out)[i]);
			ret = counts_read(instance, n, &(*out)[i]);
		}
	}
	if (ret) {
		free(*out);
		*out = NULL;
	}
	return ret;
}

/* ---- writing */

struct share_maps {
	struct rl_shares *shares;
	struct rl_share_counts *counts;
	size_t counts_size;
};

/* NULL with errno. */
static void *policy_map_whole(const struct instance *instance, enum policy_map map, size_t size)
{
	CLOSED int fd = policy_map_open(instance, map);

	if (fd >= 0)
		return map_whole(fd, size, PROT_READ | PROT_WRITE);
	errno = -fd;
	return NULL;
}

/* False: errno. */
static bool share_maps_open(const struct instance *instance, struct share_maps *out)
{
	out->counts_size = RL_SHARES_MAX * counts_size(instance);
	out->shares = policy_map_whole(instance, POLICY_MAP_shares, sizeof(*out->shares));
	if (!out->shares)
		return false;
	out->counts = policy_map_whole(instance, POLICY_MAP_share_counts, out->counts_size);
	if (!out->counts)
		munmap(out->shares, sizeof(*out->shares));
	return out->counts;
}

static void share_maps_close(struct share_maps *maps)
{
	munmap(maps->counts, maps->counts_size);
	munmap(maps->shares, sizeof(*maps->shares));
}

int share_counts_begin(const struct instance *instance, const struct compiled *compiled)
{
	struct share_maps maps;

	if (!(compiled->header.uses & RL_USE_PARTS))
		return 0;
	if (!share_maps_open(instance, &maps))
		return errno == ENOENT ? 0 : -errno;
	for (uint32_t i = 0; i < compiled->rule_count; i++) {
		const struct rl_rule *rule = &compiled->rules[i];
		uint32_t number = rule->parts.index % RL_SHARES_MAX;
		struct rl_share *share = &maps.shares->share[number];

		if (rule->backend != RL_BACKEND_PARTS || share->limit_id == rule->limit_id)
			continue;
		/* A step of the limit that still has the number may end meanwhile: then that limit
		 * counts as short for a second. */
		share->limit_id = 0;
		memset(&maps.counts[number * instance->info.possible_cpus], 0,
		       counts_size(instance));
		memset(share->arrived, 0, sizeof(share->arrived));
		memset(share->admitted, 0, sizeof(share->admitted));
	}
	share_maps_close(&maps);
	return 0;
}

int share_states_restart(const struct instance *instance)
{
	uint32_t cpus = instance->info.possible_cpus;
	struct share_maps maps;

	if (!share_maps_open(instance, &maps))
		return errno == ENOENT ? 0 : -errno;
	memset(maps.shares->share, 0, sizeof(maps.shares->share));
	for (uint32_t i = 0; i < RL_SHARES_MAX * cpus; i++) /* a step begins from the counts */
		for (int k = 0; k < RL_SHARE_COUNTS; k++) {
			maps.shares->share[i / cpus].arrived[k] += maps.counts[i].arrived[k];
			maps.shares->share[i / cpus].admitted[k] += maps.counts[i].admitted[k];
		}
	memset(maps.shares->bins, 0, sizeof(maps.shares->bins));
	maps.shares->next_ns = maps.shares->busy_ns = maps.shares->uneasy_ns = 0;
	share_maps_close(&maps);
	return 0;
}
