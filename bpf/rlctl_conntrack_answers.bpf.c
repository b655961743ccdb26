// SPDX-License-Identifier: GPL-2.0-only
/* Both: connection tracking says who is established, and the programs send answers. */
#define EXTENDED       1
#define ASKS_CONNTRACK 1
#define ANSWERS        1
#include "rlctl.bpf.c"
