// SPDX-License-Identifier: GPL-2.0-only
/* A statement `alarm`, and `while` after a rule: text to model.
 *   manual    nothing else: `rlctl alarm` turns it on and off
 *   RATE      as in limits; in a tenth of its time, at least one packet of the smallest size
 *   DURATION  100ms to 1d; a tenth of it is at least 100 ms, so the shorter ones have fewer of them
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "policy/alarm.h"
#include "policy/parser.h"

#define ALARM_FOR_MAX_NS NS_PER_DAY
#define SMALLEST_PACKET  64 /* bytes of an Ethernet frame */

_Static_assert(RL_ALARM_TENTH_MIN == 100 * NS_PER_MS, "as the messages say");

int parse_alarm_name(struct parser *p, char out[RL_ALARM_NAME_MAX + 1])
{
	if (!strcmp(p->word, "not")) /* else `while not NAME` would have two meanings */
		return refuse(p, p->span,
			      "is a word of the language, so no alarm has this name: write another "
			      "one");
	return parse_name(p, p->word, "an alarm", "attack", out);
}

int parse_while(struct parser *p)
{
	if (word_is(p, "not")) {
		p->extra.alarm_not = 1;
		word_next(p);
	}
	p->rule->while_column = p->span.at - p->line + 1;
	if (parse_alarm_name(p, p->extra.alarm))
		return -EINVAL;
	return extra_keep(p);
}

/* ---- the statement */

/* A phase as it was read, and where. */
struct phase {
	struct quantity rate;
	__u64 for_ns;
};

static int parse_word(struct parser *p, const char *word, const char *what)
{
	if (!word_is(p, word))
		return expected(p, what);
	word_next(p);
	return 0;
}

/* After the word `over` or `under`. */
static int parse_phase(struct parser *p, struct phase *phase)
{
	int rc = parse_quantity(p, QUANTITY_RATE, &phase->rate) ?:
		 rate_check(p, &phase->rate) ?:
		 parse_word(p, "for",
			    "for and a duration: write for example for 2s, the time for which the rate "
			    "must last") ?:
		 parse_duration(p, &phase->for_ns);

	if (!rc && phase->for_ns < RL_ALARM_TENTH_MIN)
		return refuse(p, p->before,
			      "is too short: an alarm looks at the rate every 100ms at most, write "
			      "100ms or longer");
	if (!rc && phase->for_ns > ALARM_FOR_MAX_NS)
		return refuse(p, p->before, "is too long: write 1d or less");
	return rc;
}

static bool is_packets(const struct phase *phase)
{
	return phase->rate.unit == RL_PACKETS;
}

/* Brings both rates into one unit: packets, or bits if one of them is in bits. */
static int units_join(struct parser *p, struct phase phases[2])
{
	if (is_packets(&phases[0]) != is_packets(&phases[1]))
		return refuse(p, phases[1].rate.at,
			      "is in %s, but the rate after over is in %s: write both in packets, "
			      "or both in bits or bytes",
			      is_packets(&phases[1]) ? "packets" : "bits or bytes",
			      is_packets(&phases[0]) ? "packets" : "bits or bytes");
	if (phases[0].rate.unit == phases[1].rate.unit)
		return 0;
	for (int i = 0; i < 2; i++) {
		struct quantity *rate = &phases[i].rate;

		if (rate->unit == RL_BITS)
			continue;
		if (rate->n > UINT64_MAX / 8)
			return refuse(p, rate->at,
				      "is too large to be written in bits, as the other rate is: "
				      "write both in bytes");
		rate->n *= 8;
		rate->unit = RL_BITS;
	}
	return 0;
}

static int order_check(struct parser *p, const struct phase phases[2])
{
	const struct quantity *on = &phases[0].rate, *off = &phases[1].rate;
	char rate[QUANTITY_TEXT_MAX];

	if ((unsigned __int128)off->n * on->period_ns <= (unsigned __int128)on->n * off->period_ns)
		return 0;
	rate_print(rate, sizeof(rate), on->n, on->period_ns, on->unit);
	return refuse(p, off->at,
		      "is more than %s, at which the alarm goes on, so it would go on and off "
		      "without end: write %s or less",
		      rate, rate);
}

