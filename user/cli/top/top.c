// SPDX-License-Identifier: GPL-2.0-only
/* A snapshot: exact totals from the counters, each source's share from the samples, and the state
 * under the deciding rule of the first sources.
 */

#include "cli/top/top.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "kernel/instance/instance.h"
#include "kernel/state/source.h"
#include "kernel/state/stats.h"
#include "kernel/watch/watch.h"
#include "policy/names.h"
#include "policy/policy.h"
#include "watch/events/alarms.h"
#include "watch/traffic/rule_book.h"
#include "watch/traffic/talkers.h"

#define ALL (((1u << TOP_COLUMN_COUNT) - 1) & ~(BIT(SHARE) | BIT(FROM)))

const struct top_view top_views[TOP_BYS] = {
	{"source", "sources", {"dropped", "passed", "bits", "address"}, ALL},
	{"destination",
	 "destinations",
	 {"dropped", "passed", "bits", "address"},
	 ALL & ~(BIT(REMAINING) | BIT(BANNED))},
	{"rule",
	 "rules",
	 {"dropped", "passed", "bits", "prefix"},
	 BIT(DROPPED) | BIT(DROPPED_BITS) | BIT(PASSED) | BIT(PASSED_BITS) | BIT(RULE)},
	{"pattern",
	 "patterns",
	 {"dropped", "passed", "bits", "protocol"},
	 BIT(SHARE) | BIT(NAME) | BIT(FROM) | BIT(DROPPED) | BIT(DROPPED_ERROR) | BIT(PASSED) |
		 BIT(PASSED_ERROR)},
};

/* Up to so many rules, their counters are read for each slice, as their rates are then known when
 * the user asks for them; of more, only while they are shown. */
#define RULES_ALWAYS 4096

/* ---- counters */

static int counted_read(struct top *top, unsigned int slice)
{
	struct rl_amount reasons[RL_REASON_COUNT];
	struct rl_amount *out = top->counted[slice];
	int ret = instance_reasons_read(top->instance, reasons);

	if (ret)
		return ret;
	memset(out, 0, sizeof(top->counted[slice]));
	for (int i = 0; i < RL_REASON_COUNT; i++) {
		out[reason_rows[i].passes].packets += reasons[i].packets;
		out[reason_rows[i].passes].bytes += reasons[i].bytes;
	}
	top->counted_ns[slice] = clock_ns(CLOCK_MONOTONIC);
	return 0;
}

/* The counters of the rules at the start of the slice. */
static int rules_read(struct top *top, unsigned int slice)
{
	const struct policy *policy = &top->book.policy;
	int ret;

	rule_counts_clear(&top->rules[slice]);
	if (top->by != TOP_BY_RULE && policy->count > RULES_ALWAYS)
		return 0;
	ret = rule_counts_read(top->instance, policy, &top->rules[slice]);
	if (ret)
		fail("%s: reading the counters failed: %s", top->instance->device, strerror(-ret));
	return ret;
}

static int slice_begin(struct top *top, unsigned int slice)
{
	return counted_read(top, slice) ?: rules_read(top, slice);
}

int top_open(struct instance *instance, uint32_t rate, enum top_by by, bool quiet, struct top *out)
{
	const struct watch_options options = {.reasons = (1u << RL_REASON_COUNT) - 1,
					      .rate = rate,
					      .counter_id = RL_WATCH_ANY,
					      .quiet = quiet};
	int ret;

	*out = (struct top){.instance = instance, .by = by};
	out->talkers[TOP_BY_DEST].by_dest = true;
	out->talkers[TOP_BY_PATTERN].by_pattern = true;
	out->talkers[TOP_BY_PATTERN].raw_ip = instance->info.raw_ip;
	rule_book_init(&out->book, instance);
	ret = rule_book_refresh(&out->book);
	ret = ret ?: slice_begin(out, 0);
	ret = ret ?: watch_open(instance, &options, &out->watch);
	if (ret)
		top_close(out);
	return ret;
}

void top_close(struct top *top)
{
	watch_close(top->watch);
	for (int by = 0; by < TOP_BYS; by++)
		talkers_clear(&top->talkers[by]);
	for (int slice = 0; slice <= TALKER_SLICES; slice++)
		rule_counts_clear(&top->rules[slice]);
	rule_book_clear(&top->book);
	free(top->rows);
	top->watch = NULL;
	top->rows = NULL;
}

static int on_sample(void *arg, const struct sampled *sampled)
{
	const struct rl_sample *sample = &sampled->packet;
	bool passed = sample->reason < RL_REASON_COUNT && reason_rows[sample->reason].passes;
	struct top *top = arg;

	for (int by = 0; by < TOP_BYS; by++)
		if (by != TOP_BY_RULE &&
		    talkers_add(&top->talkers[by], sampled, sample_has_addresses(sample), passed))
			out_of_memory();
	return 0;
}

int top_drain(struct top *top)
{
	return watch_poll(top->watch, on_sample, top);
}

