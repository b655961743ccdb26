/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether one rule's matches hold wherever another's do. */
#pragma once

#include "policy/policy.h"

/* Does every packet with the matches of `inner` have those of `outer`, whenever `inner` holds?
 * False where that cannot be told. Prefixes do not count. */
bool match_within(const struct rule *inner, const struct rule *outer);

/* Do protocol or ports alone show that no packet has the matches of both? */
bool match_differs(const struct rule *a, const struct rule *b);
