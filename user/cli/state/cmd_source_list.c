// SPDX-License-Identifier: GPL-2.0-only
/* rlctl source list: which sources are banned, and which are at a limit. */
#include <stdlib.h>
#include <string.h>

#include "cli/guard/session.h"
#include "cli/output/state_output.h"
#include "cli/output/stats_output.h"
#include "cli/policy/denial.h"
#include "cli/sets/set_parts.h"
#include "kernel/sets/sets.h"
#include "kernel/state/source.h"
#include "policy/names.h"
#include "watch/traffic/look.h"

#define SECONDS_MAX 60u
#define DENIED_MAX  1000 /* rows: lists of bans may have millions */

struct list {
	const struct session *session;
	uint32_t seconds;
	const struct rule *rule; /* of --rule, or NULL */
	bool banned, limited;
	bool sampled; /* the hot table was searched, from samples */
	struct source_entry *entries;
	size_t count;
};

/* Takes ownership of the entries. */
static void entries_join(struct list *list, struct source_entry *entries, size_t count)
{
	size_t all = list->count + count;

	list->entries = xreallocarray(list->entries, all + 1, sizeof(*entries));
	if (count)
		memcpy(list->entries + list->count, entries, count * sizeof(*entries));
	list->count = all;
	free(entries);
}

typedef int (*read_fn)(const struct instance *instance, const struct policy *policy,
		       struct source_entry **out, size_t *count);

static int entries_read(struct list *list, read_fn read)
{
	struct source_entry *entries = NULL;
	size_t count = 0;
	int ret = read(&list->session->instance, &list->session->policy, &entries, &count);

	if (ret)
		return fail("%s: reading the states failed: %s", list->session->instance.device,
			    strerror(-ret));
	entries_join(list, entries, count);
	return 0;
}

/* ---- order */

static int same_compare(const void *a, const void *b)
{
	const struct source_entry *x = a, *y = b;

	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	return memcmp(&x->key, &y->key, sizeof(x->key));
}

/* Bans first, then by the time left, the longest first, then by key. */
static int shown_compare(const void *a, const void *b)
{
	const struct source_entry *x = a, *y = b;

	if (!x->ban_ns != !y->ban_ns)
		return x->ban_ns ? -1 : 1;
	if (x->next_ns != y->next_ns)
		return x->next_ns > y->next_ns ? -1 : 1;
	return memcmp(x->key.addr, y->key.addr, sizeof(x->key.addr)) ?: same_compare(a, b);
}

/* Is it of that rule, or a ban of a source that the rule may have begun? Such bans are of no rule.
 */
static bool entry_is_of_rule(const struct list *list, const struct source_entry *entry)
{
	const struct rule *rule = list->rule;
	uint8_t most;

	if (!rule || entry->rule == rule)
		return true;
	if (entry->rule || rule->action != RL_ACTION_LIMIT || rule->limit.over != RL_OVER_BAN ||
	    !rule->limit.ban_source)
		return false;
	if (list->session->ctx.by_dest || rule->kind != PREFIX_ADDR)
		return true;
	most = key_bits(entry->key.addr, 32, 64);
	return prefix_contains(rule->addr, rule->len < most ? rule->len : most, entry->key.addr);
}

/* One entry for each key of a rule. */
static void entries_arrange(struct list *list)
{
	struct source_entry *into;
	size_t kept = 0;

	qsort(list->entries, list->count, sizeof(*list->entries), same_compare);
	for (size_t i = 0; i < list->count; i++) {
		const struct source_entry *entry = &list->entries[i];

		if (!entry_is_of_rule(list, entry))
			continue;
		if (!kept || same_compare(&list->entries[kept - 1], entry)) {
			list->entries[kept++] = *entry;
			continue;
		}
		into = &list->entries[kept - 1];
		if (entry->has_state)
			into->allowance = entry->allowance;
		into->has_state |= entry->has_state;
		into->ban_ns = entry->ban_ns ? entry->ban_ns : into->ban_ns;
		into->next_ns = entry->next_ns > into->next_ns ? entry->next_ns : into->next_ns;
	}
	list->count = kept;
	qsort(list->entries, list->count, sizeof(*list->entries), shown_compare);
}

/* ---- output */

static void entry_report(struct report *report, const struct source_entry *entry,
			 const struct policy_context *ctx)
{
	report_source(report, entry);
	report_text(report, "status", "status", entry->ban_ns ? "banned" : "limited");
	report_next(report, entry);
	report_rule(report, entry, ctx);
	if (output_json) { /* which the table has no room for */
		report_allowance(report, entry);
		report_ban(report, entry);
	}
}

/* ---- what rules deny */

struct denied {
	struct report *report;
	const struct rule *rules[RL_SETS_MAX]; /* that deny the members of a set, by its number */
	uint64_t sets;                         /* those that have one */
	uint64_t now_ns;
	const struct policy_context *ctx;
	size_t shown, more;
};

static void denied_report(struct denied *d, const struct rule *rule, const char *key,
			  uint64_t left_ns)
{
	char text[RULE_TEXT_MAX];

	if (d->shown == DENIED_MAX) {
		d->more++;
		return;
	}
	d->shown++;
	report_begin(d->report, NULL);
	report_text(d->report, "key", "key", key);
	report_text(d->report, "status", "status", "denied");
	wait_print(text, left_ns);
	report_text(d->report, NULL, "next in", left_ns ? text : "-");
	if (left_ns)
		report_value(d->report, "next_ns", json_object_new_uint64(left_ns));
	rule_format_lasting(text, rule, d->ctx);
	report_text(d->report, "rule", "rule", text);
}

