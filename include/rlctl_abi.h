/* SPDX-License-Identifier: GPL-2.0-only */
/* The only contract between the BPF programs and the command line: enums with their spellings,
 * the layout of every map's keys and values. Both sides compile it; nothing here has behaviour.
 * Times are nanoseconds of CLOCK_MONOTONIC, addresses are 16 bytes in network order with IPv4
 * mapped into ::ffff:0:0/96, ports are in host order.
 */
#ifndef RLCTL_ABI_H
#define RLCTL_ABI_H

#include <linux/types.h>

#define RL_ABI_VERSION 5u

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

#define RL_GROUP_MAX       8    /* rules of one prefix */
#define RL_NEST_MAX        32   /* prefixes inside one another that a packet may fall through */
#define RL_LENGTH_NONE     0xff /* rl_policy_header.shortest4, shortest6: no prefix of the family */
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
	union {
		__u64 ramp_ns;  /* warm-up */
		__u64 queue_ns; /* leaky-bucket: its queue as time, where `size` is that rounded
				 * down; 0: it is `size` */
	};
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

/* Both buckets as a GCRA (ATM Forum TM 4.0; RFC 2697 with one bucket): see bpf/algorithm/gcra.h.
 * A grain is 1/16 ns. */
#define RL_GRAIN_SHIFT 4
struct rl_gcra {
	__u64 capacity;   /* grains: the burst (or queue) as time; <= 2^62 */
	__u64 cost;       /* grains << cost_shift that one packet or byte takes */
	__u32 cost_shift; /* 0..24 */
	__u32 cost_max;   /* packets or bytes: more than this never fits */
};

/* Fixed window, sliding window and sliding log: bpf/algorithm/ has a file for each. */
struct rl_window {
	__u64 amount;      /* N: packets or bytes in a window */
	__u64 period_ns;   /* P */
	__u32 slots;       /* sliding-window: 2..16 */
	__u32 amount_bits; /* sliding-window: N < 2^amount_bits */
};

/* Warm-up, see bpf/algorithm/warm_up.h. Permits are in 2^-16, times in grains. */
struct rl_warm_up {
	__u64 max;
	__u64 threshold;
	__u64 stable;
	__u64 ramp;
	__u64 refill; /* permits in a grain, << refill_shift */
	__u64 climb;  /* of twice the permits above the threshold >> climb_drop, << climb_shift */
	__u8 refill_shift;
	__u8 climb_shift;
	__u8 climb_drop;
	__u8 pad;
	__u16 most; /* permits that one packet may cost: 1, or more where it may be several */
	__u8 pad2[2];
};
_Static_assert(sizeof(struct rl_warm_up) == 56, "rl_warm_up");

/* A key whose state would be larger than a word, while the hot table holds it: bpf/newcomer.h. In
 * grains. */
struct rl_newcomer {
	__u64 span; /* how long one admitted packet matters */
	__u64 wait; /* from the first to the second */
	__u64 pace; /* from one to the next, where no state can be made */
};

/* Of a rule's limit, what the packet asks in the first cache line. */
enum rl_rule_flag {
	RL_RULE_SIMPLE = 1 << 0, /* the key is one address */
	RL_RULE_HOME = 1 << 1,   /* its first address is what the instance goes by: /32 and /64 */
	RL_RULE_DEST = 1 << 2,   /* the key's first address is the destination */
	RL_RULE_BYTES = 1 << 3,
	RL_RULE_SHADOW = 1 << 4, /* what is over it passes: it is counted, or marked */
	RL_RULE_BAN = 1 << 5,
	RL_RULE_STANDS = 1 << 6, /* what it refuses may stand: bpf/standing.h */
};
#define RL_RULE_LANE_SHIFT    14 /* the flags above: the rule's lane, 0..RL_LANES - 1 */
#define RL_LANES              4 /* neighbouring sets of the hot table that an address's limits share */

#define RL_STANDING_SLOT_BITS 18 /* of a rule whose refusals may stand */
#define RL_REFUSAL_WAYS       4  /* refusals in a set of theirs, half a cache line */

/* One rule of a prefix. The rules array has two halves: one is the policy in force, in the other
 * the next one is built. Most packets need no more of it than its first cache line. */
