// SPDX-License-Identifier: GPL-2.0-only
/* A member of a fleet. Every tick it reads which keys need a lease and what those with a lease
 * used, sends one batch to Redis, and writes the answers to the kernel. If Redis does not answer in
 * time, it revokes all leases, and each member enforces its part of the limits alone until Redis
 * answers again.
 */

#include "fleet/agent_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/signals.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "fleet/link.h"
#include "kernel/instance/change.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/fleet_maps.h"

#define RETRY_LEAST_NS (100 * NS_PER_MS)
#define RETRY_MOST_NS  (2 * NS_PER_SECOND)
#define STEADY_NS      (5 * NS_PER_SECOND) /* after this time connected, the backoff is reset */
#define CONNECT_NS     (300 * NS_PER_MS)
#define PATIENCE_NS    (500 * NS_PER_MS)
#define ANSWER_NS      (300 * NS_PER_MS) /* timeout of an answer; at least two intervals */
#define LIMITS_NS      (100 * NS_PER_MS)
#define CHECK_NS       (250 * NS_PER_MS)
#define RETRY_NS       (100 * NS_PER_MS)
#define CHECK_KEY_NS   (100 * NS_PER_US)  /* per key: with many keys, each is checked less often */
#define CHECK_MOST_NS  (1100 * NS_PER_MS) /* more than half of a lease, so that it is renewed */
#define KEYS_USUAL     1000               /* per tick, until Redis proves able to answer more */
#define KEYS_LEAST     125
#define REDIRECTIONS   5

/* ---- connected and alone */

void agent_shared_begin(struct agent *a)
{
	if (a->session.shared)
		return;
	a->session.shared = 1;
	a->begin_ns = fleet_now_ns();
	a->was_shared = true;
	a->refused = false;
	note("%s: fleet %s at %s, as %s: %u member%s", a->instance->device, a->options->fleet,
	     a->session.server, a->options->node, a->pace.members, a->pace.members == 1 ? "" : "s");
	agent_limits_write(a, fleet_now_ns());
	instance_change_tell(a->instance, (struct instance_change){.kind = CHANGE_FLEET_JOINED,
								   .number = a->pace.members,
								   .name = a->options->fleet});
}

/* Below `most`; xorshift64 by G. Marsaglia. Keeps members that start or fail together out of step.
 */
static uint64_t random_below(struct agent *a, uint64_t most)
{
	a->random ^= a->random << 13;
	a->random ^= a->random >> 7;
	a->random ^= a->random << 17;
	return a->random % most;
}

void agent_shared_end(struct agent *a, uint64_t now_ns, const char *why)
{
	cluster_close(&a->cluster);
	a->backoff_ns = a->backoff_ns ? 2 * a->backoff_ns : RETRY_LEAST_NS;
	if (a->backoff_ns > RETRY_MOST_NS)
		a->backoff_ns = RETRY_MOST_NS;
	a->retry_ns = now_ns + a->backoff_ns / 2 + random_below(a, a->backoff_ns / 2);
	if (a->session.shared) {
		a->session.lost++;
		fail("%s: fleet %s: %s; enforcing 1/%u of each limit alone until Redis is back",
		     a->instance->device, a->options->fleet, why, a->pace.members);
		instance_change_tell(a->instance,
				     (struct instance_change){.kind = CHANGE_FLEET_LOST,
							      .name = a->options->fleet});
	} else if (!a->was_shared && a->backoff_ns == 2 * RETRY_LEAST_NS) {
		fail("%s: fleet %s: %s; retrying", a->instance->device, a->options->fleet, why);
	}
	a->session.shared = 0;
	fleet_clear(a->instance, false);
	for (struct fleet_entry *entry = a->keys; entry; entry = entry->hh.next)
		fleet_entry_reset(entry);
	agent_limits_write(a, fleet_now_ns());
}

static int slow_error(const struct agent *a, uint64_t lag_ns, char error[LINK_ERROR_MAX])
{
	return link_error(error, "%s: answers take longer than two intervals (%llu ms)",
			  a->session.server, (unsigned long long)lag_ns / NS_PER_MS);
}

/* A heartbeat, wherever the shards are; the last one's begin. 0, or -1 with the error. */
static int shards_find(struct agent *a, bool leave, uint64_t *sent_ns, char error[LINK_ERROR_MAX])
{
	int ret = 1;

	for (int i = 0; ret > 0 && i < REDIRECTIONS; i++) {
		*sent_ns = fleet_now_ns();
		ret = agent_heartbeat(a, leave, error);
	}
	return ret ? -1 : 0;
}

