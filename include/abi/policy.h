/* SPDX-License-Identifier: GPL-2.0-only */
/* A policy as packets read it: rules with their numbers, prefixes, and the header above them.
 * Part of rlctl_abi.h.
 */
#pragma once

#include <linux/types.h>

#include "abi/fields.h"
#include "abi/names.h"
#include "abi/numbers.h"

/* Matches whose conditions are in rl_extra. */
#define RL_MATCH_EXTRAS    (RL_MATCH_NUMBERS | RL_MATCH_PAYLOAD | RL_MATCH_FILTER)

#define RL_GROUP_MAX       8 /* rules of one prefix without an index; limits that one packet meets */
#define RL_INDEXED_MAX     1024 /* rules of one prefix */
#define RL_RUN_MAX         256 /* of these: rules that packets of one protocol and port may match */
#define RL_NEST_MAX        32  /* prefixes inside one another that a packet may fall through */
#define RL_LENGTH_NONE     0xff /* rl_policy_header.shortest4, shortest6: no prefix of the family */
#define RL_MAPPED_BITS     96   /* an IPv4 /n is kept as an IPv6 /(96+n) */
#define RL_SLIDING_LOG_MAX 1024

/* Numbers of a packet that conditions compare, as words of 16 bits of what the parser notes of it
 * (bpf/packet/packet.h: struct packet, and struct facts in it). */
enum rl_word {
	RL_WORD_SPORT = 4,
	RL_WORD_DPORT = 5,
	RL_WORD_KIND = 6,     /* RL_KIND_*, and the protocol in the other byte */
	RL_WORD_NUMBERS = 56, /* enum rl_number, one after the other */
	/* Bits of the filters that hold, and of the sets that the addresses are in. */
	RL_WORD_FILTERS = RL_WORD_NUMBERS + (RL_NUMBERS + 1) / 2 * 2,
	RL_WORD_SRC_SETS = (RL_WORD_FILTERS + 2 + 3) / 4 * 4,
	RL_WORD_DST_SETS = RL_WORD_SRC_SETS + 4,
	RL_WORDS = RL_WORD_DST_SETS + 4,
};
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define RL_KIND_SHIFT  0
#define RL_PROTO_SHIFT 8
#else
#define RL_KIND_SHIFT  8
#define RL_PROTO_SHIFT 0
#endif
#define RL_KIND_SYN      (1 << 2) /* TCP with SYN and without ACK */
#define RL_KIND_FRAGMENT (1 << 3) /* any, the first included */

enum rl_operator {
	RL_IN_RANGE, /* from `first` on, `span` more; beyond 65535 it goes on at 0 */
	RL_BITS_ARE, /* of the bits of `span` exactly those of `first` are set */
	RL_BITS_ARE_NOT,
};

/* A question of a rule about one number of a packet. `not` of a range is a range, and a list of
 * ports is its hull without its gaps, so that a rule holds where all of its conditions do. */
struct rl_condition {
	__u8 word; /* enum rl_word */
	__u8 op;   /* enum rl_operator */
	__u16 first, span;
};
_Static_assert(sizeof(struct rl_condition) == 6, "rl_condition");

#define RL_CONDITIONS_INLINE 5 /* in the rule, where it states no address */
#define RL_CONDITIONS_APART  0x80
#define RL_CONDITIONS_MAX    (36 + RL_NUMBERS) /* 32 are of two lists of ports under `not` */

/* Matches of a rule, as packets compare them; the policy's own are in rl_extra where there are
 * numbers among them. Unused fields are zero. */
struct rl_match {
	__u16 flags; /* enum rl_match_flag; of numbers, enum rl_header_flag */
	__u8 proto;
	__u8 src_len; /* 0..128, in mapped form; RL_LEN_SET: a set, whose name is in rl_extra */
	__u8 dst_len;
	__u8 count; /* in the kernel: of conditions; RL_CONDITIONS_APART: they, or a payload, are in
		       rl_extra */
	__u16 negated; /* of `flags`, without numbers: conditions that must be known, and not hold
			*/
	__u16 sport_first, sport_last; /* inclusive; of a list: its lowest and highest port */
	__u16 dport_first, dport_last;
	union {
		struct {
			__u8 src[16];
			__u8 dst[16];
		};
		struct {
			struct rl_condition conditions[RL_CONDITIONS_INLINE]; /* if so few */
			__u16 conditions_pad;
		};
	};
};
_Static_assert(sizeof(struct rl_match) == 48, "rl_match");