struct rl_rule {
	__u8 action : 4; /* enum rl_action */
	__u8 clock : 4;  /* enum rl_clock: by which the limit is held */
	__u8 place;      /* enum rl_place */
	__u16 flags;     /* enum rl_rule_flag, and the lane */
	__u32 limit_id;  /* names the limit in state keys, never used twice; 0 = not a limit */
	__u32 slot;      /* index of its counters and of its shared state */
	__u32 lease; /* packets or bytes that a CPU takes at once from a shared bucket; 0 = none */
	__u64 generation; /* of the policy that brought it: refusals of other numbers are void */
	__u64 expires_ns; /* 0 = never */
	union {           /* the numbers of limit.algorithm */
		struct rl_gcra gcra;
		struct rl_window window;
		struct rl_warm_up warm_up;
	};
	struct rl_newcomer newcomer;
	__u64 mask6[2]; /* limit.key_len6 as the halves of an address, in network order */
	__u64 mask4;    /* limit.key_len4, of the second half of a mapped address */
	struct rl_match match;
	struct rl_limit limit;
	__u64 pad;
};
_Static_assert(sizeof(struct rl_rule) == 256, "rl_rule: four cache lines");

/* Where a limit's state is looked for first: in an LRU; as a bucket in the hot table; as a newcomer
 * there, for states that are larger than a word; as the one bucket of a rule; in an LRU, and in
 * what this member of a fleet may spend. */
enum rl_place { RL_PLACE_LRU, RL_PLACE_HOT, RL_PLACE_NEWCOMER, RL_PLACE_SHARED, RL_PLACE_FLEET };

enum rl_clock { RL_CLOCK_TICK, RL_CLOCK_PRECISE };

/* Which of a range's rules hold is asked of each; or all are limits without expiry, and hold for
 * every packet, or for every packet of a source that is not known. */
enum rl_asks { RL_ASKS_EACH, RL_ASKS_NONE, RL_ASKS_NEW_SOURCE };

struct rl_range {
	__u32 first; /* index into the rules array */
	__u8 count;  /* 0..RL_GROUP_MAX */
	__u8 asks;   /* enum rl_asks */
	__u8 pad[2];
};

/* What a policy needs that most do not. */
enum rl_policy_use {
	RL_USE_SOURCE_BANS = 1 << 0, /* a limit has `over ban … source` */
	RL_USE_NEW_SOURCE = 1 << 1,  /* a rule matches `new-source` */
	RL_USE_FLOWS = 1 << 2,       /* a key of two addresses */
	RL_USE_WINDOWS = 1 << 3,     /* sliding-window */
	RL_USE_LOGS = 1 << 4,        /* sliding-log */
	RL_USE_FLEET = 1 << 5,       /* a limit with the word fleet */
	RL_USE_STANDING4 = 1 << 6,   /* refusals of IPv4 addresses may stand: bpf/standing.h */
	RL_USE_STANDING6 = 1 << 7,   /* and those of IPv6 networks */
	RL_USE_NEIGHBOURS = 1 << 8,  /* neighbour discovery is held to it: bpf/neighbour.h */
	RL_USE_BANS = 1 << 9,        /* a limit has `over ban` */
};

/* The policy as a whole: what the one slot that a swap changes leads to. Where one prefix changes,
 * the trie's element is exchanged and the header is written in place, field by field: the counts
 * and lengths never say less than what the trie holds, but may say more. */
struct rl_policy_header {
	__u64 generation;    /* grows by one with every change */
	__u32 next_limit_id; /* the first one never used */
	__u32 half;          /* 0 or 1: which trie, and which half of the rules array */
	__u32 prefixes;      /* entries in the trie; 0 = do not look */
	__u32 rules;         /* used elements of the half */
	__u32 uses;          /* enum rl_policy_use */
	__u8 shortest4;      /* key length of the shortest IPv4 prefix in the trie */
	__u8 shortest6;      /* and of the shortest IPv6 prefix */
	__u8 pad[2];
	struct rl_range any;
	struct rl_range device;
	/* what packets do not read */
	__u64 written;   /* generation of the last policy that was written as a whole */
	__u32 next_slot; /* the first one that nothing uses, nor anything behind it */
	__u32 pad2;
	__u64 lengths[2][3]; /* IPv4, IPv6: a bit for each prefix length, 0..128, in the trie */
};
_Static_assert(sizeof(struct rl_policy_header) == 112, "rl_policy_header");

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

/* What a prefix says: a group of rules (range.count > 0), or one allow or deny for all. */
struct rl_prefix_value {
	struct rl_range range;
	__u64 expires_ns; /* of the plain verdict; 0 = never */
	__u32 slot;       /* of the plain verdict */
	__u8 action;      /* of the plain verdict: RL_ACTION_ALLOW or RL_ACTION_DENY */
	__u8 len;         /* its own, as in its key */
	__u8 pad[2];
};
_Static_assert(sizeof(struct rl_prefix_value) == 24, "rl_prefix_value");

