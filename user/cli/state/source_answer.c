// SPDX-License-Identifier: GPL-2.0-only
/* Whether an address is affected: what denies it, what became of its packets of the last second,
 * and whether it is known. */
#include "cli/state/source_answer.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/privilege.h"
#include "cli/output/shares_output.h"
#include "kernel/state/share_counts.h"
#include "kernel/state/source.h"
#include "policy/names.h"

#define SECONDS_MAX 60u

int source_watch(const struct command *command, const struct instance *instance,
		 const uint8_t addr[16], bool by_dest, uint32_t seconds, struct affected *out)
{
	char board[INSTANCE_PATH_MAX + 16];
	struct instance shared;
	int rc;

	/* Members of the instance's group read its pins, and watch nothing. */
	snprintf(board, sizeof(board), "%s/data_watch", instance->path);
	if (!privilege_held(PRIVILEGE_BPF) || eaccess(board, R_OK | W_OK))
		return 0;
	rc = instance_open_shared(&command->target, &shared);
	if (rc)
		return rc;
	rc = affected_watch(&shared, addr, by_dest, seconds, out);
	instance_close(&shared);
	return rc ?: 1;
}

int source_answer_read(const struct command *command, const struct instance *instance,
		       const struct policy *policy, const struct policy_context *ctx,
		       const uint8_t addr[16], struct source_answer *out)
{
	int rc = option_number(command, OPTION_SECONDS, SECONDS_MAX, 1, &out->seconds);

	if (rc)
		return rc;
	rc = source_watch(command, instance, addr, ctx->by_dest, out->seconds, &out->affected);
	if (rc < 0)
		return rc;
	out->watched = rc;
	rc = 0;
	out->denied = denial_find(instance, ctx, addr, &out->denial);
	if (ctx->by_dest)
		return 0;
	out->ban_ns = instance_source_ban(instance, addr);
	policy_for_each (policy, rule)
		out->asks_known = out->asks_known || rule->match.flags & RL_MATCH_NEW_SOURCE ||
				  has_classes(rule) || rule->limit.keep_for == RL_KEEP_KNOWN;
	if (out->asks_known)
		rc = instance_source_is_known(instance, addr, &out->known);
	return rc ? fail("%s: reading whether the source is known failed: %s", instance->device,
			 strerror(-rc))
		  : 0;
}

/* ---- the answer, as text and in the document */

static uint64_t error_of(const struct estimate *part, const struct estimate *all)
{
	return all->spread > 0 ? estimate_error(part, all) : 0;
}

/* "1,234", or "1,200 +-30" */
static void estimate_print(char out[2 * NUMBER_TEXT_MAX + 4], const struct estimate *part,
			   const struct estimate *all)
{
	uint64_t error = error_of(part, all);
	char number[NUMBER_TEXT_MAX], around[NUMBER_TEXT_MAX];

	number_print(number, part->sum);
	number_print(around, error);
	snprintf(out, 2 * NUMBER_TEXT_MAX + 4, "%s%s%s", number, error ? " +-" : "",
		 error ? around : "");
}

static void left_print(uint64_t left_ns)
{
	char left[NUMBER_TEXT_MAX];

	if (!left_ns)
		return;
	duration_print(left, sizeof(left),
		       (left_ns + NS_PER_SECOND - 1) / NS_PER_SECOND * NS_PER_SECOND);
	text_print(", for another %s", left);
}

static void denial_report(const struct source_answer *answer, const struct policy_context *ctx,
			  const char *address, struct json_object *document)
{
	const struct denial *denial = &answer->denial;
	char words[RULE_TEXT_MAX];

	if (answer->ban_ns) {
		text_print("%s is banned from everything", address);
		left_print(answer->ban_ns);
		text_print("\n");
	}
	if (answer->denied) {
		rule_format_lasting(words, &denial->rule, ctx);
		text_print("%s is denied%s by '%s'", address,
			   denial->partial ? ", but for what rules before decide," : "", words);
		json_put_text(document, "denied_by", words);
		if (*denial->member) {
			text_print(" (its member %s)", denial->member);
			json_put_text(document, "member", denial->member);
		}
		left_print(denial->left_ns);
		text_print("\n");
		if (denial->left_ns)
			json_put_number(document, "denied_ns", denial->left_ns);
	}
	if (answer->ban_ns)
		json_put_number(document, "ban_ns", answer->ban_ns);
}

