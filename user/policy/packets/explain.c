// SPDX-License-Identifier: GPL-2.0-only
/* Walks the rules as bpf/rlctl.bpf.c: policy_decide() does, and keeps what each said. */
#include "policy/packets/explain.h"

#include <errno.h>
#include <stdlib.h>

#include "algorithm/key_parts.h"
#include "base/units.h"
#include "policy/packets/level.h"
#include "policy/names.h"

enum found { FOUND_NONE, FOUND_ALLOW, FOUND_DENY, FOUND_LIMITS };

struct walk {
	const struct policy *policy;
	uint8_t *levels; /* of each rule */
	const struct probe *probe;
	const struct explain_source *source;
	struct explanation *out;
	int error;
};

static const uint8_t *lookup_address(const struct probe *probe)
{
	return probe->by_dest ? probe->dst : probe->src;
}

static struct explained *explained_add(struct walk *walk, const struct rule *rule)
{
	struct explanation *out = walk->out;
	struct explained *more = reallocarray(out->rules, out->count + 1, sizeof(*more));

	if (!more) {
		walk->error = -ENOMEM;
		return NULL;
	}
	out->rules = more;
	more[out->count] = (struct explained){
		.rule = rule,
		.level = walk->levels[rule - walk->policy->rules],
	};
	return &more[out->count++];
}

/* Nobody knows whether the address is in the rule's set. */
static void unknown_ask(struct walk *walk, struct explained *item, unsigned int *fields)
{
	char addr[PREFIX_TEXT_MAX], names[FIELDS_TEXT_MAX];

	prefix_print(addr, sizeof(addr), lookup_address(walk->probe), 128);
	fields_print(names, *fields);
	snprintf(item->why, sizeof(item->why), "depends on whether %s is in @%s%s%s", addr,
		 item->rule->set, *fields ? ", and on " : "", names);
	item->holds = HOLDS_DEPENDS;
	*fields |= FIELD_MEMBERS;
}

/* An allow or a deny that holds ends the search; a limit lets the other limits be asked. */
static enum found rule_ask(struct walk *walk, struct explained *item, enum found found)
{
	const struct rule *rule = item->rule;
	unsigned int fields;

	item->reached = true;
	item->holds = match_explain(rule, walk->probe, item->why, &fields);
	if (item->level == LEVEL_UNKNOWN && item->holds != HOLDS_NOT)
		unknown_ask(walk, item, &fields);
	walk->out->depends |= item->holds == HOLDS_DEPENDS ? fields : 0;
	if (item->holds != HOLDS)
		return found;
	if (rule->action == RL_ACTION_LIMIT)
		return FOUND_LIMITS;
	walk->out->decided = rule;
	return rule->action == RL_ACTION_ALLOW ? FOUND_ALLOW : FOUND_DENY;
}

/* The rules of one prefix, and of members of the same length. asked: else a rule before them has
 * decided. */
static enum found prefix_ask(struct walk *walk, enum prefix_kind kind, int len, bool asked)
{
	enum found found = FOUND_NONE;

	for (int action = RL_ACTION_ALLOW; action <= RL_ACTION_LIMIT; action++)
		policy_for_each (walk->policy, rule) {
			struct explained *item;

			if (rule->action != action ||
			    !rule_is_at(walk->policy, walk->levels, rule, kind, len))
				continue;
			item = explained_add(walk, rule);
			if (item && asked && found != FOUND_ALLOW && found != FOUND_DENY)
				found = rule_ask(walk, item, found);
		}
	return found;
}

static enum found prefixes_ask(struct walk *walk)
{
	enum found found = FOUND_NONE, here;
	bool lengths[LEVEL_LONGEST + 1];

	levels_asked(walk->policy, walk->levels, lengths);
	for (int len = LEVEL_LONGEST; len >= 0; len--) {
		if (!lengths[len])
			continue;
		here = prefix_ask(walk, PREFIX_ADDR, len, found == FOUND_NONE);
		found = found == FOUND_NONE ? here : found;
	}
	here = prefix_ask(walk, PREFIX_ANY, 0, found == FOUND_NONE);
	return found == FOUND_NONE ? here : found;
}

/* ---- limits */

/* The packet's fields that the limit counts by and that are not stated: RL_MATCH_*. */
static unsigned int key_lacks(const struct probe *probe, const struct rl_limit *limit)
{
	uint8_t parts = key_parts(limit);
	unsigned int asked = (parts & RL_PART_SOURCE ? RL_MATCH_SRC : 0) |
			     (parts & RL_PART_DEST ? RL_MATCH_DST : 0) |
			     (parts & RL_PART_SPORT ? RL_MATCH_SPORT : 0) |
			     (parts & RL_PART_DPORT ? RL_MATCH_DPORT : 0) |
			     (parts & RL_PART_PROTO ? RL_MATCH_PROTO : 0) |
			     (parts & RL_PART_VLAN ? RL_MATCH_VLAN : 0);

	return asked & ~probe->stated;
}

/* Is what the limit keeps for some for the packet, or on which fields does that depend? */
static enum holds kept_for(const struct walk *walk, const struct rule *rule, unsigned int *fields)
{
	const struct probe *probe = walk->probe;
	int len;

	*fields = 0;
	switch (rule->limit.keep_for) {
	case RL_KEEP_NONE:
		return HOLDS;
	case RL_KEEP_ESTABLISHED:
		*fields = RL_MATCH_ESTABLISHED & ~probe->stated;
		return *fields ? HOLDS_DEPENDS : probe->is_established ? HOLDS : HOLDS_NOT;
	case RL_KEEP_KNOWN:
		*fields = RL_MATCH_NEW_SOURCE & ~probe->stated;
		return *fields ? HOLDS_DEPENDS : probe->is_new ? HOLDS_NOT : HOLDS;
	}
	len = set_member_len(probe->members, rule->keep_set, lookup_address(probe));
	*fields = len == SET_UNKNOWN ? FIELD_MEMBERS : 0;
	return *fields ? HOLDS_DEPENDS : len < 0 ? HOLDS_NOT : HOLDS;
}

