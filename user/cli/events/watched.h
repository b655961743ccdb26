/* SPDX-License-Identifier: GPL-2.0-only */
/* An instance whose events are shown: what was last seen of it, and the events that wait to be.
 * watched.c opens it and keeps the queue, the others look for what has changed. All that is kept is
 * bounded: by constants here, by the capacity of the instance's maps, or by its policy. */
#pragma once

#include "cli/events/event_sink.h"
#include "cli/events/journal.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/state/source.h"
#include "kernel/watch/watch.h"
#include "policy/policy.h"
#include "watch/events/alarms.h"
#include "watch/events/event.h"
#include "watch/traffic/rule_book.h"

#define WATCHED_QUEUE   128          /* events that wait */
#define WATCHED_DROPS   64           /* rules that drop at a time */
#define WATCHED_TOLD    256          /* bans whose keys are remembered for their end */
#define EXCERPT_WAIT_NS 300000000ull /* until samples have come */

/* An event that waits for samples. */
struct pending {
	struct event event;
	uint64_t due_ns;
	uint32_t counter_id; /* its rule, or RL_WATCH_ANY */
	int alarm;           /* its number, or -1 */
	bool forgotten;      /* a command has written it */
};

/* A rule that drops, or no rule: then counter_id is RL_WATCH_ANY. */
struct rule_drops {
	uint32_t counter_id;
	struct onset onset;
	bool gone;              /* the rule was removed */
	struct rl_amount base;  /* its counter before it dropped, */
	uint64_t base_ns;       /* and when that was read */
	struct rl_amount last;  /* its counter now */
	struct rl_amount delta; /* since the last reading */
	struct rl_amount peak;  /* a second: the most within one */
	struct rl_amount second;
	uint64_t second_ns; /* when that began */
	struct traits traits;
};

struct drops {
	uint64_t total; /* packets dropped for any reason */
	struct rule_drops malformed;
	uint64_t malformed_ns; /* when that was read */
	bool read;
	struct rule_counters *before; /* of policy.rules[i] */
	size_t before_count;
	uint64_t before_ns, next_ns; /* when the counters were read, and are to be next */
	struct rule_drops *rules[WATCHED_DROPS];
	size_t count;
};

/* A ban whose begin was reported. */
struct told_ban {
	uint32_t seat; /* 0: free */
	struct rl_state_key key;
};

struct bans_seen {
	uint32_t id, count; /* as in struct ban_seats; 0: no map was seen */
	uint64_t hand;
	uint64_t *until_ns; /* by seat; 0: none is in force */
	uint32_t swept;     /* the seat that is looked at next in turn */
	uint64_t in_force;
	uint64_t drops; /* packets dropped when a sweep began; while they grow, bans may begin */
	struct told_ban told[WATCHED_TOLD];
	uint32_t told_next;
};

struct set_seen {
	uint64_t refused, last_ns;
	bool full;
};

/* Those of a command's events. */
struct receivers {
	const struct event_filter *filter;
	const struct event_sink *sinks;
	size_t count;
	uint32_t left; /* events that are still wanted; UINT32_MAX: all */
};

struct watched {
	struct watched *next;
	struct instance instance;
	bool seen;     /* in this round's list of pins */
	bool unpinned; /* its pins are gone: it was detached by a command */
	bool ends;     /* the command does, whatever goes on */
	bool waits;    /* with bans and alarms, until it was reported as attached */
	bool can_sample;
	uint64_t looked_ns; /* at the device for the program */
	struct policy_context ctx;
	struct policy policy;
	uint64_t generation, written, policy_next_ns;
	struct drops drops;
	struct bans_seen bans;
	struct alarm_changes alarms;
	uint64_t alarms_ns;   /* samples from then on name the alarms by these places */
	uint32_t alarms_near; /* bits: on, or about to be; their packets are of interest */
	struct traits alarm_traits[RL_ALARMS_MAX];
	struct set_seen sets[RL_SETS_MAX];
	bool sets_read, fleet_read, fleet_shared;
	int trial_fd;   /* its record, or -1 */
	int journal_fd; /* its lock; < 0: another process writes it */
	struct journal_tail tail;
	uint64_t written_ns[EVENT_KIND_COUNT]; /* CLOCK_MONOTONIC: a command has, ahead of the event
						*/
	struct watch *watch;
	uint32_t watch_reasons;
	uint64_t watch_until_ns, watch_next_ns;
	struct known_then known[2]; /* before the rules that drop now, the older first */
	uint64_t known_next_ns;
	struct quota quota;
	struct pending *queue[WATCHED_QUEUE];
	size_t queue_first, queue_count;
	struct receivers *receivers;
};

