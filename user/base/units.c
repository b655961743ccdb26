// SPDX-License-Identifier: GPL-2.0-only
/* Numbers, amounts, durations, rates and prefixes: text to integers and back. Errors are codes; the
 * caller knows the position of the word.
 */

#include "base/units.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "algorithm/key_len.h"

/* Larger than any word with a number. */
struct scale {
	const char *name;
	uint64_t factor;
};

static const struct scale time_units[] = {
	{"ns", 1},
	{"us", NS_PER_US},
	{"ms", NS_PER_MS},
	{"s", NS_PER_SECOND},
	{"sec", NS_PER_SECOND},
	{"secs", NS_PER_SECOND},
	{"second", NS_PER_SECOND},
	{"seconds", NS_PER_SECOND},
	{"m", NS_PER_MINUTE},
	{"min", NS_PER_MINUTE},
	{"mins", NS_PER_MINUTE},
	{"minute", NS_PER_MINUTE},
	{"minutes", NS_PER_MINUTE},
	{"h", NS_PER_HOUR},
	{"hour", NS_PER_HOUR},
	{"hours", NS_PER_HOUR},
	{"d", NS_PER_DAY},
	{"day", NS_PER_DAY},
	{"days", NS_PER_DAY},
	{"w", NS_PER_WEEK},
	{"week", NS_PER_WEEK},
	{"weeks", NS_PER_WEEK},
};

/* Largest first: printing uses the first that divides. */
static const struct scale printed_times[] = {
	{"d", NS_PER_DAY},
	{"h", NS_PER_HOUR},
	{"m", NS_PER_MINUTE},
	{"s", NS_PER_SECOND},
	{"ms", NS_PER_MS},
	{"us", NS_PER_US},
	{"ns", 1},
};

static const struct scale multipliers[] = {
	{"gi", 1ull << 30},
	{"g", 1000000000},
	{"mi", 1ull << 20},
	{"m", 1000000},
	{"ki", 1ull << 10},
	{"k", 1000},
	{"", 1},
};

/* Rates that need no period: always per second. */
static const struct {
	const char *name;
	uint64_t factor;
	enum rl_unit unit;
} short_rates[] = {
	{"gbit", 1000000000, RL_BITS},
	{"mbit", 1000000, RL_BITS},
	{"kbit", 1000, RL_BITS},
	{"pps", 1, RL_PACKETS},
};

#define UNIT_NAME(name, text) text,
static const char *const unit_names[] = {RL_UNITS(UNIT_NAME)};

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

const uint8_t mapped_prefix[16] = {[10] = 0xff, [11] = 0xff};

/* Reads the digits at *text and moves *text past them. WORD_FORM: no digit; WORD_RANGE: more than
 * 64 bits, *text is moved nevertheless. */
static int digits_read(const char **text, uint64_t *out)
{
	const char *at = *text;
	uint64_t value = 0;
	bool overflow = false;

	for (; *at >= '0' && *at <= '9'; at++) {
		overflow |= __builtin_mul_overflow(value, 10, &value);
		overflow |= __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value);
	}
	if (at == *text)
		return WORD_FORM;
	*text = at;
	*out = value;
	return overflow ? WORD_RANGE : 0;
}

enum word_error number_parse(const char *word, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t value;
	int rc = digits_read(&word, &value);

	if (rc == WORD_FORM || *word)
		return WORD_FORM;
	if (rc || value < min || value > max)
		return WORD_RANGE;
	*out = value;
	return 0;
}

/* FIRST[-LAST]; adds the count. */
static int range_read(const char **text, uint32_t *count)
{
	uint64_t first, last;
	int rc = digits_read(text, &first);

	last = first;
	if (!rc && **text == '-') {
		++*text;
		rc = digits_read(text, &last);
	}
	if (rc || last < first)
		return rc ? rc : WORD_FORM;
	if (last > UINT32_MAX || last - first >= UINT32_MAX - *count)
		return WORD_RANGE;
	*count += last - first + 1;
	return 0;
}