/* Has it src or dst that are not sets? Then its conditions stand elsewhere. */
#define RL_MATCH_HAS_PREFIX(m)                                        \
	(((m)->flags & RL_MATCH_SRC && (m)->src_len != RL_LEN_SET) || \
	 ((m)->flags & RL_MATCH_DST && (m)->dst_len != RL_LEN_SET))

#define RL_PORT_RANGES_MAX    16
#define RL_PAYLOAD_MAX        16  /* bytes that a rule compares */
#define RL_PAYLOAD_OFFSET_MAX 512 /* where they begin, after the transport header */
#define RL_PAYLOAD_UNIT       4   /* bytes: rl_policy_header.payload_first */
#define RL_FILTER_MAX         255 /* bytes of an expression, without the NUL */
#define RL_EXTRA_ROOM         264 /* bytes of an expression, or of conditions */
#define RL_FILTER_NONE        255 /* rl_extra.filter_bit: it has no expression */
#define RL_SET_NAME_MAX       31  /* bytes of a set's name, without the NUL */
#define RL_LEN_SET            255 /* rl_match.src_len, dst_len: the members of a set */
#define RL_ALARMS_MAX         16  /* of a policy */
#define RL_KNOWN_BY_MAX       16  /* different matches beside `new-source` */
#define RL_ALARM_NAME_MAX     31  /* bytes of an alarm's name, without the NUL */

struct rl_port_range {
	__u16 first, last; /* inclusive */
};

/* A number that a rule states: from `first` to `last`; of RL_MATCH_TCP_FLAGS, those of `last` that
 * are set are exactly those of `first`. */
struct rl_numbers {
	__u16 first, last;
};

/* Conditions that few rules state. Unused fields are zero, so that two of them compare with memcmp.
 */
struct rl_extra {
	__u32 flags, negated; /* in the kernel: of struct match, if it has numbers */
	struct rl_numbers number[RL_NUMBERS]; /* enum rl_number */
	__u8 sport_count; /* RL_MATCH_SPORT: ranges of a list, 2 or more; 0: there is none */
	__u8 dport_count;
	__u8 payload_len; /* RL_MATCH_PAYLOAD: 1..RL_PAYLOAD_MAX */
	__u8 filter_bit; /* RL_MATCH_FILTER: its number in the program; RL_FILTER_NONE in the kernel
			  */
	__u16 payload_at;             /* 0..RL_PAYLOAD_OFFSET_MAX */
	__u8 payload[RL_PAYLOAD_MAX]; /* bits outside the mask are zero */
	__u8 payload_mask[RL_PAYLOAD_MAX];
	struct rl_port_range sport[RL_PORT_RANGES_MAX]; /* ascending, none touches the next */
	struct rl_port_range dport[RL_PORT_RANGES_MAX];
	union {
		char filter[RL_EXTRA_ROOM]; /* packets do not read it */
		/* In the kernel, where there are more than rl_match has room for: of a rule without
		 * RL_MATCH_FILTER. One with it has them in the element after its own. */
		struct {
			struct rl_condition conditions[RL_CONDITIONS_MAX];
			__u8 conditions_pad[RL_EXTRA_ROOM -
					    RL_CONDITIONS_MAX * sizeof(struct rl_condition)];
		};
	};
	/* Packets do not read these. */
	char src_set[RL_SET_NAME_MAX + 1]; /* RL_MATCH_SRC with RL_LEN_SET */
	char dst_set[RL_SET_NAME_MAX + 1];
	char alarm[RL_ALARM_NAME_MAX + 1]; /* after `while`; "": the rule holds without */
	__u8 alarm_not;                    /* 1: `while not` */
	__u8 pad2[5];
};
_Static_assert(sizeof(struct rl_extra) == 540 + RL_NUMBERS * sizeof(struct rl_numbers), "rl_extra");