/* Connects, and checks that the first answer comes in time. Where one of several shards does not
 * answer, the member leaves the others: it holds its part alone, and they may not lease that to
 * those who come back first. */
static int redis_greet(struct agent *a, char error[LINK_ERROR_MAX])
{
	uint64_t least_ns = 2 * a->pace.interval_ns, sent_ns;

	a->cluster.url = &a->options->url;
	a->cluster.connect_ns = CONNECT_NS;
	a->cluster.timeout_ns = least_ns > ANSWER_NS ? least_ns : ANSWER_NS;
	if (cluster_open(&a->cluster, error) ||
	    (a->cluster.url->shards > 1 && shards_find(a, true, &sent_ns, error)) ||
	    shards_find(a, false, &sent_ns, error))
		return -1;
	a->heartbeat_ns = a->timely_ns = fleet_now_ns();
	return a->heartbeat_ns - sent_ns > least_ns
		       ? slow_error(a, a->heartbeat_ns - sent_ns, error)
		       : 0;
}

/* ---- keys */

static int demand_compare(const void *a, const void *b)
{
	const struct fleet_entry *x = *(struct fleet_entry *const *)a,
				 *y = *(struct fleet_entry *const *)b;
	double dx = x->demand / x->limit->per_ns, dy = y->demand / y->limit->per_ns;

	return dx < dy ? 1 : dx > dy ? -1 : 0;
}

/* Chooses the keys to check in this tick: those with the highest demand if there are too many. */
static size_t due_choose(struct agent *a, uint64_t now_ns)
{
	size_t count = 0;

	for (struct fleet_entry *entry = a->keys; entry; entry = entry->hh.next)
		if (entry->next_ns <= now_ns)
			a->due[count++] = entry;
	if (count <= a->keys_per_tick)
		return count;
	qsort(a->due, count, sizeof(struct fleet_entry *), demand_compare);
	agent_shed(a, count - a->keys_per_tick, "wait: too many keys for one interval");
	return a->keys_per_tick;
}

/* Adapts the number of keys per tick, so that Redis answers within half a tick. */
static void keys_per_tick_adapt(struct agent *a, size_t count, uint64_t took_ns)
{
	if (took_ns > a->pace.interval_ns && a->keys_per_tick > KEYS_LEAST)
		a->keys_per_tick /= 2;
	else if (count == a->keys_per_tick && took_ns < a->pace.interval_ns / 2 &&
		 a->keys_per_tick < KEYS_PER_TICK / 2)
		a->keys_per_tick *= 2;
	else if (count == a->keys_per_tick && took_ns < a->pace.interval_ns / 2)
		a->keys_per_tick = KEYS_PER_TICK;
}

static void idle_remove(struct agent *a, uint64_t now_ns)
{
	struct fleet_entry *entry, *next;

	for (entry = a->keys; entry; entry = next) {
		next = entry->hh.next;
		if (!fleet_entry_is_idle(entry, now_ns))
			continue;
		if (entry->granted)
			fleet_grant_write(&a->maps, &entry->key, NULL);
		fleet_key_remove(&a->keys, entry);
	}
}

/* A late answer does no harm, as leases count from before the request was sent, and a busy machine
 * causes some. No answer in time for PATIENCE_NS means that Redis is too slow. */
static int answered(struct agent *a, uint64_t sent_ns, char error[LINK_ERROR_MAX])
{
	uint64_t now_ns = fleet_now_ns();

	a->session.lag_ns = now_ns - sent_ns;
	if (a->session.lag_ns <= 2 * a->pace.interval_ns)
		a->timely_ns = now_ns;
	if (now_ns - a->begin_ns > STEADY_NS)
		a->backoff_ns = 0;
	if (now_ns - a->timely_ns <= a->pace.patience_ns)
		return 0;
	return slow_error(a, a->session.lag_ns, error);
}

