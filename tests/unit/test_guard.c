// SPDX-License-Identifier: GPL-2.0-only
/* The lockout guard without a kernel: the effect of a policy on an SSH session, the order of
 * effects from bad to worse, and the addresses that sshd puts into the environment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guard.h"
#include "policy_helpers.h"
#include "ssh_logins.h"
#include "ssh_session.h"
#include "units.h"

#define SESSION  "203.0.113.7 50000 192.0.2.1 22"
#define SESSION6 "2001:db8::7 50000 2001:db8:1::1 22"

static const struct policy_context by_source = {.mtu = 1500};
static const struct policy_context by_dest = {.mtu = 1500, .by_dest = true};

static struct verdict verdict_of(const char *text, const char *ssh,
				 const struct policy_context *ctx)
{
	struct policy policy = {0};
	struct policy_errors errors;
	struct verdict verdict;
	struct flow session;

	assert_int_equal(ssh_session_parse(ssh, &session), 0);
	if (policy_parse(text, strlen(text), ctx, NULL, &policy, &errors))
		fail_msg("%s: %s", text, errors.first[0].text);
	assert_int_equal(verdict_find(&policy, ctx->by_dest, &session, &verdict), 0);
	policy_clear(&policy);
	return verdict;
}

static const struct verdict_row {
	const char *name, *policy, *session;
	int danger;
	const struct policy_context *ctx;
} verdicts[] = {
	{"no rules", "", SESSION, SESSION_SAFE, NULL},
	{"any deny", "rule any deny", SESSION, SESSION_DENIED, NULL},
	{"any deny, IPv6", "rule any deny", SESSION6, SESSION_DENIED, NULL},
	{"its network denied", "rule 203.0.113.0/24 deny", SESSION, SESSION_DENIED, NULL},
	{"another denied", "rule 203.0.113.8 deny", SESSION, SESSION_SAFE, NULL},
	{"itself allowed", "rule any deny\nrule 203.0.113.7 allow", SESSION, SESSION_SAFE, NULL},
	{"its port allowed", "rule any deny\nrule 203.0.113.0/24 tcp dport 22 allow", SESSION,
	 SESSION_SAFE, NULL},
	{"another port allowed", "rule any deny\nrule 203.0.113.7 tcp dport 80 allow", SESSION,
	 SESSION_DENIED, NULL},
	{"only this source port allowed", "rule any deny\nrule any tcp sport 50000 allow", SESSION,
	 SESSION_DENIED, NULL},
	{"only SYN allowed", "rule any deny\nrule 203.0.113.7 tcp syn allow", SESSION,
	 SESSION_DENIED, NULL},
	{"allowed for a while", "rule any deny\nrule 203.0.113.7 allow for 1h", SESSION,
	 SESSION_DENIED, NULL},
	{"denied for a while", "rule any deny for 10m", SESSION, SESSION_DENIED, NULL},
	{"UDP denied", "rule any udp deny", SESSION, SESSION_SAFE, NULL},
	{"its port denied", "rule any tcp dport 22 deny", SESSION, SESSION_DENIED, NULL},
	{"another port denied", "rule any tcp dport 2222 deny", SESSION, SESSION_SAFE, NULL},
	{"fragments denied", "rule any fragment deny", SESSION, SESSION_SAFE, NULL},
	{"new connections denied", "rule any tcp syn deny", SESSION, SESSION_DENIED, NULL},
	{"other destination denied", "rule any dst 192.0.2.2 deny", SESSION, SESSION_SAFE, NULL},
	{"its destination denied", "rule any dst 192.0.2.1 deny", SESSION, SESSION_DENIED, NULL},
	{"destination not known", "rule any dst 192.0.2.2 deny", "203.0.113.7 50000 22",
	 SESSION_DENIED, NULL},
	{"denied by the device", "rule device tcp deny", SESSION, SESSION_DENIED, NULL},
	{"allowed before the device", "rule device tcp deny\nrule 203.0.113.7 allow", SESSION,
	 SESSION_SAFE, NULL},
	{"a longer prefix decides", "rule any deny\nrule 203.0.113.0/24 limit 100/second", SESSION,
	 SESSION_SAFE, NULL},
	{"a longer prefix decides for others",
	 "rule any deny\nrule 203.0.113.0/24 udp limit 100/second", SESSION, SESSION_DENIED, NULL},
	{"10 a second", "rule any limit 10/second", SESSION, SESSION_SAFE, NULL},
	{"9 a second", "rule any limit 9/second", SESSION, SESSION_SLOW, NULL},
	{"600 a minute", "rule any limit 600/minute", SESSION, SESSION_SAFE, NULL},
	{"599 a minute", "rule any limit 599/minute", SESSION, SESSION_SLOW, NULL},
	{"few of all", "rule device limit 5/second", SESSION, SESSION_SLOW, NULL},
	{"few bytes", "rule any limit 1279byte/second burst 2kbyte", SESSION, SESSION_SLOW, NULL},
	{"enough bytes", "rule any limit 1280byte/second burst 2kbyte", SESSION, SESSION_SAFE,
	 NULL},
	{"few bits", "rule any limit 10kbit burst 16kbit", SESSION, SESSION_SLOW, NULL},
	{"cold", "rule any limit warm-up 20/second ramp 10s", SESSION, SESSION_SLOW, NULL},
	{"warm", "rule any limit warm-up 30/second ramp 10s", SESSION, SESSION_SAFE, NULL},
	{"only counted", "rule any limit 1/second over count", SESSION, SESSION_SAFE, NULL},
	{"slow, and banned", "rule any limit 5/second over ban 1m", SESSION, SESSION_SLOW, NULL},
	{"fast, and banned", "rule any limit 1000/second over ban 1m", SESSION,
	 SESSION_MAY_BE_BANNED, NULL},
	{"its source is banned by a few new connections",
	 "rule any tcp dport 22 syn limit 6/minute over ban 1h source", SESSION, SESSION_BANNED,
	 NULL},
	{"IPv6, its source is banned by a few new connections",
	 "rule any tcp syn limit 6/minute over ban 1h source", SESSION6, SESSION_BANNED, NULL},
	{"its source is banned by many new connections",
	 "rule any tcp dport 22 syn limit 10/second over ban 1h source", SESSION,
	 SESSION_MAY_BE_BANNED, NULL},
	{"new connections are banned", "rule any tcp dport 22 syn limit 6/minute over ban 1h",
	 SESSION, SESSION_MAY_BE_BANNED, NULL},
	{"its source is banned by other packets",
	 "rule any udp dport 53 limit 5/second over ban 1h source", SESSION, SESSION_MAY_BE_BANNED,
	 NULL},
	{"other packets are banned", "rule any udp dport 53 limit 5/second over ban 1h", SESSION,
	 SESSION_SAFE, NULL},
	{"another source is banned", "rule 203.0.113.8 udp limit 5/second over ban 1h source",
	 SESSION, SESSION_SAFE, NULL},
	{"bans spare what is allowed",
	 "rule any tcp dport 22 allow\nrule any udp limit 5/second over ban 1h source", SESSION,
	 SESSION_SAFE, NULL},
	{"bans do not spare what is allowed elsewhere",
	 "rule any tcp dport 80 allow\nrule any udp limit 5/second over ban 1h source", SESSION,
	 SESSION_MAY_BE_BANNED, NULL},
	{"a ban of first connections only, allowed otherwise",
	 "rule 203.0.113.7 allow\nrule any tcp syn limit 6/minute over ban 1h source", SESSION,
	 SESSION_SAFE, NULL},
	{"a known source is not new",
	 "rule any new-source limit 5/second per source over ban 1h source", SESSION, SESSION_SAFE,
	 NULL},
	{"new connections denied, as not established", "rule any not established deny", SESSION,
	 SESSION_DENIED, NULL},
	{"what is established denied", "rule any established deny", SESSION, SESSION_DENIED, NULL},
	{"GRE denied, as not established", "rule any gre not established deny", SESSION,
	 SESSION_SAFE, NULL},
	{"slow, but for what is established",
	 "rule any limit 1/second over drop unless established", SESSION, SESSION_SAFE, NULL},
	{"slow for what is not established", "rule any not established limit 1/second", SESSION,
	 SESSION_SAFE, NULL},
	{"slow for what is established", "rule any established limit 1/second", SESSION,
	 SESSION_SLOW, NULL},
	{"slow, and answered", "rule any tcp limit 1/second over challenge", SESSION, SESSION_SLOW,
	 NULL},
	{"slow SYNs, answered", "rule any syn limit 1/second over challenge", SESSION, SESSION_SAFE,
	 NULL},
	{"slow, and truncated", "rule any limit 1/second over truncate", SESSION, SESSION_SLOW,
	 NULL},
	{"the device's bans", "rule device udp limit 5/second per source over ban 1h source",
	 SESSION, SESSION_MAY_BE_BANNED, NULL},
	{"denied rather than banned",
	 "rule any tcp deny\nrule any udp limit 5/second over ban 1h source", SESSION,
	 SESSION_DENIED, NULL},
	{"by destination, its source is banned",
	 "rule any udp limit 5/second per source over ban 1h source", SESSION,
	 SESSION_MAY_BE_BANNED, &by_dest},
	{"few new connections", "rule any tcp syn limit 1/minute", SESSION, SESSION_SAFE, NULL},
	{"few on its port", "rule any tcp dport 22 limit sliding-log 10/minute", SESSION,
	 SESSION_SLOW, NULL},
	{"by destination", "rule 192.0.2.1 deny", SESSION, SESSION_DENIED, &by_dest},
	{"by destination, its source", "rule 203.0.113.7 deny", SESSION, SESSION_SAFE, &by_dest},
};

static void verdict_test(void **state)
{
	const struct verdict_row *row = *state;
	struct verdict verdict =
		verdict_of(row->policy, row->session, row->ctx ? row->ctx : &by_source);

	assert_int_equal(verdict.danger, row->danger);
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
	{"from a possible ban to a likely one", "rule any limit 100/second over ban 1m",
	 "rule any tcp syn limit 5/minute over ban 1h source", true},
};

static void worse_test(void **state)
{
	const struct worse_row *row = *state;
	struct verdict current = verdict_of(row->current, SESSION, &by_source);
	struct verdict next = verdict_of(row->next, SESSION, &by_source);

	assert_int_equal(verdict_worse(&next, &current), row->worse);
}

static void rule_named_test(void **state)
{
	struct verdict verdict =
		verdict_of("rule any deny\nrule 203.0.113.7 limit 1/second", SESSION, &by_source);

	(void)state;
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

static void session_test(void **state)
{
	const struct session_row *row = *state;
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

static void title_test(void **state)
{
	const struct title_row *row = *state;

	assert_int_equal(sshd_title_is_login(row->title), row->login);
}

static struct CMUnitTest tests[ARRAY_SIZE(titles) + ARRAY_SIZE(verdicts) + ARRAY_SIZE(worse) +
			       ARRAY_SIZE(sessions) + 1] = {
	{"the rule that decides", rule_named_test, NULL, NULL, NULL},
};

int main(void)
{
	struct CMUnitTest *next = tests + 1;

	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++)
		*next++ = (struct CMUnitTest){verdicts[i].name, verdict_test, NULL, NULL,
					      (void *)&verdicts[i]};
	for (size_t i = 0; i < ARRAY_SIZE(worse); i++)
		*next++ = (struct CMUnitTest){worse[i].name, worse_test, NULL, NULL,
					      (void *)&worse[i]};
	for (size_t i = 0; i < ARRAY_SIZE(sessions); i++)
		*next++ = (struct CMUnitTest){sessions[i].name, session_test, NULL, NULL,
					      (void *)&sessions[i]};
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		*next++ = (struct CMUnitTest){titles[i].name, title_test, NULL, NULL,
					      (void *)&titles[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
