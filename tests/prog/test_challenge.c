// SPDX-License-Identifier: GPL-2.0-only
/* `over challenge`: which SYNs are answered, every byte of the answer, and at which rate. The
 * sockets are real ones, in a network namespace of the test's own.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "answer.h"
#include "base/units.h"
#include "harness.h"

#define LISTENS   2000 /* for both families */
#define LISTENS_6 2002 /* for IPv6 alone */
#define SERVER    "198.51.100.1"
#define SERVER_6  "2001:db8:1::1"
#define BANS      "limit 1/day burst 1 per source over ban 1m"
#define REFUSES   "limit 1/day burst 1 per rule " /* but for the first packet */

static struct harness *h;

/* ---- the namespace */

static void sysctl_set(const char *name, const char *value)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, value, strlen(value)), strlen(value));
	close(fd);
}

static void address_of(struct sockaddr_in6 *addr, const char *text, uint16_t port)
{
	*addr = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
	assert_int_equal(inet_pton(AF_INET6, text, &addr->sin6_addr), 1);
}

static int listener(uint16_t port, int ipv6_only)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_in6 addr;

	address_of(&addr, "::", port);
	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &ipv6_only, sizeof(ipv6_only)),
			 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* ---- the program */

static void harness_with(uint32_t mtu, uint32_t rate, bool real_time)
{
	harness_close(h);
	h = harness_must_open(&(struct harness_options){.table = RL_TABLE_HOT,
							.mtu = mtu,
							.program_uses = RL_USE_PROGRAM,
							.challenge_rate = rate,
							.real_time = real_time});
}

/* A policy of which every limit that refuses has admitted its packet already. */
static void policy(const char *text)
{
	static struct frame frame;

	sysctl_set("tcp_syncookies", "2");
	harness_renew(h, text);
	frame_build(&frame, "ip4 tcp");
	harness_repeat(h, &frame, 1);
}

static int listening = -1;

static int namespace_make(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNET) ||
	    system("ip link set lo up && ip addr add " SERVER "/32 dev lo && "
		   "ip addr add 192.0.2.1/32 dev lo && "
		   "ip addr add " SERVER_6 "/128 dev lo"))
		return -1;
	listening = listener(LISTENS, 0);
	listener(LISTENS_6, 1);
	harness_with(0, 0, true);
	policy("any " REFUSES "over challenge"); /* of all rows */
	return 0;
}

/* ---- which are answered */

#define MSS(high, low) "\x02\x04" high low
#define LINUX          MSS("\x05", "\xb4") "\x04\x02\x08\x0a\0\0\0\1\0\0\0\0\x01\x03\x03\x07"