/* A limit as the operator wrote it, defaults filled in; unused fields are zero. */
struct rl_limit {
	__u64 amount;    /* N of RATE, in unit; > 0 */
	__u64 period_ns; /* P of RATE; > 0 */
	__u64 size;      /* burst or queue, in unit; warm-up: burst */
	union {
		__u64 ramp_ns;  /* warm-up */
		__u64 queue_ns; /* leaky-bucket: its queue as time, where `size` is that rounded
				 * down; 0: it is `size` */
	};
	__u64 ban_ns; /* over ban */
	union {
		__u32 mark;    /* over mark */
		__u32 account; /* RL_PART_ACCOUNT: its number, 1..RL_ACCOUNT_MAX */
	};
	union {
		__u32 cold; /* warm-up: cold factor, >= 2 */
		__u32 keep; /* keep: in unit, < size; 0: none */
	};
	__u8 algorithm;  /* enum rl_algorithm */
	__u8 unit;       /* enum rl_unit */
	__u8 key;        /* enum rl_key_kind */
	__u8 key_len4;   /* 0..32: how many bits of an IPv4 address count; of the source, where
			  * the key has both */
	__u8 key_len6;   /* 0..128 */
	__u8 over;       /* enum rl_over */
	__u8 ban_source; /* over ban … source */
	__u8 slots;      /* sliding-window: 2..16 */
	__u8 fleet;
	__u8 size_other; /* 1: `size` was written in bytes where unit is bits, or the reverse */
	__u8 key_parts;  /* RL_KEY_PARTS: of enum rl_key_part, or RL_PART_MEMBER or _ACCOUNT */
	__u8 dest_len4;  /* RL_KEY_PARTS with both addresses: those of the destination */
	__u8 dest_len6;
	__u8 keep_for; /* enum rl_keep_for; in the kernel, of a set: RL_KEEP_SET + its number */
	__u8 share[2]; /* share: of 100, what is for the established, and for the known; the
			* rest is for strangers. 0: without share */
};
_Static_assert(sizeof(struct rl_limit) == 64, "rl_limit");

/* Properties of a rule's limit that most packets ask for, in the first cache line. */
enum rl_rule_flag {
	RL_RULE_SIMPLE = 1 << 0,         /* the key is one address */
	RL_RULE_LOOKUP_ADDRESS = 1 << 1, /* its first address is the lookup address: /32 and /64 */
	RL_RULE_DEST = 1 << 2,           /* the key's first address is the destination */
	RL_RULE_BYTES = 1 << 3,
	RL_RULE_SHADOW = 1 << 4, /* what is over it passes: it is counted, or marked */
	RL_RULE_BAN = 1 << 5,
	RL_RULE_REFUSAL_CACHED = 1 << 6, /* its refusals may be cached: bpf/limit/refusal.h */
	RL_RULE_REFUSES_ALL = 1 << 7,    /* every packet meets it: bpf/limit/shared_refusal.h */
	RL_RULE_REFUSES_NEW = 1 << 8,    /* every packet of a new source does */
	RL_RULE_UNLESS = 1 << 9,         /* over drop unless established: bpf/proof/proven.h */
	RL_RULE_CHALLENGE = 1 << 10,     /* over challenge: bpf/answer/challenge.h */
	RL_RULE_TRUNCATE = 1 << 11,      /* over truncate: bpf/answer/truncate.h */
	RL_RULE_WHILE = 1 << 12,         /* it holds while rl_rule.alarm is on: bpf/limit/alarm.h */
	RL_RULE_WHILE_NOT = 1 << 13,     /* while it is not on */
};
#define RL_RULE_REFUSES_ANY     (RL_RULE_REFUSES_ALL | RL_RULE_REFUSES_NEW)
#define RL_RULE_LANE_SHIFT      14 /* the flags above: the rule's lane, 0..RL_LANES - 1 */
#define RL_LANES                4 /* neighbouring sets of the hot table that an address's limits share */

