// SPDX-License-Identifier: GPL-2.0-only
/* The suggestion as one document. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "cli/suggest/suggest.h"

static void put_number(struct json_object *object, const char *key, uint64_t n)
{
	json_put(object, key, json_object_new_uint64(n));
}

static struct json_object *json_peaks(const struct suggest_peaks peaks[SUGGEST_WINDOWS])
{
	static const char *const keys[SUGGEST_WINDOWS] = {"1s", "10s", "60s"};
	struct json_object *object = json_object_new_object();

	for (int w = 0; w < SUGGEST_WINDOWS; w++) {
		struct json_object *peak = json_object_new_object();

		put_number(peak, "median", peaks[w].median);
		put_number(peak, "p99", peaks[w].most99);
		put_number(peak, "highest", peaks[w].highest);
		put_number(peak, "error", peaks[w].error);
		json_put(object, keys[w], peak);
	}
	return object;
}

static struct json_object *json_left_out(const struct suggest *s,
					 const struct suggest_left_out *out)
{
	struct json_object *object = json_object_new_object();
	char text[PREFIX_TEXT_MAX];

	put_number(object, "packets", out->packets);
	if (!out->packets)
		return object;
	put_number(object, "from_ns", suggest_clock(s, out->first));
	put_number(object, "to_ns", suggest_clock(s, out->last) + NS_PER_SECOND);
	put_number(object, "sources", out->sources);
	if (!out->sources)
		return object;
	prefix_print(text, sizeof(text), out->heaviest, key_bits(out->heaviest, 32, 64));
	json_put(object, "heaviest", json_object_new_string(text));
	put_number(object, "heaviest_packets", out->heaviest_packets);
	return object;
}

static void put_service(struct json_object *object, const struct suggest *s, enum suggest_kind kind,
			uint16_t number)
{
	char match[SUGGEST_RULE_MAX];

	suggest_match_print(match, &s->suggestion, kind, number);
	json_put(object, "match", json_object_new_string(match));
}

static struct json_object *json_limit(const struct suggest *s, const struct suggest_class *class,
				      bool sum)
{
	const struct suggest_limit *limit = sum ? &class->sum_limit : &class->source_limit;
	struct json_object *object = json_object_new_object();
	char line[SUGGEST_RULE_MAX];

	suggest_rule_print(line, &s->suggestion, class, sum, s->enforce);
	json_put(object, "rule", json_object_new_string(line + strlen("rule ")));
	put_service(object, s, class->kind, class->number);
	json_put(object, "of", json_object_new_string(sum ? "all" : "source"));
	put_number(object, "packets", class->packets);
	put_number(object, "bytes", class->bytes);
	put_number(object, "sources", class->sources);
	put_number(object, "seconds", class->seconds);
	json_put(object, "peaks", json_peaks(sum ? class->sum : class->source));
	put_number(object, "rate", limit->amount);
	put_number(object, "period_ns", limit->period_ns);
	put_number(object, "burst", limit->burst);
	put_number(object, "depth", limit->depth);
	json_put(object, "least", json_object_new_boolean(limit->least));
	json_put(object, "left_out", json_left_out(s, &class->left_out));
	return object;
}

static struct json_object *json_few(const struct suggest *s)
{
	const struct suggestion *suggestion = &s->suggestion;
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < suggestion->few_count && i < SUGGEST_FEW_LISTED; i++) {
		struct json_object *object = json_object_new_object();

		put_service(object, s, suggestion->few[i].kind, suggestion->few[i].number);
		put_number(object, "packets", suggestion->few[i].packets);
		json_append(array, object);
	}
	return array;
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
	struct json_object *object = json_object_new_object(), *rules = json_object_new_array();
	static char policy[2 * SUGGEST_CLASSES_MAX * (SUGGEST_RULE_MAX + 1)];

	limits_add(s, rules, policy);
	put_number(object, "packets", s->seen.packets);
	put_number(object, "bytes", s->seen.bytes);
	put_number(object, "samples", s->seen.all.samples);
	put_number(object, "lost", s->lost);
	put_number(object, "forgotten", s->seen.forgotten);
	put_number(object, "begin_ns", s->seen.begin_ns);
	put_number(object, "watched_ns", s->watched_ns);
	json_put(object, "headroom", json_object_new_double(s->headroom / 100.0));
	json_put(object, "rules", rules);
	json_put(object, "few", json_few(s));
	put_number(object, "few_count", s->suggestion.few_count);
	json_put(object, "policy", json_object_new_string(policy));
	json_print(object);
}