static const struct row {
	const char *name, *words;
	const char *tcp_options; /* over what data= makes room for */
	uint32_t option_bytes;
	uint16_t flags; /* of TCP besides, with the four bits before them */
	uint16_t mss;   /* 0: not answered */
	enum rl_reason reason;
} rows[] = {
	{"IPv4", "ip4 syn", .mss = 536},
	{"IPv6", "ip6 syn", .mss = 1220},
	{"IPv6 at a socket of its own", "ip6 syn=1000>2002", .mss = 1220},
	{"MSS", "ip4 syn data=4 doff=6", MSS("\x05", "\xb4"), 4, .mss = 1460},
	{"MSS, IPv6", "ip6 syn data=4 doff=6", MSS("\x05", "\xa0"), 4, .mss = 1440},
	{"MSS that is smaller", "ip4 syn data=4 doff=6", MSS("\x05", "\x20"), 4, .mss = 1300},
	{"MSS of jumbo frames", "ip4 syn data=4 doff=6", MSS("\x23", "\x28"), 4, .mss = 1460},
	{"MSS of jumbo frames, IPv6", "ip6 syn data=4 doff=6", MSS("\x22", "\xec"), 4, .mss = 1440},
	{"MSS of nothing", "ip4 syn data=4 doff=6", MSS("\0", "\0"), 4, .mss = 536},
	{"options of Linux", "ip4 syn data=20 doff=10", LINUX, 20, .mss = 1460},
	{"options of Linux, IPv6", "ip6 syn data=20 doff=10", LINUX, 20, .mss = 1440},
	{"the longest header", "ip4 syn data=40 doff=15", .mss = 536},
	{"an option without length", "ip4 syn data=4 doff=6", "\x02\0\0\0", 4, .mss = 536},
	{"an option longer than the header", "ip4 syn data=4 doff=6", "\x02\x28\0\0", 4,
	 .mss = 536},
	{"an option that ends nowhere", "ip4 syn data=4 doff=6", "\1\1\1\2", 4, .mss = 536},
	{"fast open, with data", "ip4 syn data=512 doff=7", "\x22\x08TFO...", 8, .mss = 536},
	{"ECN", "ip4 syn", .flags = 0x1c0, .mss = 536},
	{"PSH and URG", "ip4 syn", .flags = 0x28, .mss = 536},
	{"tag", "8021q ip4 syn", .mss = 536},
	{"tag, IPv6", "8021q ip6 syn", .mss = 1220},
	{"two tags", "8021ad 8021q=4095 ip4 syn data=20 doff=10", LINUX, 20, .mss = 1460},
	{"two tags, IPv6", "8021ad 8021q=4095 ip6 syn data=20 doff=10", LINUX, 20, .mss = 1440},
	{"IPv4 options", "ip4 options=4 syn", .mss = 536},
	{"all IPv4 options, all TCP options", "8021q ip4 options=40 syn data=20 doff=10", LINUX, 20,
	 .mss = 1460},
	{"two tags, all IPv4 options", "8021ad 8021q ip4 options=40 syn", .mss = 536},
	{"padded", "ip4 syn pad=6", .mss = 536},
	{"padded, options", "ip4 options=8 syn pad=2", .mss = 536},
	{"a page", "ip4 syn data=1400", .mss = 536},

	{"ACK", "ip4 tcp", .reason = RL_REASON_OVER},
	{"SYN and ACK", "ip4 synack", .reason = RL_REASON_OVER},
	{"SYN and FIN", "ip4 syn", .flags = 1, .reason = RL_REASON_OVER},
	{"SYN and RST", "ip4 syn", .flags = 4, .reason = RL_REASON_OVER},
	{"UDP", "ip4 udp", .reason = RL_REASON_OVER},
	{"nobody listens", "ip4 syn=1000>2001", .reason = RL_REASON_OVER},
	{"nobody listens, IPv6", "ip6 syn=1000>2001", .reason = RL_REASON_OVER},
	{"only IPv6 listens", "ip4 syn=1000>2002", .reason = RL_REASON_OVER},
	{"from port 0", "ip4 syn=0>2000", .reason = RL_REASON_OVER},
	{"from the other end", "ip4=" SERVER ">" SERVER " syn", .reason = RL_REASON_OVER},
	{"from nowhere", "ip4=0.0.0.0>" SERVER " syn", .reason = RL_REASON_OVER},
	{"from within", "ip4=127.0.0.1>" SERVER " syn", .reason = RL_REASON_OVER},
	{"from a group", "ip4=224.0.0.1>" SERVER " syn", .reason = RL_REASON_OVER},
	{"from everybody", "ip4=255.255.255.255>" SERVER " syn", .reason = RL_REASON_OVER},
	{"to a group", "ip4=192.0.2.1>224.0.0.1 syn", .reason = RL_REASON_OVER},
	{"from nowhere, IPv6", "ip6=::>" SERVER_6 " syn", .reason = RL_REASON_OVER},
	{"from within, IPv6", "ip6=::1>" SERVER_6 " syn", .reason = RL_REASON_OVER},
	{"from a group, IPv6", "ip6=ff02::1>" SERVER_6 " syn", .reason = RL_REASON_OVER},
	{"extension header", "ip6 dst syn", .reason = RL_REASON_OVER},
	{"first fragment", "ip4 frag=0+ syn", .reason = RL_REASON_OVER},
	{"first fragment, IPv6", "ip6 frag=0+ syn", .reason = RL_REASON_OVER},
	{"a whole packet with a fragment header", "ip6 frag=0 syn", .reason = RL_REASON_OVER},
	{"half a header", "ip4 syn cut=44", .reason = RL_REASON_MALFORMED},
	{"options that are missing", "ip4 syn doff=6", .reason = RL_REASON_MALFORMED},
	{"too short a header", "ip4 syn doff=4", .reason = RL_REASON_MALFORMED},
};

