/* SPDX-License-Identifier: GPL-2.0-only */
/* The model of a policy, and the only place where text becomes the model and the model text.
 * No system calls: files are read and devices asked elsewhere. The language is DESIGN.md §2.
 */
#ifndef RLCTL_POLICY_H
#define RLCTL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rlctl_abi.h"

/* Prefixes that are words. */
#define RULE_PREFIXES(X)    \
	X(DEVICE, "device") \
	X(ANY, "any")
#define RULE_PREFIX_ENUM(name, text) RL_ENUM(PREFIX_, name)
enum prefix_kind { RULE_PREFIXES(RULE_PREFIX_ENUM) PREFIX_ADDR };

struct rule {
	uint8_t kind;     /* enum prefix_kind */
	uint8_t action;   /* enum rl_action; RL_ACTION_COUNT where a selector names none */
	uint8_t len;      /* PREFIX_ADDR: mapped length, 0..128; else 0 */
	uint8_t addr[16]; /* PREFIX_ADDR: mapped, host bits zero; else zero */
	uint32_t line;    /* where it was written, from 1; 0 when it came from the kernel */
	struct rl_match match;
	struct rl_limit limit; /* RL_ACTION_LIMIT only, else zero */
	uint64_t for_ns;       /* time left to live; 0 = for ever */

	/* Identity inside the kernel (compile.h); 0 while it has none. */
	uint32_t limit_id;
	uint32_t counter_id;
	uint8_t lane;        /* 0..RL_LANES - 1: in which set of the hot table */
	uint64_t expires_ns; /* CLOCK_MONOTONIC; 0 = never */
};

/* Rules in canonical order (rule_compare), no two with the same identity. */
struct policy {
	struct rule *rules;
	size_t count;
	size_t capacity;
};

/* Protocols that have a name: X("name", number, has ports). All others have no ports. */
#define RULE_PROTOCOLS(X) \
	X("tcp", 6, 1)    \
	X("udp", 17, 1)   \
	X("icmp", 1, 0)   \
	X("icmp6", 58, 0) \
	X("sctp", 132, 1) \
	X("gre", 47, 0)   \
	X("esp", 50, 0)

/* What the parser has to know of the instance that the policy is for. */
struct policy_context {
	uint32_t mtu;   /* bytes; 1500 when there is no device */
	bool by_dest;   /* the instance goes by destination */
	bool tc;        /* mode is tc: `over mark` is possible, and packets may come merged */
	bool generic;   /* mode is generic: packets may come merged */
	bool may_be_tc; /* `over mark` is taken, and refused where the mode does not become tc */
	bool leaving;   /* hook is egress: the packets are those that the machine sends */
};

/* Where and why a text was refused: says what is wrong and what would be right. */
struct policy_error {
	uint32_t line;   /* from 1 */
	uint32_t column; /* from 1, inside the line or one past its end */
	char text[512];  /* enough for every message: 40 bytes of a word, escaped */
};

/* One statement ("rule …"); an empty or comment line gives *found = false. Writes *out only on
 * success. Returns 0, or -EINVAL with *err filled (err->line is left alone). */
int statement_parse(const char *line, const struct policy_context *ctx, struct rule *out,
		    bool *found, struct policy_error *err);

/* As statement_parse of "rule WORDS", but the action may be left out (rule del, rule list):
 * out->action is then RL_ACTION_COUNT. Bans that a statement may not have are taken, for an older
 * version may have put them in force. */
int selector_parse(const char *words, const struct policy_context *ctx, struct rule *out,
		   struct policy_error *err);

/* A whole text of `size` bytes. *out must be empty; it is filled only on success, in canonical
 * order. A later statement with the identity of an earlier one replaces it; `replaced`, if not
 * NULL, is called for each such pair. -EINVAL with *err, or -ENOMEM. */
int policy_parse(const char *text, size_t size, const struct policy_context *ctx,
		 void (*replaced)(const struct rule *earlier, const struct rule *later),
		 struct policy *out, struct policy_error *err);

/* What is allowed and seldom meant: calls `warn` with a sentence for each rule and each such thing,
 * in canonical order. */
typedef void (*policy_warn_fn)(const struct rule *rule, const char *text, void *arg);
void policy_warn(const struct policy *policy, const struct policy_context *ctx, policy_warn_fn warn,
		 void *arg);

/* The canonical line, with the word "rule" in front; ctx decides which defaults need no word.
 * Returns the length as snprintf does; RULE_TEXT_MAX is always enough. */
#define RULE_TEXT_MAX 512
int rule_print(char *buf, size_t size, const struct rule *rule, const struct policy_context *ctx);
/* The same without the word "rule". */
void rule_format(char buf[RULE_TEXT_MAX], const struct rule *rule,
		 const struct policy_context *ctx);

/* Order: device, any, then IPv4 and then IPv6 addresses, ascending with the shorter prefix first;
 * allow and deny, then limits; match; key with its lengths; packets, then bytes and bits. 0 exactly
 * when both have the same identity: allow and deny of one prefix and match are the same rule. */
int rule_compare(const struct rule *a, const struct rule *b);

/* The one form of a match that can be written in two: `syn` is `tcp syn`. Rules are compared in it;
 * the parser and what reads the maps, where older versions left the other form, bring it about. */
void match_settle(struct rl_match *match);

/* The key that a limit of this rule counts by when it names none, and the lengths that a key has
 * when it names none: 32,64 where the source or destination alone counts; 32,128 where both do. */
enum rl_key_kind rule_default_key(const struct rule *rule, const struct policy_context *ctx);
void key_default_lengths(enum rl_key_kind key, uint8_t *len4, uint8_t *len6);

/* Adds, or replaces the rule of the same identity. 0 or -ENOMEM. */
int policy_put(struct policy *policy, const struct rule *rule);

/* For many rules: append them in any order (0 or -ENOMEM), then settle once; until then the policy
 * is fit for nothing else. Of one identity the rule with the highest line stays; `replaced` as in
 * policy_parse. */
int policy_append(struct policy *policy, const struct rule *rule);
void policy_settle(struct policy *policy,
		   void (*replaced)(const struct rule *earlier, const struct rule *later));

/* The rule of that identity, or NULL. */
struct rule *policy_find(const struct policy *policy, const struct rule *identity);

/* The first rule that the selector names, as policy_remove would; *count: how many it names. */
const struct rule *policy_select(const struct policy *policy, const struct rule *selector,
				 size_t *count);

/* Removes every rule that the selector names: same prefix and match, and the same action, key and
 * unit where it states an action. Returns how many. */
size_t policy_remove(struct policy *policy, const struct rule *selector);

/* All rules of the prefix that `prefix` has become those of `rules`. 0 or -ENOMEM. */
int policy_prefix_put(struct policy *policy, const struct rule *prefix, const struct policy *rules);

/* Frees the rules and leaves an empty policy. */
void policy_clear(struct policy *policy);

/* An empty policy may have no array, and C adds nothing to NULL. */
#define policy_for_each(policy, rule)             \
	for (struct rule *rule = (policy)->rules; \
	     rule && rule < (policy)->rules + (policy)->count; rule++)

#endif