static int member_report(uint32_t set, const struct member_entry *entry, void *arg)
{
	struct denied *d = arg;
	char key[PREFIX_TEXT_MAX];

	member_print(key, &entry->member);
	denied_report(d, d->rules[set], key,
		      set_seconds_left(entry->expires, d->now_ns) * NS_PER_SECOND);
	return 0;
}

/* The members of a set are walked later, with those of all others. */
static void rule_report(struct denied *d, const struct set_live *sets, const struct rule *rule)
{
	char key[PREFIX_TEXT_MAX];
	int set;

	if (rule->kind == PREFIX_SET) {
		set = sets->open ? set_session_find(&sets->session, rule->set) : -1;
		if (set >= 0) {
			d->rules[set] = rule;
			d->sets |= 1ull << set;
		}
		return;
	}
	rule_prefix_print(key, rule);
	denied_report(d, rule, key, rule->for_ns);
}

/* Addresses of rules, and members of their sets. */
static int denied_list(const struct list *list, struct report *report)
{
	const struct session *session = list->session;
	struct denied d = {
		.report = report, .now_ns = instance_now(&session->instance), .ctx = &session->ctx};
	struct set_live sets;
	int ret = 0;

	set_live_open(&session->instance, &sets);
	policy_for_each (&session->policy, rule)
		if (is_plain_deny(rule) && (!list->rule || list->rule == rule))
			rule_report(&d, &sets, rule);
	if (d.sets)
		ret = member_table_walk(&sets.session.table, d.sets, member_report, &d);
	set_live_close(&sets);
	if (d.more)
		note("%s: %zu more are denied: `rlctl rule list` and `rlctl set list SET` list "
		     "them all",
		     session->instance.device, d.more);
	return ret ? fail("%s: reading the members of its sets failed: %s",
			  session->instance.device, strerror(-ret))
		   : 0;
}

/* ---- */

static const char *none_text(const struct list *list)
{
	if (!list->limited)
		return "no source is banned";
	if (!list->sampled)
		return list->banned ? "no source is banned or at a limit"
				    : "no source is at a limit";
	return list->banned ? "no source is banned, and none was seen that a limit drops"
			    : "no source was seen that a limit drops";
}

static void list_note(const struct list *list, bool empty)
{
	const char *device = list->session->instance.device;
	bool everything = false;

	for (size_t i = 0; i < list->count; i++)
		everything = everything || !list->entries[i].rule;
	if (empty)
		text_note("%s: %s", device, none_text(list));
	if (list->rule && everything)
		text_note("%s: bans from everything are of no rule: another one may have begun "
			  "some of them",
			  device);
	if (list->sampled)
		text_note("%s: the hot table holds no addresses: sources at its limits are those "
			  "with packets dropped in a sample of %u second%s; `rlctl top` shows how "
			  "many",
			  device, list->seconds, list->seconds == 1 ? "" : "s");
}

static int list_print(const struct command *command, const struct list *list)
{
	struct json_object *document = json_instance(&list->session->instance);
	struct report report = {0};
	bool empty;
	int rc;

	for (size_t i = 0; i < list->count; i++)
		entry_report(&report, &list->entries[i], &list->session->ctx);
	rc = list->banned && list->limited ? denied_list(list, &report) : 0;
	empty = !report.records;
	json_put_bool(document, "sampled", list->sampled);
	report_put(&report, document, "states");
	list_note(list, empty);
	document_print(command, document);
	return rc;
}

/* ---- */

static int source_list(const struct command *command, struct session *session, void *arg)
{
	struct list list = *(const struct list *)arg;
	struct source_entry *entries = NULL;
	size_t count = 0;
	int rc = selector_option(command, &session->instance, &session->policy, &list.rule);

	list.session = session;
	list.sampled = !rc && list.limited &&
		       limited_is_hot(&session->instance, &session->policy, list.rule);
	if (list.sampled)
		rc = limited_sample(&session->instance, &session->policy, list.rule, list.seconds,
				    &entries, &count);
	if (list.sampled && !rc)
		entries_join(&list, entries, count);
	if (!rc && list.limited)
		rc = entries_read(&list, instance_limited_read);
	if (!rc && list.banned)
		rc = entries_read(&list, instance_bans_read);
	if (!rc) {
		entries_arrange(&list);
		rc = list_print(command, &list);
	}
	free(list.entries);
	return rc;
}

int cmd_source_list(const struct command *command)
{
	struct list list = {.banned = !option_given(command, OPTION_LIMITED),
			    .limited = !option_given(command, OPTION_BANNED)};
	int rc = option_number(command, OPTION_SECONDS, SECONDS_MAX, 1, &list.seconds);

	if (!rc && !list.banned && !list.limited)
		rc = wrong("source list: --banned and --limited exclude each other: leave out both "
			   "for both");
	if (!rc && !list.limited && option_given(command, OPTION_SECONDS))
		rc = wrong("source list: --seconds applies only to limits: leave out --banned");
	return rc
		       ?: sessions_read(command, list.limited ? SESSION_SHARED : SESSION_READ,
					source_list, &list);
}
