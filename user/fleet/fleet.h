/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of user/fleet/: the limits of an instance, the keys that hold or need a lease, and the
 * agent that moves quotas between them and Redis. Shares are in millionths of a limit.
 *
 * A hundredth of a limit's rate and half of its burst are split evenly between the members, for
 * every key, without a lease; the rest is leased. So the members' buckets never exceed one whole
 * bucket.
 */
#pragma once

#include "base/hash.h"
#include "base/units.h"
#include "fleet/url.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/fleet_maps.h"
#include "policy/policy.h"

#define SHARE_ALL      1000000u
#define SHARE_LEASED   990000u
#define SHARE_OWN      (SHARE_ALL - SHARE_LEASED)

#define LEASE_NS       (1900 * NS_PER_MS) /* less than its reservation in Redis, at least 2 s */
#define HOLD_NS        (700 * NS_PER_MS)  /* without its agent, a member is alone after this */
#define HEARTBEAT_NS   (250 * NS_PER_MS)
#define KEYS_PER_TICK  20000u
#define KEYS_MAX       RL_FLEET_GRANTS
#define FLEET_SIZE_MAX 1000 /* members: an answer of Redis names so many */

/* ---- limit.c: one limit of the instance */

#define IDENTITY_MAX 17
struct fleet_limit {
	struct rule rule;
	char identity[IDENTITY_MAX]; /* hash of the limit, the same on every member */
	bool window;                 /* leases are amounts of a window, not shares */
	uint64_t burst;              /* of the whole fleet, packets or bytes */
	uint64_t packet;             /* largest cost of a packet, in packets or bytes */
	double per_ns;               /* the rate: packets or bytes per ns */
	uint32_t shift;              /* grains per packet or byte, log2 */
	struct rl_fleet_limit record;
};

/* Fills *out, except for the record. */
void fleet_limit_make(const struct rule *rule, uint32_t mtu, bool by_dest, struct fleet_limit *out);

/* The next record: shared until HOLD_NS from now, or alone from now on. Tokens are kept. */
void fleet_limit_next(struct fleet_limit *limit, uint32_t members, bool shared, uint64_t now_ns);

/* Packets or bytes by which the fleet's sum may exceed rate and burst (or N): no bucket is smaller
 * than a packet, and some algorithms are approximated. */
uint64_t fleet_limit_overshoot(const struct fleet_limit *limit, uint32_t members);

/* The rate of a share, in the record's unit; the part of a window's amount that is leased. */
uint64_t fleet_limit_rate(const struct fleet_limit *limit, double share);
uint64_t fleet_limit_leased(const struct fleet_limit *limit);

/* All members begin text_hash() with it. */
#define FLEET_HASH 0xcbf29ce484222325ull

/* ---- lease.c: one key */

struct fleet_entry {
	struct rl_state_key key;
	const struct fleet_limit *limit;
	char name[128];         /* in Redis, after the fleet's name */
	int shard;              /* that has it */
	uint64_t next_ns;       /* next check */
	uint64_t checked_ns;    /* last check; 0: none yet */
	uint64_t busy_ns;       /* last traffic */
	uint64_t backoff_ns;    /* between requests that were not granted in full */
	uint64_t used, refused; /* counters at the last check */
	double demand;          /* packets or bytes per ns */
	bool fresh;             /* never requested a lease */
	bool granted;           /* the kernel has the grant below */
	struct rl_fleet_grant grant;
	uint32_t held, reserved, want, wanted; /* shares */
	uint32_t ends;                         /* of the reservation: second of Redis' clock */
	int64_t window;                        /* start of the lease's window in Redis */
	uint64_t ask, back;                    /* window: amounts to request, to return */
	UT_hash_handle hh;                     /* by key */
};

/* Intervals and timeouts of the agent. */
struct fleet_pace {
	uint64_t interval_ns;
	uint64_t check_ns;    /* between checks of a key that has its full share */
	uint64_t retry_ns;    /* longest backoff of a key whose share others still hold */
	uint64_t patience_ns; /* without an answer in time, until the connection is given up */
	uint32_t members;
};

/* Reads the key's counters; true: needs a request to Redis. May lower the kernel's grant. */
bool fleet_entry_check(struct fleet_entry *e, const struct fleet_maps *maps,
		       const struct fleet_pace *pace, uint64_t now_ns);

/* Apply an answer of Redis: a share now and the share it may grow to (part); or an amount of the
 * window that began at `start` and lasts for lasts_ns. sent_ns: before the request was sent. */
void fleet_entry_grant(struct fleet_entry *e, const struct fleet_maps *maps,
		       const struct fleet_pace *pace, uint32_t share, uint32_t part,
		       uint32_t second, uint64_t sent_ns);
void fleet_entry_window(struct fleet_entry *e, const struct fleet_maps *maps,
			const struct fleet_pace *pace, uint64_t lease, uint64_t lasts_ns,
			int64_t start, uint64_t sent_ns);

/* Nothing is leased, requested or in flight. */
bool fleet_entry_is_idle(const struct fleet_entry *e, uint64_t now_ns);

/* Forgets the lease; the kernel's grant is left alone. */
void fleet_entry_reset(struct fleet_entry *e);

/* ---- batch.c: names of keys in Redis */

#define FLEET_KEY_MAX (2 * RL_FLEET_NAME + 128)
/* A key in Redis, rlctl:{FLEET}:NAME, or rlctl:{FLEET:SHARD}:NAME from the second shard on. */
void fleet_key_make(char out[FLEET_KEY_MAX], const char *fleet, int shard, const char *name);

/* ---- table.c: all keys; NULL: none */

struct fleet_entry *fleet_key_find(struct fleet_entry *keys, const struct rl_state_key *key);
/* NULL: there are KEYS_MAX already, or there is no memory. */
struct fleet_entry *fleet_key_add(struct fleet_entry **keys, const struct rl_state_key *key,
				  const struct fleet_limit *limit, int shards);
void fleet_key_remove(struct fleet_entry **keys, struct fleet_entry *entry);
void fleet_keys_clear(struct fleet_entry **keys);

/* ---- agent.c */

struct fleet_options {
	struct fleet_url url;
	const char *fleet;
	const char *node;
	uint64_t interval_ns;
	uint32_t members; /* the most that there are; 0: not known */
};

/* Runs a member until `fleet leave`, a signal, or the instance is detached. 0 or -1; reports. */
int fleet_run(const struct instance *instance, const struct fleet_options *options);
