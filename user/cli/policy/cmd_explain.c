// SPDX-License-Identifier: GPL-2.0-only
/* rlctl explain ADDRESS MATCH ...: what becomes of such a packet now, rule by rule. Sends nothing
 * and changes nothing.
 */
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "cli/guard/session.h"
#include "cli/output/stats_output.h"
#include "cli/state/source_answer.h"
#include "compile/allowance.h"
#include "compile/numbers.h"
#include "kernel/policy/policy_read.h"
#include "kernel/sets/sets.h"
#include "kernel/state/alarms.h"
#include "kernel/state/source.h"
#include "policy/names.h"
#include "policy/packets/explain.h"
#include "policy/packets/level.h"

#define LENGTH_DEFAULT 64
#define TEXT_MAX       320
#define OTHERS_MAX     (RL_SET_NAME_MAX + 48)

/* The question. */
struct question {
	struct rule words;
	struct probe probe;
	struct rl_sample packet; /* the same, for limits */
	uint32_t length;
};

/* The object of the question: an instance, or a file's policy that has just come into force. */
struct ground {
	const struct instance *instance; /* NULL: none */
	const struct policy *policy;
	const struct policy_context *ctx;
	const struct rl_sample *packet;
	uint64_t source_ban_ns;
};

/* ---- the packet */

static uint32_t length_least(const struct probe *probe)
{
	uint32_t header = prefix_is_ipv4(probe->by_dest ? probe->dst : probe->src, 128) ? 20 : 40;

	if (probe->later || !(probe->stated & RL_MATCH_PROTO))
		return header;
	switch (probe->proto) {
	case IPPROTO_TCP:
		return header + 20;
	case IPPROTO_SCTP:
		return header + 12;
	case IPPROTO_UDP:
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return header + 8;
	default:
		return header;
	}
}

/* The address, which comes first, and the matches. 0 or EXIT_USAGE; reports. */
static int words_parse(const struct command *command, const struct policy_context *ctx,
		       struct rule *out)
{
	char canonical[PREFIX_TEXT_MAX], *line;
	const char *address = command->word_count ? command->words[0] : "";
	struct policy_error err = {0};
	uint8_t addr[16], len;
	int rc;

	if (strcmp(address, "any") != 0 && strcmp(address, "device") != 0 &&
	    address[strspn(address, "0123456789.:/")] &&
	    prefix_parse(address, addr, &len, canonical) == WORD_FORM)
		return wrong("invalid address '%s': use for example 203.0.113.7 or 2001:db8::1, "
			     "and -i for a device",
			     address);
	line = words_join("", command->words, command->word_count);
	rc = selector_parse(line, ctx, out, &err);
	if (rc)
		fail_at(NULL, line, strlen(line), &err);
	free(line);
	return rc ? EXIT_USAGE : 0;
}

/* 0 or EXIT_USAGE; reports. */
static int question_parse(const struct command *command, const struct policy_context *ctx,
			  struct question *out)
{
	const struct probe *probe = &out->probe;
	const struct rl_extra *extra;
	const char *error;
	int rc = words_parse(command, ctx, &out->words);

	if (rc)
		return rc;
	error = probe_make(&out->words, ctx->by_dest, &out->probe);
	if (error)
		return wrong("%s", error);
	if (out->words.match.flags & RL_MATCH_LENGTH)
		out->length = out->words.extra->number[RL_NUMBER_LENGTH].first;
	if (probe->stated & RL_MATCH_LENGTH && out->length < length_least(probe))
		return wrong("length %u is less than the headers of this packet: write %u or more",
			     out->length, length_least(probe));
	if (!out->length)
		out->length = LENGTH_DEFAULT;
	extra = probe->words.extra;
	out->packet = (struct rl_sample){
		.bytes = out->length,
		.sport = probe->sport,
		.dport = probe->dport,
		.proto = probe->proto,
		.vlan = extra ? extra->number[RL_NUMBER_VLAN].first : 0,
	};
	memcpy(out->packet.src, probe->src, sizeof(out->packet.src));
	memcpy(out->packet.dst, probe->dst, sizeof(out->packet.dst));
	return 0;
}

/* ---- what limits say */