static void row_build(const struct row *row, struct frame *frame)
{
	static const uint8_t seq[] = {0xff, 0xff, 0xff, 0xfe};
	uint8_t *tcp;

	frame_build(frame, row->words);
	if (!frame->tcp_at)
		return;
	tcp = frame->bytes + frame->tcp_at;
	memcpy(tcp + 4, seq, sizeof(seq));
	tcp[12] |= row->flags >> 8;
	tcp[13] |= row->flags;
	if (row->tcp_options)
		memcpy(tcp + 20, row->tcp_options, row->option_bytes);
}

ROWS(run_row, rows, row)
{
	static struct frame in, out;
	enum rl_reason reason = row->mss ? RL_REASON_CHALLENGED : row->reason, found;

	row_build(row, &in);
	found = harness_answer(h, &in, &out);
	if (found != reason)
		fail_msg("%s instead of %s", reason_name(found), reason_name(reason));
	if (row->mss)
		answer_check(&in, &out, row->mss);
}

/* ---- beside other rules */

static const struct beside {
	const char *name, *policy;
	enum rl_reason first, second;
	const char *refuser; /* the rule that has counted both */
} besides[] = {
	{"alone", "any " REFUSES "over challenge", RL_REASON_CHALLENGED, RL_REASON_CHALLENGED,
	 "any " REFUSES "over challenge"},
	{"two that challenge", "any " REFUSES "over challenge;device " REFUSES "over challenge",
	 RL_REASON_CHALLENGED, RL_REASON_CHALLENGED, NULL},
	{"one that drops, behind", "any " REFUSES "over challenge;device " REFUSES, RL_REASON_OVER,
	 RL_REASON_OVER, "device " REFUSES},
	{"one that drops, before", "any " REFUSES ";device " REFUSES "over challenge",
	 RL_REASON_OVER, RL_REASON_OVER, "any " REFUSES},
	{"one that spares the established",
	 "any " REFUSES "over challenge;device " REFUSES "over drop unless established",
	 RL_REASON_OVER, RL_REASON_OVER, "device " REFUSES},
	{"one that bans", "any " REFUSES "over challenge;device " BANS, RL_REASON_OVER,
	 RL_REASON_BANNED, "device " BANS},
	{"one that only counts", "any " REFUSES "over challenge;device " REFUSES "over count",
	 RL_REASON_CHALLENGED, RL_REASON_CHALLENGED, "any " REFUSES},
	{"one that has room", "any " REFUSES "over challenge;device limit 9/day burst 9 per rule",
	 RL_REASON_CHALLENGED, RL_REASON_CHALLENGED, "any " REFUSES},
	{"denied", "192.0.2.0/24 deny;any " REFUSES "over challenge", RL_REASON_DENIED,
	 RL_REASON_DENIED, NULL},
	{"allowed", "192.0.2.0/24 allow;any " REFUSES "over challenge", RL_REASON_ALLOWED,
	 RL_REASON_ALLOWED, NULL},
};

ROWS(run_beside, besides, row)
{
	struct rule_counters counters;
	static struct frame in, out;

	policy(row->policy);
	frame_build(&in, "ip4 syn");
	assert_int_equal(harness_answer(h, &in, &out), row->first);
	assert_int_equal(harness_answer(h, &in, &out), row->second);
	if (!row->refuser)
		return;
	counters = harness_counters(h, row->refuser);
	assert_int_equal(counters.dropped.packets, 2);
}