/* With less than a packet in a tenth, it would not be the rate that is asked for, but a packet in
 * each tenth, or silence. */
static int tenth_check(struct parser *p, const struct phase *phase)
{
	const struct quantity *rate = &phase->rate;
	unsigned int bytes = rate->unit == RL_BITS ? 8 * SMALLEST_PACKET : SMALLEST_PACKET;
	unsigned __int128 packet = rate->unit == RL_PACKETS ? 1 : bytes;
	/* Nanoseconds in which the rate has one packet of the smallest size, rounded up. */
	unsigned __int128 least = (packet * rate->period_ns + rate->n - 1) / rate->n;
	uint64_t tenth = phase->for_ns / alarm_tenths(phase->for_ns), seconds;
	char took[QUANTITY_TEXT_MAX], longer[QUANTITY_TEXT_MAX];

	if (least <= tenth)
		return 0;
	if (least > ALARM_FOR_MAX_NS / RL_ALARM_TENTHS)
		return refuse(p, phase->rate.at,
			      "is too low for an alarm: write at least ten packets a day");
	seconds = ((uint64_t)least * RL_ALARM_TENTHS + NS_PER_SECOND - 1) / NS_PER_SECOND;
	duration_print(took, sizeof(took), tenth);
	duration_print(longer, sizeof(longer), seconds * NS_PER_SECOND);
	return refuse(p, phase->rate.at,
		      "is less than one packet in %s, the time in which an alarm counts: write "
		      "for %s or longer",
		      took, longer);
}

/* From `over` to the end of the statement. */
static int parse_phases(struct parser *p, struct phase phases[2])
{
	int rc = parse_word(p, "over",
			    "a match or over: write over and a rate, for example over 100k/second "
			    "for 2s") ?:
		 parse_phase(p, &phases[0]) ?:
		 parse_word(p, "until",
			    "until: write when the alarm ends, for example until under 50k/second "
			    "for 30s") ?:
		 parse_word(p, "under",
			    "under: write under and a rate, for example under 50k/second for 30s") ?:
		 parse_phase(p, &phases[1]);

	if (!rc && p->span.len)
		return refuse(p, p->span,
			      "follows the end of an alarm: remove it, and write matches after "
			      "when");
	return rc;
}

int parse_alarm(struct parser *p, struct policy_alarm *out)
{
	struct policy_alarm alarm = {0};
	struct phase phases[2] = {0};
	int rc;

	p->rule->kind = PREFIX_ANY;
	p->rule->action = RL_ACTION_COUNT;
	rc = parse_alarm_name(p, alarm.name);
	alarm.manual = !rc && word_is(p, "manual");
	if (alarm.manual) {
		word_next(p);
		if (p->span.len)
			return refuse(p, p->span,
				      "follows the end of an alarm: remove it, for a manual alarm "
				      "counts nothing");
		alarm.counts = *p->rule;
		*out = alarm;
		return 0;
	}
	rc = rc ?: parse_word(p, "when",
			      "when or manual: write for example when udp over 100k/second for 2s until "
			      "under 50k/second for 30s") ?:
	     parse_matches(p) ?: refuse_foreign(p, WORD_COUNTED) ?: parse_phases(p, phases) ?:
	     units_join(p, phases) ?: order_check(p, phases) ?: tenth_check(p, &phases[0]) ?:
	     tenth_check(p, &phases[1]);
	if (rc)
		return rc;
	alarm.counts = *p->rule;
	alarm.unit = phases[0].rate.unit;
	for (int i = 0; i < 2; i++)
		alarm.phase[i] = (struct policy_alarm_phase){
			phases[i].rate.n, phases[i].rate.period_ns, phases[i].for_ns};
	*out = alarm;
	return 0;
}
