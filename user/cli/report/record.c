// SPDX-License-Identifier: GPL-2.0-only
/* Collects what a report says. Rules count in the kernel, where a packet may count for several of
 * them; what they have counted is read whenever a bin ends. */
#include "cli/report/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/output/output.h"
#include "policy/names.h"
#include "watch/local/local.h"

void record_side_add(struct record *record, const char *name, const struct policy *policy,
		     const struct simulation *simulation)
{
	record->sides[record->side_count++] = (struct record_side){
		.name = name,
		.policy = policy,
		.simulation = simulation,
		.rules = xcalloc(policy->count + 1, sizeof(struct rule_series)),
		.before = xcalloc(policy->count + 1, sizeof(struct rule_counters)),
		.now = xcalloc(policy->count + 1, sizeof(struct rule_counters)),
	};
}

void record_clear(struct record *record)
{
	for (struct difference *d = record->differences, *next; d; d = next) {
		next = d->hh.next;
		hash_remove(record->differences, d);
		free(d);
	}
	for (int i = 0; i < RECORD_SIDES; i++) {
		free(record->sides[i].rules);
		free(record->sides[i].before);
		free(record->sides[i].now);
		free(record->sides[i].shares);
		free(record->sides[i].shares_before);
	}
	heavy_clear(&record->sources);
	heavy_clear(&record->differing);
	timeline_clear(&record->timeline);
	memset(record, 0, sizeof(*record));
}

/* Makes the series with its first packet. */
static void series_add(struct record *record, struct series **series, size_t bin,
		       struct rl_amount amount)
{
	if (!amount.packets)
		return;
	if (!*series)
		*series = timeline_series(&record->timeline);
	if (!*series)
		out_of_memory();
	amount_add(&(*series)->at[bin], &amount);
}

/* ---- counters of rules */

static struct rl_amount grown(const struct rl_amount *before, const struct rl_amount *now)
{
	return (struct rl_amount){now->packets - before->packets, now->bytes - before->bytes};
}

static int rules_read(struct record *record, struct record_side *side, size_t bin)
{
	struct rule_counters *read = side->now;
	int ret = simulation_counters_read(side->simulation, read);

	if (ret)
		return ret;
	for (size_t i = 0; i < side->policy->count; i++) {
		const struct rule_counters *before = &side->before[i], *now = &read[i];
		struct rule_series *series = &side->rules[i];

		series_add(record, &series->passed, bin, grown(&before->passed, &now->passed));
		series_add(record, &series->dropped, bin, grown(&before->dropped, &now->dropped));
		series_add(record, &series->shadow, bin, grown(&before->shadow, &now->shadow));
	}
	side->now = side->before;
	side->before = read;
	return 0;
}

/* ---- shares */

static int shares_read(struct record *record, struct record_side *side, size_t bin)
{
	static const struct share_counts none;
	struct share_counts *now;
	int ret = simulation_shares_read(side->simulation, &now);

	if (ret || !now)
		return ret;
	if (!side->shares)
		side->shares = xcalloc(side->policy->count, sizeof(*side->shares));
	for (size_t i = 0; i < side->policy->count; i++) {
		const struct share_counts *before =
			side->shares_before ? &side->shares_before[i] : &none;
		struct share_series *series = &side->shares[i];

		for (int of = 0; of < RL_SHARE_COUNTS; of++) {
			series_add(record, &series->arrived[of], bin,
				   (struct rl_amount){now[i].arrived[of] - before->arrived[of], 0});
			series_add(record, &series->passed[of], bin,
				   (struct rl_amount){now[i].passed[of] - before->passed[of], 0});
		}
	}
	free(side->shares_before);
	side->shares_before = now;
	return 0;
}

/* ---- alarms */

static void span_begin(struct alarm_record *record, uint32_t alarm, uint64_t from_ns)
{
	if (record->span_count == ALARM_SPANS_MAX) {
		record->lost++;
		return;
	}
	record->spans[record->span_count++] =
		(struct alarm_span){.alarm = alarm, .from_ns = from_ns, .open = true};
}

