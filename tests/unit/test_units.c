// SPDX-License-Identifier: GPL-2.0-only
/* Corners of the number parsers and printers: tables, one test per row. */
#include <string.h>

#include "base/units.h"
#include "cases.h"

static const struct number_row {
	const char *name, *word;
	uint64_t min, max;
	int rc;
	uint64_t value;
} numbers[] = {
	{"number: zero", "0", 0, 9, 0, 0},
	{"number: leading zeros are decimal", "010", 0, 99, 0, 10},
	{"number: largest", "18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX},
	{"number: one past the largest", "18446744073709551616", 0, UINT64_MAX, WORD_RANGE, 0},
	{"number: far past the largest", "99999999999999999999999", 0, UINT64_MAX, WORD_RANGE, 0},
	{"number: at the maximum", "80", 0, 80, 0, 80},
	{"number: above the maximum", "81", 0, 80, WORD_RANGE, 0},
	{"number: below the minimum", "1", 2, 80, WORD_RANGE, 0},
	{"number: followed by letters", "80abc", 0, 99, WORD_FORM, 0},
	{"number: overflow and letters", "99999999999999999999x", 0, 9, WORD_FORM, 0},
	{"number: empty", "", 0, 9, WORD_FORM, 0},
	{"number: minus", "-1", 0, 9, WORD_FORM, 0},
	{"number: plus", "+1", 0, 9, WORD_FORM, 0},
	{"number: blank", " 1", 0, 9, WORD_FORM, 0},
	{"number: hexadecimal", "0x1", 0, 9, WORD_FORM, 0},
	{"number: fraction", "1.5", 0, 9, WORD_FORM, 0},
};

static const struct duration_row {
	const char *name, *word;
	int rc;
	uint64_t ns;
	const char *printed;
} durations[] = {
	{"duration: ns", "1ns", 0, 1, "1ns"},
	{"duration: us", "7us", 0, 7000, "7us"},
	{"duration: ms", "250ms", 0, 250000000, "250ms"},
	{"duration: s", "90s", 0, 90 * NS_PER_SECOND, "90s"},
	{"duration: sec", "1sec", 0, NS_PER_SECOND, "1s"},
	{"duration: secs", "2secs", 0, 2 * NS_PER_SECOND, "2s"},
	{"duration: second", "1second", 0, NS_PER_SECOND, "1s"},
	{"duration: seconds", "60seconds", 0, NS_PER_MINUTE, "1m"},
	{"duration: m is minutes", "10m", 0, 10 * NS_PER_MINUTE, "10m"},
	{"duration: min", "1min", 0, NS_PER_MINUTE, "1m"},
	{"duration: mins", "2mins", 0, 2 * NS_PER_MINUTE, "2m"},
	{"duration: minute", "1minute", 0, NS_PER_MINUTE, "1m"},
	{"duration: minutes", "61minutes", 0, 61 * NS_PER_MINUTE, "61m"},
	{"duration: h", "1h", 0, NS_PER_HOUR, "1h"},
	{"duration: hour", "1hour", 0, NS_PER_HOUR, "1h"},
	{"duration: hours", "24hours", 0, NS_PER_DAY, "1d"},
	{"duration: d", "7d", 0, 7 * NS_PER_DAY, "7d"},
	{"duration: day", "1day", 0, NS_PER_DAY, "1d"},
	{"duration: days", "2days", 0, 2 * NS_PER_DAY, "2d"},
	{"duration: case", "2Days", 0, 2 * NS_PER_DAY, "2d"},
	{"duration: largest", "4611686018427387904ns", 0, DURATION_MAX_NS, "4611686018427387904ns"},
	{"duration: one past the largest", "4611686018427387905ns", WORD_RANGE, 0, NULL},
	{"duration: w", "2w", 0, 14 * NS_PER_DAY, "14d"},
	{"duration: week", "1week", 0, 7 * NS_PER_DAY, "7d"},
	{"duration: weeks", "3weeks", 0, 21 * NS_PER_DAY, "21d"},
	{"duration: most days", "53375d", 0, 53375 * NS_PER_DAY, "53375d"},
	{"duration: a day too many", "53376d", WORD_RANGE, 0, NULL},
	{"duration: product overflows", "18446744073709551615d", WORD_RANGE, 0, NULL},
	{"duration: digits overflow", "99999999999999999999s", WORD_RANGE, 0, NULL},
	{"duration: digits overflow, no unit", "99999999999999999999q", WORD_FORM, 0, NULL},
	{"duration: zero", "0s", WORD_RANGE, 0, NULL},
	{"duration: bare number", "10", WORD_FORM, 0, NULL},
	{"duration: bare unit", "s", WORD_FORM, 0, NULL},
	{"duration: empty", "", WORD_FORM, 0, NULL},
	{"duration: unknown unit", "10months", WORD_FORM, 0, NULL},
	{"duration: plural of an abbreviation", "10hs", WORD_FORM, 0, NULL},
	{"duration: trailing", "10s1", WORD_FORM, 0, NULL},
};

static const struct amount_row {
	const char *name, *word;
	int rc;
	uint64_t value;
	enum rl_unit unit;
	const char *printed;
} amounts[] = {
	{"amount: bare", "200", 0, 200, RL_PACKETS, "200"},
	{"amount: zero", "0", 0, 0, RL_PACKETS, "0"},
	{"amount: zero bytes", "0bytes", 0, 0, RL_BYTES, "0byte"},
	{"amount: k", "64k", 0, 64000, RL_PACKETS, "64000"},
	{"amount: ki", "64ki", 0, 65536, RL_PACKETS, "65536"},
	{"amount: packet", "1packet", 0, 1, RL_PACKETS, "1"},
	{"amount: packets", "5kpackets", 0, 5000, RL_PACKETS, "5000"},
	{"amount: bit", "10mbit", 0, 10000000, RL_BITS, "10mbit"},
	{"amount: bits", "8bits", 0, 8, RL_BITS, "8bit"},
	{"amount: byte", "1514byte", 0, 1514, RL_BYTES, "1514byte"},
	{"amount: kibyte", "64kibyte", 0, 65536, RL_BYTES, "64kibyte"},
	{"amount: mibytes", "3mibytes", 0, 3 << 20, RL_BYTES, "3mibyte"},
	{"amount: gibit", "1gibit", 0, 1 << 30, RL_BITS, "1gibit"},
	{"amount: gbyte", "2gbyte", 0, 2000000000, RL_BYTES, "2gbyte"},
	{"amount: 1000 and 1024 both divide", "1024kbyte", 0, 1024000, RL_BYTES, "1000kibyte"},
	{"amount: case", "64KiByte", 0, 65536, RL_BYTES, "64kibyte"},
	{"amount: largest", "18446744073709551615", 0, UINT64_MAX, RL_PACKETS,
	 "18446744073709551615"},
	{"amount: digits overflow", "18446744073709551616", WORD_RANGE, 0, 0, NULL},
	{"amount: product overflows", "18446744073709552k", WORD_RANGE, 0, 0, NULL},
	{"amount: product just fits", "18446744073709551k", 0, 18446744073709551000u, RL_PACKETS,
	 "18446744073709551000"},
	{"amount: bps", "10bps", WORD_PER_SECOND, 0, 0, NULL},
	{"amount: Mbps", "10Mbps", WORD_PER_SECOND, 0, 0, NULL},
	{"amount: kibps", "10kibps", WORD_PER_SECOND, 0, 0, NULL},
	{"amount: mpps", "10mpps", WORD_PER_SECOND, 0, 0, NULL},
	{"amount: pps", "10pps", WORD_FORM, 0, 0, NULL},
	{"amount: b alone", "10kb", WORD_FORM, 0, 0, NULL},
	{"amount: t", "10t", WORD_FORM, 0, 0, NULL},
	{"amount: unit alone", "byte", WORD_FORM, 0, 0, NULL},
	{"amount: double plural", "10bytess", WORD_FORM, 0, 0, NULL},
	{"amount: empty", "", WORD_FORM, 0, 0, NULL},
	{"amount: negative", "-1", WORD_FORM, 0, 0, NULL},
};

static const struct rate_row {
	const char *name, *word;
	int rc;
	uint64_t amount, period_ns;
	enum rl_unit unit;
	const char *printed;
} rates[] = {
	{"rate: second", "1000/second", 0, 1000, NS_PER_SECOND, RL_PACKETS, "1000/second"},
	{"rate: s", "1k/s", 0, 1000, NS_PER_SECOND, RL_PACKETS, "1000/second"},
	{"rate: 1s", "1/1s", 0, 1, NS_PER_SECOND, RL_PACKETS, "1/second"},
	{"rate: m is a minute", "100/m", 0, 100, NS_PER_MINUTE, RL_PACKETS, "100/minute"},
	{"rate: hour", "100/hours", 0, 100, NS_PER_HOUR, RL_PACKETS, "100/hour"},
	{"rate: day", "1/day", 0, 1, NS_PER_DAY, RL_PACKETS, "1/day"},
	{"rate: many units", "100/10s", 0, 100, 10 * NS_PER_SECOND, RL_PACKETS, "100/10s"},
	{"rate: ms", "5/ms", 0, 5, NS_PER_MS, RL_PACKETS, "5/1ms"},
	{"rate: pps", "500pps", 0, 500, NS_PER_SECOND, RL_PACKETS, "500/second"},
	{"rate: kbit", "1024kbit", 0, 1024000, NS_PER_SECOND, RL_BITS, "1024kbit"},
	{"rate: mbit", "10mbit", 0, 10000000, NS_PER_SECOND, RL_BITS, "10mbit"},
	{"rate: Gbit", "2Gbit", 0, 2000000000, NS_PER_SECOND, RL_BITS, "2gbit"},
	{"rate: bits", "1500bit/second", 0, 1500, NS_PER_SECOND, RL_BITS, "1500bit/second"},
	{"rate: kibit", "1kibit/s", 0, 1024, NS_PER_SECOND, RL_BITS, "1kibit/second"},
	{"rate: bits a minute", "1mbit/min", 0, 1000000, NS_PER_MINUTE, RL_BITS, "1mbit/minute"},
	{"rate: bytes", "125kbytes/second", 0, 125000, NS_PER_SECOND, RL_BYTES, "125kbyte/second"},
	{"rate: zero", "0/second", WORD_RANGE, 0, 0, 0, NULL},
	{"rate: zero pps", "0pps", WORD_RANGE, 0, 0, 0, NULL},
	{"rate: zero period", "1/0s", WORD_RANGE, 0, 0, 0, NULL},
	{"rate: amount overflows", "99999999999999999999/s", WORD_RANGE, 0, 0, 0, NULL},
	{"rate: short overflows", "18446744073709551615gbit", WORD_RANGE, 0, 0, 0, NULL},
	{"rate: period overflows", "1/99999999d", WORD_RANGE, 0, 0, 0, NULL},
	{"rate: no period", "1000", WORD_NO_PERIOD, 0, 0, 0, NULL},
	{"rate: bit without period", "1000bit", WORD_NO_PERIOD, 0, 0, 0, NULL},
	{"rate: no period, overflow", "99999999999999999999", WORD_RANGE, 0, 0, 0, NULL},
	{"rate: mbits without period", "1mbits", WORD_NO_PERIOD, 0, 0, 0, NULL},
	{"rate: empty period", "1000/", WORD_FORM, 0, 0, 0, NULL},
	{"rate: bare period", "1000/10", WORD_FORM, 0, 0, 0, NULL},
	{"rate: empty amount", "/second", WORD_FORM, 0, 0, 0, NULL},
	{"rate: two slashes", "1/2/s", WORD_FORM, 0, 0, 0, NULL},
	{"rate: bad amount with huge period", "x/99999999d", WORD_FORM, 0, 0, 0, NULL},
	{"rate: bps", "10bps", WORD_PER_SECOND, 0, 0, 0, NULL},
	{"rate: mbps", "10mbps", WORD_PER_SECOND, 0, 0, 0, NULL},
	{"rate: bps with period", "10Mbps/s", WORD_PER_SECOND, 0, 0, 0, NULL},
	{"rate: kpps", "10kpps", WORD_PER_SECOND, 0, 0, 0, NULL},
	{"rate: Mpps with period", "10Mpps/s", WORD_PER_SECOND, 0, 0, 0, NULL},
	{"rate: pps with period", "10pps/s", WORD_FORM, 0, 0, 0, NULL},
	{"rate: pps without number", "pps", WORD_FORM, 0, 0, 0, NULL},
};

static const struct list_row {
	const char *name, *list;
	int rc;
	uint32_t count;
} lists[] = {
	{"list: one", "0\n", 0, 1},
	{"list: a range", "0-127\n", 0, 128},
	{"list: ranges and numbers", "0-1,4,8-10\n", 0, 6},
	{"list: without a newline", "0-1,7", 0, 3},
	{"list: empty", "\n", WORD_FORM, 0},
	{"list: nothing", "", WORD_FORM, 0},
	{"list: backwards", "4-1\n", WORD_FORM, 0},
	{"list: ends with a comma", "0,\n", WORD_FORM, 0},
	{"list: ends with a dash", "0-\n", WORD_FORM, 0},
	{"list: something behind", "0-1 2\n", WORD_FORM, 0},
	{"list: too many", "0-4294967295\n", WORD_RANGE, 0},
	{"list: overflow", "99999999999999999999\n", WORD_RANGE, 0},
};

/* `text` is the canonical print, or what the parser says would be right. */
static const struct prefix_row {
	const char *name, *word;
	int rc;
	uint8_t len;
	const char *text;
} prefixes[] = {
	{"prefix: host", "203.0.113.7", 0, 128, "203.0.113.7"},
	{"prefix: host with length", "203.0.113.7/32", 0, 128, "203.0.113.7"},
	{"prefix: net", "203.0.113.0/24", 0, 120, "203.0.113.0/24"},
	{"prefix: odd length", "203.0.113.128/25", 0, 121, "203.0.113.128/25"},
	{"prefix: all IPv4", "0.0.0.0/0", 0, 96, "0.0.0.0/0"},
	{"prefix: IPv6 host", "2001:DB8:0::1", 0, 128, "2001:db8::1"},
	{"prefix: IPv6 net", "2001:db8::/32", 0, 32, "2001:db8::/32"},
	{"prefix: IPv6 odd length", "2000::/3", 0, 3, "2000::/3"},
	{"prefix: upper half", "8000::/1", 0, 1, "8000::/1"},
	{"prefix: v4 notation, not mapped", "::1.2.3.4", 0, 128, "::1.2.3.4"},
	{"prefix: beside the mapped range", "::fffe:0:0/96", 0, 96, "::fffe:0:0/96"},
	{"prefix: below the mapped range", "::/96", 0, 96, "::/96"},
	{"prefix: host bits", "10.0.0.1/8", WORD_HOST_BITS, 0, "10.0.0.0/8"},
	{"prefix: one host bit", "10.0.0.1/31", WORD_HOST_BITS, 0, "10.0.0.0/31"},
	{"prefix: all host bits", "1.2.3.4/0", WORD_HOST_BITS, 0, "0.0.0.0/0"},
	{"prefix: IPv6 host bits", "2001:db8::1/64", WORD_HOST_BITS, 0, "2001:db8::/64"},
	{"prefix: mapped", "::ffff:1.2.3.4", WORD_MAPPED, 0, "1.2.3.4"},
	{"prefix: mapped, as hex", "::ffff:102:304", WORD_MAPPED, 0, "1.2.3.4"},
	{"prefix: mapped net with host bits", "::ffff:1.2.3.4/120", WORD_MAPPED, 0, "1.2.3.0/24"},
	{"prefix: whole mapped range", "::ffff:0:0/96", WORD_MAPPED, 0, "0.0.0.0/0"},
	{"prefix: all IPv6", "::/0", 0, 0, "::/0"},
	{"prefix: around the mapped range", "::/80", 0, 80, "::/80"},
	{"prefix: closely around it", "::fffe:0:0/95", 0, 95, "::fffe:0:0/95"},
	{"prefix: around it, with host bits", "::ffff:0:0/95", WORD_HOST_BITS, 0, "::fffe:0:0/95"},
	{"prefix: length too large", "10.0.0.0/33", WORD_RANGE, 0, NULL},
	{"prefix: IPv6 length too large", "2001:db8::/129", WORD_RANGE, 0, NULL},
	{"prefix: empty length", "10.0.0.0/", WORD_FORM, 0, NULL},
	{"prefix: negative length", "10.0.0.0/-1", WORD_FORM, 0, NULL},
	{"prefix: netmask", "10.0.0.0/255.0.0.0", WORD_FORM, 0, NULL},
	{"prefix: two slashes", "10.0.0.0/8/8", WORD_FORM, 0, NULL},
	{"prefix: three parts", "10.0.0", WORD_FORM, 0, NULL},
	{"prefix: leading zero", "10.0.0.010", WORD_FORM, 0, NULL},
	{"prefix: part too large", "10.0.0.256", WORD_FORM, 0, NULL},
	{"prefix: name", "localhost", WORD_FORM, 0, NULL},
	{"prefix: scope", "fe80::1%eth0", WORD_FORM, 0, NULL},
	{"prefix: empty", "", WORD_FORM, 0, NULL},
	{"prefix: long", "1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111", WORD_FORM, 0,
	 NULL},
};

#define CANARY 0xa5a5a5a5a5a5a5a5ull

ROWS(number_test, numbers, row)
{
	uint64_t value = CANARY;

	assert_int_equal(number_parse(row->word, row->min, row->max, &value), row->rc);
	assert_true(value == (row->rc ? CANARY : row->value));
}

ROWS(list_test, lists, row)
{
	uint32_t count = 0xa5;

	assert_int_equal(list_count(row->list, &count), row->rc);
	assert_int_equal(count, row->rc ? 0xa5 : row->count);
}

ROWS(duration_test, durations, row)
{
	uint64_t ns = CANARY;
	char text[64];

	assert_int_equal(duration_parse(row->word, &ns), row->rc);
	assert_true(ns == (row->rc ? CANARY : row->ns));
	if (row->rc)
		return;
	assert_int_equal(duration_print(text, sizeof(text), ns), strlen(row->printed));
	assert_string_equal(text, row->printed);
}

ROWS(amount_test, amounts, row)
{
	enum rl_unit unit = RL_UNIT_COUNT;
	uint64_t value = CANARY;
	char text[64];

	assert_int_equal(amount_parse(row->word, &value, &unit), row->rc);
	assert_true(value == (row->rc ? CANARY : row->value));
	assert_int_equal(unit, row->rc ? RL_UNIT_COUNT : row->unit);
	if (row->rc)
		return;
	amount_print(text, sizeof(text), value, unit);
	assert_string_equal(text, row->printed);
}

ROWS(rate_test, rates, row)
{
	uint64_t amount = CANARY, period = CANARY;
	enum rl_unit unit = RL_UNIT_COUNT;
	char text[64];

	assert_int_equal(rate_parse(row->word, &amount, &period, &unit), row->rc);
	assert_true(amount == (row->rc ? CANARY : row->amount));
	assert_true(period == (row->rc ? CANARY : row->period_ns));
	assert_int_equal(unit, row->rc ? RL_UNIT_COUNT : row->unit);
	if (row->rc)
		return;
	rate_print(text, sizeof(text), amount, period, unit);
	assert_string_equal(text, row->printed);
}

ROWS(prefix_test, prefixes, row)
{
	char canonical[PREFIX_TEXT_MAX] = "", text[PREFIX_TEXT_MAX];
	uint8_t addr[16], untouched[16], len = 0xa5;

	memset(addr, 0xa5, sizeof(addr));
	memset(untouched, 0xa5, sizeof(untouched));
	assert_int_equal(prefix_parse(row->word, addr, &len, canonical), row->rc);
	assert_int_equal(prefix_parse(row->word, addr, &len, NULL), row->rc);
	if (row->rc) {
		assert_memory_equal(addr, untouched, sizeof(addr));
		assert_int_equal(len, 0xa5);
		if (row->text)
			assert_string_equal(canonical, row->text);
		return;
	}
	assert_int_equal(len, row->len);
	assert_int_equal(prefix_print(text, sizeof(text), addr, len), strlen(row->text));
	assert_string_equal(text, row->text);
}

NAMED_TEST("print: a short buffer is cut and the length told", short_buffer_test)
{
	char text[5] = "xxxx";

	assert_int_equal(rate_print(text, sizeof(text), 1000, NS_PER_SECOND, RL_PACKETS), 11);
	assert_string_equal(text, "1000");
	assert_int_equal(rate_print(NULL, 0, 1000, NS_PER_SECOND, RL_PACKETS), 11);
}

NAMED_TEST("rate_amount_in: floor and saturation", rate_amount_test)
{
	assert_true(rate_amount_in(1000, NS_PER_SECOND, NS_PER_SECOND / 10) == 100);
	assert_true(rate_amount_in(9, NS_PER_SECOND, NS_PER_SECOND / 10) == 0);
	assert_true(rate_amount_in(UINT64_MAX, 1, DURATION_MAX_NS) == UINT64_MAX);
	assert_true(rate_amount_in(UINT64_MAX, DURATION_MAX_NS, DURATION_MAX_NS) == UINT64_MAX);
}

NAMED_TEST("prefix_contains: to the bit", prefix_contains_test)
{
	uint8_t outer[16] = {0x20, 0x01, 0x0d, 0xb8}, inner[16] = {0x20, 0x01, 0x0d, 0xbf};

	assert_true(prefix_contains(outer, 0, inner));
	assert_true(prefix_contains(outer, 29, inner));
	assert_false(prefix_contains(outer, 30, inner));
	assert_false(prefix_contains(outer, 128, inner));
	assert_true(prefix_contains(outer, 128, outer));
}

/* Every IPv6 prefix around ::ffff:0:0/96, from ::/0 on, is read, printed and holds no IPv4. */
NAMED_TEST("prefix: IPv6 around the mapped range", prefix_family_test)
{
	static const uint8_t ipv4[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
	uint8_t around[16] = {0}, addr[16], len;
	char text[PREFIX_TEXT_MAX];

	for (uint8_t bits = 0; bits < RL_MAPPED_BITS; bits++) {
		if (bits > 80)
			around[(bits - 1) / 8] |= 0x80 >> (bits - 1) % 8;
		prefix_print(text, sizeof(text), around, bits);
		assert_int_equal(prefix_parse(text, addr, &len, NULL), 0);
		assert_memory_equal(addr, around, sizeof(addr));
		assert_int_equal(len, bits);
		assert_false(prefix_is_ipv4(addr, len));
		assert_false(prefix_contains(addr, len, ipv4));
		assert_true(prefix_contains(addr, len, around));
	}
	assert_int_equal(prefix_parse("0.0.0.0/0", addr, &len, NULL), 0);
	assert_true(prefix_is_ipv4(addr, len));
	assert_true(prefix_contains(addr, len, ipv4));
	assert_false(prefix_contains(addr, len, around));
}
