/* SPDX-License-Identifier: GPL-2.0-only */
/* The model of a policy, and the only conversions between text and model. No system calls, except
 * to look up the names of services. The
 * language is described in rlctl-policy(5).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/units.h"
#include "rlctl_abi.h"

/* Prefixes that are words of the language. */
#define RULE_PREFIXES(X)    \
	X(DEVICE, "device") \
	X(ANY, "any")
#define RULE_PREFIX_ENUM(name, text) RL_ENUM(PREFIX_, name)
enum prefix_kind { RULE_PREFIXES(RULE_PREFIX_ENUM) PREFIX_SET, PREFIX_ADDR };

/* The fields that a rule matches (abi/fields.h). Unused members are zero, so that two matches
 * compare with memcmp; the conditions of RL_MATCH_EXTRAS, lists of ports and names of sets are in
 * rl_extra. */
struct match {
	uint32_t flags;                   /* enum rl_match_flag: the fields */
	uint32_t negated;                 /* of these, after `not` */
	uint16_t sport_first, sport_last; /* inclusive; of a list: its lowest and highest port */
	uint16_t dport_first, dport_last;
	uint8_t proto;
	uint8_t src_len; /* 0..128, in mapped form; RL_LEN_SET: a set */
	uint8_t dst_len;
	uint8_t pad;
	uint8_t src[16], dst[16]; /* mapped, host bits zero */
};

/* Parts of a limit with `share` where none are written, of 100; strangers have the rest. */
#define SHARE_ESTABLISHED 60
#define SHARE_KNOWN       30

struct rule {
	uint8_t kind;     /* enum prefix_kind */
	uint8_t action;   /* enum rl_action; RL_ACTION_COUNT: a selector without action */
	uint8_t len;      /* PREFIX_ADDR: mapped length, 0..128; else 0 */
	uint8_t addr[16]; /* PREFIX_ADDR: mapped, host bits zero; else zero */
	char set[RL_SET_NAME_MAX + 1];      /* PREFIX_SET: its name; else zero */
	char keep_set[RL_SET_NAME_MAX + 1]; /* a limit with RL_KEEP_SET: its name; else zero */
	uint32_t line; /* line in the policy, from 1; 0: read from the kernel */
	struct {
		uint16_t prefix, src, dst, keep;
	} set_column;          /* of the words @NAME in that line, from 1; 0: there is none */
	uint16_t while_column; /* of the alarm's name in that line; 0: there is none */
	struct match match;
	const struct rl_extra *extra;     /* NULL: none; of extra_intern(), never freed */
	struct rl_limit limit;            /* RL_ACTION_LIMIT only, else zero */
	uint64_t for_ns;                  /* remaining lifetime; 0: unlimited */
	char comment[RL_COMMENT_MAX + 1]; /* no part of the identity; "": none */
	bool comment_cut;                 /* a longer one was written */
	bool size_cut;                    /* bits were written that are no whole bytes */

	/* Identity in the kernel (compile.h); 0: none yet. */
	uint32_t limit_id;
	uint32_t counter_id;
	uint8_t lane;        /* 0..RL_LANES - 1: which set of the hot table */
	uint64_t expires_ns; /* CLOCK_MONOTONIC; 0: never */
	uint64_t generation; /* of the policy that brought it into force */
	uint32_t comment_id; /* 0: no comment */
};

/* A statement `set`; the members are no part of the policy. Unused fields are zero. */
struct policy_set {
	char name[RL_SET_NAME_MAX + 1];
	char path[RL_SET_PATH_MAX + 1]; /* of its file or database; "": RL_SET_DYNAMIC */
	char pick[RL_SET_PICK_MAX + 1]; /* RL_SET_MMDB: "country DE,FR" or "asn 64496" */
	char comment[RL_COMMENT_MAX + 1];
	uint8_t source;      /* enum rl_set_source */
	uint64_t every_ns;   /* 0: not given */
	uint64_t timeout_ns; /* 0: members stay for ever */
	uint32_t max;        /* members: 1..RL_SET_MEMBERS_MAX */
	uint8_t shortest[2]; /* prefix of a member: of IPv4, of IPv6 */
	uint32_t line;       /* in the policy, from 1; 0: read from the kernel */
	uint32_t column;     /* of its name in that line */
	uint32_t id;         /* its number in the kernel, 0..RL_SETS_MAX - 1; see sets_inherit() */
};