/* A fresh state of that limit. */
static struct limit_look fresh_look(const struct ground *ground, const struct rule *rule, bool kept)
{
	const struct compile_context ctx = {
		.tick_ns = 4 * NS_PER_MS,
		.cpus = 1,
		.possible_cpus = 1,
		.log_max = RL_SLIDING_LOG_MAX,
		.hook = ground->ctx->leaving ? RL_HOOK_EGRESS : RL_HOOK_XDP,
		.text = ground->ctx,
	};
	struct rl_rule numbers = {.limit = rule->limit};
	struct rl_slots fresh = {0};
	bool log = rule->limit.algorithm == RL_SLIDING_LOG;
	uint64_t amount = rule->limit.unit == RL_PACKETS ? 1 : ground->packet->bytes;
	struct allowance left = {.remaining = rule->limit.amount};

	if (rule_limits_connections(rule))
		return (struct limit_look){.admits = true, .remaining = rule->limit.amount};
	numbers_compile(&rule->limit, &ctx, &numbers);
	if (numbers.backend == RL_BACKEND_PARTS && kept)
		numbers.parts.reserve = 0;
	if (!log)
		left = allowance_of(&numbers, &fresh, NS_PER_HOUR, 0);
	return (struct limit_look){
		.admits = log || state_admits(&numbers, &fresh, NS_PER_HOUR, 0, amount),
		.remaining = left.remaining,
		.wait_ns = left.wait_ns,
	};
}

static int look(void *arg, const struct rule *rule, bool kept, struct limit_look *out)
{
	const struct ground *ground = arg;

	if (ground->instance)
		return instance_limit_look(ground->instance, ground->policy, rule, ground->packet,
					   kept, out);
	*out = fresh_look(ground, rule, kept);
	return 0;
}

/* ---- the answer */

/* More about a packet over the limit. depends: on these fields that are not stated. */
static const char *over_more(const struct explained *item, unsigned int depends)
{
	switch (item->over) {
	case RL_REASON_ESTABLISHED:
		return ", spared as it is established";
	case RL_REASON_CHALLENGED:
		return ", answered with a SYN cookie if a socket listens";
	case RL_REASON_TRUNCATED:
		return ", answered if it is a DNS query";
	default:
		return limit_spares(&item->rule->limit) && depends & RL_MATCH_ESTABLISHED
			       ? ", dropped unless it is established"
			       : "";
	}
}

static enum rl_unit left_unit(const struct explained *item)
{
	return item->rule->limit.unit == RL_BITS ? RL_BYTES : item->rule->limit.unit;
}

static const char *const left_names[] = {
	[RL_PACKETS] = " packet", [RL_BYTES] = "", [RL_CONNECTIONS] = " connection"};

static void look_print(char out[TEXT_MAX], const struct explained *item, unsigned int depends)
{
	char amount[NUMBER_TEXT_MAX], time[NUMBER_TEXT_MAX], others[OTHERS_MAX] = "";
	const struct limit_look *l = &item->look;
	const struct rule *rule = item->rule;

	if (item->is_other)
		snprintf(others, sizeof(others), " besides what is kept for %s%s",
			 rule->keep_set[0] ? "@" : keep_words[rule->limit.keep_for - 1],
			 rule->keep_set);
	wait_print(time, l->banned ? l->ban_ns : l->wait_ns);
	amount_print(amount, sizeof(amount), l->remaining, left_unit(item));
	if (l->banned)
		snprintf(out, TEXT_MAX, "yes, its key is banned for %s", time);
	else if (l->wait_ns && !l->admits)
		snprintf(out, TEXT_MAX, "yes, over: nothing left%s, next in %s%s", others, time,
			 over_more(item, depends));
	else
		snprintf(out, TEXT_MAX, "yes, %s: %s%s%s left%s%s", l->admits ? "within" : "over",
			 amount, left_names[left_unit(item)],
			 left_unit(item) == RL_BYTES || l->remaining == 1 ? "" : "s", others,
			 l->admits ? "" : over_more(item, depends));
}

/* banned: the source is, which decides. */
static void why_print(char out[TEXT_MAX], const struct explained *item, bool banned,
		      unsigned int depends)
{
	static const char *const effects[] = {"yes, it passes", "yes, it is dropped"};
	char fields[FIELDS_TEXT_MAX];

	if (!item->reached)
		snprintf(out, TEXT_MAX, "not asked: %s",
			 banned ? "the source is banned" : "a rule before it decides");
	else if (item->holds == HOLDS_NOT)
		snprintf(out, TEXT_MAX, "no, %s", item->why);
	else if (item->holds == HOLDS_DEPENDS || item->shared)
		snprintf(out, TEXT_MAX, "%s%s", item->shared ? "yes, " : "", item->why);
	else if (item->rule->action != RL_ACTION_LIMIT)
		snprintf(out, TEXT_MAX, "%s", effects[item->rule->action]);
	else if (item->looked)
		look_print(out, item, depends);
	else if (item->lacks) {
		fields_print(fields, item->lacks);
		snprintf(out, TEXT_MAX, "yes, its state depends on %s", fields);
	} else {
		snprintf(out, TEXT_MAX, "not asked: %s",
			 banned ? "the source is banned" : "a rule denies");
	}
}

