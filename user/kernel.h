/* SPDX-License-Identifier: GPL-2.0-only */
/* The only door to libbpf and libxdp: instances, their pins, their maps. Every function reports its
 * own failure once on stderr, with what to do about it, and returns a negative errno.
 *
 * Pins: <bpffs>/rlctl/<inode of the network namespace>/<device>-<hook>/<map>. An instance is alive
 * while a program attached to its device uses its maps; pins without that are what a crash or a
 * vanished device left, and attach and detach clear them away.
 */
#ifndef RLCTL_KERNEL_H
#define RLCTL_KERNEL_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "allowance.h"
#include "compile.h"
#include "rlctl_abi.h"

#define BPFFS_DEFAULT "/sys/fs/bpf"

/* Where a command acts; from the global options. */
struct target {
	const char *bpffs;  /* BPFFS_DEFAULT unless --bpffs */
	const char *device; /* NULL: not said */
	int hook;           /* enum rl_hook, or -1: not said */
};

/* ATTACH_AUTO tries native mode. ATTACH_TC is no word of --mode: it is what the hooks of tc have,
 * and what auto comes to. */
enum attach_mode { ATTACH_AUTO, ATTACH_NATIVE, ATTACH_GENERIC, ATTACH_TC };

/* Where a limiter is being put: pins, policy and all are there, its program is not on the device.
 */
struct place {
	const char *path, *device;
	enum rl_hook hook;
	uint32_t ifindex;
	int *lock_fd; /* the writers' lock */
};

struct attach_options {
	enum attach_mode mode;
	bool by_dest;
	bool fq;           /* egress: put the qdisc fq there */
	uint32_t sources;  /* capacity of the state map */
	uint32_t prefixes; /* prefixes and counters that a policy may use */
	uint32_t rules;    /* of these, how many may have limits or matches */
	uint32_t bans;     /* that may be in force at once */
	enum rl_table table;
	uint32_t log_depth; /* a power of two, 2..RL_SLIDING_LOG_MAX: the N of a sliding-log */
	bool has_group;
	gid_t group; /* whose members may read the instance */
	/* Called before the program is put on the device; an error takes all back. May be NULL. */
	int (*ready)(const struct place *place, void *arg);
	void *ready_arg;
};

#define RULES_MAX        131072u /* rules with matches or limits, whatever --prefixes says */
#define RULES_DEFAULT    16384u  /* the same where it says nothing */
#define SOURCES_DEFAULT  262144u
#define PREFIXES_DEFAULT 262144u
#define BANS_DEFAULT     65536u

/* The maps of an instance, by the name of their pin. */
#define INSTANCE_MAPS(X)   \
	X(policy)          \
	X(tries)           \
	X(rules)           \
	X(sources)         \
	X(hot)             \
	X(spilled)         \
	X(refusals)        \
	X(prefix_cache)    \
	X(pressure)        \
	X(flows)           \
	X(windows)         \
	X(logs)            \
	X(bans)            \
	X(ban_seats)       \
	X(shared)          \
	X(shared_chunks)   \
	X(leases)          \
	X(fleet_limits)    \
	X(fleet_grants)    \
	X(fleet_keys)      \
	X(fleet_events)    \
	X(fleet_session)   \
	X(reasons)         \
	X(rule_counters)   \
	X(counters_chunks) \
	X(instance)        \
	X(data_watch)      \
	X(rings)           \
	X(watch_counts)

struct instance_maps {
#define INSTANCE_MAP_FD(name) int name;
	INSTANCE_MAPS(INSTANCE_MAP_FD)
#undef INSTANCE_MAP_FD
};

#define INSTANCE_PATH_MAX 256

/* An instance whose pins are open. */
struct instance {
	char device[IF_NAMESIZE];
	char path[INSTANCE_PATH_MAX]; /* pin folder */
	struct rl_instance info;
	struct instance_maps fd;
	int lock_fd;         /* of the folder; locked for writers, -1 for readers */
	bool read_only;      /* its maps are open for reading */
	bool on_trial;       /* by this process itself: it may write its policy */
	bool clock_injected; /* simulate: the time is now_ns, not CLOCK_MONOTONIC */
	uint64_t now_ns;
};