/* An event with its time, device and hook, which is in the queue: to be filled in. NULL: the event
 * is one too many, and was counted. */
struct pending *watched_event(struct watched *w, enum event_kind kind);

/* The line of the rule without `rule`; nothing if rule is NULL. */
void watched_rule_put(const struct watched *w, struct event *event, const struct rule *rule);

/* CLOCK_REALTIME of a time of CLOCK_MONOTONIC. */
uint64_t realtime_of(uint64_t monotonic_ns);

/* NULL: it is none of those that drop. */
struct rule_drops *watched_drops_find(const struct watched *w, uint32_t counter_id);
/* Packets and bytes a second since the rule began to drop. */
struct rl_amount rule_drops_rate(const struct rule_drops *drops, uint64_t until_ns);
struct rl_amount amount_less(struct rl_amount from, const struct rl_amount *less);

/* The alarms are others, or at other places, from now on: events that wait take what is known. */
void watched_alarms_changed(struct watched *w);

/* The same of what a command does, which writes it to the journal itself and says more there: only
 * if that does not come. NULL also if it has come. */
struct pending *watched_command_event(struct watched *w, enum event_kind kind);

/* Passes on what commands have written to the journal. 0, or < 0 to end the command. */
int watched_journal_poll(struct watched *w);

/* Gives the sinks, and the journal if it is this process that writes it, the events that are due
 * at now_ns (UINT64_MAX: of all). 0, or < 0 to end the command. */
int watched_tell(struct watched *w, uint64_t now_ns);
/* Frees those that were not reported. */
void watched_forget(struct watched *w);

/* ---- changes of the policy, and trials */

/* 0, -ENODEV or another negative errno; reports. */
int watched_policy_poll(struct watched *w, uint64_t now_ns);

/* ---- rules that begin to drop, and that have stopped */

/* 0 or < 0; reports. */
int watched_drops_poll(struct watched *w, uint64_t now_ns);
/* w->policy is another one than `before`. */
void watched_drops_policy_changed(struct watched *w, const struct policy *before);
/* The instance is gone: no rule drops any more. */
void watched_drops_end(struct watched *w);
void watched_drops_clear(struct watched *w);

/* ---- bans that begin and end */

void watched_bans_poll(struct watched *w, uint64_t now_ns);
void watched_bans_clear(struct watched *w);

/* ---- alarms, full sets and fleets */

void watched_state_poll(struct watched *w, uint64_t now_ns);

/* ---- samples of packets, while there is something to say of them */

void watched_samples_poll(struct watched *w, uint64_t now_ns);
void watched_samples_close(struct watched *w);

/* ---- begins to look at an instance, looks at it, and ends */

/* Opens the instance pinned at path. All that is there is known, but for the bans and alarms of one
 * that `is_new`, attached just now: they are reported in the next round. Silent. */
int watched_open(const char *path, const char *device, enum rl_hook hook, bool is_new,
		 struct watched **out);
/* Is there something that has to be seen soon? */
bool watched_is_busy(const struct watched *w);
/* Reports what waits, and frees it. */
int watched_close(struct watched *w);

/* One round. 0; -ENODEV: it is gone; another negative value ends the command. */
int watched_poll(struct watched *w);
