// SPDX-License-Identifier: GPL-2.0-only
/* Amounts, durations and rates in a statement, as one word or with a blank between number and unit;
 * and remedies for common mistakes.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "policy/parser.h"

#define RATE_PACKETS_MAX            (1ull << 48)
#define RATE_PACKETS_PER_SECOND_MAX 100000000ull
#define RATE_BITS_PER_SECOND_MAX    400000000000ull

static int rate_quantity(const char *word, struct quantity *out)
{
	return rate_parse(word, &out->n, &out->period_ns, &out->unit);
}

static int amount_quantity(const char *word, struct quantity *out)
{
	return amount_parse(word, &out->n, &out->unit);
}

static int duration_quantity(const char *word, struct quantity *out)
{
	out->is_duration = true;
	return duration_parse(word, &out->n);
}

/* "5m" may be five million packets or five minutes: WORD_AMBIGUOUS. */
static int queue_quantity(const char *word, struct quantity *out)
{
	struct quantity amount = {0}, duration = {0};
	int rc = amount_quantity(word, &amount);
	int duration_rc = duration_quantity(word, &duration);

	if (rc != WORD_FORM && duration_rc != WORD_FORM)
		return WORD_AMBIGUOUS;
	*out = rc == WORD_FORM ? duration : amount;
	return rc == WORD_FORM ? duration_rc : rc;
}

static const struct quantity_form {
	int (*parse)(const char *word, struct quantity *out);
	const char *what;
	const char *range;
} forms[] = {
	[QUANTITY_RATE] = {rate_quantity, "a rate: write for example " RATE_EXAMPLES,
			   "write an amount from 1 to 2^64-1, and a period from 1ns to 53375d"},
	[QUANTITY_AMOUNT] = {amount_quantity,
			     "an amount: write for example 200, 64kibyte or 512kbit",
			     "write less than 2^64"},
	[QUANTITY_QUEUE] = {queue_quantity,
			    "an amount or a duration: write for example 200, 64kibyte or 20ms",
			    "write an amount less than 2^64, or a duration from 1ns to 53375d"},
	[QUANTITY_LIFE] =
		{duration_quantity,
		 "a duration: write for example 30s, 10m or 1h, or leave out \"for\" for a "
		 "permanent rule",
		 "write a duration from 1ns to 53375d, or leave out \"for\" for a permanent "
		 "rule"},
	[QUANTITY_DURATION] = {duration_quantity, "a duration: write for example 30s, 10m or 1h",
			       "write a duration from 1ns to 53375d"},
};

/* "10kbps" and "10kpps", which other tools accept. */
static int per_second_refuse(struct parser *p, enum quantity_kind kind)
{
	const char *per = kind == QUANTITY_RATE ? "/second" : "";
	const char *bps = strcasestr(p->word, "bps");

	if (bps)
		return refuse(
			p, p->span, "is ambiguous (bits or bytes): write %.*sbit%s or %.*sbyte%s",
			(int)(bps - p->word), p->word, per, (int)(bps - p->word), p->word, per);
	return refuse(p, p->span, "combines a multiplier with pps: write %.*s%s",
		      (int)strcspn(p->word, "pP"), p->word, per);
}

#define ZERO_RATE_TEXT_MAX 320 /* what a message has room for */

/* Shows the rule to write instead. */
static int zero_rate_refuse(struct parser *p)
{
	struct rule deny = *p->rule;
	char text[RULE_TEXT_MAX];

	deny.action = RL_ACTION_DENY;
	if (deny.kind == PREFIX_DEVICE && !deny.match.flags)
		deny.kind = PREFIX_ANY; /* for "rule device deny" */
	if (rule_print(text, sizeof(text), &deny, p->ctx) > ZERO_RATE_TEXT_MAX)
		return refuse(p, p->span, "lets nothing pass: write deny in place of limit");
	return refuse(p, p->span, "lets nothing pass: write \"%s\"", text);
}