/* What the libraries and the kernel say goes to stderr only with -v (everything with -vv). To be
 * called once the options are known. */
void kernel_talk(int verbose);

/* How a hook is spelled: "xdp", "ingress", "egress". */
const char *hook_name(enum rl_hook hook);

/* How a mode is spelled: "native", "generic", "tc". */
const char *mode_name(enum rl_mode mode);

/* How --table is spelled: "lru", "cpu". */
const char *table_name(enum rl_table table);

/* What --mode comes to on this device, as far as its kind of link tells: *mode becomes ATTACH_TC at
 * the hooks of tc, and at xdp where auto finds no Ethernet. Reports that, and what is not possible.
 */
int attach_mode_choose(const struct target *target, enum attach_mode *mode);

/* Attaches to the hook of target->device, both of which are named, with a policy that is in force
 * from the first packet (`policy` may be empty; it gets its slots here). ATTACH_FALLS_BACK where
 * ATTACH_AUTO finds native mode not possible, which is said: call again, with ATTACH_TC and a
 * policy that was parsed for it. Nothing is left behind on failure. */
#define ATTACH_FALLS_BACK 1
int instance_attach(const struct target *target, const struct attach_options *options,
		    struct policy *policy, const struct policy_context *text);

/* Removes our program from the hook, or where none is named from the only one that has one on the
 * device, and pins and maps with it; other programs stay. Where none is named, also what is left of
 * others. */
int instance_detach(const struct target *target);

/* Which hooks of target->device have an instance, of whatever version, that lives; where none does,
 * which have what is left of one. Bits. */
int instance_hooks(const struct target *target, unsigned int *out);

/* Opens the instance on the hook of target->device, both of which are named, to be replaced: as
 * instance_open for writing, with words of its own. */
int instance_replace_open(const struct target *target, struct instance *out);

/* What --replace may raise; 0: it stays. */
struct sizes {
	uint32_t prefixes, bans;
};

/* Swaps its program for that of this build. Policy, state, counters and what attach decided stay;
 * no packet passes meanwhile that neither program saw. Rates and budgets are shared out anew among
 * the CPUs that are online now. */
int instance_replace(struct instance *instance, const struct sizes *wanted);

/* What a policy for this device has to be parsed with, before or after attach. */
int device_context(const struct target *target, bool by_dest, struct policy_context *out);

/* Opens the one instance that the target names (the only one there is where it names none), to
 * read. With `write` also to write, and it holds the writers' lock until instance_close. */
int instance_open(const struct target *target, bool write, struct instance *out);
/* To write what needs no lock: places of watchers, states. */
int instance_open_shared(const struct target *target, struct instance *out);
void instance_close(struct instance *instance);

/* Calls `visit` for every living instance of this network namespace that the target allows, in
 * order of name, until it returns non-zero, which is then returned. None: 0, nothing called. One
 * that could not be opened is reported, and the error returned when all others were visited. */
int instance_for_each(const struct target *target,
		      int (*visit)(struct instance *instance, void *arg), void *arg);

void instance_context(const struct instance *instance, struct policy_context *out);

/* The group whose members may read the instance; -ENOENT where there is none. Silent. */
int instance_group(const struct instance *instance, gid_t *out);
/* From now on it is this one. */
int instance_group_set(const struct instance *instance, gid_t group);

/* The policy in force. *out must be empty. */
int instance_policy_read(const struct instance *instance, struct policy *out);

/* Grows with every policy that comes into force; 0: none did, or it cannot be read. */
uint64_t instance_generation(const struct instance *instance);

/* Puts `next` in force at once and whole. On failure the old one stays in force. `file` names the
 * source of the rules in errors ("FILE:LINE"), NULL for a command line. */
int instance_policy_write(const struct instance *instance, struct policy *next, bool keep_expiry,
			  const char *file);

/* The rules of one prefix, which is that of the rule; none: 0, and *out stays empty, as it must be.
 * What this and the next two cost does not grow with the policy. */
int instance_prefix_read(const struct instance *instance, const struct rule *prefix,
			 struct policy *out);