#define RL_REFUSAL_COUNTER_BITS 18 /* of a rule whose refusals may be cached */

/* One rule of a prefix. The rules array has two halves: one is of the policy in force, in the other
 * the next one is built. It grows with the policy, and the rules in force then stay where they
 * were. Most packets need no more of it than its first cache line. */
struct rl_rule {
	__u8 action : 2;  /* enum rl_action */
	__u8 clock : 2;   /* enum rl_clock: by which the limit is held */
	__u8 alarm : 4;   /* RL_RULE_WHILE, RL_RULE_WHILE_NOT: its number */
	__u8 backend;     /* enum rl_backend */
	__u16 flags;      /* enum rl_rule_flag, and the lane */
	__u32 limit_id;   /* names the limit in state keys; 0 = not a limit. Never used twice, but
			   * with RL_ACCOUNT_LIMIT by all rules of an account */
	__u32 counter_id; /* index of its counters and of its shared state */
	__u32 batch; /* packets or bytes that a CPU takes at once from a shared bucket; 0 = none */
	__u64 generation; /* of the policy that brought it: refusals of other numbers are void */
	__u64 expires_ns; /* 0 = never */
	union {           /* the numbers of limit.algorithm */
		struct rl_gcra gcra;
		struct rl_parts parts; /* RL_BACKEND_PARTS */
		struct rl_window window;
		struct rl_warm_up warm_up;
	};
	struct rl_unconfirmed unconfirmed;
	__u64 mask6[2]; /* limit.key_len6 as the halves of an address, in network order */
	__u64 mask4;    /* limit.key_len4, of the second half of a mapped address */
	struct rl_match match;
	struct rl_limit limit;
	__u32 comment_id; /* packets do not read it */
	__u32 extra;      /* 1 + the index of its rl_extra, and which half's; 0: it has none */
};
_Static_assert(sizeof(struct rl_rule) == 256, "rl_rule: four cache lines");

#define RL_EXTRA_HALF_SHIFT 31 /* in rl_rule.extra */
#define RL_EXTRA_INDEX      ((1u << RL_EXTRA_HALF_SHIFT) - 1)

/* Where a limit's state is looked for first: in an LRU; as a bucket in the hot table; unconfirmed
 * there, for states that are larger than a word; as the one bucket of a rule; in an LRU, and in
 * what this member of a fleet may spend; as the one bucket of a rule of which classes of senders
 * have parts; in what the sockets of this machine have open. */
enum rl_backend {
	RL_BACKEND_LRU,
	RL_BACKEND_HOT,
	RL_BACKEND_UNCONFIRMED,
	RL_BACKEND_SHARED,
	RL_BACKEND_FLEET,
	RL_BACKEND_PARTS,
	RL_BACKEND_CONNECTIONS
};

enum rl_clock { RL_CLOCK_TICK, RL_CLOCK_PRECISE };

/* Which of a range's rules hold is asked of each; or all are limits without expiry, and hold for
 * every packet, or for every packet of a source that is not known; or the rules are more than
 * RL_GROUP_MAX, and the index says which of them are asked. */
enum rl_match_mode {
	RL_MATCH_MODE_EACH,
	RL_MATCH_MODE_NONE,
	RL_MATCH_MODE_NEW_SOURCE,
	RL_MATCH_MODE_INDEXED,
};

struct rl_range {
	__u32 first;     /* index into the rules array; RL_MATCH_MODE_INDEXED: into the index */
	__u8 count;      /* 0..RL_GROUP_MAX; RL_MATCH_MODE_INDEXED: 1 */
	__u8 match_mode; /* enum rl_match_mode */
	__u8 pad[2];
};
_Static_assert(sizeof(struct rl_range) == 8, "rl_range");

/* The index of a prefix with more than RL_GROUP_MAX rules: which of them a packet may match, by its
 * protocol and port. It only leaves out rules: all else that a rule asks is asked of the packet.
 *
 * The root stands first, then a table for each rl_index_table. The intervals of a table are in
 * ascending order, the first begins at 0, and each ends where the next begins. An interval leads to
 * its run: the rules that may match, in the order in which they stand. A run of one rule is that
 * rule itself. */