/* A statement `alarm`. Unused fields are zero. */
struct policy_alarm {
	char name[RL_ALARM_NAME_MAX + 1];
	/* The packets that it counts: of kind PREFIX_ANY with RL_ACTION_COUNT, a match and an
	 * extra. */
	struct rule counts;
	struct policy_alarm_phase {
		uint64_t amount;    /* of RATE, in `unit` */
		uint64_t period_ns; /* of RATE */
		uint64_t for_ns;
	} phase[2];   /* to go on: over; to go off: under */
	uint8_t unit; /* enum rl_unit, of both */
	bool manual;  /* it counts nothing: `rlctl alarm` turns it on */
	char comment[RL_COMMENT_MAX + 1];
	uint32_t line;   /* in the policy, from 1; 0: read from the kernel */
	uint32_t column; /* of its name in that line */
};

/* Rules in canonical order (rule_compare), no two with the same identity; sets and alarms
 * by name, no two of the same. */
struct policy {
	struct rule *rules;
	size_t count;
	size_t capacity;
	struct policy_set *sets;
	size_t set_count;
	struct policy_alarm *alarms; /* the number in the kernel: policy_alarm_number() */
	size_t alarm_count;
};

/* Protocols with a name: X("name", number, has ports). The others have no ports. */
#define RULE_PROTOCOLS(X) \
	X("tcp", 6, 1)    \
	X("udp", 17, 1)   \
	X("icmp", 1, 0)   \
	X("icmp6", 58, 0) \
	X("sctp", 132, 1) \
	X("gre", 47, 0)   \
	X("esp", 50, 0)

/* Properties of the instance that the policy is for. */
struct policy_context {
	uint32_t mtu;   /* bytes; 1500 if there is no device */
	bool by_dest;   /* rules are looked up by destination */
	bool tc;        /* mode is tc: `over mark` works, and GRO may merge packets */
	bool generic;   /* mode is generic: GRO may merge packets */
	bool may_be_tc; /* `over mark` is accepted; attach checks it again */
	bool leaving;   /* hook is egress */
	bool at_xdp;    /* hook is xdp, though the mode may be tc */
	/* The text is of rules alone, which may name the sets and alarms of this policy. NULL: it
	 * is a whole policy. */
	const struct policy *known;
};

/* Position and text of an error: what is wrong, then what to write. */
struct policy_error {
	uint32_t line;   /* from 1 */
	uint32_t column; /* from 1; at most one past the end of the line */
	uint32_t other;  /* another line that has to do with it; 0: none */
	char text[512];  /* fits every message, with 40 escaped bytes of a word */
};

/* All errors of a policy, of which the first by line are kept. */
#define POLICY_ERRORS_MAX 20
struct policy_errors {
	size_t count; /* `first` has this many, at most POLICY_ERRORS_MAX */
	struct policy_error first[POLICY_ERRORS_MAX];
};

void policy_errors_add(struct policy_errors *errors, const struct policy_error *err);

/* How many are in errors->first. */
size_t policy_errors_kept(const struct policy_errors *errors);

/* One statement ("rule …"); for an empty line or a comment, *found is false. Writes *out only on
 * success. Returns 0, or -EINVAL with *err filled except err->line. */
int statement_parse(const char *line, const struct policy_context *ctx, struct rule *out,
		    bool *found, struct policy_error *err);

/* Like statement_parse of "rule WORDS", but without an action (rule del, rule list) out->action is
 * RL_ACTION_COUNT. Accepts bans that a statement may not have: an older version may have written
 * them. */
int selector_parse(const char *words, const struct policy_context *ctx, struct rule *out,
		   struct policy_error *err);

/* A whole policy of `size` bytes. *out must be empty; it is filled only on success, in canonical
 * order. A statement replaces an earlier one of the same identity: `replaced`, if not NULL,
 * receives the earlier and then the later rule of each such pair, by the later one's line, and is
 * cleared by the caller. 0, -EINVAL with *errors filled, or -ENOMEM. */