/* A packet that may be one for whom the limit keeps a part is taken for another. */
static int bucket_look(struct walk *walk, struct explained *item)
{
	const struct explain_source *source = walk->source;
	unsigned int fields;
	enum holds kept = kept_for(walk, item->rule, &fields);
	struct limit_look whole;
	int rc = source->look(source->arg, item->rule, kept == HOLDS, &item->look);

	item->looked = !rc;
	item->is_other = kept != HOLDS;
	if (rc || item->look.admits || kept != HOLDS_DEPENDS)
		return rc;
	rc = source->look(source->arg, item->rule, true, &whole);
	if (!rc && whole.admits)
		walk->out->depends |= fields;
	return rc;
}

static int limit_look(struct walk *walk, struct explained *item)
{
	const struct rl_limit *limit = &item->rule->limit;

	item->lacks = key_lacks(walk->probe, limit);
	walk->out->depends |= item->lacks;
	if (item->lacks)
		return 0;
	if (!limit->share[0])
		return bucket_look(walk, item);
	/* Whether its parts have room for a packet depends on what all others send. */
	snprintf(item->why, sizeof(item->why), "%s while the limit has room for its %s",
		 limit->over == RL_OVER_SHADOW ? "within it" : "it passes",
		 limit->key == RL_KEY_RULE   ? "class of senders"
		 : limit->key == RL_KEY_DEST ? "destination"
					     : "source");
	item->shared = true;
	return 0;
}

/* The reason of a packet over the limit. */
static enum rl_reason over_reason(const struct walk *walk, const struct rule *rule)
{
	const struct probe *probe = walk->probe;

	if (limit_spares(&rule->limit))
		return probe->is_established ? RL_REASON_ESTABLISHED : RL_REASON_OVER;
	switch (rule->limit.over) {
	case RL_OVER_SHADOW:
	case RL_OVER_MARK:
		return RL_REASON_SHADOW;
	case RL_OVER_CHALLENGE:
		return probe->syn && !probe->fragment ? RL_REASON_CHALLENGED : RL_REASON_OVER;
	case RL_OVER_TRUNCATE:
		return probe_is_udp(probe) ? RL_REASON_TRUNCATED : RL_REASON_OVER;
	}
	return RL_REASON_OVER;
}

/* Only a packet that no other limit refuses is answered. */
static bool is_answer(enum rl_reason reason)
{
	return reason == RL_REASON_CHALLENGED || reason == RL_REASON_TRUNCATED;
}

/* The reason after a limit, of a packet that the limits before it pass with that reason. */
static void limit_decide(struct walk *walk, struct explained *item)
{
	struct explanation *out = walk->out;
	bool answered = is_answer(out->reason);
	enum rl_reason reason;

	if (!item->looked || !(reason_rows[out->reason].passes || answered) ||
	    (item->look.admits && !item->look.banned))
		return;
	if (limit_spares(&item->rule->limit))
		out->depends |= RL_MATCH_ESTABLISHED & ~walk->probe->stated;
	reason = item->look.banned ? RL_REASON_BANNED : over_reason(walk, item->rule);
	item->over = reason;
	if (answered && (reason_rows[reason].passes || is_answer(reason)))
		return;
	if (out->reason != RL_REASON_ESTABLISHED || !reason_rows[reason].passes)
		out->reason = reason;
	if (!reason_rows[reason].passes)
		out->decided = item->rule;
}

/* Does any apply? Then the reason is theirs. */
static bool limits_ask(struct walk *walk)
{
	bool any = false;

	for (size_t i = 0; !walk->error && i < walk->out->count; i++) {
		struct explained *item = &walk->out->rules[i];

		if (!item->reached || item->holds != HOLDS || item->rule->action != RL_ACTION_LIMIT)
			continue;
		if (!any) {
			walk->out->reason = RL_REASON_WITHIN;
			walk->out->decided = NULL;
		}
		any = true;
		walk->error = limit_look(walk, item);
		if (!walk->error)
			limit_decide(walk, item);
	}
	return any;
}

static enum rl_reason policy_ask(struct walk *walk)
{
	enum found found = prefixes_ask(walk), device;
	bool banned = walk->source->source_banned && found != FOUND_ALLOW;
	bool over = banned || found == FOUND_ALLOW || found == FOUND_DENY;

	device = prefix_ask(walk, PREFIX_DEVICE, 0, !over);
	if (banned) {
		walk->out->decided = NULL;
		return RL_REASON_BANNED;
	}
	if (found == FOUND_DENY || device == FOUND_DENY)
		return RL_REASON_DENIED;
	if (found == FOUND_ALLOW)
		return RL_REASON_ALLOWED;
	if (limits_ask(walk))
		return walk->out->reason;
	return device == FOUND_ALLOW ? RL_REASON_ALLOWED : RL_REASON_UNMATCHED;
}

int packet_explain(const struct policy *policy, const struct probe *probe,
		   const struct explain_source *source, struct explanation *out)
{
	struct walk walk = {.policy = policy, .probe = probe, .source = source, .out = out};

	*out = (struct explanation){0};
	walk.levels = policy_levels(policy, lookup_address(probe), probe->members);
	if (!walk.levels)
		return -ENOMEM;
	out->reason = policy_ask(&walk);
	free(walk.levels);
	if (walk.error) {
		free(out->rules);
		*out = (struct explanation){0};
	}
	return walk.error;
}