struct rl_index_entry {
	__u32 first; /* root, reference: index into the rules array; table, interval: into the index
		      */
	__u16 start; /* table: enum rl_index_axis; interval: the lowest number */
	__u16 count; /* rules of the root; intervals of the table; rules of the interval's run */
};
_Static_assert(sizeof(struct rl_index_entry) == 8, "rl_index_entry");

/* Packets with ports, by protocol, and those without. */
enum rl_index_table {
	RL_INDEX_TCP,
	RL_INDEX_UDP,
	RL_INDEX_PORTS,
	RL_INDEX_NO_PORTS,
	RL_INDEX_TABLES
};

/* The number by which a table is searched. Packets without ports: by their protocol. */
enum rl_index_axis { RL_INDEX_DPORT, RL_INDEX_SPORT, RL_INDEX_PROTO };

#define RL_INDEX_MAX   (1 << 19) /* entries of all prefixes together */
#define RL_INDEX_STEPS 16        /* a binary search of fewer than 65536 intervals */

/* Features that a policy uses and most do not. */
enum rl_policy_use {
	RL_USE_SOURCE_BANS = 1 << 0, /* a limit has `over ban … source` */
	RL_USE_NEW_SOURCE = 1 << 1,  /* a rule matches `new-source` */
	RL_USE_FLOWS = 1 << 2,       /* states of long keys (rl_state_key) in an LRU */
	RL_USE_WINDOWS = 1 << 3,     /* sliding-window */
	RL_USE_LOGS = 1 << 4,        /* sliding-log */
	RL_USE_FLEET = 1 << 5,       /* a limit with the word fleet */
	RL_USE_REFUSALS4 =
		1 << 6, /* refusals of IPv4 addresses may be cached: bpf/limit/refusal.h */
	RL_USE_REFUSALS6 = 1 << 7,  /* and those of IPv6 networks */
	RL_USE_NEIGHBOURS = 1 << 8, /* neighbour discovery is held to it: bpf/packet/neighbour.h */
	RL_USE_BANS = 1 << 9,       /* a limit has `over ban` */
	RL_USE_SHARED = 1 << 10,    /* packets share a bucket (RL_BACKEND_SHARED) */
	RL_USE_ALLOWS = 1 << 11,    /* a rule of a prefix allows */
	RL_USE_REFUSES = 1 << 12,   /* a rule is RL_RULE_REFUSES_ANY */
	RL_USE_PROOF = 1 << 13, /* a rule asks whether a packet is established: bpf/proof/proof.h */
	RL_USE_ASKED = 1 << 14, /* and that of UDP or ICMP: bpf/proof/asked.h */
	RL_USE_CHALLENGE = 1 << 15, /* a limit has `over challenge` */
	RL_USE_TRUNCATE = 1 << 16,  /* a limit has `over truncate` */
	RL_USE_EXTRAS = 1 << 17,    /* a rule has an rl_extra */
	RL_USE_PAYLOAD = 1 << 18,   /* a rule matches bytes of the payload */
	RL_USE_FILTERS = 1 << 19,   /* a rule matches an expression of pcap-filter(7) */
	RL_USE_INDEX = 1 << 20, /* a prefix has more than RL_GROUP_MAX rules: bpf/match/index.h */
	RL_USE_KEY_PARTS = 1 << 21,  /* a key is RL_KEY_PARTS: bpf/limit/key.h */
	RL_USE_SETS = 1 << 22,       /* the policy has a set */
	RL_USE_SET_RULES = 1 << 23,  /* a rule names one: bpf/match/sets.h */
	RL_USE_ALARMS = 1 << 24,     /* an alarm counts packets: bpf/limit/alarm.h */
	RL_USE_KNOWN_BY = 1 << 25,   /* rl_policy_header.known_by is not empty */
	RL_USE_ALLOWS_ANY = 1 << 26, /* packets of any address may be allowed: by a rule of `any` or
				      * of a set */
	RL_USE_STRANGERS = 1 << 27,  /* refusals are remembered that hold for packets which are not
				      * established, and for no others */
	RL_USE_STATES = 1 << 28,     /* a limit bans, or its state is not that of a bucket */
	RL_USE_FACTS_FIRST = 1 << 29,    /* an alarm asks for a set, a payload or a filter */
	RL_USE_PARTS = 1 << 30,          /* a limit with `share` or `keep` */
	RL_USE_HOT = 1ull << 32,         /* a limit by source or other key, in the hot table */
	RL_USE_SOURCES = 1ull << 33,     /* states of short keys in an LRU */
	RL_USE_PREFIXES = 1ull << 34,    /* the policy has a prefix */
	RL_USE_MEMBER_KEYS = 1ull << 35, /* a key is RL_PART_MEMBER */
	RL_USE_ACCOUNTS = 1ull << 36,    /* a key is RL_PART_ACCOUNT */
	RL_USE_MANUAL = 1ull << 37,      /* an alarm is manual */
	RL_USE_CONNECTIONS = 1ull << 38, /* a limit on open connections */
	RL_USE_VLANS = 1ull << 39,       /* a rule matches or counts by VLAN */
	RL_USE_PATTERNS = 1ull << 40,    /* rl_policy_header.patterns_of is a rule */
};

