// SPDX-License-Identifier: GPL-2.0-only
/* Whether an address is affected: what denies it, what became of its packets of the last second,
 * and whether it is known. */
#include "cli/state/source_answer.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/privilege.h"
#include "kernel/state/share_counts.h"
#include "kernel/state/source.h"
#include "kernel/state/source_known.h"
#include "policy/names.h"
#include "policy/lint/proof.h"

#define SECONDS_MAX 60u

/* Members of the instance's group read its pins, and watch nothing. */
static bool may_watch(const struct instance *instance)
{
	char board[INSTANCE_PATH_MAX + 16];

	snprintf(board, sizeof(board), "%s/data_watch", instance->path);
	return privilege_held(PRIVILEGE_BPF) && !eaccess(board, R_OK | W_OK);
}

int source_watch(const struct command *command, const struct instance *instance,
		 const uint8_t addr[16], bool by_dest, uint32_t seconds, struct affected *out)
{
	struct instance shared;
	int rc;

	if (!may_watch(instance))
		return 0;
	rc = instance_open_shared(&command->target, &shared);
	if (rc)
		return rc;
	rc = affected_watch(&shared, addr, by_dest, seconds, out);
	instance_close(&shared);
	return rc ? rc : 1;
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

/* ---- as text */

/* "1,234", or "1,200 +-30" */
static void estimate_print(char out[2 * NUMBER_TEXT_MAX + 4], const struct estimate *part,
			   const struct estimate *all)
{
	uint64_t error = all->spread > 0 ? estimate_error(part, all) : 0;
	char number[NUMBER_TEXT_MAX], around[NUMBER_TEXT_MAX];

	number_print(number, part->sum);
	number_print(around, error);
	snprintf(out, 2 * NUMBER_TEXT_MAX + 4, "%s%s%s", number, error ? " +-" : "",
		 error ? around : "");
}

static const struct rule *cause_of(const struct affected *affected, const struct policy *policy)
{
	policy_for_each (policy, rule)
		if (rule->counter_id == affected->counter_id)
			return rule;
	return NULL;
}

static void left_print(uint64_t left_ns)
{
	char left[NUMBER_TEXT_MAX];

	if (!left_ns)
		return;
	duration_print(left, sizeof(left),
		       (left_ns + NS_PER_SECOND - 1) / NS_PER_SECOND * NS_PER_SECOND);
	printf(", for another %s", left);
}

static void denial_print(const struct source_answer *answer, const struct policy_context *ctx,
			 const char *address)
{
	const struct denial *denial = &answer->denial;
	char words[RULE_TEXT_MAX];

	if (answer->ban_ns) {
		printf("%s is banned from everything", address);
		left_print(answer->ban_ns);
		putchar('\n');
	}
	if (!answer->denied)
		return;
	rule_format_lasting(words, &denial->rule, ctx);
	printf("%s is denied%s by '%s'", address,
	       denial->partial ? ", but for what rules before decide," : "", words);
	if (*denial->member)
		printf(" (its member %s)", denial->member);
	left_print(denial->left_ns);
	putchar('\n');
}

static void packets_print(const struct affected *affected, uint32_t seconds,
			  const struct policy *policy, const struct policy_context *ctx)
{
	const char *which = ctx->by_dest ? "to" : "from";
	char passed[2 * NUMBER_TEXT_MAX + 4], dropped[sizeof(passed)], words[RULE_TEXT_MAX];
	char sender[PREFIX_TEXT_MAX];
	const struct rule *rule = cause_of(affected, policy);
	struct estimate all = affected->passed;

	prefix_print(sender, sizeof(sender), affected->addr, affected->len);
	estimate_merge(&all, &affected->dropped);
	if (!all.sum) {
		printf("no packet %s %s within %" PRIu32 " s\n", which, sender, seconds);
		return;
	}
	estimate_print(passed, &affected->passed, &all);
	estimate_print(dropped, &affected->dropped, &all);
	printf("packets %s %s within %" PRIu32 " s: %s passed, %s dropped", which, sender, seconds,
	       passed, dropped);
	if (affected->dropped.sum && rule) {
		rule_format_lasting(words, rule, ctx);
		printf(" (%s), most by '%s'", reason_rows[affected->reason].text, words);
	} else if (affected->dropped.sum) {
		printf(" (%s)", reason_rows[affected->reason].text);
	}
	putchar('\n');
}

/* ---- as JSON */

static void packets_put(const struct affected *affected, uint32_t seconds,
			const struct policy *policy, const struct policy_context *ctx,
			struct json_object *document)
{
	struct json_object *object = json_object_new_object();
	const struct rule *rule = cause_of(affected, policy);
	struct estimate all = affected->passed;
	bool exact;
	char words[RULE_TEXT_MAX];

	estimate_merge(&all, &affected->dropped);
	exact = all.spread <= 0;
	json_put_number(object, "seconds", seconds);
	json_put_number(object, "passed", affected->passed.sum);
	json_put_number(object, "passed_error",
			exact ? 0 : estimate_error(&affected->passed, &all));
	json_put_number(object, "dropped", affected->dropped.sum);
	json_put_number(object, "dropped_error",
			exact ? 0 : estimate_error(&affected->dropped, &all));
	if (affected->dropped.sum)
		json_put_text(object, "reason", reason_rows[affected->reason].text);
	if (affected->dropped.sum && rule) {
		rule_format_lasting(words, rule, ctx);
		json_put_text(object, "rule", words);
	}
	json_put(document, "packets", object);
}

void source_packets_report(const struct affected *affected, uint32_t seconds,
			   const struct policy *policy, const struct policy_context *ctx,
			   struct json_object *document)
{
	if (document)
		packets_put(affected, seconds, policy, ctx, document);
	else
		packets_print(affected, seconds, policy, ctx);
}

void source_answer_report(const struct source_answer *answer, const struct policy *policy,
			  const struct policy_context *ctx, const char *address,
			  struct json_object *document)
{
	char words[RULE_TEXT_MAX];

	if (!document) {
		denial_print(answer, ctx, address);
		if (answer->watched)
			source_packets_report(&answer->affected, answer->seconds, policy, ctx,
					      NULL);
		if (answer->asks_known)
			printf("%s is %s\n", address,
			       answer->known ? "a known source" : "a new source");
		return;
	}
	if (answer->denied) {
		rule_format_lasting(words, &answer->denial.rule, ctx);
		json_put_text(document, "denied_by", words);
		if (*answer->denial.member)
			json_put_text(document, "member", answer->denial.member);
		if (answer->denial.left_ns)
			json_put_number(document, "denied_ns", answer->denial.left_ns);
	}
	if (answer->ban_ns)
		json_put_number(document, "ban_ns", answer->ban_ns);
	if (answer->watched)
		source_packets_report(&answer->affected, answer->seconds, policy, ctx, document);
	if (answer->asks_known)
		json_put_bool(document, "known", answer->known);
}
