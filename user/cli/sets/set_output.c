// SPDX-License-Identifier: GPL-2.0-only
/* The answers of the verbs of `rlctl set`. */
#include "cli/sets/set_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/member_hash.h"
#include "cli/output/stats_output.h"
#include "kernel/attach/hook_names.h"

/* ---- changes */

void set_answer_print(const struct command *command, const struct set_change *change,
		      const struct set_answer *answer)
{
	const bool adds = set_verb_adds(change->verb), many = change->targets.many;
	const struct member_result *result = &answer->result;
	const struct {
		bool has;
		const char *key, *word; /* the first one that it has is shown even if it is 0 */
		size_t count;
	} counts[] = {
		{adds, "added", "added", result->added},
		{adds, "extended", "extended", result->extended},
		{adds, "present", "present", result->present},
		{adds, "refused", "refused", result->refused},
		{change->verb != SET_ADD, "deleted", "deleted", result->deleted},
		{!adds, "missing", "not there", result->missing},
	};
	struct json_object *object = json_object_new_object();
	char text[256] = "";
	size_t used = 0;

	json_put_text(object, "device", answer->device);
	json_put_text(object, "hook", hook_name(answer->hook));
	json_put_text(object, "set", change->name);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (!counts[i].has)
			continue;
		json_put_number(object, counts[i].key, counts[i].count);
		if (counts[i].count || !used)
			used += snprintf(text + used, sizeof(text) - used, "%s%zu %s",
					 used ? ", " : "", counts[i].count, counts[i].word);
	}
	json_put_number(object, "host_bits", change->host_bits);
	document_print(command, object);
	if (!output_quiet)
		text_print("%s%s%s: %s\n", many ? answer->device : "", many ? ": " : "",
			   change->name, text);
}

/* ---- one member */

/* The times of members are rounded up to units: one of them too much is no second more. */
uint64_t set_seconds_left(uint32_t expires, uint64_t now_ns)
{
	const uint64_t unit_ns = 1ull << RL_MEMBER_TIME_SHIFT;
	int32_t units = (int32_t)(expires - member_time(now_ns));
	uint64_t end_ns = (now_ns / unit_ns + units) * unit_ns, left_ns;

	if (!expires)
		return 0;
	left_ns = end_ns > now_ns + unit_ns ? end_ns - now_ns - unit_ns : 1;
	return (left_ns + NS_PER_SECOND - 1) / NS_PER_SECOND;
}

#define MEMBER_LINE_MAX (PREFIX_TEXT_MAX + QUANTITY_TEXT_MAX + 8)

/* "203.0.113.7 for 59s"; and with an object the same as members of it. */
static void member_put(char line[MEMBER_LINE_MAX], struct json_object *object,
		       const struct member_entry *entry, uint64_t now_ns)
{
	uint64_t seconds = set_seconds_left(entry->expires, now_ns);
	char member[PREFIX_TEXT_MAX], left[QUANTITY_TEXT_MAX] = "";

	member_print(member, &entry->member);
	if (seconds)
		duration_print(left, sizeof(left), seconds * NS_PER_SECOND);
	snprintf(line, MEMBER_LINE_MAX, "%s%s%s", member, seconds ? " for " : "", left);
	if (!object)
		return;
	json_put_text(object, "member", member);
	if (seconds)
		json_put_number(object, "expires_in", seconds);
}

static struct json_object *json_set(const struct set_use *use)
{
	struct json_object *object = json_instance(&use->instance);

	json_put_text(object, "set", use->session.sets[use->set].name);
	return object;
}

void set_test_print(const struct command *command, const struct set_use *use,
		    const struct member *asked, const struct member_entry *found, bool many)
{
	const char *device = many ? use->instance.device : "", *colon = many ? ": " : "";
	const char *name = use->session.sets[use->set].name;
	struct json_object *object = json_set(use);
	char address[PREFIX_TEXT_MAX], line[MEMBER_LINE_MAX] = "";

	member_print(address, asked);
	json_put_text(object, "address", address);
	if (found)
		member_put(line, object, found, instance_now(&use->instance));
	document_print(command, object);
	if (!output_quiet)
		text_print("%s%s%s: %s%s\n", device, colon, name, found ? line : address,
			   found ? "" : " is not a member");
}

/* ---- all members */

struct members {
	struct member_entry *entries;
	size_t count, capacity;
};

static int members_take(uint32_t set, const struct member_entry *entry, void *arg)
{
	struct members *members = arg;

	(void)set;
	if (members->count == members->capacity) {
		members->capacity = 2 * members->capacity + 1024;
		members->entries = xreallocarray(members->entries, members->capacity,
						 sizeof(*members->entries));
	}
	members->entries[members->count++] = *entry;
	return 0;
}

/* A prefix stands before what is in it. */
static int members_compare(const void *a, const void *b)
{
	const struct member *x = &((const struct member_entry *)a)->member;
	const struct member *y = &((const struct member_entry *)b)->member;
	bool x4 = member_is_ipv4(x), y4 = member_is_ipv4(y);
	int order = x4 == y4 ? memcmp(x->addr, y->addr, sizeof(x->addr)) : y4 - x4;

	return order ? order : x->len - y->len;
}

/* The document as text, because objects of a million members take many times their memory. */
static void members_stream(const struct set_use *use, const struct members *members,
			   uint64_t now_ns)
{
	printf("{\"device\":\"%s\",\"hook\":\"%s\",\"set\":\"%s\",\"members\":[",
	       use->instance.device, hook_name(use->instance.info.hook),
	       use->session.sets[use->set].name);
	for (size_t i = 0; i < members->count; i++) {
		uint64_t seconds = set_seconds_left(members->entries[i].expires, now_ns);
		char member[PREFIX_TEXT_MAX];

		member_print(member, &members->entries[i].member);
		printf("%s{\"member\":\"%s\"", i ? "," : "", member);
		if (seconds)
			printf(",\"expires_in\":%" PRIu64, seconds);
		putchar('}');
	}
	puts("]}");
}

