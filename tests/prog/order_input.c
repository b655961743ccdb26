// SPDX-License-Identifier: GPL-2.0-only
/* Implements order_input.h. */
#include "order_input.h"

#include <string.h>

#include "base/units.h"

uint64_t seed, run_seed;

#define MS         NS_PER_MS
#define US         NS_PER_US
#define USUAL      NULL, 0, MS, 40, 9, 3000, 0
#define FAST       NULL, 0, 8 * US, 40, 9, 8000, 0
#define FEW        NULL, 0, 2 * MS, 5, 3, 3000, 0
#define MANY       NULL, 0, MS, 400, 9, 3000, 0
#define AT_TC      NULL, 0, MS, 40, 9, 3000, 1 << RL_HOOK_XDP
#define NOT_EGRESS NULL, 0, MS, 40, 9, 3000, 1 << RL_HOOK_EGRESS
#define CHANGING   4, MS, 40, 9, 2000, 0

/* Each has a limit that all packets share, and that refuses some of them. Up to TICKS_MIN ticks of
 * burst a limit goes by the precise clock (numbers.c). */
const struct row order_rows[] = {
	/* places of the shared limit */
	{"behind a bucket", "any limit 40/s burst 5; device limit 300/s burst 30", USUAL},
	{"by the precise clock", "any limit 40/s burst 5; device limit 300/s burst 9", USUAL},
	{"of one prefix, beside a bucket",
	 "any limit 300/s burst 30 per rule; any limit 40/s burst 5", USUAL},
	{"several",
	 "any limit 900/s burst 90 per rule; any udp limit 500/s burst 9 per rule; any dport 1-2 limit 300/s burst 40 per rule; any limit 30/s burst 5; device limit 800/s burst 80; device tcp limit 300/s burst 5",
	 USUAL},
	{"leaky buckets",
	 "any limit leaky-bucket 97/s queue 40ms; any limit leaky-bucket 900/s queue 9 per rule; device limit leaky-bucket 800/s queue 90",
	 USUAL},
	{"in bytes",
	 "any limit 2mbit burst 20kbyte per rule; any limit 50/s burst 9; device limit 3mbit burst 6kbyte",
	 USUAL},
	{"in bytes alone", "device limit 2mbit burst 40kbyte", USUAL},
	{"in packets and in bytes",
	 "any limit 800/s burst 80 per rule; any limit 3mbit burst 50kbyte per rule; any limit 100kbit burst 9kbyte; device limit 700/s burst 9; device limit 2mbit burst 30kbyte",
	 USUAL},
	{"in batches",
	 "any limit 90000/s burst 6500 per rule; any limit 30000/s burst 300; device limit 80000/s burst 3000",
	 FAST},
	{"in batches of bytes",
	 "any limit 90000/s burst 6500 per rule; device limit 500mbit burst 500kbyte; device tcp limit 100mbit burst 900kbyte",
	 FAST},

	/* beside every algorithm and key */
	{"beside windows",
	 "any limit fixed-window 20/s; any limit sliding-window 90/s per dest; any limit sliding-log 20/s per source+dport; device limit 700/s burst 70",
	 USUAL},
	{"beside short windows",
	 "any udp limit fixed-window 3/7ms; any limit sliding-window 3/7ms slots 3 per dest; any limit sliding-log 2/3ms; device limit 700/s burst 7",
	 FEW},
	{"beside windows in bytes",
	 "any limit fixed-window 9kbyte/100ms; any limit sliding-window 99kbyte/s per dest; device limit 3mbit burst 30kbyte",
	 USUAL},
	{"beside windows per rule",
	 "any udp limit fixed-window 40/100ms per rule; any tcp limit sliding-log 30/50ms per rule; any limit sliding-window 900/s per rule; device limit 500/s burst 50",
	 USUAL},
	{"beside warm-up",
	 "any limit warm-up 100/s ramp 1s; device limit warm-up 900/s ramp 300ms; any limit 500/s burst 50 per rule",
	 USUAL},
	{"beside long keys",
	 "any limit 9/s burst 3 per flow; any limit 20/s burst 5 per source+dest; any limit 900/s burst 50 per source/24,48; device limit 400/s burst 40; device limit 30/s burst 9 per source+dport",
	 USUAL},
	{"with matches",
	 "any udp dport 1-2 limit 100/s burst 9; any tcp limit 300/s burst 9 per rule; any fragment limit 50/s burst 9 per rule; device udp dport 1-2 limit 200/s burst 90; device tcp limit 200/s burst 9; device syn limit 90/s burst 40; device icmp6 limit 50/s burst 5",
	 USUAL},
	{"of one protocol, whose refusals are remembered",
	 "any udp limit 20/s burst 5; any sctp limit 40/s burst 9; any limit 300/s burst 40 per dest; device limit 400/s burst 40",
	 USUAL},
	{"of some ports, whose refusals are remembered",
	 "any dport 1-2 limit 15/s burst 5; 10.0.0.0/30 dport 1-2 limit 9/s burst 3; 2001:db8::/64 udp allow; any tcp syn deny; device limit 400/s burst 40; device udp deny",
	 USUAL},
	{"for new sources",
	 "any limit 50/s burst 5; any new-source limit 5/s burst 9 per rule; device new-source limit 9/s burst 5; device limit 900/s burst 90",
	 MANY},

	/* bans begin with the same packet */
	{"behind a ban", "any limit 90/s burst 5 over ban 20ms; device limit 300/s burst 30",
	 USUAL},
	{"behind a ban of the source",
	 "any limit 90/s burst 5 over ban 20ms source; device limit 300/s burst 30", NOT_EGRESS},
	{"before a ban",
	 "any limit 500/s burst 50 per rule; device limit 40/s burst 3 per source over ban 20ms",
	 USUAL},
	{"before a ban of the source",
	 "any limit 500/s burst 50 per rule; device limit 40/s burst 3 per source over ban 20ms source",
	 NOT_EGRESS},
	{"around bans",
	 "any limit 400/s burst 40 per rule; any limit 90/s burst 9 per dest over ban 9ms; any udp limit 60/s burst 5 over ban 30ms; device limit 800/s burst 80; device tcp limit 40/s burst 5 per source over ban 20ms source; device udp limit 300/s burst 6",
	 NOT_EGRESS},
	{"bans itself",
	 "any limit 900/s burst 30 per rule over ban 3ms source; any limit 60/s burst 9; device limit 300/s burst 30 over ban 9ms source",
	 NOT_EGRESS},
	{"bans behind a bucket",
	 "any limit 10/s burst 3; device limit 300/s burst 30 over ban 20ms source", NOT_EGRESS},
	{"bans of a window",
	 "any limit fixed-window 9/100ms over ban 30ms source; any limit sliding-log 9/100ms per dest over ban 20ms; device limit 300/s burst 7",
	 NOT_EGRESS},

	/* limits that drop nothing */
	{"beside shadows",
	 "any limit 10/s burst 5 over count; any limit 500/s burst 50 per rule over count; any limit 90/s burst 9 per dest; device limit 300/s burst 30; device limit 300/s burst 30 per dest over count",
	 USUAL},
	{"beside marks",
	 "any limit 10/s burst 5 over mark 5; any limit 500/s burst 50 per rule over mark 6; any limit 300/s burst 50 per dest over mark 7; device limit 300/s burst 30; device limit 100/s burst 6 per dest over mark 9",
	 AT_TC},

	/* verdicts beside it */
	{"allowed prefixes",
	 "10.0.0.0/30 allow; 2001:db8::/64 tcp allow; any udp dport 1 allow; any limit 40/s burst 9; device limit 300/s burst 30",
	 USUAL},
	{"denied prefixes",
	 "10.0.0.0/30 deny; 2001:db8::/64 tcp deny; any udp dport 1 deny; any limit 400/s burst 9 per rule; device limit 300/s burst 30",
	 USUAL},
	{"the device's verdicts",
	 "any limit 40/s burst 9; device udp dport 1-2 allow; device icmp deny; device limit 300/s burst 30",
	 USUAL},
	{"a longer prefix shields",
	 "any limit 200/s burst 20 per rule; 10.0.0.0/24 limit 300/s burst 9 per rule; 10.0.0.1 udp limit 60/s burst 3 per rule; 2001:db8::/48 tcp limit 100/s burst 9 per rule; 2001:db8::/32 limit 50/s burst 5",
	 USUAL},
	{"prefixes and the device",
	 "10.0.0.0/25 limit 20/s burst 5; 10.0.0.1 limit 90/s burst 9 over ban 20ms; 2001:db8::/64 limit 300/s burst 30 per rule; device limit 600/s burst 60",
	 USUAL},
	{"neighbour discovery by name",
	 "fe80::/10 icmp6 limit 5/s burst 5 per rule; any limit 50/s burst 9; device limit 500/s burst 50",
	 USUAL},
	{"rules that expire",
	 "10.0.0.0/29 allow for 300ms; any limit 30/s burst 9; any udp limit 200/s burst 20 per rule for 500ms; device limit 150/s burst 15 for 350ms; device tcp limit 200/s burst 9 per source over ban 30ms for 250ms",
	 USUAL},

	/* another policy in the instant of a refusal */
	{"the rate grows", "any limit 40/s burst 5; device limit 200/s burst 20",
	 "any limit 40/s burst 5; device limit 20000/s burst 2000", CHANGING},
	{"another protocol's refusals are remembered",
	 "any udp limit 20/s burst 5; device limit 300/s burst 30",
	 "any tcp limit 20/s burst 5; device limit 300/s burst 30", CHANGING},
	{"the burst grows", "device limit 200/s burst 2; any limit 300/s burst 3 per rule",
	 "device limit 200/s burst 40; any limit 300/s burst 30 per rule", CHANGING},
	{"the limit goes", "any limit 40/s burst 5; device limit 200/s burst 20",
	 "any limit 40/s burst 5", CHANGING},
	{"all goes", "any limit 100/s burst 10 per rule; device limit 120/s burst 12", "",
	 CHANGING},
	{"another takes its place", "device limit 300/s burst 30; any limit 40/s burst 9",
	 "device udp limit 900/s burst 90; any limit 40/s burst 9", CHANGING},
	{"it is only counted", "device limit 300/s burst 30; any limit 40/s burst 9",
	 "device limit 300/s burst 30 over count; any limit 40/s burst 9", CHANGING},
	{"it counts bytes", "device limit 300/s burst 30", "device limit 1mbit burst 9kbyte",
	 CHANGING},
	{"it counts for each source", "device limit 300/s burst 30",
	 "device limit 300/s burst 30 per source", CHANGING},
	{"sources are allowed", "device limit 300/s burst 30; any limit 40/s burst 9",
	 "device limit 300/s burst 30; any limit 40/s burst 9; 10.0.0.0/29 allow; 2001:db8::/60 udp allow",
	 CHANGING},
	{"the device allows", "device limit 300/s burst 30",
	 "device udp allow; device limit 300/s burst 30", CHANGING},
	{"a ban comes before it", "any limit 40/s burst 5; device limit 300/s burst 30",
	 "any limit 40/s burst 5 over ban 20ms source; device limit 300/s burst 30", 4, MS, 40, 9,
	 2000, 1 << RL_HOOK_EGRESS},
	{"nothing changes", "any limit 400/s burst 40 per rule; device limit 500/s burst 50",
	 "any limit 400/s burst 40 per rule; device limit 500/s burst 50", CHANGING},

	{"for new sources alone", "any limit 50/s burst 5; device new-source limit 20/s burst 5",
	 MANY},
	{0},
};