/* Key of a state: a limit and what it counts by. Fields that the key kind leaves out are zero. Maps
 * for keys of one address take only its first RL_SHORT_KEY bytes. limit_id 0 is no limit: the
 * source itself, in `sources` as one that is known, in `bans` as one that is banned altogether. */
#define RL_SHORT_KEY 24
struct rl_state_key {
	__u32 limit_id;
	__u16 sport;
	__u16 dport;
	__u8 addr[16];
	__u8 peer[16]; /* source+dest, flow: the destination */
	__u8 proto;    /* flow */
	__u8 pad[7];
};
_Static_assert(sizeof(struct rl_state_key) == 48, "rl_state_key");
_Static_assert(__builtin_offsetof(struct rl_state_key, peer) == RL_SHORT_KEY, "short key");

/* All zero is a fresh state. What the words mean is the algorithm's. */
struct rl_state {
	__u64 word; /* decides; changed by compare-and-swap only */
	__u64 aux;
};

#define RL_SLOTS_MAX 16
struct rl_slots {
	__u64 word[RL_SLOTS_MAX];
};

/* Bans, by key. Each has a seat, and a seat is given to another only when its ban is over:
 * bpf/ban.h. Element 0 of the seats is none: its until_ns counts the seats that were looked at, and
 * key.limit_id is how many there are. */
struct rl_ban {
	__u64 until_ns; /* CLOCK_MONOTONIC */
	__u32 seat;     /* 1.. */
	__u32 pad;
};
struct rl_ban_seat {
	__u64 until_ns; /* 0: free */
	struct rl_state_key key;
	__u64 pad;
};
_Static_assert(sizeof(struct rl_ban_seat) == 64, "a cache line");

/* The ring's size is the instance's log depth, a power of two up to RL_SLIDING_LOG_MAX. */
struct rl_log {
	__u64 head;
	__u64 time[];
};
#define RL_LOG_SIZE(depth) (8 + 8 * (depth))

struct rl_amount {
	__u64 packets;
	__u64 bytes;
};

/* Counters and shared states lie in an array by slot, as far as that goes, and further ones in
 * chunks of this many slots, which are made when a policy needs them. Chunk 0 begins with slot 0.
 */
#define RL_CHUNK_SHIFT 12
#define RL_CHUNK_SLOTS (1u << RL_CHUNK_SHIFT)
#define RL_CHUNKS      8192u

struct rl_rule_counters {
	struct rl_amount passed;
	struct rl_amount dropped;
	struct rl_amount shadow;
};

/* attach --table: where state lives. */
enum rl_table { RL_TABLE_HOT, RL_TABLE_LRU, RL_TABLE_CPU };

/* The LRUs in which newcomers get their states, see bpf/newcomer.h. */
enum rl_lru { RL_LRU_SOURCES, RL_LRU_FLOWS, RL_LRU_WINDOWS, RL_LRU_LOGS, RL_LRU_COUNT };
_Static_assert(!(RL_LRU_COUNT & (RL_LRU_COUNT - 1)), "a power of two");
#define RL_CREATION_SAVE_NS 1000000000ULL /* creations not used for so long may come at once */

/* The hot table, see bpf/hot.h: a set is a cache line. */
#define RL_HOT_WAYS 4
struct rl_hot_slot {
	__u64 fingerprint; /* with flags in its low bits; 0 = never used */
	__u64 word;        /* of a bucket */
};
struct rl_hot_set {
	struct rl_hot_slot slot[RL_HOT_WAYS];
};
_Static_assert(sizeof(struct rl_hot_set) == 64, "a cache line");

/* How hard tables are pressed; sums since attach. The hot table: strangers are keys that got a
 * slot; evictions: slots taken from keys that still owed; spills: those of them that had come back,
 * kept in an LRU. Bans: those that could not begin, because all seats that were looked at were
 * taken. */
#define RL_HOT_PRESSURES(X)       \
	X(STRANGERS, "strangers") \
	X(EVICTIONS, "evictions") \
	X(SPILLS, "spills")
#define RL_PRESSURES(X)     \
	RL_HOT_PRESSURES(X) \
	X(BANS_REFUSED, "bans_refused")
#define RL_PRESSURE_ENUM(name, text) RL_ENUM(RL_PRESSURE_, name)
enum rl_pressure { RL_PRESSURES(RL_PRESSURE_ENUM) RL_PRESSURE_COUNT };