enum word_error list_count(const char *list, uint32_t *out)
{
	uint32_t count = 0;
	int rc = range_read(&list, &count);

	while (!rc && *list == ',') {
		list++;
		rc = range_read(&list, &count);
	}
	if (!rc && *list && strcmp(list, "\n") != 0)
		rc = WORD_FORM;
	if (!rc)
		*out = count;
	return rc;
}

static const struct scale *time_unit_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(time_units); i++)
		if (!strcasecmp(name, time_units[i].name))
			return &time_units[i];
	return NULL;
}

enum word_error duration_parse(const char *word, uint64_t *out_ns)
{
	const struct scale *unit;
	uint64_t value;
	int rc = digits_read(&word, &value);

	if (rc == WORD_FORM)
		return rc;
	unit = time_unit_find(word);
	if (!unit)
		return WORD_FORM;
	if (rc || __builtin_mul_overflow(value, unit->factor, &value))
		return WORD_RANGE;
	if (!value || value > DURATION_MAX_NS)
		return WORD_RANGE;
	*out_ns = value;
	return 0;
}

/* The unit named by the word, with or without a plural s; an empty word means packets; -1: none. */
static int unit_find(const char *name)
{
	if (!*name)
		return RL_PACKETS;
	for (int i = 0; i < (int)ARRAY_SIZE(unit_names); i++) {
		size_t len = strlen(unit_names[i]);

		if (!strncasecmp(name, unit_names[i], len) &&
		    (!name[len] || !strcasecmp(name + len, "s")))
			return i;
	}
	return -1;
}

/* The suffix of an amount: multiplier and unit. */
static int amount_suffix_parse(const char *text, uint64_t *factor, enum rl_unit *unit)
{
	for (size_t i = 0; i < ARRAY_SIZE(multipliers); i++) {
		size_t len = strlen(multipliers[i].name);
		int found;

		if (strncasecmp(text, multipliers[i].name, len))
			continue;
		if (!strcasecmp(text + len, "bps") || (len && !strcasecmp(text + len, "pps")))
			return WORD_PER_SECOND;
		found = unit_find(text + len);
		if (found < 0)
			continue;
		*factor = multipliers[i].factor;
		*unit = found;
		return 0;
	}
	return WORD_FORM;
}

enum word_error amount_parse(const char *word, uint64_t *out, enum rl_unit *unit)
{
	uint64_t value, factor;
	enum rl_unit found;
	int digits = digits_read(&word, &value);
	int rc;

	if (digits == WORD_FORM)
		return digits;
	rc = amount_suffix_parse(word, &factor, &found);
	if (rc)
		return rc;
	if (digits || __builtin_mul_overflow(value, factor, &value))
		return WORD_RANGE;
	*out = value;
	*unit = found;
	return 0;
}

/* A rate without a period. */
static int short_rate_parse(const char *word, uint64_t *amount, enum rl_unit *unit)
{
	const char *name = word + strspn(word, "0123456789");
	uint64_t value;
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(short_rates); i++) {
		if (strcasecmp(name, short_rates[i].name))
			continue;
		rc = digits_read(&word, &value);
		if (!rc && __builtin_mul_overflow(value, short_rates[i].factor, amount))
			rc = WORD_RANGE;
		*unit = short_rates[i].unit;
		return rc;
	}
	rc = amount_parse(word, amount, unit);
	return rc ? rc : WORD_NO_PERIOD;
}

/* AMOUNT/PERIOD with the slash at `slash`. WORD_FORM of either part takes precedence. */
static int long_rate_parse(const char *word, const char *slash, uint64_t *amount,
			   uint64_t *period_ns, enum rl_unit *unit)
{
	const struct scale *unit_named = time_unit_find(slash + 1);
	size_t len = (size_t)(slash - word);
	char head[QUANTITY_TEXT_MAX];
	int amount_rc, period_rc;

	if (len >= sizeof(head))
		return WORD_FORM;
	memcpy(head, word, len);
	head[len] = '\0';
	amount_rc = amount_parse(head, amount, unit);
	period_rc = unit_named ? 0 : duration_parse(slash + 1, period_ns);
	if (unit_named) /* PERIOD = [N] UNIT */
		*period_ns = unit_named->factor;
	if (amount_rc == WORD_FORM || period_rc == WORD_FORM)
		return WORD_FORM;
	return amount_rc ? amount_rc : period_rc;
}

