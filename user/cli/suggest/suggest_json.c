// SPDX-License-Identifier: GPL-2.0-only
/* The suggestion as one document. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/output/output.h"
#include "cli/suggest/suggest.h"

static void put_number(struct json_object *object, const char *key, uint64_t n)
{
	json_put(object, key, json_object_new_uint64(n));
}

static struct json_object *json_peaks(const struct suggest_peaks peaks[SUGGEST_WINDOWS],
				      const uint64_t errors[SUGGEST_WINDOWS])
{
	static const char *const keys[SUGGEST_WINDOWS] = {"1s", "10s", "60s"};
	struct json_object *object = json_object_new_object();

	for (int w = 0; w < SUGGEST_WINDOWS; w++) {
		struct json_object *peak = json_object_new_object();

		put_number(peak, "median", peaks[w].median);
		put_number(peak, "p99", peaks[w].most99);
		put_number(peak, "highest", peaks[w].highest);
		put_number(peak, "error", errors[w]);
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

static struct json_object *json_kept(const struct suggest_left_out *out)
{
	struct json_object *object = json_object_new_object();

	put_number(object, "bursts", out->kept_episodes);
	put_number(object, "highest", out->kept_highest);
	return object;
}

static void put_service(struct json_object *object, const struct suggest *s, enum suggest_kind kind,
			uint16_t number)
{
	char match[SUGGEST_RULE_MAX];

	suggest_match_print(match, &s->suggestion, kind, number);
	json_put(object, "match", json_object_new_string(match));
}

static void put_refused(struct json_object *object, const struct suggest *s, size_t number, int sum)
{
	if (s->held_out.known)
		put_number(object, "held_out_refused", s->held_out.by_rule[number][sum]);
	if (s->attack.known)
		put_number(object, "attack_refused", s->attack.by_rule[number][sum]);
}

static struct json_object *json_limit(const struct suggest *s, size_t number, int sum)
{
	const struct suggest_class *class = &s->suggestion.classes[number];
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
	json_put(object, "peaks",
		 json_peaks(sum ? class->sum : class->source,
			    sum ? class->sum_error : class->source_error));
	put_number(object, "rate", limit->amount);
	put_number(object, "period_ns", limit->period_ns);
	put_number(object, "burst", limit->burst);
	put_number(object, "depth", limit->depth);
	json_put(object, "least", json_object_new_boolean(limit->least));
	json_put(object, "confidence", json_object_new_double(class->confidence / 1000.0));
	json_put(object, "left_out", json_left_out(s, &class->left_out));
	json_put(object, "kept", json_kept(&class->left_out));
	put_refused(object, s, number, sum);
	return object;
}

static struct json_object *json_limits(const struct suggest *s)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < s->suggestion.count; i++)
		for (int sum = 0; sum < 2; sum++)
			if (suggest_has_rule(&s->suggestion.classes[i], sum))
				json_append(array, json_limit(s, i, sum));
	return array;
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

static struct json_object *json_outcome(const struct suggest_outcome *out)
{
	struct json_object *object = json_amount(&out->arrived);

	put_number(object, "seconds", out->seconds);
	json_put(object, "refused", json_amount(&out->refused));
	put_number(object, "malformed", out->malformed);
	put_number(object, "passed", out->arrived.packets - out->refused.packets - out->malformed);
	return object;
}

void suggest_print_json(const struct suggest *s)
{
	struct json_object *object = json_object_new_object();
	char *policy = suggest_policy_text(s, s->enforce);

	put_number(object, "packets", s->seen.packets);
	put_number(object, "bytes", s->seen.bytes);
	put_number(object, "samples", s->seen.all.samples);
	put_number(object, "lost", s->lost);
	put_number(object, "forgotten", s->seen.forgotten);
	put_number(object, "begin_ns", s->seen.begin_ns);
	put_number(object, "watched_ns", s->cut_ns);
	json_put(object, "headroom", json_object_new_double(s->headroom / 100.0));
	json_put(object, "confidence", json_object_new_double(s->suggestion.confidence / 1000.0));
	json_put(object, "enough",
		 json_object_new_boolean(s->suggestion.confidence >= SUGGEST_ENOUGH));
	json_put(object, "rules", json_limits(s));
	json_put(object, "few", json_few(s));
	put_number(object, "few_count", s->suggestion.few_count);
	if (s->held_out.known)
		json_put(object, "held_out", json_outcome(&s->held_out));
	if (s->attack.known)
		json_put(object, "attack", json_outcome(&s->attack));
	json_put(object, "policy", json_object_new_string(policy));
	json_print(object);
	free(policy);
}
