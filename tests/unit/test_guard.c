// SPDX-License-Identifier: GPL-2.0-only
/* The lockout guard without a kernel: the effect of a policy on an SSH session, the order of
 * effects from bad to worse, and the addresses that sshd puts into the environment.
 */
#include <string.h>

#include "base/units.h"
#include "cli/guard/guard.h"
#include "cli/guard/ssh_sessions.h"
#include "policy_helpers.h"

#define SESSION  "203.0.113.7 50000 192.0.2.1 22"
#define SESSION6 "2001:db8::7 50000 2001:db8:1::1 22"

static const struct policy_context by_source = {.mtu = 1500};
static const struct policy_context by_dest = {.mtu = 1500, .by_dest = true};

/* The members of these two are known: the session is in one of them. */
static int known_len(const char *name, const uint8_t addr[16], void *arg)
{
	(void)addr;
	(void)arg;
	if (!strcmp(name, "mine"))
		return 128;
	return strcmp(name, "others") ? SET_UNKNOWN : SET_NO_MEMBER;
}

static const struct set_members known = {.len = known_len};

#define TAIL " over 99/s for 1s until under 9/s for 9s\n"
#define SETS "set mine\nset others\nset x\nset y\nalarm a when" TAIL "alarm b when" TAIL

static struct policy policy_of(const char *rules, const struct policy_context *ctx)
{
	struct policy policy = {0};
	struct policy_errors errors;
	char text[65536];

	assert_in_range(snprintf(text, sizeof(text), SETS "%s", rules), 1, sizeof(text) - 1);
	if (policy_parse(text, strlen(text), ctx, NULL, &policy, &errors))
		fail_msg("%s: %s", text, errors.first[0].text);
	return policy;
}

static struct verdict verdict_of(const char *text, const char *ssh,
				 const struct policy_context *ctx)
{
	CLEARED_POLICY struct policy policy = policy_of(text, ctx);
	struct verdict verdict;
	struct flow session;

	assert_int_equal(ssh_session_parse(ssh, &session), 0);
	assert_int_equal(verdict_find(&policy, ctx->by_dest, &session, &known, &verdict), 0);
	return verdict;
}

