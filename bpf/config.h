/* SPDX-License-Identifier: GPL-2.0-only */
/* The constants of this program. On the host, the file that includes this says what they are. */
#pragma once

#include "rlctl_abi.h"

#ifdef __bpf__
const volatile struct rl_config config = {};
#endif