/* ---- watching: bpf/watch.h. Up to RL_WATCHERS processes watch at once; each has a place on the
 * board, a ring of its own, and two streams: of packets that are dropped, and that pass. */
#define RL_WATCHERS   4
#define RL_WATCH_ANY  0xffffffffu /* rl_watcher.slot: of every rule; rl_sample.slot: of none */
#define RL_MEAN_MAX   (1u << 30)
#define RL_FRAME_KEPT 256

struct rl_stream {
	/* set by the watcher */
	__u64 window_ns;
	__u32 budget; /* samples in a window at most */
	__u32 target; /* samples in a window that the mean aims at, 1..budget */
	/* by the packets; all zero but for the mean when a watcher takes its place */
	__u64 window_end_ns;
	__u64 counted; /* packets in this window, as far as told */
	__u32 used;    /* of the budget */
	__u32 mean;    /* one in so many packets is a sample; >= 1 */
	__u64 pad[3];
};
_Static_assert(sizeof(struct rl_stream) == 64, "a cache line");

/* A place is taken while until_ns lies ahead (CLOCK_MONOTONIC, the packets read it by the tick). */
struct rl_watcher {
	__u64 until_ns;
	__u32 reasons; /* bits, by enum rl_reason */
	__u32 slot;    /* only packets that this rule decided, or that it let pass */
	__u64 addr[2]; /* only packets from or to an address that is this under the mask, */
	__u64 mask[2]; /* in network order, */
	__u8 family;   /* and of this family, 4 or 6; 0: every packet */
	__u8 pad[15];
	struct rl_stream stream[2]; /* dropped, passed */
};
_Static_assert(sizeof(struct rl_watcher) == 192, "rl_watcher: three cache lines");

struct rl_board {
	__u32 on; /* 0: nobody watches; all that most packets read of it */
	__u32 pad[15];
	struct rl_watcher watcher[RL_WATCHERS];
};

/* Of one stream on one CPU; zeroed before a watcher takes its place. */
struct rl_watch_count {
	__u64 packets; /* that the watcher asked for */
	__u64 lost;    /* samples that the ring had no room for */
	__u64 last_ns;
	__u32 skip;    /* packets until the next sample */
	__u32 untold;  /* of rl_stream.counted */
	__u64 waiting; /* packets that the next sample stands for */
};

/* One packet, for `stands_for` of its CPU: itself and those since the sample before. */
struct rl_sample {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 stands_for;
	__u32 bytes; /* on the wire, without FCS */
	__u32 slot;  /* of the rule that decided, or of the first that let it pass */
	__u16 kept;  /* bytes of frame */
	__u16 sport, dport;
	__u8 has_ports;
	__u8 reason; /* enum rl_reason; non-ip and malformed: no addresses, no protocol */
	__u8 proto;
	__u8 pad[7];
	__u8 src[16], dst[16];
	__u8 frame[RL_FRAME_KEPT];
};
_Static_assert(sizeof(struct rl_sample) == 328, "rl_sample");

/* ---- fleets: what this member may spend of limits that many share; see bpf/fleet.h. Amounts are
 * grains of a packet or a byte (RL_FLEET_*_SHIFT), rates grains in 2^RL_FLEET_RATE_SHIFT ns. */

#define RL_FLEET_PACKET_SHIFT 20
#define RL_FLEET_BYTE_SHIFT   8
#define RL_FLEET_RATE_SHIFT   44
#define RL_FLEET_LIMITS       1024  /* of one instance */
#define RL_FLEET_GRANTS       32768 /* keys that hold a lease */

/* Of a limit, by its id: the clock of grains that every key has, until `until` as the fleet's
 * member, from then on alone. Written by the agent only. A fixed window's caps are amounts. */
struct rl_fleet_phase {
	__u64 grains; /* at the phase's beginning, modulo 2^64 */
	__u64 rate;
	__u64 cap;
};
struct rl_fleet_limit {
	__u64 since_ns; /* when phase 0 began; phase 1 begins at until_ns */
	__u64 until_ns;
	struct rl_fleet_phase phase[2];
};
_Static_assert(sizeof(struct rl_fleet_limit) == 64, "rl_fleet_limit");

/* Of a key that the fleet has leased more to. Written by the agent only. Of a fixed window:
 * `grains` is the amount leased in the window that `since_ns` names, and until_ns ends with it. */
struct rl_fleet_grant {
	__u64 since_ns;
	__u64 until_ns;
	struct rl_fleet_phase phase;
};
_Static_assert(sizeof(struct rl_fleet_grant) == 40, "rl_fleet_grant");

