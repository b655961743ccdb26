// SPDX-License-Identifier: GPL-2.0-only
/* Rules with filters, in the whole program: what tcpdump says of a packet from its IP header on,
 * behind Ethernet and VLAN tags, in frames of one piece and of several, at xdp and at tc; and which
 * bits the filters of a policy have.
 */
#include <string.h>

#include <linux/bpf.h>

#include "filter_oracle.h"
#include "harness.h"
#include "kernel/policy/filters.h"

static const char *const filters[] = {
	"udp port 53",
	"tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn",
	"ip6 and icmp6",
	"len > 200",
	"udp[300:2] = 0 or ip[250] = 0",
	"src net 10.0.0.0/8 or src net 2001:db8::/32",
	"ip[0] & 0xf > 5",
	"ip6[6] = 44 or ip6[42:2] = 53 and ip6[340:2] != 1",
	NULL,
};

/* Without VLAN tags: the oracle sees what is behind them. `seen`: what a filter sees it as, without
 * extension headers; NULL: as it is. */
static const struct frame_row {
	const char *words, *seen;
} frames[] = {
	{"ip4 udp=1000>53 data=20", NULL},
	{"ip4=10.1.2.3>192.0.2.1 udp=53>4000 data=400", NULL},
	{"ip4 options=12 tcp=1000>80 syn", NULL},
	{"ip4 options=40 udp=1000>53 data=500", NULL},
	{"ip4 tcp=1000>80 synack", NULL},
	{"ip4 frag=64 udp=1>53 data=60", NULL},
	{"ip4 frag=0+ udp=1000>53 data=60", NULL},
	{"ip4 gre data=64", NULL},
	{"ip6=2001:db8::1>2001:db8::2 udp=1000>53 data=20", NULL},
	{"ip6 icmp6 data=300", NULL},
	{"ip6 hop udp=1000>53 data=10", "ip6 udp=1000>53 data=10"},
	{"ip6 dst=20 udp=1000>53 data=300", "ip6 udp=1000>53 data=300"},
	{"ip6 hop routing dst ah=1 syn", "ip6 syn"},
	{"ip6 dst icmp6 data=9", "ip6 icmp6 data=9"},
	{"ip6 frag=0+ udp=1000>53 data=8", "ip6 udp=1000>53 data=8"},
	{"ip6 hop frag=0 dst udp=1000>53 data=8", "ip6 udp=1000>53 data=8"},
	{"ip6 frag=64 udp=1000>53 data=8", NULL},
	{"ip6 hop dst frag=64 udp=1000>53 data=8", "ip6 frag=64 udp=1000>53 data=8"},
};

static uint32_t ip_at(const struct frame *frame)
{
	return frame->ip_at;
}

static void frame_compare(struct harness *h, const struct filter_oracle *oracle, const char *filter,
			  const char *words, const char *seen)
{
	static struct frame frame;
	enum rl_reason reason, wanted;

	frame_build(&frame, seen);
	wanted =
		filter_oracle_holds(oracle, frame.bytes + ip_at(&frame), frame.size - ip_at(&frame))
			? RL_REASON_DENIED
			: RL_REASON_UNMATCHED;
	frame_build(&frame, words);
	reason = harness_run(h, &frame);
	if (reason != wanted)
		fail_msg("\"%s\", \"%s\": %s, not %s", filter, words, reason_name(reason),
			 reason_name(wanted));
}

static void frames_compare(const struct harness_options *options)
{
	static const char *const tags[] = {"", "8021q ", "8021ad 8021q "};
	struct harness *h = harness_must_open(options);
	char text[256], words[128];

	for (int i = 0; filters[i]; i++) {
		struct filter_oracle *oracle = filter_oracle_open(filters[i]);

		snprintf(text, sizeof(text), "any filter \"%s\" deny", filters[i]);
		harness_policy(h, text);
		for (size_t n = 0; n < ARRAY_SIZE(frames) * ARRAY_SIZE(tags); n++) {
			const struct frame_row *row = &frames[n / ARRAY_SIZE(tags)];

			snprintf(words, sizeof(words), "%s%s", tags[n % ARRAY_SIZE(tags)],
				 row->words);
			frame_compare(h, oracle, filters[i], words,
				      row->seen ? row->seen : row->words);
		}
		filter_oracle_close(oracle);
	}
	harness_close(h);
}

static const struct {
	const char *name;
	enum rl_hook hook;
} hooks[] = {{"xdp", RL_HOOK_XDP}, {"ingress", RL_HOOK_INGRESS}, {"egress", RL_HOOK_EGRESS}};

ROWS(at_hook, hooks, row)
{
	frames_compare(&(struct harness_options){.hook = row->hook,
						 .program_uses = RL_USE_FILTERS | RL_USE_EXTRAS,
						 .filters = filters});
}

