/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits with `share` of which a part is of no use, for lint. Pure. */
#pragma once

#include "policy/policy.h"

#define SHARE_LOSS_MAX 256

/* Is the strangers' part less than a packet a second? `text` says so. */
bool share_is_slow(const struct rule *rule, const struct policy_context *ctx,
		   char text[SHARE_LOSS_MAX]);

/* Does the match leave out a class, so that its part is always the others'? `text` says which. */
bool share_is_unused(const struct rule *rule, char text[SHARE_LOSS_MAX]);