static struct json_object *rules_report(const struct explanation *e, const struct ground *ground,
					const struct probe *probe)
{
	struct json_object *rules = json_object_new_array();
	char words[RULE_TEXT_MAX], why[TEXT_MAX], member[PREFIX_TEXT_MAX];
	bool banned = ground->source_ban_ns && e->reason == RL_REASON_BANNED;
	uint8_t addr[16];

	for (size_t i = 0; i < e->count; i++) {
		const struct explained *item = &e->rules[i];
		struct json_object *object = json_object_new_object();
		const struct limit_look *l = &item->look;
		/* Its rule is of a set that is known to have one with the address. */
		bool by_member = item->rule->kind == PREFIX_SET && item->level <= LEVEL_LONGEST;

		if (by_member) {
			prefix_mask(addr, probe->by_dest ? probe->dst : probe->src, item->level);
			prefix_print(member, sizeof(member), addr, item->level);
		}
		rule_format(words, item->rule, ground->ctx);
		why_print(why, item, banned, e->depends);
		json_put_text(object, "rule", words);
		json_put_while(object, item->rule);
		json_put_bool(object, "asked", item->reached);
		if (item->reached && item->holds != HOLDS_DEPENDS)
			json_put_bool(object, "holds", item->holds == HOLDS);
		json_put_text(object, "why", why);
		if (item->looked) {
			json_put_bool(object, "admits", l->admits && !l->banned);
			json_put_number(object, "remaining", l->remaining);
			json_put_text(object, "unit", units_name(left_unit(item)));
			json_put_number(object, "wait_ns", l->wait_ns);
			if (l->banned)
				json_put_number(object, "ban_ns", l->ban_ns);
			if (item->rule->limit.keep_for)
				json_put_bool(object, "kept", !item->is_other);
		} else if (item->shared) {
			json_put_bool(object, "shared", true);
		}
		json_append(rules, object);
		if (by_member)
			json_put_text(object, "member", member);
		text_print("%s\t# %s%s%s%s\n", words, by_member ? "by its member " : "",
			   by_member ? member : "", by_member ? ": " : "", why);
	}
	return rules;
}

static void verdict_report(const struct explanation *e, const struct ground *ground,
			   struct json_object *document)
{
	const struct reason_row *reason = &reason_rows[e->reason];
	char words[RULE_TEXT_MAX] = "", fields[FIELDS_TEXT_MAX], time[NUMBER_TEXT_MAX];
	struct json_object *depends = json_object_new_array();

	for (unsigned int field = 1; field && field <= e->depends; field <<= 1) {
		fields_print(fields, e->depends & field);
		if (*fields)
			json_append(depends, json_object_new_string(fields));
	}
	if (e->decided)
		rule_format(words, e->decided, ground->ctx);
	fields_print(fields, e->depends);
	wait_print(time, ground->source_ban_ns);
	json_put_text(document, "verdict", reason->passes ? "pass" : "drop");
	json_put_text(document, "reason", reason->text);
	if (e->decided)
		json_put_text(document, "decided_by", words);
	if (ground->source_ban_ns)
		json_put_number(document, "ban_ns", ground->source_ban_ns);
	json_put(document, "depends", depends);
	if (ground->source_ban_ns)
		text_print("the source is banned for %s\n", time);
	text_print("verdict: %s (%s)%s%s\n", reason->passes ? "pass" : "drop", reason->text,
		   e->decided ? ": " : "", words);
	if (e->depends)
		text_print("depends on what is not said: %s\n", fields);
}

/* Has it been refused a moment ago, perhaps? Then one packet more may be admitted, and most are
 * not. */
static bool is_near_limit(const struct explanation *e)
{
	for (size_t i = 0; i < e->count; i++) {
		const struct explained *item = &e->rules[i];
		const struct rl_limit *limit = &item->rule->limit;
		uint64_t most = limit->size ? limit->size : limit->amount;

		if (item->shared || (item->looked && item->look.admits &&
				     (most <= 2 || item->look.remaining <= most / 2)))
			return true;
	}
	return false;
}