enum word_error rate_parse(const char *word, uint64_t *amount, uint64_t *period_ns,
			   enum rl_unit *unit)
{
	const char *slash = strchr(word, '/');
	uint64_t value, period = NS_PER_SECOND;
	enum rl_unit found;
	int rc = slash ? long_rate_parse(word, slash, &value, &period, &found)
		       : short_rate_parse(word, &value, &found);

	if (rc)
		return rc;
	if (!value)
		return WORD_RANGE;
	*amount = value;
	*period_ns = period;
	*unit = found;
	return 0;
}

uint64_t rate_amount_in(uint64_t amount, uint64_t period_ns, uint64_t ns)
{
	unsigned __int128 sum = (unsigned __int128)amount * ns / period_ns;

	return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

bool prefix_is_ipv4(const uint8_t addr[16], uint8_t len)
{
	return len >= RL_MAPPED_BITS && !memcmp(addr, mapped_prefix, RL_MAPPED_BITS / 8);
}

bool prefix_contains(const uint8_t addr[16], uint8_t len, const uint8_t inner[16])
{
	uint8_t last = len % 8 ? (uint8_t)(0xff << (8 - len % 8)) : 0;

	if (prefix_is_ipv4(addr, len) != prefix_is_ipv4(inner, 128))
		return false;
	if (memcmp(addr, inner, len / 8))
		return false;
	return !last || !((addr[len / 8] ^ inner[len / 8]) & last);
}

/* Clears the bits beyond `len`; true if any was set. */
static bool host_bits_clear(uint8_t addr[16], uint8_t len)
{
	bool any = false;

	for (unsigned int i = len / 8; i < 16; i++) {
		uint8_t keep = i == len / 8u ? (uint8_t)(0xff00 >> (len % 8)) : 0;

		any |= (addr[i] & ~keep) != 0;
		addr[i] &= keep;
	}
	return any;
}

void prefix_mask(uint8_t out[16], const uint8_t addr[16], uint8_t len)
{
	memcpy(out, addr, 16);
	host_bits_clear(out, len);
}

uint8_t key_bits(const uint8_t addr[16], uint8_t len4, uint8_t len6)
{
	__u64 half[2];

	if (prefix_is_ipv4(addr, 128))
		return RL_MAPPED_BITS + len4;
	memcpy(half, addr, sizeof(half));
	return key_len6_of(half, len6);
}

/* ADDR[/LEN], unchecked; *len in mapped form. */
static int prefix_read(const char *word, uint8_t addr[16], uint8_t *len, bool *ipv4)
{
	const char *slash = strchr(word, '/');
	size_t size = slash ? (size_t)(slash - word) : strlen(word);
	char text[INET6_ADDRSTRLEN];
	uint64_t bits;
	int rc;

	if (size >= sizeof(text))
		return WORD_FORM;
	memcpy(text, word, size);
	text[size] = '\0';
	memcpy(addr, mapped_prefix, 16);
	*ipv4 = inet_pton(AF_INET, text, addr + RL_MAPPED_BITS / 8) == 1;
	if (!*ipv4 && inet_pton(AF_INET6, text, addr) != 1)
		return WORD_FORM;
	bits = *ipv4 ? 32 : 128;
	if (slash) {
		rc = number_parse(slash + 1, 0, bits, &bits);
		if (rc)
			return rc;
	}
	*len = *ipv4 ? RL_MAPPED_BITS + bits : bits;
	return 0;
}

enum word_error prefix_parse(const char *word, uint8_t addr[16], uint8_t *len,
			     char canonical[PREFIX_TEXT_MAX])
{
	uint8_t bytes[16], bits;
	bool ipv4, host_bits;
	int rc = prefix_read(word, bytes, &bits, &ipv4);

	if (rc)
		return rc;
	host_bits = host_bits_clear(bytes, bits);
	if (canonical)
		prefix_print(canonical, PREFIX_TEXT_MAX, bytes, bits);
	if (!ipv4 && prefix_is_ipv4(bytes, bits))
		return WORD_MAPPED;
	if (host_bits)
		return WORD_HOST_BITS;
	memcpy(addr, bytes, sizeof(bytes));
	*len = bits;
	return 0;
}

int duration_print(char *buf, size_t size, uint64_t ns)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(printed_times) - 1 && (!ns || ns % printed_times[i].factor))
		i++;
	return snprintf(buf, size, "%" PRIu64 "%s", ns / printed_times[i].factor,
			printed_times[i].name);
}