int policy_parse(const char *text, size_t size, const struct policy_context *ctx,
		 struct policy *replaced, struct policy *out, struct policy_errors *errors);

/* The statements of a refused text that are right, without the rules that name what is not defined,
 * for errors that are in several of them together; and all sets, for their files. *out must be
 * empty. 0 or -ENOMEM. */
int policy_parse_rest(const char *text, size_t size, const struct policy_context *ctx,
		      struct policy *out);

/* Calls `warn` for each rule that is valid but dangerous, in canonical order; once per danger. */
typedef void (*policy_warn_fn)(const struct rule *rule, const char *text, void *arg);
void policy_warn(const struct policy *policy, const struct policy_context *ctx, policy_warn_fn warn,
		 void *arg);

/* The canonical line, beginning with the word "rule"; ctx decides which defaults are left out.
 * Returns the length, like snprintf; at most RULE_TEXT_MAX - 1. */
#define RULE_TEXT_MAX 1536
int rule_print(char *buf, size_t size, const struct rule *rule, const struct policy_context *ctx);
/* A size of the limit, in its unit, as it is printed: in bits or bytes as its own was written, if
 * that is a whole number. */
int limit_size_print(char *buf, size_t size, const struct rl_limit *limit, uint64_t amount);
/* rule_print without the word "rule". */
void rule_format(char buf[RULE_TEXT_MAX], const struct rule *rule,
		 const struct policy_context *ctx);

/* Its first word: an address or prefix, @SET, any or device. */
void rule_prefix_print(char buf[PREFIX_TEXT_MAX], const struct rule *rule);

/* rule_format() without the time that is left, which changes by itself. */
void rule_format_lasting(char buf[RULE_TEXT_MAX], const struct rule *rule,
			 const struct policy_context *ctx);

/* Like both, and the comment after them: the line that `show` prints. */
#define STATEMENT_TEXT_MAX (RULE_TEXT_MAX + RL_COMMENT_MAX + 3)
void statement_print(char buf[STATEMENT_TEXT_MAX], const struct rule *rule,
		     const struct policy_context *ctx);
void statement_format(char buf[STATEMENT_TEXT_MAX], const struct rule *rule,
		      const struct policy_context *ctx);

/* Calls `tell` for each line of the whole policy, as `show` prints it and policy_parse() reads it:
 * first the sets, then the alarms, then the rules. */
typedef void (*policy_line_fn)(const char *line, void *arg);
void policy_lines(const struct policy *policy, const struct policy_context *ctx,
		  policy_line_fn tell, void *arg);

/* Sets the rule's comment to the text up to `end`: without blanks around it, each control character
 * and each byte that is not UTF-8 as "?", and no more than RL_COMMENT_MAX bytes. */
void comment_set(struct rule *rule, const char *text, const char *end);

/* Order: device, any, IPv4 prefixes, IPv6 prefixes, each ascending with the shorter prefix first;
 * allow and deny before limits; match; key with its lengths; packets before bytes and bits. 0 if
 * and only if both have the same identity: allow and deny of one prefix and match are the same
 * rule. */
int rule_compare(const struct rule *a, const struct rule *b);

bool same_prefix(const struct rule *a, const struct rule *b);

/* How many rules of the same prefix there are from this one on. */
size_t policy_prefix_count(const struct policy *policy, size_t index);

/* Whether one of two rules of the same identity in place of the other would change anything. A
 * lifetime that differs by no more than EXPIRY_SLACK_NS is the same: time passes between reading
 * and applying. */
#define EXPIRY_SLACK_NS 2000000000ull
bool same_rule(const struct rule *a, const struct rule *b);

/* Calls `tell`, unless it is NULL, for each rule that only one of the policies has (the other is
 * NULL) or that they have differently, in canonical order. Returns how many there are. */
typedef void (*policy_diff_fn)(const struct rule *from, const struct rule *to, void *arg);
size_t policy_diff(const struct policy *from, const struct policy *to, policy_diff_fn tell,
		   void *arg);

/* Brings a match into the form in which rules are compared: `syn` becomes `tcp syn`, and
 * other fields of TCP alike. */
void match_normalize(struct match *match);

