/* SPDX-License-Identifier: GPL-2.0-only */
/* The only contract between the BPF programs and the command line: enums with their spellings,
 * the layout of every map's keys and values. Both sides compile it; nothing here has behaviour.
 * Times are nanoseconds of CLOCK_MONOTONIC, addresses are 16 bytes in network order with IPv4
 * mapped into ::ffff:0:0/96, ports are in host order.
 */
#ifndef RLCTL_ABI_H
#define RLCTL_ABI_H

#include <linux/types.h>

#define RL_ABI_VERSION 1u

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
enum rl_key_kind { RL_KEYS(RL_KEY_ENUM) RL_KEY_COUNT };

#define RL_OVERS(X)        \
	X(DROP, "drop")    \
	X(BAN, "ban")      \
	X(SHADOW, "count") \
	X(MARK, "mark")
#define RL_OVER_ENUM(name, text) RL_ENUM(RL_OVER_, name)
enum rl_over { RL_OVERS(RL_OVER_ENUM) RL_OVER_COUNT };

/* What an AMOUNT counts. Bits and bytes are one unit of a rule's identity ("bytes"). */
#define RL_UNITS(X)          \
	X(PACKETS, "packet") \
	X(BYTES, "byte")     \
	X(BITS, "bit")
#define RL_UNIT_ENUM(name, text) RL_ENUM(RL_, name)
enum rl_unit { RL_UNITS(RL_UNIT_ENUM) RL_UNIT_COUNT };

/* The closed list of reasons: RL_X(NAME, "spelling", passes). */
#define RL_REASONS(X)                \
	X(ALLOWED, "allowed", 1)     \
	X(WITHIN, "within", 1)       \
	X(UNMATCHED, "unmatched", 1) \
	X(NON_IP, "non-ip", 1)       \
	X(SHADOW, "shadow", 1)       \
	X(DENIED, "denied", 0)       \
	X(OVER, "over", 0)           \
	X(BANNED, "banned", 0)       \
	X(MALFORMED, "malformed", 0) \
	X(NO_ROOM, "no-room", 0)
#define RL_REASON_ENUM(name, text, passes) RL_ENUM(RL_REASON_, name)
enum rl_reason { RL_REASONS(RL_REASON_ENUM) RL_REASON_COUNT };

/* Bits of rl_match.flags: which conditions a rule states. */
enum rl_match_flag {
	RL_MATCH_PROTO = 1 << 0,
	RL_MATCH_SPORT = 1 << 1,
	RL_MATCH_DPORT = 1 << 2,
	RL_MATCH_SRC = 1 << 3,
	RL_MATCH_DST = 1 << 4,
	RL_MATCH_SYN = 1 << 5,
	RL_MATCH_FRAGMENT = 1 << 6,
	RL_MATCH_NEW_SOURCE = 1 << 7,
};

#define RL_GROUP_MAX       8  /* rules of one prefix */
#define RL_NEST_MAX        32 /* prefixes inside one another that a packet may fall through */
#define RL_PREFIX_BITS     128
#define RL_PREFIX_NONE     0xff /* rl_prefix_value.parent: only `any` is left */
#define RL_MAPPED_BITS     96   /* an IPv4 /n is kept as an IPv6 /(96+n) */
#define RL_SLIDING_LOG_MAX 1024

/* Conditions of a rule. Unused fields are zero, so that two matches compare with memcmp. */
struct rl_match {
	__u16 flags; /* enum rl_match_flag */
	__u8 proto;
	__u8 src_len; /* 0..128, in mapped form */
	__u8 dst_len;
	__u8 pad[3];
	__u16 sport_first, sport_last; /* inclusive */
	__u16 dport_first, dport_last;
	__u8 src[16];
	__u8 dst[16];
};
_Static_assert(sizeof(struct rl_match) == 48, "rl_match");

/* A limit as its operator wrote it, defaults filled in; unused fields are zero. */
struct rl_limit {
	__u64 amount;    /* N of RATE, in unit; > 0 */
	__u64 period_ns; /* P of RATE; > 0 */
	__u64 size;      /* burst or queue, in unit */
	__u64 ramp_ns;   /* warm-up */
	__u64 ban_ns;    /* over ban */
	__u32 mark;      /* over mark */
	__u32 cold;      /* warm-up: cold factor, >= 2 */
	__u8 algorithm;  /* enum rl_algorithm */
	__u8 unit;       /* enum rl_unit */
	__u8 key;        /* enum rl_key_kind */
	__u8 key_len4;   /* 0..32: how many bits of an IPv4 key address count */
	__u8 key_len6;   /* 0..128 */
	__u8 over;       /* enum rl_over */
	__u8 ban_source; /* over ban … source */
	__u8 slots;      /* sliding-window: 2..16 */
	__u8 fleet;
	__u8 pad[7];
};
_Static_assert(sizeof(struct rl_limit) == 64, "rl_limit");

#endif
