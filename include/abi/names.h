/* SPDX-License-Identifier: GPL-2.0-only */
/* Enums that a user can name, each with its spellings. Part of rlctl_abi.h. */
#pragma once

/* Every enum below comes from one table: RL_X(NAME, "spelling"). */
#define RL_ENUM(prefix, name, ...) prefix##name,

#define RL_ACTIONS(X)     \
	X(ALLOW, "allow") \
	X(DENY, "deny")   \
	X(LIMIT, "limit")
#define RL_ACTION_ENUM(name, text) RL_ENUM(RL_ACTION_, name)
enum rl_action { RL_ACTIONS(RL_ACTION_ENUM) RL_ACTION_COUNT };

#define RL_ALGORITHMS(X)                    \
	X(TOKEN_BUCKET, "token-bucket")     \
	X(LEAKY_BUCKET, "leaky-bucket")     \
	X(FIXED_WINDOW, "fixed-window")     \
	X(SLIDING_WINDOW, "sliding-window") \
	X(SLIDING_LOG, "sliding-log")       \
	X(WARM_UP, "warm-up")
#define RL_ALGORITHM_ENUM(name, text) RL_ENUM(RL_, name)
enum rl_algorithm { RL_ALGORITHMS(RL_ALGORITHM_ENUM) RL_ALGORITHM_COUNT };

#define RL_KEYS(X)                      \
	X(SOURCE, "source")             \
	X(DEST, "dest")                 \
	X(SOURCE_DPORT, "source+dport") \
	X(SOURCE_DEST, "source+dest")   \
	X(FLOW, "flow")                 \
	X(RULE, "rule")
#define RL_KEY_ENUM(name, text) RL_ENUM(RL_KEY_, name)
/* RL_KEY_PARTS is spelt by its parts. */
enum rl_key_kind { RL_KEYS(RL_KEY_ENUM) RL_KEY_PARTS, RL_KEY_COUNT };

/* The parts that a key may have, in the order in which it is printed: bits of rl_limit.key_parts.
 */
#define RL_KEY_PART_WORDS(X) \
	X(SOURCE, "source")  \
	X(DEST, "dest")      \
	X(SPORT, "sport")    \
	X(DPORT, "dport")    \
	X(PROTO, "proto")    \
	X(VLAN, "vlan")
#define RL_PART_INDEX_ENUM(name, text) RL_ENUM(RL_PART_INDEX_, name)
enum { RL_KEY_PART_WORDS(RL_PART_INDEX_ENUM) RL_PART_COUNT };
#define RL_PART_ENUM(name, text) RL_PART_##name = 1 << RL_PART_INDEX_##name,
enum rl_key_part { RL_KEY_PART_WORDS(RL_PART_ENUM) RL_PARTS_FLOW = RL_PART_VLAN - 1 };
/* `per set member`, a key by itself: the lookup address's prefix in the set of the rule. */
#define RL_PART_MEMBER (1 << RL_PART_COUNT)
/* `per account N`, a key by itself: one bucket of all rules with that number, at all devices of the
 * network namespace. It has no address, and the limit's id is that of the account. */
#define RL_PART_ACCOUNT  (1 << (RL_PART_COUNT + 1))
#define RL_ACCOUNT_MAX   ((1u << 28) - 1)
#define RL_ACCOUNTS_MAX  (1u << 18) /* that a network namespace has at once */
#define RL_ACCOUNT_LIMIT (1u << 31) /* in the id of a limit: it is of an account */

#define RL_OVERS(X)                          \
	X(DROP, "drop")                      \
	X(BAN, "ban")                        \
	X(SHADOW, "count")                   \
	X(MARK, "mark")                      \
	X(UNLESS, "drop unless established") \
	X(CHALLENGE, "challenge")            \
	X(TRUNCATE, "truncate")
#define RL_OVER_ENUM(name, text) RL_ENUM(RL_OVER_, name)
enum rl_over { RL_OVERS(RL_OVER_ENUM) RL_OVER_COUNT };

/* For whom a part of a bucket is kept: a class of senders, or the members of a set. */
#define RL_KEEP_CLASSES(X)            \
	X(ESTABLISHED, "established") \
	X(KNOWN, "known")
#define RL_KEEP_ENUM(name, text) RL_ENUM(RL_KEEP_, name)
enum rl_keep_for { RL_KEEP_NONE, RL_KEEP_CLASSES(RL_KEEP_ENUM) RL_KEEP_SET };

/* The unit of an AMOUNT. Bits and bytes are one unit of a rule's identity ("bytes"). */
#define RL_UNITS(X)          \
	X(PACKETS, "packet") \
	X(BYTES, "byte")     \
	X(BITS, "bit")
#define RL_UNIT_ENUM(name, text) RL_ENUM(RL_, name)
/* RL_CONNECTIONS has no period, and is spelt by the language alone. */
enum rl_unit { RL_UNITS(RL_UNIT_ENUM) RL_CONNECTIONS, RL_UNIT_COUNT };

/* The closed list of reasons: RL_X(NAME, "spelling", passes). */
#define RL_REASONS(X)                    \
	X(ALLOWED, "allowed", 1)         \
	X(WITHIN, "within", 1)           \
	X(UNMATCHED, "unmatched", 1)     \
	X(NON_IP, "non-ip", 1)           \
	X(SHADOW, "shadow", 1)           \
	X(ESTABLISHED, "established", 1) \
	X(DENIED, "denied", 0)           \
	X(OVER, "over", 0)               \
	X(BANNED, "banned", 0)           \
	X(MALFORMED, "malformed", 0)     \
	X(NO_ROOM, "no-room", 0)         \
	X(CHALLENGED, "challenged", 0)   \
	X(TRUNCATED, "truncated", 0)
#define RL_REASON_ENUM(name, text, passes) RL_ENUM(RL_REASON_, name)
enum rl_reason { RL_REASONS(RL_REASON_ENUM) RL_REASON_COUNT };
