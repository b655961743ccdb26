/* SPDX-License-Identifier: GPL-2.0-only */
/* `while` behind rules, as map entries have it. */
#pragma once

#include <stdbool.h>

#include "compile/build.h"

bool rule_has_while(const struct rule *rule);

/* Is there nothing in it but `while`? Packets do not read such a one. */
bool extra_is_while(const struct rule *rule);

/* Notes `while` of the rule in its entry. Refuses an alarm that the policy lacks. */
void while_emit(struct build *b, const struct rule *rule, struct rl_rule *entry);
