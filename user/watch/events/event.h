/* SPDX-License-Identifier: GPL-2.0-only */
/* Something that has happened to an instance, as `rlctl events` shows it. */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "kernel/watch/sampler.h"
#include "policy/policy.h"
#include "rlctl_abi.h"
#include "watch/traffic/pattern.h"
#include "watch/traffic/shares.h"

/* X(NAME, "word in JSON", "word of --only for several kinds") */
#define EVENT_KINDS(X)                             \
	X(ATTACH, "attach", "changes")             \
	X(DETACH, "detach", "changes")             \
	X(APPLY, "apply", "changes")               \
	X(TRIAL_UNDONE, "trial-undone", "changes") \
	X(ALARM_ON, "alarm-on", "alarms")          \
	X(ALARM_OFF, "alarm-off", "alarms")        \
	X(BAN_BEGIN, "ban-begin", "bans")          \
	X(BAN_END, "ban-end", "bans")              \
	X(DROPS_BEGIN, "drops-begin", "drops")     \
	X(DROPS_END, "drops-end", "drops")         \
	X(SET_ADD, "set-add", "sets")              \
	X(SET_DEL, "set-del", "sets")              \
	X(SET_FULL, "set-full", "sets")            \
	X(FLEET_JOINED, "fleet-joined", "fleet")   \
	X(FLEET_LOST, "fleet-lost", "fleet")       \
	X(LOST, "lost", "lost")
#define EVENT_KIND_ENUM(name, ...) EVENT_##name,
enum event_kind { EVENT_KINDS(EVENT_KIND_ENUM) EVENT_KIND_COUNT };
#undef EVENT_KIND_ENUM

extern const char *const event_words[EVENT_KIND_COUNT];

#define EVENT_KEY_MAX  192  /* bytes of a key as text, with the NUL */
#define EVENT_TEXT_MAX 1024 /* of the line for people; a longer one is cut */

#define EVENT_USER_MAX 33
#define EVENT_MEMBERS  5

struct json_object;

/* Members that do not apply are zero. */
struct event {
	enum event_kind kind;
	uint64_t time_ns; /* CLOCK_REALTIME */
	char device[IF_NAMESIZE];
	uint8_t hook; /* enum rl_hook */
	char alarm[RL_ALARM_NAME_MAX + 1];
	char set[RL_SET_NAME_MAX + 1];
	char rule[RULE_TEXT_MAX]; /* without the word `rule` */
	char reason[16];          /* why packets are dropped, where it is no rule */
	char key[EVENT_KEY_MAX];
	char prefix[PREFIX_TEXT_MAX]; /* of the rules that were changed, if it is one prefix */
	char user[EVENT_USER_MAX];    /* who gave the command */
	char members[EVENT_MEMBERS][PREFIX_TEXT_MAX]; /* of a set, the first */
	uint64_t until_ns;                            /* CLOCK_REALTIME; of a ban */
	bool has_rate;
	struct rl_amount rate; /* a second */
	uint8_t rate_unit;     /* enum rl_unit, of an alarm: the other one is not known */
	bool has_dropped;
	struct rl_amount dropped;      /* since the drops began */
	uint64_t last_ns;              /* CLOCK_REALTIME: the last drop */
	struct rl_amount peak;         /* a second: the most within one of them */
	uint64_t count;                /* of events that were not reported, or of members */
	uint64_t of[EVENT_KIND_COUNT]; /* the same by kind */
	char text[EVENT_TEXT_MAX];     /* for people, without time and device */
	struct json_object *excerpt; /* traits as JSON, or NULL; whoever frees the event puts it */
};

void event_text_set(struct event *event, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- what sampled packets have in common, and their heaviest sources
 *
 * In bounded memory. */

struct traits {           /* zero-initialised */
	uint64_t packets; /* that the samples stand for */
	struct shares sources, known;
	struct shares values[FEATURE_COUNT];
	struct patterns patterns, known_patterns;
};

/* raw_ip: the frame has no Ethernet header. */
void traits_add(struct traits *traits, const struct sampled *sample, bool raw_ip);

/* The source of this sample, which was added, was known before the drops. */
void traits_known_add(struct traits *traits, const struct sampled *sample, bool raw_ip);

/* When something that comes and goes has begun and has ended, so that a single packet begins
 * nothing, and a pause of a flood ends nothing. Pure. */

#define ONSET_TENTHS   10 /* the last tenths of a second, which are looked at */
#define ONSET_TENTH_NS 100000000ull
#define ONSET_BEGINS   3              /* begins if it was there in so many of them, */
#define ONSET_PAUSE_NS 10000000000ull /* and has ended if it was not there for so long */

struct onset {         /* zero-initialised */
	uint32_t seen; /* a bit for each of the last tenths, the last one lowest */
	bool on;
	uint64_t first_ns; /* when it was first there: of this time, or of the tenths `seen` */
	uint64_t last_ns;  /* and last */
};

enum onset_change { ONSET_NONE, ONSET_BEGUN, ONSET_ENDED };

/* A reading at now_ns: how often was it there since the one before, at before_ns? A reading that
 * came late covers several tenths, of which each may have had one. */
enum onset_change onset_step(struct onset *onset, uint64_t count, uint64_t before_ns,
			     uint64_t now_ns);

/* Neither on, nor was it there in one of the last tenths. */
bool onset_is_idle(const struct onset *onset);

/* How many events of an instance are reported: at most QUOTA_RATE a second of each kind, and at
 * once if there were none for a second. Others are counted, and reported together, once a second.
 * Pure. */

#define QUOTA_RATE 20

struct quota {                              /* zero-initialised */
	uint64_t free_ns[EVENT_KIND_COUNT]; /* as a GCRA: when the allowance is full again */
	uint64_t lost[EVENT_KIND_COUNT];
	uint64_t told_ns; /* when losses were last reported */
};

/* May the event be reported? If not, it is counted. */
bool quota_take(struct quota *quota, enum event_kind kind, uint64_t now_ns);

/* Counts events that were not even made. */
void quota_lose(struct quota *quota, enum event_kind kind, uint64_t count);

/* Fills in an EVENT_LOST of what was lost, if there is any and the last one was a second ago, or
 * `at_once`. */
bool quota_tell(struct quota *quota, uint64_t now_ns, bool at_once, struct event *out);