const char *const capture_policies[] = {
	"any limit 50/s burst 20; device limit 200/s burst 20",
	"192.0.2.0/24 allow; any limit 8mbit burst 40kbyte per rule; any udp dport 53 limit 20/s burst 9; device limit 1000/s burst 9",
	"any limit 100/s burst 20 over ban 50ms; any limit sliding-window 500/s per rule; device new-source limit 500/s burst 50; device limit 300/s burst 30",
	"198.51.100.0/24 limit 300/s burst 30 per rule; any limit fixed-window 30/100ms over ban 1s source; device limit 16mbit burst 90kbyte; device udp dport 53 limit 900/s burst 9",
	NULL,
};

/* ---- packets */

static const char *const frame_words[] = {
	"ip4 udp", "ip4 udp data=1400", "ip4 tcp data=300", "ip4 syn", "8021q ip4 udp data=90",
	"ip4 frag=0+ udp data=400", "ip4 icmp data=60", "ip6 udp data=30", "ip6 tcp data=1200",
	"ip6 hop syn", "ip6 icmp6",
	/* as they are */
	"ip6=fe80::1>ff02::1:ff00:2 ns=fe80::2", "ip6=fe80::1 icmp6", "type=0x806 data=46",
	"ip4 udp longer=1"};
#define ADDRESSED 11
static struct frame frames[ARRAY_SIZE(frame_words)];