/* An answered SYN costs no limit anything. */
TEST(costs_nothing)
{
	policy("any tcp " REFUSES "over challenge;device limit 3/day burst 3 per rule");
	for (int i = 0; i < 5; i++)
		harness_expect(h, "answered", "ip4 syn", RL_REASON_CHALLENGED);
	harness_expect(h, "room", "ip4 udp", RL_REASON_WITHIN);
	harness_expect(h, "room for two", "ip4 udp", RL_REASON_WITHIN);
	harness_expect(h, "no more room", "ip4 udp", RL_REASON_OVER);
	harness_expect(h, "none for a SYN", "ip4 syn", RL_REASON_OVER);
}

/* ---- SYNs that pass, and sockets that are not for them */

TEST(kernel_wants_none)
{
	struct rule_counters counters;

	policy("any " REFUSES "over challenge;device limit 3/day burst 3 per rule");
	for (int i = 0; i < 2; i++) {
		sysctl_set("tcp_syncookies", i ? "1" : "0");
		harness_expect(h, "passes", "ip4 syn", RL_REASON_SHADOW);
	}
	counters = harness_counters(h, "any " REFUSES);
	assert_int_equal(counters.shadow.packets, 2);
	harness_expect(h, "other limits hold it", "ip4 syn", RL_REASON_OVER);
	assert_int_equal(harness_counters(h, "device limit 3/day per rule").passed.packets, 3);
}

static int connection(uint16_t from, int *accepted)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(from)};

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	inet_pton(AF_INET, "192.0.2.1", &addr.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	addr.sin_port = htons(LISTENS);
	inet_pton(AF_INET, SERVER, &addr.sin_addr);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	*accepted = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	assert_true(*accepted >= 0);
	return fd;
}

TEST(connection_exists)
{
	int client, server;

	policy("any " REFUSES "over challenge");
	client = connection(1100, &server);
	harness_expect(h, "established", "ip4 syn=1100>2000", RL_REASON_SHADOW);
	harness_expect(h, "another port", "ip4 syn=1101>2000", RL_REASON_CHALLENGED);
	close(server);
	close(client);
	harness_expect(h, "time-wait", "ip4 syn=1100>2000", RL_REASON_SHADOW);
}

/* A host with a connection sends no flood through by it: few such SYNs pass at once, and none of
 * them takes an answer from another. */
TEST(few_of_a_connection)
{
	static struct frame frame;
	uint32_t passed = 0;
	int client, server;

	policy("any " REFUSES "over challenge");
	client = connection(1200, &server);
	frame_build(&frame, "ip4 syn=1200>2000");
	for (int i = 0; i < 2000; i++)
		passed += harness_passes(h, &frame);
	assert_in_range(passed, 50, 1000);
	harness_expect(h, "another port", "ip4 syn=1201>2000", RL_REASON_CHALLENGED);
	close(server);
	close(client);
}

/* ---- Ethernet's addresses */

static const struct link_row {
	const char *name;
	uint8_t macs[2 * ETH_ALEN];
	enum rl_reason reason;
} link_rows[] = {
	{"to this device", {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9}, RL_REASON_CHALLENGED},
	{"to everybody on the link",
	 {255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 2},
	 RL_REASON_OVER},
	{"to a group on the link", {3, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}, RL_REASON_OVER},
	{"to another device", {2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 2}, RL_REASON_OVER},
	{"to another device, its first byte", {6, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}, RL_REASON_OVER},
	{"to another device, in between", {2, 0, 8, 0, 0, 1, 2, 0, 0, 0, 0, 2}, RL_REASON_OVER},
	{"from everybody on the link",
	 {2, 0, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255},
	 RL_REASON_OVER},
	{"from a group on the link", {2, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 2}, RL_REASON_OVER},
};

ROWS(run_link, link_rows, row)
{
	static struct frame in, out;

	policy("any " REFUSES "over challenge");
	frame_build(&in, "ip4 syn");
	memcpy(in.bytes, row->macs, sizeof(row->macs));
	assert_int_equal(harness_answer(h, &in, &out), row->reason);
}