/* Does the match state the condition, and not its contrary? */
static inline bool match_wants(const struct match *match, enum rl_match_flag flag)
{
	return match->flags & flag && !(match->negated & flag);
}

/* Does the match name a set as source, or as destination? No other match does. */
static inline bool match_names_set(const struct match *match, enum rl_match_flag flag)
{
	return match->flags & flag & (RL_MATCH_SRC | RL_MATCH_DST) &&
	       (flag == RL_MATCH_SRC ? match->src_len : match->dst_len) == RL_LEN_SET;
}

/* Can packets of the match be established, as far as protocol and `syn` say? */
bool match_may_be_established(const struct match *match);

/* Does the match want this protocol? */
static inline bool match_is_proto(const struct match *match, uint8_t proto)
{
	return match_wants(match, RL_MATCH_PROTO) && match->proto == proto;
}

/* The one copy of these conditions, which is never freed; NULL if there is no memory (then *ret is
 * -ENOMEM, else 0). Not for several threads. */
const struct rl_extra *extra_intern(const struct rl_extra *extra, int *ret);

/* Frees them all: no rule that has one may be in use. For programs that read policies without end.
 */
void extra_forget(void);

/* Do both rules match the same packets of their prefixes, as written? */
bool same_match(const struct rule *a, const struct rule *b);

/* The ranges of source or destination ports that the rule names, 1 to RL_PORT_RANGES_MAX; 0: it
 * matches none. */
uint32_t rule_ports(const struct rule *rule, enum rl_match_flag flag,
		    struct rl_port_range out[RL_PORT_RANGES_MAX]);

/* The alarm after the rule's `while`, "" if there is none; *off: the rule holds while it is off.
 */
const char *rule_while(const struct rule *rule, bool *off);

/* The default key of the rule's limit, and the default lengths of a key: 32,64 for one address,
 * 32,128 for both. */
enum rl_key_kind rule_default_key(const struct rule *rule, const struct policy_context *ctx);

/* Is it a limit on open connections? */
static inline bool rule_limits_connections(const struct rule *rule)
{
	return rule->action == RL_ACTION_LIMIT && rule->limit.unit == RL_CONNECTIONS;
}

/* Does the limit pass packets over it that are established? */
static inline bool limit_spares(const struct rl_limit *limit)
{
	return limit->over == RL_OVER_UNLESS ||
	       (limit->unit == RL_CONNECTIONS && limit->over == RL_OVER_DROP);
}

/* Adds, or replaces the rule of the same identity. 0 or -ENOMEM. */
int policy_put(struct policy *policy, const struct rule *rule);

/* For many rules: append them in any order (0 or -ENOMEM), then sort once; no other function may be
 * called in between. If rules have the same identity, the one with the highest line stays;
 * `replaced` as in policy_parse. policy_sort returns 0, or -ENOMEM if `replaced` is incomplete. */
int policy_append(struct policy *policy, const struct rule *rule);
int policy_sort(struct policy *policy, struct policy *replaced);

/* The rule of that identity, or NULL. */
struct rule *policy_find(const struct policy *policy, const struct rule *identity);

/* The first rule that the selector selects, as in policy_remove, or NULL; *count: how many it
 * selects. */
const struct rule *policy_select(const struct policy *policy, const struct rule *selector,
				 size_t *count);

/* Removes every rule that the selector selects: same prefix and match and, if the selector has an
 * action, the same action, key and unit. Returns the number removed. */
size_t policy_remove(struct policy *policy, const struct rule *selector);

/* Removes each of `rules`, which is sorted: the rule with the same identity and action. Calls
 * `missing` for those that the policy lacks. */
void policy_subtract(struct policy *policy, const struct policy *rules,
		     void (*missing)(const struct rule *rule, void *arg), void *arg);

/* Replaces all rules with the prefix of `prefix` by `rules`. 0 or -ENOMEM. */
int policy_prefix_replace(struct policy *policy, const struct rule *prefix,
			  const struct policy *rules);

/* Frees the rules and leaves an empty policy. */
void policy_clear(struct policy *policy);

/* The array of an empty policy may be NULL. */
#define policy_for_each(policy, rule)             \
	for (struct rule *rule = (policy)->rules; \
	     rule && rule < (policy)->rules + (policy)->count; rule++)
