// SPDX-License-Identifier: GPL-2.0-only
/* Numbers, durations, amounts, rates and prefixes: every parser gets every input; a value that it
 * accepts prints as text that parses to the same value.
 */
#include "fuzz.h"

#include "base/units.h"

#define TEXT_MAX  160
#define UNTOUCHED 0x5a5a5a5a5a5a5a5aull /* outputs that a refusal leaves alone */

static bool is_refusal(int rc)
{
	return rc > WORD_OK && rc <= WORD_MAPPED;
}

static void number_check(const char *word)
{
	uint64_t n = UNTOUCHED, again;
	char text[TEXT_MAX];

	if (number_parse(word, 7, 1ull << 40, &n)) {
		require(n == UNTOUCHED);
		return;
	}
	require(n >= 7 && n <= 1ull << 40);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	require(!number_parse(text, n, n, &again) && again == n);
}

static void duration_check(const char *word)
{
	uint64_t ns = UNTOUCHED, again;
	char text[TEXT_MAX];
	int rc = duration_parse(word, &ns);

	if (rc) {
		require(is_refusal(rc) && ns == UNTOUCHED);
		return;
	}
	require(ns > 0 && ns <= DURATION_MAX_NS);
	require((size_t)duration_print(text, sizeof(text), ns) == strlen(text));
	require(fuzz_is_plain(text));
	require(!duration_parse(text, &again) && again == ns);
}

static void amount_check(const char *word)
{
	uint64_t amount = UNTOUCHED, again;
	enum rl_unit unit = RL_UNIT_COUNT, unit_again;
	char text[TEXT_MAX];
	int rc = amount_parse(word, &amount, &unit);

	if (rc) {
		require(is_refusal(rc) && amount == UNTOUCHED && unit == RL_UNIT_COUNT);
		return;
	}
	require(unit < RL_UNIT_COUNT);
	require((size_t)amount_print(text, sizeof(text), amount, unit) == strlen(text));
	require(!amount_parse(text, &again, &unit_again));
	require(again == amount && unit_again == unit);
}

static void rate_check(const char *word)
{
	uint64_t amount = UNTOUCHED, period = UNTOUCHED, again, period_again;
	enum rl_unit unit = RL_UNIT_COUNT, unit_again;
	char text[TEXT_MAX];
	int rc = rate_parse(word, &amount, &period, &unit);

	if (rc) {
		require(is_refusal(rc) && amount == UNTOUCHED && period == UNTOUCHED);
		return;
	}
	require(amount > 0 && period > 0 && unit < RL_UNIT_COUNT);
	require((size_t)rate_print(text, sizeof(text), amount, period, unit) == strlen(text));
	require(!rate_parse(text, &again, &period_again, &unit_again));
	require(again == amount && period_again == period && unit_again == unit);
	require(rate_amount_in(amount, period, period) == amount);
}

static void prefix_check(const char *word)
{
	char canonical[PREFIX_TEXT_MAX] = "", text[PREFIX_TEXT_MAX];
	uint8_t addr[16], again[16], len = 255, len_again;
	int rc = prefix_parse(word, addr, &len, canonical);

	if (rc) {
		require(is_refusal(rc) && len == 255);
		/* The suggested prefix is valid. */
		require(!*canonical || !prefix_parse(canonical, again, &len_again, NULL));
		return;
	}
	require(len <= 128 && prefix_contains(addr, len, addr));
	require((size_t)prefix_print(text, sizeof(text), addr, len) == strlen(text));
	require(!prefix_parse(text, again, &len_again, NULL));
	require(len_again == len && !memcmp(again, addr, sizeof(addr)));
	prefix_mask(again, addr, len);
	require(!memcmp(again, addr, sizeof(addr)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *word = fuzz_string(data, size);

	number_check(word);
	duration_check(word);
	amount_check(word);
	rate_check(word);
	prefix_check(word);
	free(word);
	return 0;
}