static void span_end(struct alarm_record *record, uint32_t alarm, uint64_t to_ns)
{
	for (size_t i = record->span_count; i-- > 0;) {
		struct alarm_span *span = &record->spans[i];

		if (span->alarm != alarm || !span->open)
			continue;
		span->to_ns = to_ns;
		span->open = false;
		return;
	}
}

/* Only the last of several changes between two readings has a time; of the others it is known that
 * there were any. */
static void alarm_turned(struct alarm_record *record, uint32_t alarm, const struct alarm_now *now)
{
	struct alarm_seen *seen = &record->seen[alarm];
	uint64_t changes = now->changes - seen->changes;

	if (now->on && seen->on)
		span_end(record, alarm, record->read_ns);
	else if (!now->on && !seen->on)
		span_begin(record, alarm, record->read_ns);
	if (now->on)
		span_begin(record, alarm, now->since_ns);
	else
		span_end(record, alarm, now->since_ns);
	record->lost += changes - 1;
}

void record_alarms(struct alarm_record *record, const struct alarms_now *now, uint64_t now_ns)
{
	record->count = now->count;
	for (uint32_t i = 0; i < now->count; i++) {
		const struct alarm_now *alarm = &now->alarm[i];
		struct alarm_seen *seen = &record->seen[i];

		if (alarm->changes < seen->changes || strcmp(alarm->name, seen->name) != 0) {
			span_end(record, i, record->read_ns); /* the policy started over */
			seen->changes = 0;
			seen->on = false;
		}
		memcpy(seen->name, alarm->name, sizeof(seen->name));
		if (alarm->changes > seen->changes)
			alarm_turned(record, i, alarm);
		seen->changes = alarm->changes;
		seen->on = alarm->on;
	}
	record->read_ns = now_ns;
}

static int alarms_note(struct record_side *side, uint64_t now_ns)
{
	struct alarms_now now;
	int ret = simulation_alarms_read(side->simulation, now_ns, &now);

	if (!ret)
		record_alarms(&side->alarms, &now, now_ns);
	return ret;
}

static int alarms_turn(struct record *record, uint64_t time_ns)
{
	uint64_t pause_ns;
	int ret = 0;

	if (time_ns < record->alarms_due_ns)
		return 0;
	for (int i = 0; !ret && i < record->side_count; i++)
		if (record->sides[i].policy->alarm_count)
			ret = alarms_note(&record->sides[i], time_ns);
	/* An eighth of a bin is as much as a page can show. */
	pause_ns = timeline_width_ns(&record->timeline) / 8;
	if (pause_ns < RL_ALARM_TENTH_MIN)
		pause_ns = RL_ALARM_TENTH_MIN;
	record->alarms_due_ns = time_ns + pause_ns;
	return ret;
}

/* ---- time */

/* All that was counted since the last turn goes into the bin of the packet before. */
static int bin_end(struct record *record)
{
	size_t bin = timeline_bin(&record->timeline, record->turned_ns);
	int ret = 0;

	for (int i = 0; !ret && i < record->side_count; i++) {
		ret = rules_read(record, &record->sides[i], bin);
		ret = ret ?: shares_read(record, &record->sides[i], bin);
	}
	return ret;
}

static bool bin_ends(const struct record *record, uint64_t time_ns)
{
	uint64_t width_ns = timeline_width_ns(&record->timeline);

	return record->timeline.count && time_ns / width_ns != record->turned_ns / width_ns;
}

bool record_turns(const struct record *record, uint64_t time_ns)
{
	return record->side_count &&
	       (bin_ends(record, time_ns) || time_ns >= record->alarms_due_ns);
}

int record_turn(struct record *record, uint64_t time_ns)
{
	int ret = 0;

	if (!record->side_count)
		return 0;
	if (bin_ends(record, time_ns))
		ret = bin_end(record);
	ret = ret ?: alarms_turn(record, time_ns);
	timeline_bin(&record->timeline, time_ns);
	record->turned_ns = time_ns;
	return ret;
}

