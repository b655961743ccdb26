// SPDX-License-Identifier: GPL-2.0-only
/* Counters of an instance since an earlier document of `stats -j`. */

#include "cli/state/stats_since.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/output/shares_output.h"
#include "cli/output/stats_output.h"
#include "kernel/attach/hook_names.h"
#include "policy/names.h"

#define DOCUMENT_MAX (1ull << 30) /* bytes */

static int not_a_document(const struct since *since)
{
	return fail("%s: not a document of `rlctl stats -j`", since->name);
}

/* The first JSON value of a file, or NULL. A longer text than is allowed has none. */
static struct json_object *document_read(int fd)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *document = NULL;
	enum json_tokener_error state = json_tokener_continue;
	char text[1 << 14];
	uint64_t size = 0;
	ssize_t n;

	while (tokener && !document && state == json_tokener_continue && size < DOCUMENT_MAX) {
		n = read(fd, text, sizeof(text));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		document = json_tokener_parse_ex(tokener, text, (int)n);
		state = json_tokener_get_error(tokener);
		size += (uint64_t)n;
	}
	if (tokener)
		json_tokener_free(tokener);
	return document;
}

int since_read(const char *path, struct since *out)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	*out = (struct since){.name = is_stdin ? "stdin" : path};
	if (fd < 0)
		return fail("%s: %s", path, strerror(errno));
	rc = is_stdin ? 0 : file_kind_check(path, fd);
	if (!rc)
		out->document = document_read(fd);
	if (!is_stdin)
		close(fd);
	if (rc || json_object_is_type(out->document, json_type_array))
		return rc;
	since_clear(out);
	return not_a_document(out);
}

void since_clear(struct since *since)
{
	json_object_put(since->document);
	since->document = NULL;
}

/* ---- the instance in the document */

/* "" unless it is a string. */
static const char *text_get(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return "";
	return json_object_get_string(value);
}

bool since_instance(const struct since *since, size_t i, const char **device, const char **hook)
{
	struct json_object *object;

	if (i >= json_object_array_length(since->document))
		return false;
	object = json_object_array_get_idx(since->document, i);
	*device = text_get(object, "device");
	*hook = text_get(object, "hook");
	return true;
}

static int report_other(const struct since *since, const struct instance *instance)
{
	return fail("%s: %s was attached again at %s since then: its counters began at zero",
		    since->name, instance->device, hook_name(instance->info.hook));
}

/* ---- counters */

/* False if the counter is less than it was. */
static bool number_subtract(struct json_object *amount, const char *key, __u64 *number)
{
	struct json_object *value;
	uint64_t before =
		json_object_object_get_ex(amount, key, &value) ? json_object_get_uint64(value) : 0;

	if (before > *number)
		return false;
	*number -= before;
	return true;
}

static bool amount_subtract(struct json_object *object, const char *key, struct rl_amount *amount)
{
	struct json_object *before;
	struct rl_amount grown = *amount;

	if (!json_object_object_get_ex(object, key, &before))
		return true;
	if (!number_subtract(before, "packets", &grown.packets) ||
	    !number_subtract(before, "bytes", &grown.bytes))
		return false;
	*amount = grown;
	return true;
}

static bool sums_subtract(struct json_object *object, struct instance_stats *stats)
{
	struct json_object *reasons, *pressure;
	bool grown = true;

	for (int i = 0; i < RL_REASON_COUNT; i++)
		if (json_object_object_get_ex(object, "reasons", &reasons))
			grown = amount_subtract(reasons, reason_rows[i].text, &stats->reasons[i]) &&
				grown;
	for (int i = 0; i < RL_PRESSURE_COUNT; i++) {
		__u64 number = stats->pressure[i];

		if (json_object_object_get_ex(object, "pressure", &pressure))
			grown = number_subtract(pressure, pressure_names[i], &number) && grown;
		stats->pressure[i] = number;
	}
	return grown;
}

/* The rule with the identity of that line, or NULL. */
static const struct rule *rule_of(const struct policy_context *ctx, const char *words,
				  const struct instance_stats *stats)
{
	char *const list[] = {(char *)words};
	char *line = words_join("rule", list, 1);
	struct policy_error err = {0};
	const struct rule *found = NULL;
	struct rule rule;
	bool is_rule;

	if (!statement_parse(line, ctx, &rule, &is_rule, &err) && is_rule)
		found = policy_find(&stats->policy, &rule);
	free(line);
	return found;
}

/* A limit that had its share later than the document begins at zero, as others do. */
static void share_subtract(struct json_object *rule, struct share_counts *counts)
{
	struct json_object *share, *class;

	if (!json_object_object_get_ex(rule, "share", &share))
		return;
	for (int i = 0; i < RL_SHARE_COUNTS; i++) {
		__u64 arrived = counts->arrived[i], passed = counts->passed[i];

		if (!json_object_object_get_ex(share, share_class_names[i], &class) ||
		    !number_subtract(class, "arrived", &arrived) ||
		    !number_subtract(class, "passed", &passed))
			continue;
		counts->arrived[i] = arrived;
		counts->passed[i] = passed;
	}
}

/* A counter that went back was reset with its rule. */
static void rules_subtract(struct json_object *object, const struct instance *instance,
			   struct instance_stats *stats)
{
	struct json_object *rules;
	struct policy_context ctx;

