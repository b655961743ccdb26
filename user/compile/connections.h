/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits on open connections, as the programs that see the sockets use them: bpf/connections.bpf.c.
 */
#pragma once

#include "compile/build.h"

/* Once all rules are emitted: refuses more of them than there is room for. */
void connections_number(struct build *b);

/* Which connections the limit of the rule counts, and by what. */
void connection_limit_compile(const struct rule *rule, bool by_dest,
			      struct rl_connection_limit *out);