void agent_exchange(struct agent *a, uint64_t now_ns)
{
	char error[LINK_ERROR_MAX] = "out of memory";
	size_t count = due_choose(a, now_ns);
	uint64_t sent_ns = fleet_now_ns();
	bool asked;
	int ret = 0, later = 0;

	/* Those that need an answer from Redis, by kind of lease. */
	a->ask[FLEET_SHARES].count = a->ask[FLEET_WINDOWS].count = 0;
	for (size_t i = 0; i < count; i++) {
		struct fleet_requests *ask = &a->ask[a->due[i]->limit->window];

		if (fleet_entry_check(a->due[i], &a->maps, &a->pace, fleet_now_ns()))
			ask->entries[ask->count++] = a->due[i];
	}
	asked = a->ask[FLEET_SHARES].count || a->ask[FLEET_WINDOWS].count;
	for (int kind = 0; ret >= 0 && kind < FLEET_REQUEST_KINDS; kind++) {
		ret = fleet_requests_send(a, kind, error);
		later |= ret;
	}
	if (ret >= 0 && now_ns - a->heartbeat_ns >= HEARTBEAT_NS) {
		ret = agent_heartbeat(a, false, error);
		later |= ret;
		asked = true;
		if (!ret) /* else in the next tick again */
			a->heartbeat_ns = now_ns;
	}
	if (ret >= 0 && later)
		ret = fleet_now_ns() - a->timely_ns > a->pace.patience_ns ? -1 : 0;
	else if (!ret && asked)
		ret = answered(a, sent_ns, error);
	if (ret < 0)
		agent_shared_end(a, fleet_now_ns(), error);
	keys_per_tick_adapt(a, count, fleet_now_ns() - sent_ns);
}

/* ---- the loop */

/* Reads the session record. If two agents write it (started together, or one was stopped for long),
 * the last writer stays: the other one finds a foreign start time and ends. So does one that was
 * stopped while `fleet leave` cleared the record. */
static int session_check(struct agent *a)
{
	struct rl_fleet_session other;

	if (fleet_session_read(a->instance, &other))
		return 0; /* read again next time */
	if (other.since_ns == a->session.since_ns) {
		a->session.leave = other.leave;
		a->ending = a->ending || other.leave;
		return 0;
	}
	a->replaced = true;
	if (!other.since_ns)
		return fail("%s: `rlctl fleet leave` did not wait for this agent: it ends",
			    a->instance->device);
	return fail("%s: another agent (process %u) is in fleet %s: this one ends",
		    a->instance->device, other.pid, other.fleet);
}

/* Writes this agent's session record, and reads what others wrote there. */
static int session_exchange(struct agent *a, uint64_t now_ns)
{
	if (now_ns - a->session.updated_ns < LIMITS_NS)
		return 0;
	if (session_check(a))
		return -1;
	a->session.updated_ns = now_ns;
	a->session.leases = 0;
	for (const struct fleet_entry *entry = a->keys; entry; entry = entry->hh.next)
		a->session.leases +=
			entry->held > 0 || (entry->limit->window && entry->grant.until_ns > now_ns);
	fleet_session_write(a->instance, &a->session);
	if (a->session.shared ||
	    HASH_COUNT(a->keys) > KEYS_MAX / 2) /* else they need a lease later */
		idle_remove(a, now_ns);
	return 0;
}

static int tick(struct agent *a)
{
	char error[LINK_ERROR_MAX] = "out of memory";
	uint64_t now_ns = fleet_now_ns(), more;

	if (now_ns - a->session.updated_ns >= LIMITS_NS && session_check(a))
		return -1;
	if (agent_policy_watch(a, now_ns))
		return -1;
	fleet_events_poll(&a->maps);
	more = HASH_COUNT(a->keys) * CHECK_KEY_NS;
	a->pace.check_ns = CHECK_NS + more < CHECK_MOST_NS ? CHECK_NS + more : CHECK_MOST_NS;
	a->pace.retry_ns = RETRY_NS + more < CHECK_MOST_NS ? RETRY_NS + more : CHECK_MOST_NS;
	if (!a->cluster.count && now_ns >= a->retry_ns) {
		if (redis_greet(a, error))
			agent_shared_end(a, fleet_now_ns(), error);
		else
			agent_shared_begin(a);
	}
	if (a->cluster.count)
		agent_exchange(a, now_ns);
	now_ns = fleet_now_ns();
	if (now_ns - a->limits_ns >= LIMITS_NS)
		agent_limits_write(a, now_ns);
	return session_exchange(a, now_ns);
}