int top_finish(struct top *top)
{
	return watch_finish(top->watch, UINT64_MAX, on_sample, top);
}

/* ---- rows */

static uint64_t share_of(uint64_t part, uint64_t whole, uint64_t of)
{
	return whole ? (uint64_t)((unsigned __int128)of * part / whole) : 0;
}

static uint64_t per_second(uint64_t n, uint64_t ns)
{
	return share_of(n, ns, NS_PER_SECOND);
}

/* The part of the exact rate that the samples are of all samples. */
static struct top_rate rate_of(const struct top_rate *exact, const struct talk *part,
			       const struct talk *all)
{
	return (struct top_rate){
		.packets = share_of(part->packets.sum, all->packets.sum, exact->packets),
		.bits = share_of(part->bytes.sum, all->bytes.sum, exact->bits),
	};
}

/* Those of the view, which is not of rules. */
static const struct talkers *talkers_shown(const struct top *top)
{
	return &top->talkers[top->by];
}

/* Divides the exact rates among the addresses by their shares of the samples. */
static void row_fill(const struct top *top, const struct talker *talker, struct top_row *out)
{
	struct talker_value most = talker_value(talker);

	*out = (struct top_row){.last = talker->last};
	memcpy(out->addr, talker->addr, sizeof(out->addr));
	for (int v = 0; v < TALKER_VERDICTS; v++) {
		struct talk own = talker_sum(talker, v), all = talkers_sum(talkers_shown(top), v);

		out->rate[v] = rate_of(&top->rate[v], &own, &all);
		out->error[v] = (struct top_rate){
			.packets = share_of(estimate_error(&own.packets, &all.packets),
					    all.packets.sum, top->rate[v].packets),
			.bits = share_of(estimate_error(&own.bytes, &all.bytes), all.bytes.sum,
					 top->rate[v].bits),
		};
	}
	out->rule = rule_counted(&top->book.policy, talker->last.counter_id);
	if (top->by != TOP_BY_PATTERN)
		out->dport = most;
	else if (most.share >= 50)
		out->network = most.value;
}

/* Do the samples of a verdict bear a rate? */
static bool is_borne(const struct top *top, const struct talker *talker)
{
	for (int v = 0; v < TALKER_VERDICTS; v++) {
		struct talk own = talker_sum(talker, v), all = talkers_sum(talkers_shown(top), v);

		if (estimate_is_borne(&own.packets, &all.packets))
			return true;
	}
	return false;
}

static void group_finish(const struct top_rate *exact, const struct talk *all,
			 struct top_group *group)
{
	group->rate = rate_of(exact, &group->talk, all);
	group->sources = rare_count(&group->rare, &all->packets);
}

static void addresses_make(struct top *top)
{
	for (const struct talker *at = talkers_shown(top)->list; at; at = at->hh.next) {
		if (!filter_selects(&top->filter[top->by], at->addr))
			continue;
		top->seen++;
		if (is_borne(top, at)) {
			row_fill(top, at, &top->rows[top->count++]);
			continue;
		}
		for (int v = 0; v < TALKER_VERDICTS; v++)
			group_add(&top->rare[v], at, v);
	}
	for (int v = 0; v < TALKER_VERDICTS; v++) {
		struct talk all = talkers_sum(talkers_shown(top), v);

		if (top_has_addresses(top))
			top->prefix[v] =
				group_prefix(talkers_shown(top), &top->filter[top->by], v, &all);
		group_finish(&top->rate[v], &all, &top->rare[v]);
		group_finish(&top->rate[v], &all, &top->prefix[v]);
	}
}

/* ---- rows of rules */

/* From the start of the oldest slice whose counters are known; none while there are no two
 * readings. */
static void rules_make(struct top *top)
{
	const unsigned int places = TALKER_SLICES + 1;
	unsigned int kept = top->slices < TALKER_SLICES ? top->slices : TALKER_SLICES;
	const struct rule_counts *from, *to = &top->rules[top->slices % places];

	while (kept && !top->rules[(top->slices - kept) % places].items)
		kept--;
	from = &top->rules[(top->slices - kept) % places];
	top->rules_ns = to->at_ns - from->at_ns;
	if (from == to || !from->items || !to->items)
		return;
	policy_for_each (&top->book.policy, rule) {
		struct rule_count count = rule_counts_since(from, to, rule);
		struct top_row *row = &top->rows[top->count++];

		*row = (struct top_row){.rule = rule};
		for (int v = 0; v < TALKER_VERDICTS; v++) {
			row->count[v] = count.verdict[v];
			row->rate[v].packets = per_second(row->count[v].packets, top->rules_ns);
			row->rate[v].bits = per_second(row->count[v].bytes * 8, top->rules_ns);
		}
		top->seen +=
			row->count[TALKER_DROPPED].packets || row->count[TALKER_PASSED].packets;
	}
}