/* Packets of the address that is asked about, if one of its limits is nearly used up. */
static int recent_report(const struct command *command, const struct explanation *e,
			 const struct ground *ground, const struct question *q,
			 struct json_object *document)
{
	bool by_dest = q->probe.by_dest;
	const uint8_t *addr = by_dest ? q->probe.dst : q->probe.src;
	struct affected affected;
	int rc;

	if (!ground->instance || !reason_rows[e->reason].passes || !is_near_limit(e))
		return 0;
	rc = source_watch(command, ground->instance, addr, by_dest, 1, &affected);
	if (rc <= 0)
		return rc;
	if (affected.dropped.sum)
		source_packets_report(&affected, 1, ground->policy, ground->ctx, document);
	return 0;
}

static int answer(const struct command *command, struct ground *ground, struct question *q,
		  struct json_object *document)
{
	char words[RULE_TEXT_MAX], length[24] = "", packet[RULE_TEXT_MAX + 32];
	struct explain_source source = {.look = look, .arg = ground};
	struct explanation e;
	bool known = false, off;
	const char *alarm = rule_while(&q->words, &off);
	int rc = 0, head;

	if (q->probe.stated & RL_MATCH_SRC) { /* more that the kernel knows of the source */
		if (ground->instance) {
			ground->source_ban_ns = instance_source_ban(ground->instance, q->probe.src);
			rc = instance_source_is_known(ground->instance, q->probe.src, &known);
		}
		probe_know_source(&q->probe, known);
	}
	ground->packet = &q->packet;
	if (!ground->instance || !ground->instance->info.raw_ip)
		q->packet.bytes += ETH_HLEN;
	source.source_banned = ground->source_ban_ns;
	rc = rc ?: packet_explain(ground->policy, &q->probe, &source, &e);
	if (rc) {
		json_object_put(document);
		return fail("reading the states failed: %s", strerror(-rc));
	}
	/* The length that is not stated stands before `while`. */
	rule_format(words, &q->words, ground->ctx);
	head = (int)strlen(words);
	if (*alarm)
		head -= (int)(strlen(off ? " while not " : " while ") + strlen(alarm));
	if (!(q->probe.stated & RL_MATCH_LENGTH))
		snprintf(length, sizeof(length), " length %u", q->length);
	snprintf(packet, sizeof(packet), "%.*s%s%s", head, words, length, words + head);
	json_put_text(document, "packet", packet);
	text_print("packet: %s\n", packet);
	json_put(document, "rules", rules_report(&e, ground, &q->probe));
	verdict_report(&e, ground, document);
	rc = recent_report(command, &e, ground, q, document);
	if (rc)
		json_object_put(document);
	else
		document_print(command, document);
	free(e.rules);
	return rc;
}

/* ---- */

static int explain_instance(const struct command *command, struct session *session, void *arg)
{
	const struct instance *instance = &session->instance;
	struct ground ground = {
		.instance = instance, .policy = &session->policy, .ctx = &session->ctx};
	struct question q = {0};
	struct set_live sets;
	struct alarm_live alarms;
	int rc = question_parse(command, &session->ctx, &q);

	(void)arg;
	rc = rc
		     ?: instance_address_read(instance,
					      session->ctx.by_dest ? q.probe.dst : q.probe.src,
					      &session->policy);
	set_live_open(instance, &sets);
	q.probe.members = &sets.members;
	alarm_live_read(instance, &alarms);
	q.probe.alarms = &alarms.states;
	rc = rc ?: answer(command, &ground, &q, json_instance(instance));
	set_live_close(&sets);
	return rc;
}

static int explain_file(const struct command *command)
{
	const struct policy_context ctx = context_assumed(&command->target);
	CLEARED struct policy policy = {0};
	CLEARED_FILE struct policy_file file = {0};
	struct ground ground = {.policy = &policy, .ctx = &ctx};
	struct question q = {0};
	int rc = question_parse(command, &ctx, &q);

	rc = rc ?: policy_file_read(command->arguments[OPTION_POLICY], &file);
	rc = rc ?: policy_file_parse(&file, &ctx, &policy);
	return rc ?: answer(command, &ground, &q, json_object_new_object());
}

int cmd_explain(const struct command *command)
{
	if (option_given(command, OPTION_POLICY) && option_given(command, OPTION_INTERFACE))
		return wrong("explain: --policy asks a file and -i an instance: leave one out");
	if (option_given(command, OPTION_POLICY))
		return explain_file(command);
	return sessions_read(command, SESSION_LOOK, explain_instance, NULL);
}
