// SPDX-License-Identifier: GPL-2.0-only
#include "expression.h"

#include <stdio.h>

#include "random.h"

#define ARRAY_SIZE(a)     (sizeof(a) / sizeof((a)[0]))
#define DRAW(seed, words) ((words)[random_under((seed), ARRAY_SIZE(words))])

struct text {
	char *out;
	size_t size, used;
	uint64_t *seed;
};

static void put(struct text *t, const char *word)
{
	int len = snprintf(t->out + t->used, t->size - t->used, "%s", word);

	if (t->used + len < t->size)
		t->used += len;
}

static void put_number(struct text *t, uint32_t under)
{
	static const char *const edges[] = {"0", "1", "0x7fffffff", "0x80000000", "0xffffffff"};
	char number[16];

	if (!random_under(t->seed, 12))
		return put(t, DRAW(t->seed, edges));
	snprintf(number, sizeof(number), "%u", (unsigned int)random_under(t->seed, under));
	put(t, number);
}

static void put_value(struct text *t, int depth);

/* Most accesses are near the header's beginning, some behind what is copied of it. */
static void put_access(struct text *t, int depth)
{
	static const char *const headers[] = {"ip", "ip", "ip6", "tcp", "udp", "icmp", "sctp"};
	static const char *const sizes[] = {"", "", ":1", ":2", ":4"};

	put(t, DRAW(t->seed, headers));
	put(t, "[");
	if (depth > 0 && !random_under(t->seed, 3))
		put_value(t, depth - 1);
	else
		put_number(t, random_under(t->seed, 4) ? 24 : 400);
	put(t, DRAW(t->seed, sizes));
	put(t, "]");
}

static void put_value(struct text *t, int depth)
{
	static const char *const operators[] = {" + ", " - ", " * ",  " / ",  " & ",
						" | ", " ^ ", " << ", " >> ", " % "};
	uint64_t kind = random_under(t->seed, depth > 0 ? 8 : 4);

	if (kind < 1)
		return put_number(t, 300);
	if (kind < 4)
		return kind == 3 ? put(t, "len") : put_access(t, depth);
	put(t, "(");
	put_value(t, depth - 1);
	put(t, DRAW(t->seed, operators));
	put_value(t, depth - 1);
	put(t, ")");
}

static void put_primitive(struct text *t)
{
	static const char *const words[] = {
		"tcp",
		"udp",
		"icmp",
		"icmp6",
		"ip",
		"ip6",
		"port 53",
		"src port 1000",
		"dst port 53",
		"udp port 53",
		"tcp dst port 80",
		"portrange 50-90",
		"host 192.0.2.1",
		"src host 198.51.100.1",
		"net 10.0.0.0/8",
		"net 192.0.2",
		"ip6 host 2001:db8::1",
		"src net 2001:db8::/32",
		"less 60",
		"greater 100",
		"ip multicast",
		"ip proto 17",
		"proto 6",
		"ip6 proto 58",
		"sctp",
		"esp",
		"tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn",
		"icmp[icmptype] = icmp-echo",
		"ip[6:2] & 0x1fff = 0",
		"udp[8:4] = 0x01020304",
	};

	put(t, DRAW(t->seed, words));
}

static void put_condition(struct text *t, int depth)
{
	static const char *const relations[] = {" = ", " != ", " > ", " < ", " >= ", " <= "};
	static const char *const joints[] = {" and ", " or "};
	uint64_t kind = random_under(t->seed, depth > 0 ? 6 : 2);

	if (kind == 0)
		return put_primitive(t);
	if (kind <= 2) {
		put_value(t, 2);
		put(t, DRAW(t->seed, relations));
		return put_value(t, 1);
	}
	put(t, kind == 3 ? "not (" : "(");
	put_condition(t, depth - 1);
	put(t, ")");
	if (kind == 3)
		return;
	put(t, DRAW(t->seed, joints));
	put(t, "(");
	put_condition(t, depth - 1);
	put(t, ")");
}

void expression_draw(char *out, size_t size, uint64_t *seed)
{
	struct text t = {.out = out, .size = size, .seed = seed};

	put_condition(&t, 2);
}
