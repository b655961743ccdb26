/* SPDX-License-Identifier: GPL-2.0-only */
/* Which filter the kernel's verifier refuses. */
#pragma once

#include "rlctl_abi.h"

/* The first that the kernel refuses without the others; NULL: it takes each of them. */
const char *filter_blame(const struct rl_instance *info, const struct rl_filters *filters);
