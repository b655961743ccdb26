/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes of the policy, and trials. */
#pragma once

#include "cli/events/watched.h"

/* 0, -ENODEV or another negative errno; reports. */
int watched_policy_poll(struct watched *w, uint64_t now_ns);
