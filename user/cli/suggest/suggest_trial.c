// SPDX-License-Identifier: GPL-2.0-only
/* Counts what the suggestion would refuse: the program runs it, as in `rlctl simulate`. */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "cli/suggest/suggest.h"
#include "kernel/simulation.h"
#include "kernel/state/stats.h"
#include "policy/names.h"
#include "policy/policy.h"

struct suggest_trial {
	const struct suggest *suggest;
	struct simulate_local *local, none;
	struct simulation *simulation;
	struct policy policy;
	bool counted;
	struct instance_stats before; /* when packets began to count */
	struct suggest_outcome outcome;
};

static const struct policy_context context = {.mtu = 1500};

char *suggest_policy_text(const struct suggest *s, bool enforce)
{
	size_t size = 2 * SUGGEST_CLASSES_MAX * (SUGGEST_RULE_MAX + 1) + 1;
	char *text = malloc(size), *at = text, line[SUGGEST_RULE_MAX];

	if (!text)
		out_of_memory();
	*at = '\0';
	for (size_t i = 0; i < s->suggestion.count; i++)
		for (int sum = 0; sum < 2; sum++) {
			const struct suggest_class *class = &s->suggestion.classes[i];

			if (!suggest_has_rule(class, sum))
				continue;
			suggest_rule_print(line, &s->suggestion, class, sum, enforce);
			at += sprintf(at, "%s\n", line);
		}
	return text;
}

static int policy_make(const struct suggest *s, struct policy *out)
{
	char *text = suggest_policy_text(s, true);
	struct policy_errors errors;
	int ret = policy_parse(text, strlen(text), &context, NULL, out, &errors);

	if (ret && errors.count)
		fail("suggest: the policy is invalid: %s", errors.first[0].text);
	else if (ret)
		fail("out of memory");
	free(text);
	return ret;
}

int suggest_trial_open(const struct suggest *s, struct simulate_local *local, uint64_t now_ns,
		       struct suggest_trial **out)
{
	static const struct policy_source source = {.name = "the suggestion"};
	struct suggest_trial *trial = calloc(1, sizeof(*trial));
	int ret;

	if (!trial)
		return fail("out of memory");
	trial->suggest = s;
	trial->local = local ? local : &trial->none;
	ret = policy_make(s, &trial->policy);
	if (!ret)
		ret = simulation_open(&trial->policy, now_ns, &source, &trial->simulation);
	if (ret)
		suggest_trial_close(trial);
	else
		*out = trial;
	return ret;
}

void suggest_trial_close(struct suggest_trial *trial)
{
	if (!trial)
		return;
	simulation_close(trial->simulation);
	instance_stats_clear(&trial->before);
	policy_clear(&trial->policy);
	free(trial);
}

static void outcome_count(struct suggest_outcome *out, const struct captured *captured,
			  enum rl_reason reason)
{
	const struct rl_amount one = {.packets = 1, .bytes = captured->bytes};

	amount_add(&out->arrived, &one);
	if (reason == RL_REASON_OVER)
		amount_add(&out->refused, &one);
	out->malformed += reason == RL_REASON_MALFORMED;
}

int suggest_trial_run(struct suggest_trial *trial, const struct captured *captured, bool counts)
{
	enum rl_reason reason;
	bool ran;
	int ret = 0;

	if (captured->sent && !trial->local->stack)
		return 0;
	if (counts && !trial->counted) {
		ret = simulation_stats_read(trial->simulation, &trial->before);
		trial->counted = !ret;
	}
	if (!ret)
		ret = simulate_local_run(trial->local, trial->simulation, captured, &ran, &reason);
	if (!ret && ran && counts)
		outcome_count(&trial->outcome, captured, reason);
	return ret;
}

/* Packets that the rule of this line has dropped. */
static uint64_t line_dropped(const char *line, const struct instance_stats *stats)
{
	struct policy_error error;
	struct rule rule, *found;
	bool is_rule;

	if (!stats->rules || statement_parse(line, &context, &rule, &is_rule, &error))
		return 0;
	found = policy_find(&stats->policy, &rule);
	return found ? stats->rules[found - stats->policy.rules].dropped.packets : 0;
}

int suggest_trial_outcome(struct suggest_trial *trial, struct suggest_outcome *out)
{
	const struct suggestion *suggestion = &trial->suggest->suggestion;
	struct instance_stats after = {0};
	char line[SUGGEST_RULE_MAX];
	int ret = simulation_stats_read(trial->simulation, &after);

	if (ret)
		return ret;
	*out = trial->outcome;
	out->known = true;
	for (size_t i = 0; i < suggestion->count; i++)
		for (int sum = 0; sum < 2; sum++) {
			suggest_rule_print(line, suggestion, &suggestion->classes[i], sum, true);
			if (suggest_has_rule(&suggestion->classes[i], sum))
				out->by_rule[i][sum] = line_dropped(line, &after) -
						       line_dropped(line, &trial->before);
		}
	instance_stats_clear(&after);
	return 0;
}
