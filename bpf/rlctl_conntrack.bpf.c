// SPDX-License-Identifier: GPL-2.0-only
/* The programs of rlctl_extended.bpf.c for a machine that forwards: its connection tracking says
 * who is established. Apart, because a kernel without it refuses a program that names its
 * functions, and because these are found in the kernel's type information, which takes longer to
 * read.
 */
#define EXTENDED       1
#define ASKS_CONNTRACK 1
#include "rlctl.bpf.c"