	instance_context(instance, &ctx);
	if (!json_object_object_get_ex(object, "rules", &rules) ||
	    !json_object_is_type(rules, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(rules); i++) {
		struct json_object *rule = json_object_array_get_idx(rules, i);
		const struct rule *found = rule_of(&ctx, text_get(rule, "rule"), stats);
		size_t n = found ? (size_t)(found - stats->policy.rules) : 0;
		struct rule_counters *counters = &stats->rules[n];

		if (!found)
			continue;
		amount_subtract(rule, "passed", &counters->passed);
		amount_subtract(rule, "dropped", &counters->dropped);
		amount_subtract(rule, "shadow", &counters->shadow);
		if (stats->shares)
			share_subtract(rule, &stats->shares[n]);
	}
}

/* The count of one begins anew with the policy, the changes with the alarm. */
static void alarms_subtract(struct json_object *object, struct instance_stats *stats)
{
	struct json_object *alarms, *counted;

	if (!json_object_object_get_ex(object, "alarms", &alarms) ||
	    !json_object_is_type(alarms, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(alarms); i++) {
		struct json_object *alarm = json_object_array_get_idx(alarms, i);
		const char *name = text_get(alarm, "alarm");
		struct alarm_now *now = stats->alarms.alarm, *end = now + stats->alarms.count;
		__u64 changes, amount;

		while (now < end && strcmp(now->name, name) != 0)
			now++;
		if (now == end)
			continue;
		changes = now->changes;
		amount = now->counted;
		number_subtract(alarm, "changes", &changes);
		now->changes = changes;
		if (json_object_object_get_ex(alarm, "counted", &counted))
			number_subtract(counted, now->unit == RL_PACKETS ? "packets" : "bytes",
					&amount);
		now->counted = amount;
	}
}

int since_subtract(const struct since *since, const struct instance *instance,
		   struct instance_stats *stats, uint64_t *elapsed_ns)
{
	const char *device, *hook, *own = hook_name(instance->info.hook);
	struct json_object *object = NULL;
	char attached[NUMBER_TEXT_MAX];
	uint64_t then;

	for (size_t i = 0; !object && since_instance(since, i, &device, &hook); i++)
		if (!strcmp(device, instance->device) && !strcmp(hook, own))
			object = json_object_array_get_idx(since->document, i);

	if (!object)
		return fail("%s: has no instance of %s at %s: choose others with -i", since->name,
			    instance->device, own);
	if (time_parse(text_get(object, "time"), &then))
		return not_a_document(since);
	time_print(attached, instance->info.since_ns, false);
	if (strcmp(text_get(object, "since"), attached) != 0)
		return report_other(since, instance);
	if (!sums_subtract(object, stats))
		return report_other(since, instance);
	rules_subtract(object, instance, stats);
	alarms_subtract(object, stats);
	*elapsed_ns = stats->read_ns > then ? stats->read_ns - then : 0;
	return 0;
}

/* ---- rules and their counters, the largest first */

struct row {
	uint64_t number;
	size_t index;
};

/* The largest first; equals in the order of the policy. */
static int row_compare(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? 1 : -1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static uint64_t number_of(const struct rule_counters *counters, enum stats_order order)
{
	switch (order) {
	case ORDER_DROPPED:
		return counters->dropped.packets;
	case ORDER_PASSED:
		return counters->passed.packets;
	case ORDER_BYTES:
		return counters->passed.bytes + counters->dropped.bytes;
	default:
		return 0;
	}
}

/* By what was counted since, or in all by a rule that is new or was reset. */
static uint64_t growth_of(const struct instance_stats *stats, size_t index,
			  const struct instance_stats *before, enum stats_order order)
{
	uint64_t now = number_of(&stats->rules[index], order), then = 0;
	const struct rule *found =
		before ? policy_find(&before->policy, &stats->policy.rules[index]) : NULL;

	if (found)
		then = number_of(&before->rules[found - before->policy.rules], order);
	return now >= then ? now - then : now;
}

void stats_sort(const struct instance_stats *stats, const struct instance_stats *before,
		enum stats_order order, struct instance_stats *out)
{
	size_t count = stats->policy.count;
	struct row *rows = xcalloc(count + 1, sizeof(*rows));

	*out = *stats;
	out->policy.rules = xcalloc(count + 1, sizeof(*out->policy.rules));
	out->rules = xcalloc(count + 1, sizeof(*out->rules));
	if (stats->shares)
		out->shares = xcalloc(count + 1, sizeof(*out->shares));
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct row){.number = growth_of(stats, i, before, order), .index = i};
	qsort(rows, count, sizeof(*rows), row_compare);
	for (size_t i = 0; i < count; i++) {
		out->policy.rules[i] = stats->policy.rules[rows[i].index];
		out->rules[i] = stats->rules[rows[i].index];
		if (stats->shares)
			out->shares[i] = stats->shares[rows[i].index];
	}
	free(rows);
}

void stats_sorted_clear(struct instance_stats *sorted)
{
	free(sorted->policy.rules);
	free(sorted->rules);
	free(sorted->shares);
	sorted->policy.rules = NULL;
	sorted->rules = NULL;
	sorted->shares = NULL;
}
