// SPDX-License-Identifier: GPL-2.0-only
/* The class of packets whose refusals are remembered: none where a limit holds for all packets,
 * else that of the first limit of `any` which has one.
 */
#include <netinet/in.h>
#include <stdio.h>

#include "compile_helpers.h"
#include "policy_helpers.h"

#define BY_PROTO .ipv6 = 1, .match = RL_MATCH_PROTO, .proto
#define BY_PORTS .ipv6 = 1, .match = RL_MATCH_DPORT, .dport_first
#define BY_BOTH  .ipv6 = 1, .match = RL_MATCH_PROTO | RL_MATCH_DPORT, .proto
#define IS(...)             \
	true,               \
	{                   \
		__VA_ARGS__ \
	}
#define FOR_ALL   \
	true,     \
	{         \
		0 \
	}
#define FOR_NOBODY \
	false,     \
	{          \
		0  \
	}

static const struct row {
	const char *text;
	bool remembered;
	struct rl_refusal_class class;
} rows[] = {
	{"any limit 9/s", FOR_ALL},
	{"any limit 9/s; rule any udp limit 9/s", FOR_ALL},
	{"10.0.0.0/8 limit 9/s; rule any udp limit 9/s", FOR_ALL},
	{"any udp limit 9/s", IS(BY_PROTO = IPPROTO_UDP)},
	{"any tcp limit 9/s; rule any udp limit 9/s", IS(BY_PROTO = IPPROTO_TCP)},
	{"any udp dport 53 limit 9/s",
	 IS(BY_BOTH = IPPROTO_UDP, .dport_first = 53, .dport_last = 53)},
	{"any dport 7-9 limit 9/s", IS(BY_PORTS = 7, .dport_last = 9)},
	{"any tcp deny; rule any udp limit 9/s", IS(BY_PROTO = IPPROTO_UDP)},
	{"any udp limit 9/s over drop unless established", IS(BY_PROTO = IPPROTO_UDP)},
	{"any udp not established limit 9/s", IS(BY_PROTO = IPPROTO_UDP)},
	{"any tcp syn limit 9/s; rule any udp limit 9/s", IS(BY_PROTO = IPPROTO_UDP)},
	{"any udp limit 9/s; rule 2001:db8::/64 deny", IS(BY_PROTO = IPPROTO_UDP)},
	{"any udp limit 9/s; rule 2001:db8::1 deny",
	 IS(.match = RL_MATCH_PROTO, .proto = IPPROTO_UDP)},
	{"10.0.0.0/8 udp limit 9/s", FOR_NOBODY},
	{"any tcp syn limit 9/s", FOR_NOBODY},
	{"any udp established limit 9/s", FOR_NOBODY},
	{"any udp dport 7,9 limit 9/s", FOR_NOBODY},
	{"any udp not dport 7 limit 9/s", FOR_NOBODY},
	{"any not udp limit 9/s", FOR_NOBODY},
	{"any udp sport 7 limit 9/s", FOR_NOBODY},
	{"any udp ttl 1-9 limit 9/s", FOR_NOBODY},
	{"any udp limit 9/s for 1h", FOR_NOBODY},
	{"any udp limit 9/s per dest", FOR_NOBODY},
	{"any udp limit 9/s over count", FOR_NOBODY},
	{"any udp limit 9/s over ban 1h", FOR_NOBODY},
	{"any udp dport 53 allow; rule any udp limit 9/s", FOR_NOBODY},
	{"any sctp limit 9/s over ban 1h; rule any udp limit 9/s", IS(BY_PROTO = IPPROTO_UDP)},
	{"any tcp limit 9/s over ban 1h; rule any udp limit 9/s", FOR_NOBODY},
};

ROWS(row_test, rows, row)
{
	struct compile_context ctx = roomy;
	struct policy_errors errors;
	CLEARED_COMPILED struct compiled compiled;
	CLEARED_POLICY struct policy policy;
	char text[256];

	ctx.hot = true;
	snprintf(text, sizeof(text), "rule %s", row->text);
	assert_int_equal(compile_first(text, &ctx, &policy, &compiled, &errors), 0);
	assert_int_equal(compiled.header.uses & RL_USE_REFUSALS4 ||
				 RL_REFUSES_CLASS(&compiled.header),
			 row->remembered);
	assert_int_equal(!!(compiled.header.uses & RL_USE_REFUSALS4),
			 row->remembered && !row->class.match);
	assert_memory_equal(&compiled.header.refusal_class, &row->class, sizeof(row->class));
}
