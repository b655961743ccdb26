// SPDX-License-Identifier: GPL-2.0-only
/* rlctl rule get ADDR: the rules that decide for packets of an address, in order of evaluation.
 * Rules that decide for no packet of that address are omitted.
 */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "cmd_rule.h"
#include "decide.h"
#include "message.h"
#include "output.h"
#include "policy.h"
#include "prefix_write.h"
#include "proof.h"
#include "stats_output.h"
#include "units.h"

#define WHY_MAX 200

static int address_parse(const char *word, uint8_t addr[16])
{
	char canonical[PREFIX_TEXT_MAX];
	uint8_t len = 0;

	switch (prefix_parse(word, addr, &len, canonical)) {
	case WORD_OK:
		if (len == 128)
			return 0;
		return wrong("'%s' is a prefix: use an address, or `rlctl rule list %s`", word,
			     word);
	case WORD_MAPPED:
		return wrong("'%s' is an IPv4-mapped IPv6 address: write %s", word, canonical);
	default:
		return wrong("invalid address '%s': use for example 203.0.113.7 or 2001:db8::1",
			     word);
	}
}

/* With several instances, each document names its own. */
static struct json_object *document_make(const struct command *command,
					 const struct session *session, const uint8_t addr[16])
{
	struct json_object *object =
		command->documents ? json_instance(&session->instance) : json_object_new_object();
	char text[PREFIX_TEXT_MAX];

	prefix_print(text, sizeof(text), addr, 128);
	json_put(object, "address", json_object_new_string(text));
	return object;
}

/* ---- why a rule is listed ---- */

static bool same_prefix_kind(const struct rule *a, const struct rule *b)
{
	return a->kind == b->kind && a->len == b->len;
}

/* The packets that reach the rule. `first` is the first rule of the list. */
static const char *reached_by(const struct rule *first, const struct rule *rule)
{
	if (rule->kind == PREFIX_DEVICE)
		return "for packets that no rule before allows or denies";
	if (same_prefix_kind(first, rule))
		return rule->kind == PREFIX_ANY ? "no prefix contains the address, so any decides"
						: "longest prefix that contains the address";
	return "if no rule of a longer prefix matches";
}

/* The proof that decides, and that the packet's words do not show. */
static const char *proof_of(const struct rule *rule, bool tracked)
{
	bool limits = rule->action == RL_ACTION_LIMIT;

	if (match_wants_established(&rule->match))
		return tracked ? ", if connection tracking proves them established"
			       : ", if a socket of this machine proves them established";
	if (match_wants_strangers(&rule->match))
		return tracked ? ", unless connection tracking proves them established"
			       : ", unless a socket of this machine proves them established";
	if (!limits)
		return "";
	switch (rule->limit.over) {
	case RL_OVER_UNLESS:
		return tracked ? "; over the limit, those that connection tracking proves "
				 "established pass"
			       : "; over the limit, those that a socket proves established pass";
	case RL_OVER_CHALLENGE:
		return "; over the limit, SYNs are answered with a cookie";
	case RL_OVER_TRUNCATE:
		return "; over the limit, DNS queries are answered as truncated";
	}
	return "";
}

static const char *effect_of(const struct rule *rule)
{
	bool matches = rule->match.flags;

	switch (rule->action) {
	case RL_ACTION_ALLOW:
		return matches ? "passes matching packets uncounted" : "passes every packet";
	case RL_ACTION_DENY:
		return matches ? "drops matching packets" : "drops every packet";
	default:
		return matches ? "limits matching packets" : "limits every packet";
	}
}

static void why_print(char out[WHY_MAX], const struct rule *first, const struct rule *rule,
		      bool tracked)
{
	snprintf(out, WHY_MAX, "%s: %s%s%s", reached_by(first, rule), effect_of(rule),
		 proof_of(rule, tracked), rule->for_ns ? ", until it expires" : "");
}

/* Policy lines with the reason as a comment, or JSON with the reason as "why". */
static void found_print(const struct command *command, const struct session *session,
			const struct policy *found, struct json_object *document)
{
	bool tracked = session->instance.info.proof == RL_PROOF_CONNTRACK;
	struct json_object *rules = json_object_new_array();
	char words[RULE_TEXT_MAX], why[WHY_MAX];

	policy_for_each (found, rule) {
		struct json_object *object = json_object_new_object();

		rule_format(words, rule, &session->ctx);
		why_print(why, found->rules, rule, tracked);
		json_put(object, "rule", json_object_new_string(words));
		json_put(object, "why", json_object_new_string(why));
		json_append(rules, object);
		if (!output_json)
			printf("%s\t# %s\n", words, why);
	}
	if (!found->count && !output_json)
		note("no rule applies: packets of this address pass (unmatched)");
	json_put(document, "rules", rules);
	if (output_json)
		document_print(command, document);
	else
		json_object_put(document);
}

static int get(const struct command *command, void *arg)
{
	struct policy found = {0};
	struct asked asked = {0};
	struct session session;
	int rc = address_parse(command->words[0], asked.addr);

	(void)arg;
	if (!rc)
		rc = session_open(command, false, &session);
	if (rc)
		return rc;
	asked.by_dest = session.ctx.by_dest;
	rc = instance_address_read(&session.instance, asked.addr, &session.policy);
	if (!rc && rules_decide(&session.policy, &asked, &found))
		out_of_memory();
	if (!rc && output_verbose && !output_json)
		rules_print(command, &session, &found,
			    document_make(command, &session, asked.addr));
	else if (!rc)
		found_print(command, &session, &found,
			    document_make(command, &session, asked.addr));
	policy_clear(&found);
	session_close(&session);
	return rc;
}

int cmd_rule_get(const struct command *command)
{
	return targets_read(command, get, NULL);
}
