// SPDX-License-Identifier: GPL-2.0-only
/* A filter's bit is its place in rl_filters. The policy compiler gives a filter that the program
 * has its bit again, and a new one a free bit: so one program serves both the policy in force and
 * the next, while the one takes the place of the other. */

#include "kernel/policy/filters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/message.h"
#include "kernel/instance/pins.h"
#include "kernel/policy/filter_code.h"
#include "policy/filter.h"

static int filters_get(int fd, struct rl_filters *out)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(fd, &zero, out) ? -errno : 0;
}

int filters_read(const struct instance *instance, struct rl_filters *out)
{
	return filters_get(instance->fd.filters, out);
}

int filters_read_at(const char *path, struct rl_filters *out)
{
	int fd = pin_open_at(path, "filters", false), ret = fd < 0 ? fd : filters_get(fd, out);

	if (fd >= 0)
		close(fd);
	return ret;
}

int filters_write(const struct instance *instance, const struct rl_filters *filters)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(instance->fd.filters, &zero, filters, BPF_ANY) ? -errno : 0;
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

static enum filter_loads loads_of(const struct rl_instance *info)
{
	if (info->mode != RL_MODE_TC)
		return FILTER_LOADS_XDP;
	return info->outer_ip ? FILTER_LOADS_SKB_NETWORK : FILTER_LOADS_SKB;
}

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
	struct filter_program programs[RL_FILTERS_MAX] = {0};
	int ret = programs_make(filters, programs);

	if (!ret)
		ret = filter_code_make(programs, loads_of(info), out);
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
	struct bpf_insn *code = calloc(RL_FILTER_STEPS, sizeof(*code));
	int ret = code ? filters_code(&instance->info, filters, code) : -ENOMEM;

	free(code);
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
