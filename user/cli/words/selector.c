// SPDX-License-Identifier: GPL-2.0-only
/* Finds the one rule that the words of --rule select. */
#include "cli/words/selector.h"

#include <string.h>

int selector_option(const struct command *command, const struct instance *instance,
		    const struct policy *policy, const struct rule **out)
{
	const char *words = command->arguments[OPTION_RULE];
	struct policy_error err = {0};
	struct policy_context ctx;
	struct rule selector;
	size_t count;

	*out = NULL;
	if (!words)
		return 0;
	instance_context(instance, &ctx);
	if (selector_parse(words, &ctx, &selector, &err)) {
		fail_at("--rule", words, strlen(words), &err);
		return EXIT_USAGE;
	}
	*out = policy_select(policy, &selector, &count);
	if (!*out)
		return fail("%s: no such rule: %s (`rlctl rule list` lists the rules)",
			    instance->device, words);
	if (count > 1)
		return fail("%s: '%s' selects %zu rules: add the action to select one",
			    instance->device, words, count);
	return 0;
}