static const struct verdict_row {
	const char *name, *policy, *session;
	int danger;
	const struct policy_context *ctx;
} verdicts[] = {
	{"no rules", "", SESSION, SESSION_SAFE},
	{"any deny", "rule any deny", SESSION, SESSION_DENIED},
	{"any deny, IPv6", "rule any deny", SESSION6, SESSION_DENIED},
	{"its network denied", "rule 203.0.113.0/24 deny", SESSION, SESSION_DENIED},
	{"another denied", "rule 203.0.113.8 deny", SESSION, SESSION_SAFE},
	{"itself allowed", "rule any deny\nrule 203.0.113.7 allow", SESSION, SESSION_SAFE},
	{"its port allowed", "rule any deny\nrule 203.0.113.0/24 tcp dport 22 allow", SESSION,
	 SESSION_SAFE},
	{"another port allowed", "rule any deny\nrule 203.0.113.7 tcp dport 80 allow", SESSION,
	 SESSION_DENIED},
	{"only this source port allowed", "rule any deny\nrule any tcp sport 50000 allow", SESSION,
	 SESSION_DENIED},
	{"only SYN allowed", "rule any deny\nrule 203.0.113.7 tcp syn allow", SESSION,
	 SESSION_DENIED},
	{"allowed for a while", "rule any deny\nrule 203.0.113.7 allow for 1h", SESSION,
	 SESSION_DENIED},
	{"denied for a while", "rule any deny for 10m", SESSION, SESSION_DENIED},
	{"UDP denied", "rule any udp deny", SESSION, SESSION_SAFE},
	{"its port denied", "rule any tcp dport 22 deny", SESSION, SESSION_DENIED},
	{"another port denied", "rule any tcp dport 2222 deny", SESSION, SESSION_SAFE},
	{"fragments denied", "rule any fragment deny", SESSION, SESSION_SAFE},
	{"new connections denied", "rule any tcp syn deny", SESSION, SESSION_DENIED},
	{"other destination denied", "rule any dst 192.0.2.2 deny", SESSION, SESSION_SAFE},
	{"its destination denied", "rule any dst 192.0.2.1 deny", SESSION, SESSION_DENIED},
	{"destination not known", "rule any dst 192.0.2.2 deny", "203.0.113.7 50000 22",
	 SESSION_DENIED},
	{"denied by the device", "rule device tcp deny", SESSION, SESSION_DENIED},
	{"allowed before the device", "rule device tcp deny\nrule 203.0.113.7 allow", SESSION,
	 SESSION_SAFE},
	{"a longer prefix decides", "rule any deny\nrule 203.0.113.0/24 limit 100/second", SESSION,
	 SESSION_SAFE},
	{"a longer prefix decides for others",
	 "rule any deny\nrule 203.0.113.0/24 udp limit 100/second", SESSION, SESSION_DENIED},
	{"10 a second", "rule any limit 10/second", SESSION, SESSION_SAFE},
	{"9 a second", "rule any limit 9/second", SESSION, SESSION_SLOW},
	{"600 a minute", "rule any limit 600/minute", SESSION, SESSION_SAFE},
	{"599 a minute", "rule any limit 599/minute", SESSION, SESSION_SLOW},
	{"few of all", "rule device limit 5/second", SESSION, SESSION_SLOW},
	{"few bytes", "rule any limit 1279byte/second burst 2kbyte", SESSION, SESSION_SLOW},
	{"enough bytes", "rule any limit 1280byte/second burst 2kbyte", SESSION, SESSION_SAFE},
	{"few bits", "rule any limit 10kbit burst 16kbit", SESSION, SESSION_SLOW},
	{"cold", "rule any limit warm-up 20/second ramp 10s", SESSION, SESSION_SLOW},
	{"warm", "rule any limit warm-up 30/second ramp 10s", SESSION, SESSION_SAFE},
	{"only counted", "rule any limit 1/second over count", SESSION, SESSION_SAFE},
	{"slow, and banned", "rule any limit 5/second over ban 1m", SESSION, SESSION_SLOW},
	{"fast, and banned", "rule any limit 1000/second over ban 1m", SESSION,
	 SESSION_MAY_BE_BANNED},
	{"its source is banned by a few new connections",
	 "rule any tcp dport 22 syn limit 6/minute over ban 1h source", SESSION, SESSION_BANNED},
	{"IPv6, its source is banned by a few new connections",
	 "rule any tcp syn limit 6/minute over ban 1h source", SESSION6, SESSION_BANNED},
	{"its source is banned by many new connections",
	 "rule any tcp dport 22 syn limit 10/second over ban 1h source", SESSION,
	 SESSION_MAY_BE_BANNED},
	{"new connections are banned", "rule any tcp dport 22 syn limit 6/minute over ban 1h",
	 SESSION, SESSION_MAY_BE_BANNED},
	{"its source is banned by other packets",
	 "rule any udp dport 53 limit 5/second over ban 1h source", SESSION, SESSION_MAY_BE_BANNED},
	{"other packets are banned", "rule any udp dport 53 limit 5/second over ban 1h", SESSION,
	 SESSION_SAFE},
	{"another source is banned", "rule 203.0.113.8 udp limit 5/second over ban 1h source",
	 SESSION, SESSION_SAFE},
	{"bans spare what is allowed",
	 "rule any tcp dport 22 allow\nrule any udp limit 5/second over ban 1h source", SESSION,
	 SESSION_SAFE},
	{"bans do not spare what is allowed elsewhere",
	 "rule any tcp dport 80 allow\nrule any udp limit 5/second over ban 1h source", SESSION,
	 SESSION_MAY_BE_BANNED},
	{"a ban of first connections only, allowed otherwise",
	 "rule 203.0.113.7 allow\nrule any tcp syn limit 6/minute over ban 1h source", SESSION,
	 SESSION_SAFE},
	{"a known source is not new",
	 "rule any new-source limit 5/second per source over ban 1h source", SESSION, SESSION_SAFE},
	{"new connections denied, as not established", "rule any not established deny", SESSION,
	 SESSION_DENIED},
	{"what is established denied", "rule any established deny", SESSION, SESSION_DENIED},
	{"GRE denied, as not established", "rule any gre not established deny", SESSION,
	 SESSION_SAFE},
	{"slow, but for what is established",
	 "rule any limit 1/second over drop unless established", SESSION, SESSION_SAFE},
	{"slow for what is not established", "rule any not established limit 1/second", SESSION,
	 SESSION_SAFE},
	{"slow for what is established", "rule any established limit 1/second", SESSION,
	 SESSION_SLOW},
	{"slow, and answered", "rule any tcp limit 1/second over challenge", SESSION, SESSION_SLOW},
	{"slow SYNs, answered", "rule any syn limit 1/second over challenge", SESSION,
	 SESSION_SAFE},
	{"slow, and truncated", "rule any limit 1/second over truncate", SESSION, SESSION_SLOW},
	{"the device's bans", "rule device udp limit 5/second per source over ban 1h source",
	 SESSION, SESSION_MAY_BE_BANNED},
	{"denied rather than banned",
	 "rule any tcp deny\nrule any udp limit 5/second over ban 1h source", SESSION,
	 SESSION_DENIED},
	{"by destination, its source is banned",
	 "rule any udp limit 5/second per source over ban 1h source", SESSION,
	 SESSION_MAY_BE_BANNED, &by_dest},
	{"few new connections", "rule any tcp syn limit 1/minute", SESSION, SESSION_SAFE},
	{"few on its port", "rule any tcp dport 22 limit sliding-log 10/minute", SESSION,
	 SESSION_SLOW},
	{"by destination", "rule 192.0.2.1 deny", SESSION, SESSION_DENIED, &by_dest},
	{"in a set that is denied", "rule @mine deny", SESSION, SESSION_DENIED},
	{"not in a set that is denied", "rule @others deny", SESSION, SESSION_SAFE},
	{"perhaps in a set that is denied", "rule @x deny", SESSION, SESSION_DENIED},
	{"in a set that is allowed", "rule any deny\nrule @mine allow", SESSION, SESSION_SAFE},
	{"perhaps in a set that is allowed", "rule any deny\nrule @x allow", SESSION,
	 SESSION_DENIED},
	{"perhaps in a set, but allowed by its address", "rule @x deny\nrule 203.0.113.7 allow",
	 SESSION, SESSION_SAFE},
	{"perhaps in a set that is limited", "rule @x limit 1/second", SESSION, SESSION_SLOW},
	{"src of its set", "rule any src @mine deny", SESSION, SESSION_DENIED},
	{"src of none of its sets", "rule any not src @others deny", SESSION, SESSION_DENIED},
	{"perhaps src of a set", "rule any src @x deny", SESSION, SESSION_DENIED},
	{"perhaps not src of a set", "rule any not src @x deny", SESSION, SESSION_DENIED},
	{"perhaps dst of a set", "rule any dst @x deny", SESSION, SESSION_DENIED},
	{"dst of its set", "rule any deny\nrule any dst @mine allow", SESSION, SESSION_SAFE},
	{"by destination, its source", "rule 203.0.113.7 deny", SESSION, SESSION_SAFE, &by_dest},
	/* Matches of few policies. Rules that cut the session must be found. */
	{"its port denied in a list", "rule any tcp dport 21-23,80 deny", SESSION, SESSION_DENIED},
	{"its port is between those of a list", "rule any tcp dport 21,23-80 deny", SESSION,
	 SESSION_SAFE},
	{"its port last in a list of 16",
	 "rule any dport 1,3,5,7,9,11,13,15,17,19,20,24,26,28,30,22 deny", SESSION, SESSION_DENIED},
	{"all ports but others denied", "rule any tcp not dport 80,443 deny", SESSION,
	 SESSION_DENIED},
	{"all ports but its own denied", "rule any tcp not dport 22,443 deny", SESSION,
	 SESSION_SAFE},
	{"its port allowed in a list", "rule any deny\nrule any tcp dport 22,443 allow", SESSION,
	 SESSION_SAFE},
	{"all ports but its own allowed", "rule any deny\nrule any tcp not dport 22 allow", SESSION,
	 SESSION_DENIED},
	{"two long lists of ports denied",
	 "rule any tcp sport 1,3,5,7,9,11,13,15,17,50000 dport 2,4,6,8,10,12,14,16,18,22 deny",
	 SESSION, SESSION_DENIED},
	{"two long lists of ports allow too little",
	 "rule any deny\n"
	 "rule any tcp sport 1,3,5,7,9,11,13,15,17,50000 dport 2,4,6,8,10,12,14,16,18,22 allow",
	 SESSION, SESSION_DENIED},
	{"another protocol denied, said by not", "rule any not tcp deny", SESSION, SESSION_SAFE},
	{"all but UDP denied", "rule any not udp deny", SESSION, SESSION_DENIED},
	{"all that is no fragment denied", "rule any not fragment deny", SESSION, SESSION_DENIED},
	{"all sources but its own denied", "rule any not src 203.0.113.0/24 deny", SESSION,
	 SESSION_SAFE},
	{"all sources but others denied", "rule any not src 10.0.0.0/8 deny", SESSION,
	 SESSION_DENIED},
	{"IPv6, all sources but some of IPv4 denied", "rule any not src 10.0.0.0/8 deny", SESSION6,
	 SESSION_DENIED},
	{"all destinations but its own denied", "rule any not dst 192.0.2.1 deny", SESSION,
	 SESSION_SAFE},
	{"all destinations but others denied", "rule any not dst 192.0.2.2 deny", SESSION,
	 SESSION_DENIED},
	{"all destinations but its own denied, destination not known",
	 "rule any not dst 192.0.2.1 deny", "203.0.113.7 50000 22", SESSION_DENIED},
	{"all but SYNs denied", "rule any tcp not syn deny", SESSION, SESSION_DENIED},
	{"SYNs denied by flags", "rule any flags syn deny", SESSION, SESSION_DENIED},
	{"ACKs denied by flags", "rule any flags ack deny", SESSION, SESSION_DENIED},
	{"data denied by flags", "rule any flags psh/psh deny", SESSION, SESSION_DENIED},
	{"scans denied by flags",
	 "rule any flags none deny\nrule any flags fin,psh,urg deny\n"
	 "rule any flags syn,fin/syn,fin deny\nrule any flags syn,rst/syn,rst deny",
	 SESSION, SESSION_SAFE},
	{"resets denied", "rule any flags rst/rst deny", SESSION, SESSION_SAFE},
	{"only ACKs allowed", "rule any deny\nrule any tcp dport 22 flags ack/ack allow", SESSION,
	 SESSION_DENIED},
	{"SYNs and ACKs allowed",
	 "rule any deny\nrule any tcp dport 22 flags ack/ack allow\nrule any tcp dport 22 syn allow",
	 SESSION, SESSION_SAFE},
	{"flags that are not those of ACKs denied", "rule any tcp not flags ack/ack deny", SESSION,
	 SESSION_DENIED},
	{"SYN-ACKs denied, which come to no server", "rule any flags syn,ack/syn,ack deny", SESSION,
	 SESSION_SAFE},
	{"few SYN-ACKs, which come to no server", "rule any flags syn,ack limit 1/second per rule",
	 SESSION, SESSION_SAFE},
	{"few SYNs by flags", "rule any flags syn/syn,ack limit 1/minute", SESSION, SESSION_SAFE},
	{"few that are not ACKs", "rule any tcp not flags ack/ack limit 1/minute", SESSION,
	 SESSION_SAFE},
	{"few that are not SYNs", "rule any tcp not syn limit 1/second", SESSION, SESSION_SLOW},
	{"few that are not SYNs, by flags", "rule any tcp not flags syn/syn,ack limit 1/second",
	 SESSION, SESSION_SLOW},
	{"few with data", "rule any flags psh,ack limit 1/second", SESSION, SESSION_SLOW},
	{"its source is banned by a few SYNs by flags",
	 "rule any flags syn/syn,ack limit 6/minute over ban 1h source", SESSION, SESSION_BANNED},
	{"its source is banned by a few that are not ACKs",
	 "rule any tcp not flags ack/ack limit 6/minute over ban 1h source", SESSION,
	 SESSION_BANNED},
	{"small packets denied", "rule any tcp length 40-80 deny", SESSION, SESSION_DENIED},
	{"large packets denied", "rule any length 1000-65535 deny", SESSION, SESSION_DENIED},
	{"what is shorter than a segment denied", "rule any length 20-39 deny", SESSION,
	 SESSION_SAFE},
	{"IPv6, what is shorter than a segment denied", "rule any length 40-59 deny", SESSION6,
	 SESSION_SAFE},
	{"small packets allowed", "rule any deny\nrule any length 40-1000 allow", SESSION,
	 SESSION_DENIED},
	{"few large packets", "rule any tcp length 500-65535 limit 1/second", SESSION,
	 SESSION_SLOW},
	{"other TTLs than one denied", "rule any not ttl 64 deny", SESSION, SESSION_DENIED},
	{"far sources denied", "rule any ttl 2-40 deny", SESSION, SESSION_DENIED},
	{"the end of the way denied", "rule any ttl 0-1 deny", SESSION, SESSION_SAFE},
	{"one class denied", "rule any dscp af21 deny", SESSION, SESSION_DENIED},
	{"all classes but one denied", "rule any not dscp cs0 deny", SESSION, SESSION_DENIED},
	{"one class allowed", "rule any deny\nrule any dscp cs0 allow", SESSION, SESSION_DENIED},
	{"both sides of a class allowed",
	 "rule any deny\nrule any dscp cs0 allow\nrule any not dscp cs0 allow", SESSION,
	 SESSION_SAFE},
	{"a type of ICMP denied", "rule any icmp icmp-type echo-request deny", SESSION,
	 SESSION_SAFE},
	{"a payload denied", "rule any tcp payload 0 5353482d deny", SESSION, SESSION_DENIED},
	{"all payloads but one denied", "rule any tcp not payload 0 5353482d deny", SESSION,
	 SESSION_DENIED},
	{"a payload denied at another port", "rule any tcp dport 80 payload 0 5353482d deny",
	 SESSION, SESSION_SAFE},
	{"a payload of UDP denied", "rule any udp payload 0 5353482d deny", SESSION, SESSION_SAFE},
	{"only a payload allowed", "rule any deny\nrule any tcp dport 22 payload 0 53 allow",
	 SESSION, SESSION_DENIED},
	{"a payload and its contrary allowed, and nothing without any",
	 "rule any deny\nrule any tcp payload 0 53 allow\nrule any tcp not payload 0 53 allow",
	 SESSION, SESSION_DENIED},
	{"few of a payload", "rule any tcp payload 0 00 limit 1/second", SESSION, SESSION_SLOW},
	{"a filter denied", "rule any filter \"tcp port 22\" deny", SESSION, SESSION_DENIED},
	{"all but a filter denied", "rule any not filter \"udp\" deny", SESSION, SESSION_DENIED},
	{"only a filter allowed", "rule any deny\nrule any filter \"tcp port 80\" allow", SESSION,
	 SESSION_DENIED},
	{"few of a filter", "rule any filter \"tcp port 22\" limit 1/second", SESSION,
	 SESSION_SLOW},
	{"a filter denied of another protocol", "rule any udp filter \"port 22\" deny", SESSION,
	 SESSION_SAFE},
	{"a filter denied at another port", "rule any tcp dport 80 filter \"len > 9\" deny",
	 SESSION, SESSION_SAFE},
	{"a filter denied of what is allowed",
	 "rule any tcp dport 22 allow\nrule any filter \"port 22\" deny", SESSION, SESSION_SAFE},
	{"all but known sources denied", "rule any new-source deny", SESSION, SESSION_DENIED},
	{"few of known sources", "rule any not new-source limit 1/second", SESSION, SESSION_SLOW},
	{"few, by parts", "rule any limit 5/second per dest+dport", SESSION, SESSION_SLOW},
	{"enough, by parts", "rule any limit 50/second per source+dport", SESSION, SESSION_SAFE},
	{"by destination, its peer is none of others", "rule 192.0.2.1 not src 10.0.0.0/8 deny",
	 SESSION, SESSION_DENIED, &by_dest},
	{"by destination, its peer is excepted", "rule 192.0.2.1 not src 203.0.113.7 deny", SESSION,
	 SESSION_SAFE, &by_dest},
};