/* Puts `next`, which are rules of that prefix or none, in force in place of all rules of the
 * prefix. A packet meets the rules before or after, never a part. Where there is no room left
 * beside the policy it is written anew, as a whole. */
int instance_prefix_write(const struct instance *instance, const struct rule *prefix,
			  struct policy *next);

/* Those of all prefixes around the address (mapped), of `any` and of `device`. */
int instance_address_read(const struct instance *instance, const uint8_t addr[16],
			  struct policy *out);

/* Would instance_policy_write succeed? Changes nothing. */
int instance_policy_check(const struct instance *instance, struct policy *next, const char *file);

struct instance_stats {
	struct rl_amount reasons[RL_REASON_COUNT]; /* sums over all CPUs */
	struct policy policy;                      /* rules in force */
	struct rl_rule_counters *rules;            /* of policy.rules[i] */
	uint64_t pressure[RL_PRESSURE_COUNT];
	uint64_t hot_live;  /* slots of the hot table that still owe */
	uint64_t hot_slots; /* all of them; 0: there is no hot table */
};
int instance_stats_read(const struct instance *instance, struct instance_stats *out);
void instance_stats_clear(struct instance_stats *stats);

/* Only the sums by reason. */
int instance_reasons_read(const struct instance *instance, struct rl_amount out[RL_REASON_COUNT]);

struct instance_status {
	uint32_t program_id;
	enum rl_mode mode;
	uint64_t since_ns; /* CLOCK_REALTIME */
	uint64_t sources_used;
	uint64_t bans_used; /* kept; those that are over among them until another takes the place */
	uint64_t memory_bytes; /* of all maps, as the kernel accounts it */
	uint64_t cpu_bytes;    /* of these for each possible CPU */
};
int instance_status_read(const struct instance *instance, struct instance_status *out);

/* What is remembered of one address under one limit. */
struct source_entry {
	struct rl_state_key key;
	const struct rule *rule; /* of the policy; NULL: banned from everything */
	bool has_state;
	struct allowance allowance; /* while has_state */
	uint64_t ban_ns;            /* time left; 0: not banned */
};

/* Everything that is remembered of the address (mapped). The entries, to be freed, point into the
 * policy. Looks through all maps: 0.1 s for a million entries. */
int instance_source_read(const struct instance *instance, const struct policy *policy,
			 const uint8_t addr[16], struct source_entry **out, size_t *count);

/* What the rule remembers of a packet's key, and for how long the packet's source is banned; looks
 * only there. Silent. */
int instance_packet_look(const struct instance *instance, const struct policy *policy,
			 const struct rule *rule, const struct rl_sample *packet,
			 struct source_entry *out);

/* Forgets these states and bans; what is shared with everybody (per rule) stays. */
int instance_source_forgive(const struct instance *instance, const struct source_entry *entries,
			    size_t count);

/* The program and maps of an instance that is on no device and has no pins; both its clocks stand
 * at the time of the packet that is run. */
struct simulation;
struct captured; /* capture.h */

/* `policy` is in force from now_ns; `file` as in instance_policy_write. Both must live as long as
 * the simulation. */
int simulation_open(struct policy *policy, uint64_t now_ns, const char *file,
		    struct simulation **out);
void simulation_close(struct simulation *simulation); /* NULL is allowed */

/* The policy comes into force once more, at now_ns, and no state is left; counters stay. Reports.
 */
int simulation_begin_anew(struct simulation *simulation, uint64_t now_ns);

/* What became of the packet. */
int simulation_run(struct simulation *simulation, const struct captured *packet,
		   enum rl_reason *out);

/* Its instance, and what it counted, rules that have expired meanwhile included. */
const struct instance *simulation_instance(const struct simulation *simulation);
int simulation_stats_read(const struct simulation *simulation, struct instance_stats *out);

uint64_t clock_ns(int clock); /* CLOCK_MONOTONIC or CLOCK_REALTIME */

/* Enters the network namespace NAME of /run/netns, as `ip -n` does, and nothing else of it. */
int netns_enter(const char *name);

#endif