void frames_build(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frame_build(&frames[i], frame_words[i]);
}

/* Neighbours in the last bits and in the network's. */
void source_address(bool ip4, uint32_t n, uint8_t out[16])
{
	if (ip4)
		address_ip4(out, n % 20 + (n / 20 << 8));
	else
		address_ip6(out, n / 5 * 64, n % 5);
}

/* Half of them from the first three. */
static void address_draw(bool ip4, uint32_t count, uint8_t out[16])
{
	uint32_t n = random_under(&seed, random_under(&seed, 2) && count > 3 ? 3 : count);

	source_address(ip4, n, out);
}

static void frame_address(struct frame *frame, const struct row *row)
{
	bool ip4 = frame->bytes[frame->ip_at] >> 4 == 4;
	uint8_t addr[16];

	address_draw(ip4, row->sources, addr);
	frame_source(frame, addr);
	address_draw(ip4, row->dests, addr);
	frame_dest(frame, addr);
	if (frame->udp_at || frame->tcp_at)
		frame_ports(frame, 1 + random_under(&seed, 3), 1 + random_under(&seed, 4));
}

struct packet packet_draw(const struct row *row, bool skb)
{
	uint32_t n = random_under(&seed, random_under(&seed, 16) ? ADDRESSED : ARRAY_SIZE(frames));
	struct packet packet = {.frame = &frames[n], .words = frame_words[n]};

