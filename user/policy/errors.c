// SPDX-License-Identifier: GPL-2.0-only
/* The list of a policy's errors. */

#include <string.h>

#include "policy/policy.h"

size_t policy_errors_kept(const struct policy_errors *errors)
{
	return errors->count < POLICY_ERRORS_MAX ? errors->count : POLICY_ERRORS_MAX;
}

static bool is_after(const struct policy_error *a, const struct policy_error *b)
{
	return a->line != b->line ? a->line > b->line : a->column > b->column;
}

void policy_errors_add(struct policy_errors *errors, const struct policy_error *err)
{
	size_t kept = policy_errors_kept(errors), at = kept;

	errors->count++;
	while (at && is_after(&errors->first[at - 1], err))
		at--;
	if (at == POLICY_ERRORS_MAX)
		return;
	if (kept == POLICY_ERRORS_MAX)
		kept--;
	memmove(&errors->first[at + 1], &errors->first[at], (kept - at) * sizeof(*err));
	errors->first[at] = *err;
}