static struct harness *filters_open(void)
{
	struct harness *h = harness_must_open(&(struct harness_options){
		.program_uses = RL_USE_FILTERS | RL_USE_EXTRAS, .filters = filters});

	return h;
}

/* Bytes behind the first piece are read as well. */
TEST(in_pieces)
{
	struct harness *h = filters_open();
	struct frame frame;
	enum rl_reason reason;

	harness_policy(h, "any filter \"udp[300:2] = 0 or ip[250] = 0\" deny");
	frame_build(&frame, "ip4 udp=1000>53 data=500");
	memset(frame.bytes + frame.udp_at + 8, 1, 500);
	if (!harness_pieces(h, &frame, 100, &reason)) {
		harness_close(h);
		skip();
	}
	assert_int_equal(reason, RL_REASON_UNMATCHED);
	memset(frame.bytes + frame.udp_at + 300, 0, 2);
	assert_true(harness_pieces(h, &frame, 100, &reason));
	assert_int_equal(reason, RL_REASON_DENIED);
	harness_close(h);
}

TEST(joined)
{
	struct harness *h = filters_open();

	harness_policy(h, "any filter \"udp port 53\" allow;"
			  "any udp not filter \"src net 10.0.0.0/8 or src net 2001:db8::/32\" deny;"
			  "any filter \"len > 200\" limit 1/d burst 1");
	harness_expect(h, "allowed", "ip4 udp=1>53 data=300", RL_REASON_ALLOWED);
	harness_expect(h, "not", "ip4=11.0.0.1>192.0.2.1 udp=1>54", RL_REASON_DENIED);
	harness_expect(h, "another protocol", "ip4=11.0.0.1>192.0.2.1 tcp=1>54",
		       RL_REASON_UNMATCHED);
	harness_expect(h, "its contrary", "ip4=10.0.0.1>192.0.2.1 udp=1>54", RL_REASON_UNMATCHED);
	harness_expect(h, "limit", "ip4=10.0.0.1>192.0.2.1 udp=1>54 data=300", RL_REASON_WITHIN);
	harness_expect(h, "limit", "ip4=10.0.0.1>192.0.2.1 udp=1>54 data=300", RL_REASON_OVER);
	harness_close(h);
}

/* A rule that has more conditions than there is room for beside its expression. */
TEST(with_many_conditions)
{
	struct harness *h = filters_open();

	harness_policy(h, "any filter \"udp port 53\" dport 1,3,5,7,9,11,53 not ttl 9 deny;"
			  "any filter \"len > 200\" udp deny");
	harness_expect(h, "all hold", "ip4 udp=53>9", RL_REASON_DENIED);
	harness_expect(h, "another port", "ip4 udp=53>10", RL_REASON_UNMATCHED);
	harness_expect(h, "another ttl", "ip4 udp=53>9 ttl=9", RL_REASON_UNMATCHED);
	harness_expect(h, "not the filter", "ip4 udp=52>9", RL_REASON_UNMATCHED);
	harness_expect(h, "the other rule", "ip4 udp=52>9 data=300", RL_REASON_DENIED);
	harness_close(h);
}

/* A policy may use what the program has; a policy says which bits it goes by. */
TEST(bits)
{
	struct harness *h = filters_open();
	struct compiled in_force = {0};
	struct rl_filters found = {0};

	harness_policy(h, "any filter \"len > 200\" deny; any filter \"udp port 53\" deny;"
			  "192.0.2.0/24 filter \"len > 200\" allow");
	assert_int_equal(policy_header_read(&h->instance, &in_force.header), 0);
	assert_int_equal(extras_read(&h->instance, &in_force), 0);
	filters_add(&found, &in_force);
	compiled_clear(&in_force);
	for (int i = 0; i < RL_FILTERS_MAX; i++)
		assert_string_equal(found.text[i], i == 0 || i == 3 ? filters[i] : "");
	harness_close(h);
}

/* 32 of them, the last with the highest bit. */
TEST(as_many_as_there_may_be)
{
	static char texts[RL_FILTERS_MAX][32], line[64];
	const char *many[RL_FILTERS_MAX + 1] = {0};
	struct harness *h;

	for (int i = 0; i < RL_FILTERS_MAX; i++) {
		snprintf(texts[i], sizeof(texts[i]), "udp dst port %d", 100 + i);
		many[i] = texts[i];
	}
	h = harness_must_open(&(struct harness_options){
		.program_uses = RL_USE_FILTERS | RL_USE_EXTRAS, .filters = many});
	for (int i = 0; i < RL_FILTERS_MAX; i++) {
		snprintf(line, sizeof(line), "any filter \"%s\" deny", texts[i]);
		harness_policy(h, line);
		snprintf(line, sizeof(line), "ip4 udp=1>%d", 100 + i);
		harness_expect(h, "its own", line, RL_REASON_DENIED);
		harness_expect(h, "another", "ip4 udp=1>99", RL_REASON_UNMATCHED);
	}
	harness_close(h);
}