ROWS(verdict_test, verdicts, row)
{
	struct verdict verdict =
		verdict_of(row->policy, row->session, row->ctx ? row->ctx : &by_source);

	assert_int_equal(verdict.danger, row->danger);
}

/* ---- more rules than are asked one by one, and more filters than are told apart */

static const struct many_row {
	const char *name, *first; /* first: a rule before them; "" */
	const char *rule;         /* with %u: a number */
	uint32_t from, count;
	const char *last; /* a rule behind them */
	int danger;
} many[] = {
	{"its port is one of hundreds denied", "", "rule any tcp dport %u deny", 3, 1000, "",
	 SESSION_DENIED},
	{"its port is none of hundreds denied", "", "rule any tcp dport %u deny", 23, 1000, "",
	 SESSION_SAFE},
	{"its port is the last of hundreds denied", "", "rule any tcp dport %u deny", 1000, 900,
	 "rule any tcp dport 20-22,24 deny", SESSION_DENIED},
	{"all but hundreds denied, with its own port", "rule any tcp dport 22 allow",
	 "rule any tcp dport %u allow", 1000, 500, "rule any deny", SESSION_SAFE},
	{"all but hundreds denied, without its own port", "", "rule any tcp dport %u allow", 1000,
	 500, "rule any deny", SESSION_DENIED},
	{"hundreds of limits, one of them slow", "", "rule any tcp dport %u limit 100/second", 1000,
	 900, "rule any tcp not dport 1000-2000 limit 1/second", SESSION_SLOW},
	{"hundreds of limits, none of them slow", "", "rule any tcp dport %u limit 100/second",
	 1000, 900, "rule any tcp dport 22 limit 100/second", SESSION_SAFE},
	{"hundreds of payloads allowed, and the rest denied", "",
	 "rule any tcp payload %u 53 allow", 0, 200, "rule any deny", SESSION_DENIED},
	{"the last of many payloads denied", "", "rule any udp payload %u 53 deny", 0, 60,
	 "rule any tcp payload 0 54 deny", SESSION_DENIED},
	{"many filters allowed, and the rest denied", "", "rule any filter \"tcp port %u\" allow",
	 1000, 32, "rule any deny", SESSION_DENIED},
};