/* Until the next tick, or a signal. */
static void wait_for(struct agent *a, int signals, uint64_t until_ns)
{
	uint64_t now_ns = fleet_now_ns();
	struct timespec span = {0};
	struct pollfd poll_fd = {.fd = signals, .events = POLLIN};

	if (until_ns > now_ns) {
		span.tv_sec = (until_ns - now_ns) / NS_PER_SECOND;
		span.tv_nsec = (until_ns - now_ns) % NS_PER_SECOND;
	}
	if (ppoll(&poll_fd, 1, &span, NULL) > 0)
		a->ending = true;
}

/* After `fleet leave` the limits hold as a whole, on this machine alone; otherwise the member keeps
 * its part until it is back. */
static void agent_end(struct agent *a)
{
	struct rl_fleet_session kept = {0};
	char error[LINK_ERROR_MAX];
	bool left = a->session.leave;

	if (a->session.shared)
		instance_change_tell(a->instance,
				     (struct instance_change){.kind = CHANGE_FLEET_LOST,
							      .name = a->options->fleet});
	a->session.shared = 0;
	agent_limits_write(a, fleet_now_ns());
	fleet_clear(a->instance, left);
	if (a->cluster.count)
		agent_heartbeat(a, true, error);
	cluster_close(&a->cluster);
	if (!left) {
		kept.members = a->session.members;
		memcpy(kept.fleet, a->session.fleet, sizeof(kept.fleet));
	}
	fleet_session_write(a->instance, &kept);
}

static int agent_begin(struct agent *a)
{
	struct rl_fleet_session former = {0};

	a->due = calloc(KEYS_MAX, sizeof(struct fleet_entry *));
	for (int kind = 0; kind < FLEET_REQUEST_KINDS; kind++)
		a->ask[kind].entries = calloc(KEYS_PER_TICK, sizeof(struct fleet_entry *));
	if (!a->due || !a->ask[0].entries || !a->ask[1].entries)
		return fail("out of memory");
	if (getrandom(&a->random, sizeof(a->random), 0) != sizeof(a->random))
		return fail("getrandom failed: %s", strerror(errno));
	snprintf(a->token, sizeof(a->token), "%016llx", (unsigned long long)a->random);
	if (a->options->url.shards > 1)
		snprintf(a->token + 16, sizeof(a->token) - 16, "/%u",
			 a->options->url.shards % (FLEET_SHARDS_MAX + 1u));
	a->random |= 1;
	a->session.pid = getpid();
	snprintf(a->session.fleet, RL_FLEET_NAME, "%s", a->options->fleet);
	snprintf(a->session.node, RL_FLEET_NAME, "%s", a->options->node);
	fleet_session_read(a->instance, &former);
	agent_members_begin(a, &former);
	a->session.updated_ns = fleet_now_ns();
	fleet_session_write(a->instance, &a->session);
	return agent_policy_load(a) ? -1 : 0;
}

int fleet_run(const struct instance *instance, const struct fleet_options *options)
{
	struct agent agent = {
		.instance = instance,
		.options = options,
		.maps = {.keys = -1, .events = -1, .grants = -1},
		.keys_per_tick = KEYS_USUAL,
		.pace = {.interval_ns = options->interval_ns, .patience_ns = PATIENCE_NS},
	};
	int signals = signals_open(), ret = signals < 0 ? -1 : 0;
	bool begun;
	uint64_t next_ns, now_ns;

	if (agent.pace.patience_ns < 2 * options->interval_ns)
		agent.pace.patience_ns = 2 * options->interval_ns;
	agent.session.since_ns = clock_ns(CLOCK_REALTIME);
	if (ret)
		fail("signalfd failed: %s", strerror(errno));
	else
		ret = agent_begin(&agent);
	begun = !ret;
	next_ns = fleet_now_ns() - (ret ? 0 : random_below(&agent, options->interval_ns));
	while (!ret && !agent.ending) {
		ret = tick(&agent);
		/* The next tick in the future: a late one does not shift the later ones. */
		now_ns = fleet_now_ns();
		next_ns += options->interval_ns;
		if (now_ns >= next_ns)
			next_ns = now_ns + options->interval_ns -
				  (now_ns - next_ns) % options->interval_ns;
		if (!ret && !agent.ending)
			wait_for(&agent, signals, next_ns);
	}
	if (begun && !agent.replaced)
		agent_end(&agent);
	cluster_close(&agent.cluster);
	fleet_maps_close(&agent.maps);
	fleet_keys_clear(&agent.keys);
	free(agent.limits);
	free(agent.due);
	free(agent.ask[0].entries);
	free(agent.ask[1].entries);
	if (signals >= 0)
		close(signals);
	return ret;
}
