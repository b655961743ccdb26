// SPDX-License-Identifier: GPL-2.0-only
/* The suggestion as one document. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/events/event_json.h"
#include "cli/output/output.h"
#include "cli/output/state_output.h"
#include "cli/suggest/suggest.h"

static struct json_object *json_left_out(const struct suggest *s,
					 const struct suggest_left_out *out)
{
	struct json_object *object = json_object_new_object();
	char text[PREFIX_TEXT_MAX];

	json_put_number(object, "packets", out->packets);
	if (!out->packets)
		return object;
	json_put_number(object, "from_ns", suggest_clock(s, out->first));
	json_put_number(object, "to_ns", suggest_clock(s, out->last) + NS_PER_SECOND);
	json_put_number(object, "sources", out->sources);
	if (!out->sources)
		return object;
	prefix_print(text, sizeof(text), out->heaviest, key_bits(out->heaviest, 32, 64));
	json_put_text(object, "heaviest", text);
	json_put_number(object, "heaviest_packets", out->heaviest_packets);
	return object;
}

static void put_service(struct json_object *object, const struct suggest *s, enum suggest_kind kind,
			uint16_t number)
{
	char match[SUGGEST_RULE_MAX];

	suggest_match_print(match, &s->suggestion, kind, number);
	json_put_text(object, "match", match);
}

static struct json_object *json_limit(const struct suggest *s, const struct suggest_class *class,
				      bool sum)
{
	static const char *const keys[SUGGEST_WINDOWS] = {"1s", "10s", "60s"};
	const struct suggest_limit *limit = sum ? &class->sum_limit : &class->source_limit;
	const struct suggest_peaks *peaks = sum ? class->sum : class->source;
	struct json_object *object = json_object_new_object(), *windows = json_object_new_object();
	char line[SUGGEST_RULE_MAX];

	for (int w = 0; w < SUGGEST_WINDOWS; w++) {
		struct json_object *peak = json_object_new_object();

		json_put_number(peak, "median", peaks[w].median);
		json_put_number(peak, "p99", peaks[w].most99);
		json_put_number(peak, "highest", peaks[w].highest);
		json_put_number(peak, "error", peaks[w].error);
		json_put(windows, keys[w], peak);
	}
	suggest_rule_print(line, &s->suggestion, class, sum, s->enforce);
	json_put_text(object, "rule", line + strlen("rule "));
	put_service(object, s, class->kind, class->number);
	json_put_text(object, "of", sum ? "all" : "source");
	json_put_number(object, "packets", class->packets);
	json_put_number(object, "bytes", class->bytes);
	json_put_number(object, "sources", class->sources);
	json_put_number(object, "seconds", class->seconds);
	json_put(object, "peaks", windows);
	json_put_number(object, "rate", limit->amount);
	json_put_number(object, "period_ns", limit->period_ns);
	json_put_number(object, "burst", limit->burst);
	json_put_number(object, "depth", limit->depth);
	json_put_bool(object, "least", limit->least);
	json_put(object, "left_out", json_left_out(s, &class->left_out));
	return object;
}

static struct json_object *json_pattern(const struct pattern_busy *of)
{
	struct json_object *object = json_object_new_object();
	char match[PATTERN_TEXT_MAX], rule[PATTERN_RULE_MAX];

	pattern_json_put(object, &of->part.pattern);
	json_put(object, "share", share_json(of->part.share));
	json_put(object, "quiet", share_json(of->quiet));
	if (of->is_usual)
		return object;
	pattern_print(match, &of->part.pattern, true);
	pattern_rule_print(rule, match);
	json_put_text(object, "rule", rule);
	return object;
}

/* Fills in both: the limits, and the policy that they are. */
static void limits_add(const struct suggest *s, struct json_object *array, char *policy)
{
	char line[SUGGEST_RULE_MAX];

	*policy = '\0';
	for (size_t i = 0; i < s->suggestion.count; i++)
		for (int sum = 0; sum < 2; sum++) {
			const struct suggest_class *class = &s->suggestion.classes[i];

			if (!suggest_has_rule(class, sum))
				continue;
			json_append(array, json_limit(s, class, sum));
			suggest_rule_print(line, &s->suggestion, class, sum, s->enforce);
			policy += sprintf(policy, "%s\n", line);
		}
}

void suggest_print_json(const struct suggest *s)
{
	const struct suggest_flood *flood = &s->suggestion.flood;
	struct json_object *object = json_object_new_object(), *rules = json_object_new_array();
	struct json_object *few = json_object_new_array(), *flooded = json_object_new_object();
	static char policy[2 * SUGGEST_CLASSES_MAX * (SUGGEST_RULE_MAX + 1)];

	limits_add(s, rules, policy);
	for (size_t i = 0; i < s->suggestion.few_count && i < SUGGEST_FEW_LISTED; i++) {
		const struct suggest_few *of = &s->suggestion.few[i];
		struct json_object *one = json_object_new_object();

		put_service(one, s, of->kind, of->number);
		json_put_number(one, "packets", of->packets);
		json_append(few, one);
	}
	json_put_number(flooded, "seconds", flood->seconds);
	if (flood->seconds) {
		json_put_number(flooded, "rate", flood->rate);
		json_put_number(flooded, "usual", flood->usual);
		json_put_number(flooded, "from_ns", suggest_clock(s, flood->first));
		json_put_number(flooded, "to_ns", suggest_clock(s, flood->last) + NS_PER_SECOND);
	}
	json_put_number(object, "packets", s->seen.packets);
	json_put_number(object, "bytes", s->seen.bytes);
	json_put_number(object, "samples", s->seen.all.samples);
	json_put_number(object, "lost", s->lost);
	json_put_number(object, "forgotten", s->seen.forgotten);
	json_put_number(object, "begin_ns", s->seen.begin_ns);
	json_put_number(object, "watched_ns", s->watched_ns);
	json_put(object, "headroom", json_object_new_double(s->headroom / 100.0));
	json_put(object, "rules", rules);
	json_put(object, "few", few);
	json_put_number(object, "few_count", s->suggestion.few_count);
	json_put(object, "flood", flooded);
	if (s->pattern.part.share > 0)
		json_put(object, "pattern", json_pattern(&s->pattern));
	json_put_text(object, "policy", policy);
	json_print(object);
}