ROWS(many_test, many, row)
{
	static char text[1 << 16];
	size_t used = snprintf(text, sizeof(text), "%s\n", row->first);

	for (uint32_t i = 0; i < row->count; i++) {
		used += snprintf(text + used, sizeof(text) - used, row->rule, row->from + i);
		used += snprintf(text + used, sizeof(text) - used, "\n");
	}
	used += snprintf(text + used, sizeof(text) - used, "%s", row->last);
	assert_true(used < sizeof(text));
	assert_int_equal(verdict_of(text, SESSION, &by_source).danger, row->danger);
}

/* Packets that the machine sends, seen from a hook at egress. */
NAMED_TEST("what the machine sends", answers_test)
{
	static const struct {
		const char *policy;
		int danger;
	} rows[] = {
		{"rule any flags syn,ack/syn,ack deny", SESSION_DENIED},
		{"rule any flags syn,ack deny", SESSION_DENIED},
		{"rule any syn deny", SESSION_SAFE},
		{"rule any not syn deny", SESSION_DENIED},
		{"rule any sport 22 deny", SESSION_DENIED},
		{"rule any sport 21,23 deny", SESSION_SAFE},
		{"rule any not sport 22 deny", SESSION_SAFE},
		{"rule any tcp dport 50000 deny", SESSION_DENIED},
		{"rule any deny\nrule any tcp dport 50000 allow", SESSION_DENIED},
		{"rule any deny\nrule any tcp sport 22 allow", SESSION_SAFE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEARED_POLICY struct policy policy = must_parse_lines(rows[i].policy, &by_source);
		struct verdict verdict;
		struct flow session, sent;

		assert_int_equal(ssh_session_parse(SESSION, &session), 0);
		sent = flow_reversed(&session);
		assert_int_equal(verdict_find(&policy, false, &sent, NULL, &verdict), 0);
		if (verdict.danger != (unsigned int)rows[i].danger)
			fail_msg("%s: %d, not %d", rows[i].policy, verdict.danger, rows[i].danger);
	}
}

/* Only a change for the worse needs confirmation. */
static const struct worse_row {
	const char *name, *current, *next;
	bool worse;
} worse[] = {
	{"from nothing to deny", "", "rule any deny", true},
	{"from nothing to slow", "", "rule any limit 1/second", true},
	{"the same deny", "rule any deny", "rule any deny\nrule 198.51.100.1 allow", false},
	{"another deny", "rule any deny", "rule 203.0.113.7 deny", false},
	{"from slow to deny", "rule any limit 1/second", "rule any deny", true},
	{"from deny to slow", "rule any deny", "rule any limit 1/second", false},
	{"the same slow", "rule any limit 5/second", "rule any limit 5/second", false},
	{"slower", "rule any limit 5/second", "rule any limit 4/second", true},
	{"less slow", "rule any limit 4/second", "rule any limit 5/second", false},
	{"fast and faster", "rule any limit 100/second", "rule any limit 50/second", false},
	{"safe again", "rule any deny", "", false},
	{"from nothing to a ban", "", "rule any tcp syn limit 6/minute over ban 1h source", true},
	{"the same ban", "rule any tcp syn limit 6/minute over ban 1h source",
	 "rule any tcp syn limit 6/minute over ban 2h source", false},
	{"sooner banned", "rule any tcp syn limit 6/minute over ban 1h source",
	 "rule any tcp syn limit 5/minute over ban 1h source", true},
	/* sets of which nothing is known */
	{"from nothing to a set", "", "rule @x deny", true},
	{"the same set", "rule @x deny", "rule @x deny\nrule 198.51.100.1 allow", false},
	{"from a set to any", "rule @x deny", "rule any deny", true},
	{"from one set to another", "rule @x deny", "rule @y deny", true},
	{"the same set, allowed", "rule any deny\nrule @x allow",
	 "rule any deny\nrule @x allow\nrule 198.51.100.1 allow", false},
	{"a set no longer allowed", "rule any deny\nrule @x allow", "rule any deny", true},
	{"beside a set that is allowed", "rule @x allow", "rule @x allow\nrule @y deny", true},
	{"a set no longer denied", "rule @x deny", "", false},
	{"src of a set no longer allowed", "rule any src @x allow\nrule any deny", "rule any deny",
	 true},
	/* alarms, which may go on at any time */
	{"from nothing to an alarm", "", "rule any deny while a", true},
	{"from nothing to none", "", "rule any deny while not a", true},
	{"the same alarm", "rule any deny while a", "rule any deny while a\nrule any udp deny",
	 false},
	{"the contrary", "rule any deny while a", "rule any deny while not a", true},
	{"from an alarm to always", "rule any deny while a", "rule any deny", true},
	{"from always to an alarm", "rule any deny", "rule any deny while a", false},
	{"another alarm", "rule any deny while a", "rule any deny while b", true},
	{"slow while an alarm is on", "", "rule any limit 1/second while a", true},
	{"allowed only while an alarm is on", "rule any deny\nrule 203.0.113.7 allow",
	 "rule any deny\nrule 203.0.113.7 allow while a", true},
	{"allowed while it is on and while it is not", "",
	 "rule any deny\nrule 203.0.113.7 allow while a\nrule 203.0.113.7 allow while not a",
	 false},
	{"allowed while the same alarm is on", "",
	 "rule any deny while a\nrule 203.0.113.7 allow while a", false},
	{"a set and an alarm", "rule @x deny while a", "rule @y deny while a", true},
	/* sets of which all is known */
	{"from nothing to its set", "", "rule @mine deny", true},
	{"from nothing to another set", "", "rule @others deny", false},
	{"its set no longer allowed", "rule any deny\nrule @mine allow", "rule any deny", true},
	{"from a possible ban to a likely one", "rule any limit 100/second over ban 1m",
	 "rule any tcp syn limit 5/minute over ban 1h source", true},
};

ROWS(worse_test, worse, row)
{
	CLEARED_POLICY struct policy before = policy_of(row->current, &by_source);
	CLEARED_POLICY struct policy after = policy_of(row->next, &by_source);
	struct verdict verdict;
	struct flow session;

	assert_int_equal(ssh_session_parse(SESSION, &session), 0);
	assert_int_equal(verdict_of_change(&before, &after, false, &session, &known, &verdict), 0);
	assert_int_equal(verdict.danger != SESSION_SAFE, row->worse);
}

NAMED_TEST("the rule that decides", rule_named_test)
{
	struct verdict verdict =
		verdict_of("rule any deny\nrule 203.0.113.7 limit 1/second", SESSION, &by_source);

	assert_int_equal(verdict.rule.kind, PREFIX_ADDR);
	assert_int_equal(verdict.danger, SESSION_SLOW);
}

static const struct session_row {
	const char *name, *text, *src; /* src NULL: refused */
	uint16_t sport, dport;
	bool dst_known;
} sessions[] = {
	{"SSH_CONNECTION", SESSION, "203.0.113.7", 50000, 22, true},
	{"SSH_CLIENT", "203.0.113.7 50000 2222", "203.0.113.7", 50000, 2222, false},
	{"IPv6", SESSION6, "2001:db8::7", 50000, 22, true},
	{"link-local with its zone", "fe80::1%eth0 50000 fe80::2%eth0 22", "fe80::1", 50000, 22,
	 true},
	{"IPv4 inside IPv6", "::ffff:203.0.113.7 50000 ::ffff:192.0.2.1 22", "203.0.113.7", 50000,
	 22, true},
	{"empty", "", NULL, 0, 0, false},
	{"a pipe", "UNKNOWN 65535 UNKNOWN 65535", NULL, 0, 0, false},
	{"words missing", "203.0.113.7 50000", NULL, 0, 0, false},
	{"no port", "203.0.113.7 x 192.0.2.1 22", NULL, 0, 0, false},
	{"a prefix", "203.0.113.0/24 50000 192.0.2.1 22", NULL, 0, 0, false},
};

ROWS(session_test, sessions, row)
{
	char text[PREFIX_TEXT_MAX];
	struct flow flow;
	int ret = ssh_session_parse(row->text, &flow);

	assert_int_equal(!ret, !!row->src);
	if (ret)
		return;
	prefix_print(text, sizeof(text), flow.src, 128);
	assert_string_equal(text, row->src);
	assert_int_equal(flow.sport, row->sport);
	assert_int_equal(flow.dport, row->dport);
	assert_int_equal(flow.dst_known, row->dst_known);
}

static const struct title_row {
	const char *name, *title;
	bool login;
} titles[] = {
	{"a shell", "sshd: root@pts/0", true},
	{"a command", "sshd: root@notty ", true},
	{"a tunnel", "sshd: root   ", true},
	{"since OpenSSH 9.8", "sshd-session: user@pts/1", true},
	{"a user of a domain", "sshd: user@example.net@pts/0", true},
	{"who waits for connections", "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups",
	 false},
	{"before the login", "sshd: [accepted]", false},
	{"asked for a password", "sshd: root [net]", false},
	{"a user of a domain, asked", "sshd: user@example.net [net]", false},
	{"who watches over another", "sshd: user [priv]", false},
	{"without a title", "/usr/sbin/sshd", false},
	{"another program", "nginx: root@pts/0", false},
	{"nothing", "", false},
};

ROWS(title_test, titles, row)
{
	assert_int_equal(sshd_title_is_login(row->title), row->login);
}