#define RL_USE_ANSWERS    (RL_USE_CHALLENGE | RL_USE_TRUNCATE)
#define RL_USE_ANY_ALARMS (RL_USE_ALARMS | RL_USE_MANUAL)
#define RL_USE_ANY_SETS   (RL_USE_SETS | RL_USE_SET_RULES)
#define RL_USE_ANY_STATES                                                               \
	(RL_USE_STATES | RL_USE_SOURCES | RL_USE_FLOWS | RL_USE_WINDOWS | RL_USE_LOGS | \
	 RL_USE_FLEET)

/* Those for which the program has other maps, and hardly other code. */
#define RL_USE_TABLES (RL_USE_HOT | RL_USE_SOURCES | RL_USE_PREFIXES)

/* Those for which a program of the objects with EXTENDED is taken (bpf/variant.h). */
#define RL_USE_EXTENDED                                                                            \
	(RL_USE_PROOF | RL_USE_ASKED | RL_USE_CHALLENGE | RL_USE_TRUNCATE | RL_USE_EXTRAS |        \
	 RL_USE_PAYLOAD | RL_USE_FILTERS | RL_USE_INDEX | RL_USE_KEY_PARTS | RL_USE_MEMBER_KEYS |  \
	 RL_USE_SET_RULES | RL_USE_ANY_ALARMS | RL_USE_KNOWN_BY | RL_USE_PARTS | RL_USE_ACCOUNTS | \
	 RL_USE_CONNECTIONS | RL_USE_VLANS)

/* Those whose code is in the program only where the policy in force uses them: a policy that begins
 * to use one, or ceases to, brings another program (user/kernel/attach/program_fit.c). */
#define RL_USE_PROGRAM (RL_USE_EXTENDED | RL_USE_ANY_STATES | RL_USE_NEW_SOURCE | RL_USE_TABLES)

/* In rl_instance.program_uses: a change of the program was interrupted, and may have left more. */
#define RL_USE_UNSETTLED (1ull << 63)

/* The packets for which refusals of addresses are remembered, where no limit holds for all: those
 * of a protocol, of a range of destination ports, or both. bpf/limit/refusal.h */
struct rl_refusal_class {
	__u16 match; /* RL_MATCH_PROTO, RL_MATCH_DPORT */
	__u16 dport_first, dport_last;
	__u8 proto;
	__u8 ipv6; /* 0: of IPv4 alone */
};
_Static_assert(sizeof(struct rl_refusal_class) == 8, "rl_refusal_class");

/* Are refusals remembered of packets of a class alone? */
#define RL_REFUSES_CLASS(header) ((header)->refusal_class.match != 0)

/* The policy as a whole: what the one slot that a swap changes leads to. Where one prefix changes,
 * the trie's element is exchanged and the header is written in place, field by field: the counts
 * and lengths never say less than what the trie holds, but may say more. */