	if (n < ADDRESSED)
		frame_address(&frames[n], row);
	if (skb && frames[n].size > 250 && !random_under(&seed, 3))
		packet.gso_size = 100 + random_under(&seed, 400);
	return packet;
}

uint64_t wait_draw(const struct row *row)
{
	uint64_t wait_ns = row->wait_ns;

	if (random_under(&seed, 2))
		return 0;
	if (!random_under(&seed, 500))
		wait_ns *= 100;
	return random_under(&seed, wait_ns);
}

/* ---- random policies */

#define DRAW(words) ((words)[random_under(&seed, ARRAY_SIZE(words))])

static const char *const prefixes[] = {
	"any",    "any",         "any",           "device",      "device",
	"device", "10.0.0.0/29", "10.0.0.0/24",   "10.0.0.1",    "0.0.0.0/0",
	"::/0",   "fe80::/10",   "2001:db8::/64", "2001:db8::1", "2001:db8::/47"};
static const char *const matches[] = {"",
				      "",
				      "",
				      "",
				      "udp",
				      "tcp",
				      "syn",
				      "udp dport 1-2",
				      "new-source",
				      "sport 2",
				      "icmp6",
				      "fragment",
				      "dst 10.0.0.0/31"};
/* Beside the matches, where the program has the code for them. */
static const char *const proofs[] = {
	"established",         "not established", "tcp established", "new-source not established",
	"udp not established", "not udp",         "ttl 1-254",       "not fragment"};