static int report_walk(const struct instance *instance, int error)
{
	fail("%s: reading the members of its sets failed: %s", instance->device, strerror(-error));
	return error;
}

int set_members_print(const struct command *command, struct set_use *use)
{
	uint64_t now_ns = instance_now(&use->instance);
	struct members members = {0};
	struct json_object *document, *array;
	const char *device = use->instance.device;
	char line[MEMBER_LINE_MAX];
	int rc = member_table_walk(&use->session.table, 1ull << use->set, members_take, &members);

	if (rc) {
		free(members.entries);
		return report_walk(&use->instance, rc);
	}
	if (members.count)
		qsort(members.entries, members.count, sizeof(*members.entries), members_compare);
	while (*device && *device != '"' && *device != '\\' && *device > ' ' && *device <= '~')
		device++;
	if (output_json && !command->documents && !*device) { /* JSON has the name as it is */
		members_stream(use, &members, now_ns);
	} else if (output_json) {
		document = json_set(use);
		json_put(document, "members", array = json_object_new_array());
		for (size_t i = 0; i < members.count; i++) {
			struct json_object *object = json_object_new_object();

			member_put(line, object, &members.entries[i], now_ns);
			json_append(array, object);
		}
		document_print(command, document);
	} else {
		for (size_t i = 0; i < members.count; i++) {
			member_put(line, NULL, &members.entries[i], now_ns);
			puts(line);
		}
	}
	free(members.entries);
	return 0;
}

/* ---- the sets */

static int member_count(uint32_t set, const struct member_entry *entry, void *arg)
{
	struct rl_set *sets = arg;

	sets[set].members[!member_is_ipv4(&entry->member)]++;
	return 0;
}

/* The members of the sets now. The counts that are kept include members that have expired and were
 * not removed.
 */
static int counts_read(struct set_session *session, struct rl_set sets[RL_SETS_MAX])
{
	const struct rl_member_layout *layout = session->table.layout;

	memcpy(sets, session->sets, sizeof(session->sets));
	if (!layout->writing && !member_expired(layout->next_expiry, session->table.now))
		return 0;
	for (int i = 0; i < RL_SETS_MAX; i++)
		memset(sets[i].members, 0, sizeof(sets[i].members));
	return member_table_walk(&session->table, UINT64_MAX, member_count, sets);
}

static void report_duration(struct report *report, const char *key, const char *heading,
			    uint64_t ns)
{
	char text[QUANTITY_TEXT_MAX];

	if (!ns) {
		report_none(report, heading);
		return;
	}
	duration_print(text, sizeof(text), ns);
	report_text(report, NULL, heading, text);
	report_value(report, key, json_object_new_uint64(ns / NS_PER_SECOND));
}

static void report_set(struct report *report, const struct rl_set *set,
		       const struct rl_set_words *words, const struct rl_amount *matched)
{
	char source[RL_SET_PATH_MAX + RL_SET_PICK_MAX + 8], shortest[16];

	snprintf(shortest, sizeof(shortest), "/%u,%u", words->shortest[0], words->shortest[1]);
	report_begin(report, NULL);
	report_text(report, "set", "set", set->name);
	report_number(report, "ipv4", "ipv4", set->members[0]);
	report_number(report, "ipv6", "ipv6", set->members[1]);
	report_number(report, "max", "max", set->max);
	report_text(report, "shortest", NULL, shortest);
	report_duration(report, "timeout", "timeout", words->timeout_ns);
	report_number(report, "matched", "matched", matched->packets);
	report_number(report, "matched_bytes", NULL, matched->bytes);
	report_number(report, "added", NULL, set->added);
	report_number(report, "extended", NULL, set->extended);
	report_number(report, "expired", NULL, set->expired);
	report_number(report, "deleted", NULL, set->deleted);
	report_number(report, "refused", NULL, set->refused);
	report_duration(report, "every", "every", words->every_ns);
	if (words->source == RL_SET_DYNAMIC) {
		report_none(report, "source");
		return;
	}
	snprintf(source, sizeof(source), "%s%s%s", words->path, words->pick[0] ? " " : "",
		 words->pick);
	report_text(report, "source", "source", source);
}

static int sets_report(struct report *report, struct set_session *session)
{
	const struct instance *instance = session->instance;
	struct rl_set_words *words = xcalloc(RL_SETS_MAX, sizeof(*words));
	struct rl_set sets[RL_SETS_MAX];
	int rc;

	rc = set_words_read(instance, words);
	if (!rc) {
		rc = counts_read(session, sets);
		if (rc)
			report_walk(instance, rc);
	}
	for (uint32_t i = 0; !rc && i < RL_SETS_MAX; i++) {
		struct rl_amount matched = {0};

		if (!sets[i].name[0])
			continue;
		rc = set_matched(instance, i, &matched);
		if (rc)
			report_walk(instance, rc);
		else
			report_set(report, &sets[i], &words[i], &matched);
	}
	free(words);
	return rc;
}

int set_table_print(const struct command *command, const struct instance *instance)
{
	struct json_object *document = json_instance(instance);
	struct report report = {0};
	struct set_session session;
	int rc = set_session_open(instance, false, &session);

	if (!rc) {
		rc = sets_report(&report, &session);
		set_session_close(&session);
	} else if (rc == -ENOENT) {
		text_note("%s: its policy has no sets", instance->device);
		rc = 0;
	} else {
		json_object_put(document);
		return rc;
	}
	report_put(&report, document, "sets");
	document_print(command, document);
	return rc;
}