struct rl_policy_header {
	__u64 generation;    /* grows by one with every change */
	__u32 next_limit_id; /* the first one never used */
	__u32 half;          /* 0 or 1: which trie, and which half of the rules array */
	__u32 prefixes;      /* entries in the trie; 0 = do not look */
	__u32 rules;         /* used elements of the half */
	__u64 uses;          /* enum rl_policy_use */
	__u8 shortest4;      /* key length of the shortest IPv4 prefix in the trie */
	__u8 shortest6;      /* and of the shortest IPv6 prefix */
	__u8 payload_first;  /* which bytes of a payload the rules compare, */
	__u8 payload_end;    /* in units of RL_PAYLOAD_UNIT; 0: none */
	struct rl_range any;
	struct rl_range device;
	struct rl_range alarms;   /* what those count that do: abi/alarms.h */
	struct rl_range known_by; /* packets of which one of these holds make their source known;
				   * none: all packets do */
	__u32 guards;    /* bits: alarms that stand after `while` of a rule with `new-source`; */
	__u32 ripens_ms; /* how long a source is to be there in peace then; 0: there is none */
	struct rl_refusal_class refusal_class;
	__u32 patterns_of; /* with RL_USE_PATTERNS: bpf/limit/pattern_refusal.h */
	/* what packets do not read */
	__u32 rules_begin;     /* where its half of the rules array begins */
	__u64 written;         /* generation of the last policy that was written as a whole */
	__u32 next_counter_id; /* the first one that nothing uses, nor any after it */
	__u32 next_comment_id; /* the first one never used */
	__u64 lengths[2][3];   /* IPv4, IPv6: a bit for each prefix length, 0..128, in the trie */
};
_Static_assert(sizeof(struct rl_policy_header) == 160, "rl_policy_header");

/* Around which addresses a prefix of the trie may lie: a bit for the first 16 bits of an IPv4
 * address, and for a hash of the first 32 of an IPv6 one. bpf/algorithm/prefix_guide.h */
#define RL_PREFIX_GUIDE6 1024
struct rl_prefix_guide {
	__u64 ipv4[65536 / 64];
	__u64 ipv6[RL_PREFIX_GUIDE6 / 64];
};

/* Key of the trie: `len` counts the bits of family and address. IPv4 stands mapped, but the family
 * keeps ::/0 and its like from meaning IPv4 as well. */
#define RL_FAMILY_BITS 8
struct rl_prefix_key {
	__u32 len;   /* RL_FAMILY_BITS + 0..128 */
	__u8 family; /* 4 or 6 */
	__u8 addr[16];
	__u8 pad[3];
};
_Static_assert(sizeof(struct rl_prefix_key) == 24, "rl_prefix_key");

/* The value of a prefix: a group of rules (range.count > 0), or one allow or deny for all. */
struct rl_prefix_value {
	union {
		struct rl_range range;
		__u32 comment_id; /* of the plain verdict, which has no range.first */
	};
	__u64 expires_ns; /* of the plain verdict; 0 = never */
	__u32 counter_id; /* of the plain verdict */
	__u8 action;      /* of the plain verdict: RL_ACTION_ALLOW or RL_ACTION_DENY */
	__u8 len;         /* its own, as in its key */
	__u8 pad[2];
};
_Static_assert(sizeof(struct rl_prefix_value) == 24, "rl_prefix_value");

/* Comments of rules, for the command alone: a map that exists while the policy in force has
 * one. The entry of a rule or of a plain verdict names its comment; an id is never used twice, so
 * that a rule and its comment come into force together. 0: none. */
#define RL_COMMENT_MAX 120 /* bytes, without the NUL */
struct rl_comment_key {
	__u32 len; /* 32: of a trie, because that takes memory only for what it holds */
	__u32 id;
};
struct rl_comment {
	char text[RL_COMMENT_MAX + 8]; /* ends with NUL */
};
_Static_assert(sizeof(struct rl_comment) == 128, "rl_comment");