static const char *const limits[] = {"100/s burst 9",
				     "1000/s burst 20",
				     "700/s burst 70",
				     "3000/s burst 300",
				     "50000/s burst 3300",
				     "20/s burst 3",
				     "400kbit burst 3kbyte",
				     "9mbit burst 90kbyte",
				     "leaky-bucket 97/s queue 40ms",
				     "leaky-bucket 900/s queue 9",
				     "fixed-window 20/100ms",
				     "fixed-window 30kbyte/90ms",
				     "sliding-window 90/s",
				     "sliding-window 9/70ms slots 3",
				     "sliding-log 90/s",
				     "sliding-log 3/9ms",
				     "warm-up 300/s ramp 1s"};
static const char *const keys[] = {"",         "",         "per source",       "per source/24,48",
				   "per dest", "per flow", "per source+dport", "per source+dest",
				   "per rule", "per rule", "per rule",         "per rule"};
static const char *const part_keys[] = {"per dest+dport", "per sport+dport",
					"per dest/30,127+proto", "per source/24,48+dest+proto"};
static const char *const overs[] = {"",
				    "",
				    "",
				    "",
				    "",
				    "over ban 20ms",
				    "over ban 30ms source",
				    "over count",
				    "over mark 7",
				    "over mark 8"};

#define ALARM "alarm busy when udp over 200/s for 200ms until under 100/s for 200ms"
static const char *const whiles[] = {"", "", "", "while busy", "while not busy"};

/* uses: what the program has the code for. */
static void statement_draw(uint64_t uses, char *out, size_t size)
{
	uint32_t action = random_under(&seed, 12);
	bool by_parts = uses & RL_USE_KEY_PARTS, proof = uses & RL_USE_PROOF;
	const char *key = by_parts && !random_under(&seed, 3) ? DRAW(part_keys) : DRAW(keys);
	const char *ends = random_under(&seed, 10) ? "" : "for 200ms";
	const char *match = proof && random_under(&seed, 2) ? DRAW(proofs) : DRAW(matches);
	const char *over =
		proof && random_under(&seed, 2) ? "over drop unless established" : DRAW(overs);
	const char *alarm = proof ? DRAW(whiles) : "";

	if (action < 2)
		snprintf(out, size, "rule %s %s %s %s %s", DRAW(prefixes), match,
			 action ? "allow" : "deny", ends, alarm);
	else
		snprintf(out, size, "rule %s %s limit %s %s %s %s %s", DRAW(prefixes), match,
			 DRAW(limits), key, over, ends, alarm);
}

static void append(char *text, size_t size, const char *line)
{
	size_t used = strlen(text);

	assert_true((size_t)snprintf(text + used, size - used, "%s\n", line) < size - used);
}

/* Some combinations mean nothing. */
static void statement_accepted(const struct harness *h, const struct policy_context *ctx,
			       char *line, size_t size)
{
	struct policy_error err;
	struct rule rule;
	bool found;

	do
		statement_draw(h->instance.info.program_uses, line, size);
	while (statement_parse(line, ctx, &rule, &found, &err));
}

void policy_draw(struct harness *h, struct row *row, char *rules, char *then, size_t size)
{
	static const uint64_t waits[] = {20 * US, 200 * US, MS, 3 * MS};
	static const uint32_t sources[] = {3, 12, 50, 300};
	uint32_t count = 2 + random_under(&seed, RL_GROUP_MAX - 1);
	struct policy_context ctx;

	instance_context(&h->instance, &ctx);
	row->wait_ns = DRAW(waits);
	row->sources = DRAW(sources);
	row->dests = DRAW(sources);
	*rules = '\0';
	*then = '\0';
	if (h->instance.info.program_uses & RL_USE_PROOF) {
		append(rules, size, ALARM);
		append(then, size, ALARM);
	}
	for (uint32_t i = 0; i < count; i++) {
		char line[256];

		statement_accepted(h, &ctx, line, sizeof(line));
		append(rules, size, line);
		if (!random_under(&seed, 3))
			statement_accepted(h, &ctx, line, sizeof(line));
		append(then, size, line);
	}
}