TEST(in_pieces)
{
	static struct frame in;
	enum rl_reason reason;

	harness_with(9000, 0, true);
	policy("any " REFUSES "over challenge");
	harness_expect(h, "in one piece", "ip4 syn", RL_REASON_CHALLENGED);
	frame_build(&in, "ip4 syn data=4000");
	if (harness_pieces(h, &in, 200, &reason))
		assert_int_equal(reason, RL_REASON_OVER);
}

/* Cookies are the kernel's: another SYN has another one, the same SYN the same. */
TEST(cookie_is_of_the_syn)
{
	static struct frame in, first, second;

	policy("any " REFUSES "over challenge");
	frame_build(&in, "ip4 syn=1000>2000");
	harness_answer(h, &in, &first);
	harness_answer(h, &in, &second);
	assert_memory_equal(first.bytes, second.bytes, first.size);
	frame_ports(&in, 1001, LISTENS);
	harness_answer(h, &in, &second);
	assert_memory_not_equal(first.bytes + 38, second.bytes + 38, 4);
}

TEST(mss_of_the_device)
{
	static const struct row row = {"", "ip4 syn data=4 doff=6", MSS("\x05", "\xb4"), 4,
				       .mss = 1360};
	static const struct row row6 = {"", "ip6 syn data=4 doff=6", MSS("\x05", "\xb4"), 4,
					.mss = 1340};
	static struct frame in, out;

	harness_with(1400, 0, true);
	policy("any " REFUSES "over challenge");
	row_build(&row, &in);
	assert_int_equal(harness_answer(h, &in, &out), RL_REASON_CHALLENGED);
	answer_check(&in, &out, row.mss);
	row_build(&row6, &in);
	assert_int_equal(harness_answer(h, &in, &out), RL_REASON_CHALLENGED);
	answer_check(&in, &out, row6.mss);
}

/* ---- the rate, by a clock that the test sets: there, somebody listens */

static uint32_t answered(uint32_t syns)
{
	static struct frame frame;
	uint32_t count = 0;

	frame_build(&frame, "ip4 syn");
	for (uint32_t i = 0; i < syns; i++) {
		cpu_stay(i / 16);
		count += harness_run(h, &frame) == RL_REASON_CHALLENGED;
	}
	return count;
}

TEST(rate_is_held)
{
	uint32_t count = 0;

	harness_with(0, 100, false);
	policy("any " REFUSES "over challenge");
	assert_int_equal(answered(50), 1);
	for (int ms = 1; ms <= 1000; ms++) {
		harness_clock(h, h->now_ns + NS_PER_MS);
		count += answered(1);
	}
	assert_int_equal(count, 100);
}

/* By batches: all CPUs together have no more than the rate and what may be sent at once. */
TEST(rate_is_held_in_sum)
{
	uint32_t count, burst = 100000 / 200, batches = burst / 2;

	harness_with(0, 100000, false);
	policy("any " REFUSES "over challenge");
	count = answered(2 * burst);
	assert_in_range(count, burst - batches, burst);
	for (int ms = 1; ms <= 20; ms++) {
		harness_clock(h, h->now_ns + NS_PER_MS);
		count += answered(200);
	}
	assert_in_range(count, 2000 + burst - 2 * batches, 2000 + burst);
}

/* A SYN that is not answered for another reason takes nothing from the rate. */
TEST(rate_is_of_answers)
{
	harness_with(0, 1, true);
	policy("any " REFUSES "over challenge");
	cpu_stay(0);
	for (int i = 0; i < 5; i++)
		harness_expect(h, "nobody listens", "ip4 syn=1000>2001", RL_REASON_OVER);
	harness_expect(h, "one is sent", "ip4 syn", RL_REASON_CHALLENGED);
	harness_expect(h, "no more than one", "ip4 syn", RL_REASON_OVER);
}

FIXTURE(namespace_make, NULL)
