// SPDX-License-Identifier: GPL-2.0-only
/* The prefix that most packets are in. */
#include <stdint.h>
#include <string.h>

#include "base/units.h"
#include "cases.h"
#include "watch/traffic/talkers.h"

#define ITEMS_MAX 4096

/* Addresses of a prefix, evenly apart, that bear so much together. */
struct senders {
	const char *prefix;
	unsigned int count, weight;
};

static const struct roll {
	const char *name;
	struct senders senders[4];
	const char *prefix;
} rolls[] = {
	{"nobody", {{0}}, "::/0"},
	{"one address", {{"203.0.113.9", 1, 100}}, "203.0.113.9"},
	{"a botnet that is all", {{"100.64.0.0/22", 1022, 1022}}, "100.64.0.0/22"},
	{"a botnet beside others",
	 {{"100.64.0.0/22", 1024, 60000}, {"0.0.0.0/0", 512, 30000}, {"2001:db8::/32", 100, 9000}},
	 "100.64.0.0/22"},
	{"one of IPv6, of a /64 each",
	 {{"2001:db8:4::/54", 1024, 60000}, {"198.51.100.0/24", 200, 40000}},
	 "2001:db8:4::/54"},
	{"the larger of two",
	 {{"100.64.0.0/22", 1024, 60000}, {"192.0.2.0/24", 256, 40000}},
	 "100.64.0.0/22"},
	{"two alike, in one prefix",
	 {{"10.1.0.0/24", 256, 1000}, {"10.1.1.0/24", 256, 1000}},
	 "10.1.0.0/23"},
	{"three quarters of a prefix",
	 {{"10.1.0.0/24", 256, 1000}, {"10.1.1.0/24", 256, 1000}, {"10.1.2.0/24", 256, 1000}},
	 "10.1.0.0/22"},
	{"one address has most", {{"10.1.0.0/24", 256, 1000}, {"10.1.0.7", 1, 2000}}, "10.1.0.7"},
	{"forged, of all IPv4", {{"0.0.0.0/0", 4096, 4096}}, "0.0.0.0/0"},
};

/* Counts the address up by some: a number of 64 bits that ends at the last bit that differs. */
static void address_add(uint8_t addr[16], uint64_t n, unsigned int last_byte)
{
	for (unsigned int i = 0; i < 8; i++, n >>= 8) {
		unsigned int sum = addr[last_byte - i] + (uint8_t)n;

		addr[last_byte - i] = (uint8_t)sum;
		n += (uint64_t)(sum >> 8) << 8;
	}
}

static size_t senders_put(const struct senders *senders, struct rollup_item *items)
{
	uint8_t base[16], len;
	bool ipv4;
	uint64_t space;

	assert_int_equal(prefix_parse(senders->prefix, base, &len, NULL), 0);
	ipv4 = prefix_is_ipv4(base, 128);
	space = 1ull << ((ipv4 ? 128 : 64) - len);
	for (unsigned int i = 0; i < senders->count; i++) {
		memcpy(items[i].addr, base, sizeof(base));
		address_add(items[i].addr, space / senders->count * i, ipv4 ? 15 : 7);
		items[i].weight = senders->weight / senders->count;
	}
	return senders->count;
}

ROWS(is_rolled_up, rolls, row)
{
	static struct rollup_item items[ITEMS_MAX];
	char text[PREFIX_TEXT_MAX];
	struct rollup found;
	size_t count = 0;

	for (int i = 0; i < 4 && row->senders[i].count; i++)
		count += senders_put(&row->senders[i], items + count);
	found = rollup_make(items, count);
	prefix_print(text, sizeof(text), found.addr, found.len);
	assert_string_equal(text, row->prefix);
}