static void rows_make(struct top *top)
{
	size_t most = top->by == TOP_BY_RULE ? top->book.policy.count
					     : HASH_COUNT(talkers_shown(top)->list);

	free(top->rows);
	top->rows = xcalloc(most + 1, sizeof(*top->rows));
	top->count = 0;
	top->seen = 0;
	memset(top->rare, 0, sizeof(top->rare));
	memset(top->prefix, 0, sizeof(top->prefix));
	if (top->by == TOP_BY_RULE)
		rules_make(top);
	else
		addresses_make(top);
}

static uint64_t row_weight(const struct top_row *row, enum top_sort sort)
{
	const struct top_rate *dropped = &row->rate[TALKER_DROPPED],
			      *passed = &row->rate[TALKER_PASSED];
	const uint64_t weights[TOP_SORTS] = {
		[TOP_DROPPED] = dropped->packets,
		[TOP_PASSED] = passed->packets,
		[TOP_BITS] = dropped->bits + passed->bits,
	};

	return weights[sort];
}

/* The heaviest first; equal ones by their other rates, then by address, or as in the policy. */
static int row_compare(const void *a, const void *b, void *arg)
{
	const struct top_row *x = a, *y = b;
	enum top_sort sorts[] = {((const struct top *)arg)->sort, TOP_DROPPED, TOP_PASSED};

	for (int i = 0; i < 3 && sorts[0] != TOP_ADDRESS; i++) {
		uint64_t wx = row_weight(x, sorts[i]), wy = row_weight(y, sorts[i]);

		if (wx != wy)
			return wx > wy ? -1 : 1;
	}
	if (((const struct top *)arg)->by == TOP_BY_RULE)
		return (x->rule > y->rule) - (x->rule < y->rule);
	return memcmp(x->addr, y->addr, sizeof(x->addr));
}

void top_arrange(struct top *top)
{
	if (top->count)
		qsort_r(top->rows, top->count, sizeof(*top->rows), row_compare, top);
}

void top_remake(struct top *top, size_t looked)
{
	rows_make(top);
	top_arrange(top);
	/* Only the view by source shows states. */
	for (size_t i = 0; top->by == TOP_BY_SOURCE && i < top->count && i < looked; i++) {
		struct top_row *row = &top->rows[i];
		struct rl_sample sample = talker_sample(&row->last);

		if (row->rule && instance_packet_lookup(top->instance, &top->book.policy, row->rule,
							&sample, &row->state))
			row->state = (struct source_entry){0};
	}
}

int top_switch(struct top *top, enum top_by by, size_t looked)
{
	unsigned int now = top->slices % (TALKER_SLICES + 1);
	int ret = 0;

	top->by = by;
	if (!top->rules[now].items)
		ret = rules_read(top, now);
	if (!ret)
		top_remake(top, looked);
	return ret;
}

/* ---- a snapshot */

/* Rates since the start of the oldest slice kept. */
static int rates_make(struct top *top)
{
	const unsigned int places = TALKER_SLICES + 1;
	unsigned int now = top->slices % places;
	unsigned int first =
		top->slices > TALKER_SLICES ? (top->slices - TALKER_SLICES) % places : 0;
	unsigned int last = (top->slices - 1) % places;
	int ret = slice_begin(top, now);

	if (ret)
		return ret;
	top->window_ns = top->counted_ns[now] - top->counted_ns[first];
	for (int v = 0; v < TALKER_VERDICTS; v++) {
		uint64_t ns = top->window_ns;
		const struct rl_amount *to = &top->counted[now][v], *from = &top->counted[first][v];

		top->rate[v].packets = per_second(to->packets - from->packets, ns);
		top->rate[v].bits = per_second((to->bytes - from->bytes) * 8, ns);
	}
	memmove(top->history, top->history + 1, sizeof(top->history) - sizeof(top->history[0]));
	top->history[TOP_HISTORY - 1] =
		per_second(top->counted[now][TALKER_DROPPED].packets -
				   top->counted[last][TALKER_DROPPED].packets,
			   top->counted_ns[now] - top->counted_ns[last]);
	return 0;
}

/* Where they are unknown just now, those of before stay. */
static int alarms_turn(struct top *top)
{
	struct clock_pair now = clock_pair();
	struct alarms_now alarms;
	int ret = alarms_read_if_known(top->instance, &alarms);

	if (ret <= 0)
		return ret;
	top->alarms = alarms;
	top->alarms_at = now;
	return 0;
}

int top_turn(struct top *top, size_t looked)
{
	int ret = rule_book_refresh(&top->book);

	top->slices++;
	ret = ret ?: rates_make(top);
	ret = ret ?: watch_figures(top->watch, &top->figures);
	ret = ret ?: alarms_turn(top);
	if (ret)
		return ret;
	top_remake(top, looked);
	for (int by = 0; by < TOP_BYS; by++)
		talkers_next_slice(&top->talkers[by]);
	return 0;
}

bool top_has_addresses(const struct top *top)
{
	return top->by == TOP_BY_SOURCE || top->by == TOP_BY_DEST;
}