static int quantity_refuse(struct parser *p, enum quantity_kind kind, int rc)
{
	int digits = (int)strspn(p->word, "0123456789"), zeros = (int)strspn(p->word, "0");

	if (rc != WORD_FORM && kind == QUANTITY_RATE && zeros && zeros == digits &&
	    p->rule->action == RL_ACTION_LIMIT) /* "0/second" */
		return zero_rate_refuse(p);
	switch (rc) {
	case WORD_PER_SECOND:
		return per_second_refuse(p, kind);
	case WORD_RANGE:
		return refuse(p, p->span, "is out of range: %s", forms[kind].range);
	case WORD_NO_PERIOD:
		return refuse(p, p->span, "has no period: write %s/second", p->word);
	case WORD_AMBIGUOUS:
		return refuse(p, p->span,
			      "is ambiguous (minutes or millions of packets): write %.*smin or "
			      "%.*smpackets",
			      digits, p->word, digits, p->word);
	}
	return expected(p, forms[kind].what);
}

/* Appends the next word, if it begins with a letter, to one that ends in a digit: a unit to its
 * number. */
static bool word_extend(const struct parser *p, struct span *span, char word[WORD_MAX + 1])
{
	struct span unit = span_after(p, *span);
	size_t len = strlen(word);

	if (!len || !isdigit((unsigned char)word[len - 1]))
		return false;
	if (!unit.len || !isalpha((unsigned char)unit.at[0]) || len + unit.len > WORD_MAX)
		return false;
	memcpy(word + len, unit.at, unit.len);
	word[len + unit.len] = '\0';
	span->len = unit.at + unit.len - span->at;
	return true;
}

/* Users of nft write "1024 kbytes/second", and a period may have two words as well: joins up to
 * three words into one if together they have the form, or if an error is about all of them. */
static void forms_join(struct parser *p, enum quantity_kind kind)
{
	struct span span = p->span;
	char joined[WORD_MAX + 1];
	struct quantity ignored;

	memcpy(joined, p->word, sizeof(joined));
	while (word_extend(p, &span, joined)) {
		bool is_form = forms[kind].parse(joined, &ignored) != WORD_FORM;

		/* After a rate's number, "packets/2" is part of it, whatever follows. */
		if (!is_form && (kind != QUANTITY_RATE || !strchr(joined + strlen(p->word), '/')))
			return;
		p->span = span;
		memcpy(p->word, joined, sizeof(joined));
		if (is_form)
			return;
	}
}

int parse_quantity(struct parser *p, enum quantity_kind kind, struct quantity *out)
{
	int rc;

	memset(out, 0, sizeof(*out));
	forms_join(p, kind);
	rc = forms[kind].parse(p->word, out);
	if (rc)
		return quantity_refuse(p, kind, rc);
	out->at = p->span;
	word_next(p);
	return 0;
}

int rate_check(struct parser *p, const struct quantity *rate)
{
	bool packets = rate->unit == RL_PACKETS;
	unsigned __int128 amount = rate->n, most;

	if (packets && rate->n > RATE_PACKETS_MAX)
		return refuse(p, rate->at,
			      "is out of range: write at most 2^48 packets per period");
	most = packets ? RATE_PACKETS_PER_SECOND_MAX : RATE_BITS_PER_SECOND_MAX;
	if (rate->unit == RL_BYTES)
		amount *= 8;
	if (amount * NS_PER_SECOND > most * rate->period_ns)
		return refuse(p, rate->at, "is too high: write at most %s",
			      packets ? "100m/second" : "400gbit");
	if (packets && amount * NS_PER_DAY < rate->period_ns)
		return refuse(p, rate->at, "is too low: write at least 1/day");
	return 0;
}

int parse_duration(struct parser *p, __u64 *out_ns)
{
	struct quantity q;
	int rc = parse_quantity(p, QUANTITY_DURATION, &q);

	if (!rc)
		*out_ns = q.n;
	return rc;
}