void source_packets_report(const struct affected *affected, uint32_t seconds,
			   const struct policy *policy, const struct policy_context *ctx,
			   struct json_object *document)
{
	const struct estimate *passed = &affected->passed, *dropped = &affected->dropped;
	const char *which = ctx->by_dest ? "to" : "from",
		   *reason = reason_rows[affected->reason].text;
	char passed_text[2 * NUMBER_TEXT_MAX + 4], dropped_text[sizeof(passed_text)];
	char words[RULE_TEXT_MAX] = "", sender[PREFIX_TEXT_MAX];
	struct json_object *object;
	struct estimate all = *passed;

	estimate_merge(&all, dropped);
	policy_for_each (policy, rule)
		if (dropped->sum && !*words && rule->counter_id == affected->counter_id)
			rule_format_lasting(words, rule, ctx);
	json_put(document, "packets", object = json_object_new_object());
	json_put_number(object, "seconds", seconds);
	json_put_number(object, "passed", passed->sum);
	json_put_number(object, "passed_error", error_of(passed, &all));
	json_put_number(object, "dropped", dropped->sum);
	json_put_number(object, "dropped_error", error_of(dropped, &all));
	if (dropped->sum)
		json_put_text(object, "reason", reason);
	if (*words)
		json_put_text(object, "rule", words);
	prefix_print(sender, sizeof(sender), affected->addr, affected->len);
	if (!all.sum) {
		text_print("no packet %s %s within %" PRIu32 " s\n", which, sender, seconds);
		return;
	}
	estimate_print(passed_text, passed, &all);
	estimate_print(dropped_text, dropped, &all);
	text_print("packets %s %s within %" PRIu32 " s: %s passed, %s dropped", which, sender,
		   seconds, passed_text, dropped_text);
	if (dropped->sum)
		text_print(" (%s)", reason);
	text_print("%s%s%s\n", *words ? ", most by '" : "", words, *words ? "'" : "");
}

void source_answer_report(const struct source_answer *answer, const struct policy *policy,
			  const struct policy_context *ctx, const char *address,
			  struct json_object *document)
{
	denial_report(answer, ctx, address, document);
	if (answer->watched)
		source_packets_report(&answer->affected, answer->seconds, policy, ctx, document);
	if (!answer->asks_known)
		return;
	text_print("%s is %s\n", address, answer->known ? "a known source" : "a new source");
	json_put_bool(document, "known", answer->known);
}

/* ---- parts of limits that classes of senders share */

/* A set is not asked whether it has the address. */
static bool counts_packets_of(const struct rule *rule, const uint8_t addr[16])
{
	if (rule->kind == PREFIX_ADDR)
		return prefix_contains(rule->addr, rule->len, addr);
	return rule->kind == PREFIX_ANY || rule->kind == PREFIX_DEVICE;
}

void source_shares_report(const uint8_t addr[16], bool known, const struct policy *policy,
			  const struct policy_context *ctx, const struct share_counts *counts,
			  struct json_object *document)
{
	struct json_object *shares = json_object_new_array(), *object;
	int class = known ? RL_SHARE_KNOWN : RL_SHARE_STRANGER;
	char words[RULE_TEXT_MAX], room[NUMBER_TEXT_MAX], established[NUMBER_TEXT_MAX];

	json_put(document, "shares", shares);
	for (size_t i = 0; i < policy->count; i++) {
		const struct rule *rule = &policy->rules[i];
		const struct share_counts *now = &counts[i];
		const char *unit = rule->limit.unit == RL_PACKETS ? "" : " bytes";

		if (!now->has_classes || !counts_packets_of(rule, addr))
			continue;
		rule_format(words, rule, ctx);
		number_print(room, now->room[class]);
		number_print(established, now->room[RL_SHARE_ESTABLISHED]);
		json_append(shares, object = json_object_new_object());
		json_put_text(object, "rule", words);
		json_put_text(object, "class", share_class_names[class]);
		json_put_bool(object, "short", now->is_short);
		json_put_text(object, "unit", share_unit(rule));
		if (!now->is_short) {
			text_print("'%s' is not short now\n", words);
			continue;
		}
		text_print("'%s' is short now: %s have %s%s/s, established packets %s%s/s\n", words,
			   known ? "known sources" : "strangers", room, unit, established, unit);
		json_put_number(object, "room", now->room[class]);
		json_put_number(object, "pace", now->pace[class]);
	}
}
