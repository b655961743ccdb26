// SPDX-License-Identifier: GPL-2.0-only
/* harness.h: contents of the maps. */
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/units.h"
#include "harness.h"

void harness_reasons(struct harness *h, struct rl_amount out[RL_REASON_COUNT])
{
	struct rl_amount each[CPUS_MAX];

	for (uint32_t i = 0; i < RL_REASON_COUNT; i++) {
		out[i] = (struct rl_amount){0};
		assert_int_equal(bpf_map_lookup_elem(h->instance.fd.reasons, &i, each), 0);
		for (uint32_t cpu = 0; cpu < h->instance.info.cpus; cpu++)
			amount_add(&out[i], &each[cpu]);
	}
}

uint64_t harness_passed(struct harness *h)
{
	struct rl_amount reasons[RL_REASON_COUNT];
	uint64_t passed = 0;

	harness_reasons(h, reasons);
	for (int i = 0; i < RL_REASON_COUNT; i++)
		passed += reason_is_pass(i) ? reasons[i].packets : 0;
	return passed;
}

uint64_t harness_pressure(struct harness *h, enum rl_pressure what)
{
	uint64_t each[CPUS_MAX], sum = 0;
	uint32_t key = what;

	assert_int_equal(bpf_map_lookup_elem(h->instance.fd.pressure, &key, each), 0);
	for (uint32_t cpu = 0; cpu < h->instance.info.cpus; cpu++)
		sum += each[cpu];
	return sum;
}

struct rule harness_rule(struct harness *h, const char *text)
{
	CLEARED_POLICY struct policy policy = {0};
	struct policy_error err = {0};
	struct policy_context ctx;
	struct rule rule, *found;

	instance_context(&h->instance, &ctx);
	if (selector_parse(text, &ctx, &rule, &err))
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(instance_policy_read(&h->instance, &policy), 0);
	found = policy_find(&policy, &rule);
	if (found)
		rule = *found;
	else
		fail_msg("not in force: %s", text);
	return rule;
}

struct rule_counters harness_counters(struct harness *h, const char *text)
{
	struct rule rule = harness_rule(h, text);

	return harness_counters_of(h, &rule);
}

struct rule_counters harness_counters_of(struct harness *h, const struct rule *rule)
{
	struct rule one = *rule;
	struct policy policy = {.rules = &one, .count = 1};
	struct rule_counters counters;

	assert_int_equal(counters_read(&h->instance, &policy, &counters), 0);
	return counters;
}

struct rl_rule harness_numbers(struct harness *h, uint32_t index)
{
	struct policy policy = {0};
	struct rl_policy_header header;
	struct rl_rule numbers = {0};

	assert_int_equal(instance_policy_read(&h->instance, &policy), 0);
	assert_true(index < policy.count);
	assert_int_equal(policy_header_read(&h->instance, &header), 0);
	for (uint32_t i = 0; i < header.rules; i++) {
		uint32_t at = header.rules_begin + i;

		assert_int_equal(
			bpf_map_lookup_elem(h->policy_maps[POLICY_MAP_rules], &at, &numbers), 0);
		if (numbers.limit_id && numbers.limit_id == policy.rules[index].limit_id)
			break;
	}
	assert_int_equal(numbers.limit_id, policy.rules[index].limit_id);
	policy_clear(&policy);
	return numbers;
}

struct hot_key harness_key(struct harness *h, const struct rl_rule *numbers, const uint8_t addr[16])
{
	const struct rl_instance *info = &h->instance.info;
	struct rl_state_key key = {.limit_id = numbers->limit_id};

	memcpy(key.addr, addr, sizeof(key.addr));
	return hot_key_of_state(info->hot_seed, info->hot_sets - 1, numbers, &key);
}

struct rl_hot_slot *harness_slot(struct harness *h, const struct rl_rule *numbers,
				 const uint8_t addr[16])
{
	struct hot_key key = harness_key(h, numbers, addr);
	struct rl_hot_set *set = &h->table.sets[key.set];

	for (int i = 0; i < RL_HOT_WAYS; i++)
		if ((set->slot[i].fingerprint & ~HOT_FLAGS) == key.fingerprint)
			return &set->slot[i];
	return NULL;
}

void harness_neighbours(struct harness *h, const struct rl_rule *numbers, uint8_t from,
			uint8_t (*out)[16], uint32_t count)
{
	uint32_t set = 0, found = 0;

	for (uint32_t i = (uint32_t)from << 16; found < count; i++) {
		struct hot_key key;

		address_ip4(out[found], i);
		key = harness_key(h, numbers, out[found]);
		if (!found)
			set = key.set;
		found += key.set == set;
	}
}

size_t harness_forgive(struct harness *h, const uint8_t addr[16])
{
	struct source_entry *entries = NULL;
	CLEARED_POLICY struct policy policy = {0};
	size_t count = 0;

	assert_int_equal(instance_policy_read(&h->instance, &policy), 0);
	assert_int_equal(instance_source_read(&h->instance, &policy, addr, &entries, &count), 0);
	assert_int_equal(instance_source_forgive(&h->instance, entries, count), 0);
	free(entries);
	return count;
}

struct alarm_now harness_alarm(struct harness *h, const char *name)
{
	struct alarms_now all;

	assert_int_equal(alarms_read(&h->instance, &all), 0);
	for (uint32_t i = 0; i < all.count; i++)
		if (!strcmp(all.alarm[i].name, name))
			return all.alarm[i];
	fail_msg("no alarm of the name %s", name);
	return (struct alarm_now){0};
}
