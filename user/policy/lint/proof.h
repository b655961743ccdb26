/* SPDX-License-Identifier: GPL-2.0-only */
/* Which rules ask whether a packet is established (rlctl-policy(5), Proof of source). Pure. */
#pragma once

#include "policy/policy.h"

bool match_wants_established(const struct match *match);

/* not established */
bool match_wants_strangers(const struct match *match);

/* Can packets of the match be established, as far as protocol and `syn` say? */
bool match_may_be_established(const struct match *match);
