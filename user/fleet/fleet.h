/* SPDX-License-Identifier: GPL-2.0-only */
/* What the fleet_*.c files share: the limits of an instance, the keys that hold or want a lease,
 * and the agent that moves quotas between them and Redis. Shares are in millionths of a limit.
 *
 * Of a limit's rate a twentieth is every member's for every key, split evenly, without asking; the
 * rest is leased. Of its burst it is a half. So the members' buckets never add up to more than one.
 */
#ifndef RLCTL_FLEET_INTERNAL_H
#define RLCTL_FLEET_INTERNAL_H

#include "fleet_maps.h"
#include "hash.h"
#include "instance.h"
#include "policy.h"
#include "redis.h"
#include "units.h"
#include "url.h"

#define SHARE_ALL      1000000u
#define SHARE_LEASED   950000u
#define SHARE_OWN      (SHARE_ALL - SHARE_LEASED)

#define LEASE_NS       (1900 * NS_PER_MS) /* shorter than Redis' reservation of it: 2 s at least */
#define HOLD_NS        (700 * NS_PER_MS)  /* after so long without its agent a member is alone */
#define BEAT_NS        (250 * NS_PER_MS)
#define KEYS_PER_TICK  20000u
#define KEYS_MAX       RL_FLEET_GRANTS
#define FLEET_SIZE_MAX 10000

/* ---- limit.c: one limit of the instance */

#define IDENTITY_MAX 17
struct fleet_limit {
	struct rule rule;
	char identity[IDENTITY_MAX]; /* the same on every member */
	bool window;                 /* leases are amounts */
	uint64_t burst;              /* packets or bytes that the fleet may save */
	uint64_t packet;             /* what one packet costs at most, in packets or bytes */
	double per_ns;               /* the rate: packets or bytes */
	uint32_t shift;              /* of grains */
	struct rl_fleet_limit record;
};

/* What the limit's numbers are for a fleet of `members`. */
void fleet_limit_make(const struct rule *rule, uint32_t mtu, bool by_dest, struct fleet_limit *out);

/* The next record: as a member until HOLD_NS from now, or alone from now on. Tokens stay as they
 * are. */
void fleet_limit_next(struct fleet_limit *limit, uint32_t members, bool shared, uint64_t now_ns);

/* Packets or bytes by which the sum may exceed rate and burst (or N), because no bucket is smaller
 * than a packet, or by what the algorithm is approximated. */
uint64_t fleet_limit_overshoot(const struct fleet_limit *limit, uint32_t members);

/* The rate of a share, in the record's unit; what a window of that share holds. */
uint64_t fleet_limit_rate(const struct fleet_limit *limit, double share);
uint64_t fleet_limit_leased(const struct fleet_limit *limit);

/* ---- lease.c: one key */

struct fleet_entry {
	struct rl_state_key key;
	const struct fleet_limit *limit;
	char name[128];         /* in Redis, behind the fleet's */
	uint64_t next_ns;       /* when it is to be looked at */
	uint64_t checked_ns;    /* 0: not yet */
	uint64_t busy_ns;       /* when it last had traffic */
	uint64_t backoff_ns;    /* between two askings that are in vain */
	uint64_t used, refused; /* as read last */
	double demand;          /* packets or bytes per ns */
	bool fresh;             /* not yet asked for */
	bool granted;           /* the kernel has the grant below */
	struct rl_fleet_grant grant;
	uint32_t held, reserved, want, wanted, ends; /* shares; the second of Redis' clock */
	int64_t window;                              /* Redis' name of the window of the lease */
	uint64_t ask, back;                          /* amounts for a window */
	UT_hash_handle hh;                           /* by key */
};

/* What the agent goes by. */
struct fleet_pace {
	uint64_t interval_ns;
	uint64_t check_ns;    /* how often a key that has what it may is looked at */
	uint64_t retry_ns;    /* and one that others owe something, at least */
	uint64_t patience_ns; /* with Redis */
	uint32_t members;
};

/* Looks at what the packets did; true: Redis is to be asked. May lower what the kernel has. */
bool fleet_entry_check(struct fleet_entry *e, const struct fleet_maps *maps,
		       const struct fleet_pace *pace, uint64_t now_ns);

/* Redis' answers: a share, and the part that it may become; or an amount of a window that began
 * then and lasts so long. sent_ns is before the question left. */
void fleet_entry_grant(struct fleet_entry *e, const struct fleet_maps *maps,
		       const struct fleet_pace *pace, uint32_t share, uint32_t part,
		       uint32_t second, uint64_t sent_ns);
void fleet_entry_window(struct fleet_entry *e, const struct fleet_maps *maps,
			const struct fleet_pace *pace, uint64_t lease, uint64_t lasts_ns,
			int64_t start, uint64_t sent_ns);

/* Nothing is leased, wanted or under way any more. */
bool fleet_entry_is_idle(const struct fleet_entry *e, uint64_t now_ns);

/* As one that was never asked for; what the kernel has is not touched. */
void fleet_entry_reset(struct fleet_entry *e);

/* ---- batch.c: the questions of one tick */

enum fleet_askings { FLEET_SHARES, FLEET_WINDOWS, FLEET_ASKINGS };

struct fleet_asking {
	struct fleet_entry **entries;
	size_t count;
};

struct fleet_asker {
	struct fleet_link *link;
	const char *fleet;
	const struct fleet_maps *maps;
	const struct fleet_pace *pace;
};

/* Asks, and does what the answers say. 0, or -1 with the reason: the link is of no use then. */
int fleet_ask(const struct fleet_asker *asker, enum fleet_askings kind,
	      const struct fleet_asking *ask, char wrong[LINK_WRONG_MAX]);

/* ---- table.c: all keys */

struct fleet_table {
	struct fleet_entry *entries; /* `count` of them */
	size_t count;
	struct fleet_entry *by_key;
};

int fleet_table_open(struct fleet_table *out);
void fleet_table_close(struct fleet_table *table);
struct fleet_entry *fleet_table_find(struct fleet_table *table, const struct rl_state_key *key);
/* NULL: there are KEYS_MAX already, or there is no memory. */
struct fleet_entry *fleet_table_add(struct fleet_table *table, const struct rl_state_key *key,
				    const struct fleet_limit *limit);
/* The last entry takes its place. */
void fleet_table_remove(struct fleet_table *table, struct fleet_entry *entry);

/* ---- agent.c */

struct fleet_options {
	struct fleet_url url;
	const char *fleet;
	const char *node;
	uint64_t interval_ns;
};

/* A member, until it is told to leave or to end, or the instance is gone. 0 or -1; reports. */
int fleet_run(const struct instance *instance, const struct fleet_options *options);

#endif