int record_restart(struct record *record)
{
	int ret = 0;

	for (int i = 0; !ret && record->timeline.count && i < record->side_count; i++) {
		struct alarm_record *alarms = &record->sides[i].alarms;

		if (!record->sides[i].policy->alarm_count)
			continue;
		ret = alarms_note(&record->sides[i], record->turned_ns);
		for (uint32_t n = 0; n < alarms->count; n++) {
			span_end(alarms, n, record->turned_ns);
			alarms->seen[n].changes = 0;
			alarms->seen[n].on = false;
		}
	}
	record->alarms_due_ns = 0;
	return ret;
}

int record_end(struct record *record)
{
	int ret = record->timeline.count ? bin_end(record) : 0;

	for (int i = 0; !ret && i < record->side_count; i++)
		if (record->packets.packets && record->sides[i].policy->alarm_count)
			ret = alarms_note(&record->sides[i], record->last_ns);
	for (int i = 0; i < record->side_count; i++) {
		struct alarm_record *alarms = &record->sides[i].alarms;

		for (size_t n = 0; n < alarms->span_count; n++)
			if (alarms->spans[n].open)
				alarms->spans[n].to_ns = record->last_ns;
	}
	return ret;
}

/* ---- packets */

/* The packet is dropped by one side alone. */
static void difference_add(struct record *record, size_t bin, uint32_t side,
			   const struct record_verdict *verdict, const struct rl_amount *amount)
{
	const struct difference_key key = {
		.side = side,
		.reason = verdict->reason,
		.counter_id = verdict->counter_id,
	};
	struct difference *difference;

	HASH_FIND(hh, record->differences, &key, sizeof(key), difference);
	if (!difference) {
		difference = xcalloc(1, sizeof(*difference));
		difference->key = key;
		HASH_ADD(hh, record->differences, key, sizeof(key), difference);
		if (!difference->hh.tbl)
			out_of_memory();
	}
	amount_add(&record->only[side], amount);
	amount_add(&difference->amount, amount);
	series_add(record, &difference->series, bin, *amount);
}

void record_packet(struct record *record, const struct captured *packet,
		   const struct record_verdict verdicts[RECORD_SIDES])
{
	const struct rl_amount amount = {.packets = 1, .bytes = packet->bytes};
	uint64_t now_ns = packet->time_ns;
	struct local_packet parsed;
	unsigned int kind = 0;
	int only; /* the side that alone drops the packet; -1: both do the same */
	size_t bin;

	if (!record->side_count)
		return;
	for (int i = 0; i < record->side_count; i++)
		kind |= reason_rows[verdicts[i].reason].passes ? 0 : 1U << i;
	only = record->side_count > 1 && (kind == 1 || kind == 2) ? (int)kind - 1 : -1;
	bin = timeline_bin(&record->timeline, now_ns);
	if (!record->packets.packets || now_ns < record->first_ns)
		record->first_ns = now_ns;
	if (now_ns > record->last_ns)
		record->last_ns = now_ns;
	amount_add(&record->packets, &amount);
	for (int i = 0; i < record->side_count; i++)
		series_add(record, &record->sides[i].reasons[verdicts[i].reason], bin, amount);
	if (only >= 0)
		difference_add(record, bin, only, &verdicts[only], &amount);
	local_packet_parse(packet, &parsed);
	if (!parsed.has_addresses)
		return;
	if (heavy_add(&record->sources, parsed.src, kind, packet->bytes, now_ns) ||
	    (only >= 0 && heavy_add(&record->differing, parsed.src, only, packet->bytes, now_ns)))
		out_of_memory();
}

/* ---- what is asked for */

struct rl_amount record_sum(const struct record *record, const struct series *series)
{
	struct rl_amount sum = {0};

	for (size_t i = 0; series && i < record->timeline.count; i++)
		amount_add(&sum, &series->at[i]);
	return sum;
}