/* Of a key, written by packets only. */
struct rl_fleet_key {
	__u64 word;     /* decides: a bucket's, in grains, or of a window: its name << 48 | spent */
	__u64 used;     /* packets or bytes that passed, since ever; a CPU may lose another's */
	__u64 refused;  /* the same, of those that did not */
	__u64 asked_ns; /* when the agent was last told of it */
};
#define RL_FLEET_SPENT_BITS 48

/* How a member is doing, for `fleet status` and `fleet leave`. */
#define RL_FLEET_NAME    64
#define RL_FLEET_MEMBERS 64 /* that are listed by name */
struct rl_fleet_session {
	__u64 since_ns;   /* CLOCK_REALTIME; 0: there is none */
	__u64 updated_ns; /* CLOCK_MONOTONIC */
	__u64 lag_ns;     /* of the last answer */
	__u64 leases;     /* keys that hold one */
	__u64 shed;       /* keys that had to wait since there were too many; sum */
	__u64 lost;       /* times that Redis was lost */
	__u32 pid;
	__u32 leave;  /* written by `fleet leave`: 1 */
	__u32 shared; /* 1: limits are shared; 0: held alone, to a part */
	__u32 members;
	char fleet[RL_FLEET_NAME];
	char node[RL_FLEET_NAME];
	char server[RL_FLEET_NAME];
	char member[RL_FLEET_MEMBERS][RL_FLEET_NAME];
};

/* How far into a frame its transport header may begin, 2^n - 1; the smaller one for copies on a
 * device whose frames fit a page. Such a copy has room for the transport header too. */
#define RL_HEADERS_REACH       0x1fff
#define RL_HEADERS_REACH_SMALL 0x1ff
#define RL_HEADERS_SIZE(reach) ((reach) + 1 + 64)

enum rl_hook { RL_HOOK_XDP, RL_HOOK_INGRESS, RL_HOOK_EGRESS };

/* Which program stands at the hook. At ingress and egress it is tc's, at xdp in mode tc as well: at
 * ingress, where the device runs no XDP that would limit. */
enum rl_mode { RL_MODE_NATIVE, RL_MODE_GENERIC, RL_MODE_TC };

#define RL_ROOT_OPTIONS_MAX 256 /* of a qdisc, as the kernel told them */

/* What attach decided; read by every other command, not by the packet. */
struct rl_instance {
	__u32 abi_version;
	__u32 hook;    /* enum rl_hook */
	__u32 by_dest; /* 1: goes by destination */
	__u32 mtu;     /* of the device at attach, bytes */
	__u32 mode;    /* enum rl_mode */
	__u32 ifindex;
	__u64 since_ns;     /* CLOCK_REALTIME */
	__u64 tick_ns;      /* length of a tick */
	__u64 tick_base_ns; /* jiffies * tick_ns + tick_base_ns = CLOCK_MONOTONIC, late by <= 1 tick
			     */
	__u32 sources;      /* capacity of the state map */
	__u32 prefixes;     /* that a policy may have; half as many as counter slots */
	__u32 slots;        /* that are not in chunks, and may have leases */
	__u32 rules;        /* capacity of one half of the rules array */
	__u32 bans;         /* capacity of the ban map */
	__u32 table;        /* enum rl_table */
	__u32 log_depth;    /* a power of two */
	__u32 cpus;         /* online at attach; 1: nothing is shared between CPUs */
	__u32 cache_sets;   /* of the prefix cache, a power of two */
	__u32 hot_sets;     /* of the hot table, a power of two; 0: there is none */
	__u32 possible_cpus; /* that may come online, these among them */
	__u64 hot_seed[2];   /* of its hash */
	__u32 raw_ip;        /* 1: the device's packets have no Ethernet header */
	__u32 outer_ip;      /* 1: but there may be the headers of a tunnel before them */
	__u32 made_clsact;   /* 1: the device's clsact is ours to take away */
	__u32 put_fq;        /* 1: so is its fq, and what was there is to come back */
	__u32 root_size; /* bytes of root_options; root_handle 0: the kernel's default was there */
	__u32 root_handle;
	char root_kind[16];
	__u8 root_options[RL_ROOT_OPTIONS_MAX];
};

/* Both clocks at one instant. */
struct rl_clocks {
	__u64 jiffies;
	__u64 monotonic_ns;
};

/* Is there a network namespace of that inode number? */
enum rl_netns { RL_NETNS_UNKNOWN, RL_NETNS_NONE, RL_NETNS_LISTED };

#endif
