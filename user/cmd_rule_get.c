// SPDX-License-Identifier: GPL-2.0-only
/* rlctl rule get ADDR: the rules that would decide for packets of an address, in the order in which
 * they are asked. What decides for no packet of that address is left out.
 */
#include <errno.h>
#include <string.h>

#include "cmd_rule.h"
#include "units.h"

#define WHY_MAX 160

struct search {
	const struct session *session;
	uint8_t addr[16];
	struct policy found;
	bool settled; /* no shorter prefix can decide */
	bool limited; /* some packets are held to limits */
};

static bool is_unconditional(const struct rule *rule)
{
	return !rule->match.flags && !rule->for_ns;
}

/* A rule whose `src` (or `dst`, where the instance goes by that) is not this address. */
static bool is_of_another(const struct search *search, const struct rule *rule)
{
	const struct rl_match *match = &rule->match;

	if (search->session->ctx.by_dest)
		return match->flags & RL_MATCH_DST &&
		       !prefix_contains(match->dst, match->dst_len, search->addr);
	return match->flags & RL_MATCH_SRC &&
	       !prefix_contains(match->src, match->src_len, search->addr);
}

static bool of_prefix(const struct rule *rule, enum prefix_kind kind, int len,
		      const struct search *search)
{
	if (rule->kind != kind || is_of_another(search, rule))
		return false;
	return kind != PREFIX_ADDR ||
	       (rule->len == len && prefix_contains(rule->addr, rule->len, search->addr));
}

/* The rules of one prefix: allow before deny before limits, and an unconditional one keeps those
 * behind it from ever being asked. */
static void search_prefix(struct search *search, enum prefix_kind kind, int len)
{
	for (int action = RL_ACTION_ALLOW; action <= RL_ACTION_LIMIT && !search->settled;
	     action++) {
		bool settled = false;

		policy_for_each (&search->session->policy, rule) {
			if (rule->action != action || !of_prefix(rule, kind, len, search))
				continue;
			rules_append(&search->found, rule);
			search->limited |= action == RL_ACTION_LIMIT;
			settled |= is_unconditional(rule);
		}
		search->settled = settled;
	}
}

/* Prefixes around the address, as bits of their lengths. */
static void lengths_find(const struct search *search, bool lengths[129])
{
	policy_for_each (&search->session->policy, rule)
		if (rule->kind == PREFIX_ADDR &&
		    prefix_contains(rule->addr, rule->len, search->addr))
			lengths[rule->len] = true;
}

static void search_all(struct search *search)
{
	bool lengths[129] = {false};

	lengths_find(search, lengths);
	for (int len = 128; len >= 0 && !search->settled; len--)
		if (lengths[len])
			search_prefix(search, PREFIX_ADDR, len);
	if (!search->settled)
		search_prefix(search, PREFIX_ANY, 0);
	if (search->settled && !search->limited)
		return; /* what is allowed or denied does not come to the device's rules */
	search->settled = false;
	search_prefix(search, PREFIX_DEVICE, 0);
}

static int address_parse(const char *word, uint8_t addr[16])
{
	char canonical[PREFIX_TEXT_MAX];
	uint8_t len = 0;

	switch (prefix_parse(word, addr, &len, canonical)) {
	case 0:
		if (len == 128)
			return 0;
		return wrong("%s: name one address, not a prefix; `rlctl rule list %s` shows the "
			     "rules of a prefix",
			     word, word);
	case -EPROTOTYPE:
		return wrong("%s: is IPv4 inside IPv6: write %s", word, canonical);
	default:
		return wrong("%s: is no address: write for example 203.0.113.7 or 2001:db8::1",
			     word);
	}
}

static struct json_object *json_address(const uint8_t addr[16])
{
	struct json_object *object = json_object_new_object();
	char text[PREFIX_TEXT_MAX];

	prefix_print(text, sizeof(text), addr, 128);
	json_put(object, "address", json_object_new_string(text));
	return object;
}

/* ---- why a rule is in the list ---- */

static bool same_prefix_kind(const struct rule *a, const struct rule *b)
{
	return a->kind == b->kind && a->len == b->len;
}

/* Which packets come to the rule. `first` is the first rule found. */
static const char *asked_when(const struct rule *first, const struct rule *rule)
{
	if (rule->kind == PREFIX_DEVICE)
		return "for what the rules before do not allow or deny";
	if (same_prefix_kind(first, rule))
		return rule->kind == PREFIX_ANY ? "no prefix holds the address, any decides"
						: "longest prefix that holds the address";
	return "where no rule of a longer prefix matches";
}

static const char *what_it_does(const struct rule *rule)
{
	bool matches = rule->match.flags;

	switch (rule->action) {
	case RL_ACTION_ALLOW:
		return matches ? "passes what matches, no limit counts it" : "passes everything";
	case RL_ACTION_DENY:
		return matches ? "drops what matches" : "drops everything";
	default:
		return matches ? "limits what matches" : "limits everything";
	}
}

static void why_print(char out[WHY_MAX], const struct rule *first, const struct rule *rule)
{
	snprintf(out, WHY_MAX, "%s: %s%s", asked_when(first, rule), what_it_does(rule),
		 rule->for_ns ? ", until it expires" : "");
}

/* As policy lines with the reason as their comment, or as JSON with the reason as "why". */
static void found_print(const struct search *search, struct json_object *document)
{
	struct json_object *rules = json_object_new_array();
	char words[RULE_TEXT_MAX], why[WHY_MAX];

	policy_for_each (&search->found, rule) {
		struct json_object *object = json_object_new_object();

		rule_words(words, rule, &search->session->ctx);
		why_print(why, search->found.rules, rule);
		json_put(object, "rule", json_object_new_string(words));
		json_put(object, "why", json_object_new_string(why));
		json_append(rules, object);
		if (!output_json)
			printf("%s\t# %s\n", words, why);
	}
	if (!search->found.count && !output_json)
		note("no rule: its packets pass (unmatched)");
	json_put(document, "rules", rules);
	if (output_json)
		json_print(document);
	else
		json_object_put(document);
}

int cmd_rule_get(const struct command *command)
{
	struct search search = {0};
	struct session session;
	int rc = address_parse(command->words[0], search.addr);

	if (!rc)
		rc = session_open(command, false, &session);
	if (rc)
		return rc;
	search.session = &session;
	search_all(&search);
	if (output_verbose && !output_json)
		rules_print(&session, &search.found, json_address(search.addr));
	else
		found_print(&search, json_address(search.addr));
	policy_clear(&search.found);
	session_close(&session);
	return 0;
}