int amount_print(char *buf, size_t size, uint64_t amount, enum rl_unit unit)
{
	size_t i = 0;

	if (unit == RL_PACKETS || unit == RL_CONNECTIONS)
		return snprintf(buf, size, "%" PRIu64, amount);
	while (i < ARRAY_SIZE(multipliers) - 1 && (!amount || amount % multipliers[i].factor))
		i++;
	return snprintf(buf, size, "%" PRIu64 "%s%s", amount / multipliers[i].factor,
			multipliers[i].name, unit_names[unit]);
}

const char *units_name(enum rl_unit unit)
{
	static const char *const names[RL_UNIT_COUNT] = {"packets", "bytes", "bits", "connections"};

	return names[unit];
}

static int period_print(char *buf, size_t size, uint64_t ns)
{
	static const struct scale words[] = {
		{"second", NS_PER_SECOND},
		{"minute", NS_PER_MINUTE},
		{"hour", NS_PER_HOUR},
		{"day", NS_PER_DAY},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (ns == words[i].factor)
			return snprintf(buf, size, "%s", words[i].name);
	return duration_print(buf, size, ns);
}

int rate_print(char *buf, size_t size, uint64_t amount, uint64_t period_ns, enum rl_unit unit)
{
	char count[QUANTITY_TEXT_MAX], period[QUANTITY_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(short_rates); i++)
		if (unit == RL_BITS && short_rates[i].unit == RL_BITS &&
		    period_ns == NS_PER_SECOND && amount && !(amount % short_rates[i].factor))
			return snprintf(buf, size, "%" PRIu64 "%s", amount / short_rates[i].factor,
					short_rates[i].name);
	amount_print(count, sizeof(count), amount, unit);
	period_print(period, sizeof(period), period_ns);
	return snprintf(buf, size, "%s/%s", count, period);
}

int prefix_print(char *buf, size_t size, const uint8_t addr[16], uint8_t len)
{
	bool ipv4 = prefix_is_ipv4(addr, len);
	char text[INET6_ADDRSTRLEN];
	unsigned int bits = ipv4 ? len - RL_MAPPED_BITS : len;

	if (ipv4)
		inet_ntop(AF_INET, addr + RL_MAPPED_BITS / 8, text, sizeof(text));
	else
		inet_ntop(AF_INET6, addr, text, sizeof(text));
	if (len == 128)
		return snprintf(buf, size, "%s", text);
	return snprintf(buf, size, "%s/%u", text, bits);
}

const char *unit_word(size_t index)
{
	if (index < ARRAY_SIZE(time_units))
		return time_units[index].name;
	index -= ARRAY_SIZE(time_units);
	if (index < ARRAY_SIZE(multipliers) - 1) /* without the last, which is empty */
		return multipliers[index].name;
	index -= ARRAY_SIZE(multipliers) - 1;
	if (index < ARRAY_SIZE(unit_names))
		return unit_names[index];
	index -= ARRAY_SIZE(unit_names);
	return index < ARRAY_SIZE(short_rates) ? short_rates[index].name : NULL;
}
