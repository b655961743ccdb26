// SPDX-License-Identifier: GPL-2.0-only
/* check: timeout 60
 * Whole fleets in a time that the test makes: the scripts in a real Redis, the agents' steps and
 * bpf/limit/backend_fleet.h (fleet_packets.c), run for seconds of that time under loads that are
 * even, alone, moved, or at random, with members that die and a Redis that goes. In no stretch of
 * time may the members let through more in sum than the limit and its stated bound; and not less
 * than 98 % of it while the load is steady. The machine's load has no part in what comes out.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "compile/compile.h"
#include "compile/numbers.h"
#include "fleet/agent_parts.h"
#include "fleet/fleet.h"
#include "fleet/link.h"
#include "fleet_packets.h"
#include "fleet_redis.h"
#include "kernel/instance/instance.h"
#include "kernel/maps/fleet_maps.h"
#include "policy/policy.h"
#include "policy_helpers.h"
#include "random.h"

#define MEMBERS    8
#define STEP_NS    500000ull
#define BEGIN_NS   (100000 * NS_PER_SECOND)
#define PASSES_MAX 100000
#define RATE       1000 /* of every limit here, packets a second */
#define BYTES      64   /* of a packet */

static uint64_t now_ns, redis_back_ns; /* by which Redis' clock was set back */

/* ---- one member: its kernel, and its agent */

struct member {
	struct instance instance; /* first: stand-ins find the member by it */
	struct agent agent;
	struct fleet_options options;
	struct fleet_limit limit;
	struct fleet_packets packets;
	uint64_t tick_ns;
	struct fleet_entry *due[1], *asked[2];
	char node[8];
	bool dead;
	double offered; /* packets that are to come yet */
};

static struct member members[MEMBERS];
static struct rl_rule rule_numbers;
static uint64_t packet_amount;

static struct rl_state_key the_key = {.limit_id = 1};

/* ---- what user/kernel/maps/fleet_maps.c does in a kernel */

static struct member *member_of(const struct instance *instance)
{
	return (struct member *)instance;
}

uint64_t fleet_now_ns(void)
{
	return now_ns;
}

int fleet_grant_write(const struct fleet_maps *maps, const struct rl_state_key *key,
		      const struct rl_fleet_grant *grant)
{
	assert_memory_equal(key, &the_key, sizeof(*key));
	member_of(maps->instance)->packets.has_grant = grant;
	if (grant)
		member_of(maps->instance)->packets.grant = *grant;
	return 0;
}

int fleet_key_read(const struct fleet_maps *maps, const struct rl_state_key *key,
		   struct rl_fleet_key *out)
{
	assert_memory_equal(key, &the_key, sizeof(*key));
	*out = member_of(maps->instance)->packets.key;
	return 0;
}

/* The packets read the record itself. */
int fleet_limit_write(const struct instance *instance, uint32_t id,
		      const struct rl_fleet_limit *limit)
{
	assert_int_equal(id, the_key.limit_id);
	assert_ptr_equal(limit, &member_of(instance)->limit.record);
	return 0;
}

int fleet_clear(const struct instance *instance, bool limits)
{
	assert_false(limits);
	member_of(instance)->packets.has_grant = false;
	return 0;
}

/* Stubs that must not be called: reading a policy, and reporting to users. */
#define NOT_CALLED(head)                                      \
	head                                                  \
	{                                                     \
		fail_msg("%s is not to be called", __func__); \
	}
#define NOT_CALLED_INT(head)                                  \
	head                                                  \
	{                                                     \
		fail_msg("%s is not to be called", __func__); \
		return -1;                                    \
	}

NOT_CALLED_INT(int fleet_maps_open(const struct instance *instance __attribute__((unused)),
				   int (*wanted)(void *, void *, size_t) __attribute__((unused)),
				   void *arg __attribute__((unused)),
				   struct fleet_maps *out __attribute__((unused))))
NOT_CALLED(void fleet_maps_close(struct fleet_maps *maps __attribute__((unused))))
NOT_CALLED(void fleet_events_poll(struct fleet_maps *maps __attribute__((unused))))
NOT_CALLED_INT(int fleet_limit_read(const struct instance *instance __attribute__((unused)),
				    uint32_t id __attribute__((unused)),
				    struct rl_fleet_limit *out __attribute__((unused))))
NOT_CALLED_INT(int fleet_session_read(const struct instance *instance __attribute__((unused)),
				      struct rl_fleet_session *out __attribute__((unused))))
NOT_CALLED_INT(int fleet_session_write(const struct instance *instance __attribute__((unused)),
				       const struct rl_fleet_session *session
				       __attribute__((unused))))
NOT_CALLED_INT(bool fleet_session_is_alive(const struct rl_fleet_session *session
					   __attribute__((unused))))

/* ---- the agent's tick */

static void member_tick(struct member *m)
{
	struct agent *a = &m->agent;

	fleet_redis_time(now_ns - redis_back_ns);
	if (m->packets.asked)
		agent_key_wanted(a, &the_key, sizeof(the_key));
	m->packets.asked = false;
	if (a->cluster.count) {
		agent_exchange(a, now_ns);
		assert_int_not_equal(a->cluster.count, 0);
	}
	if (now_ns - a->limits_ns >= 100 * NS_PER_MS)
		agent_limits_write(a, now_ns);
}

/* ---- loads: a member's load as a share of the limit's rate, over time */

static double load_even(int member, double s)
{
	(void)member, (void)s;
	return 1;
}

static double load_alone(int member, double s)
{
	(void)s;
	return member == 3 ? 3 : 0;
}

static double load_moved(int member, double s)
{
	return member == (s < 4 ? 1 : 2) ? 3 : 0;
}

/* All at the first member until that dies, then at the second. */
static double load_dying(int member, double s)
{
	return member == (s < 2 ? 0 : 1) ? 3 : 0;
}

/* All at the last member until Redis is gone, then at all of them. */
static double load_spread(int member, double s)
{
	return member == MEMBERS - 1 || s >= 2 ? 3 : 0;
}

/* Another one for every half second and member, from nothing to twice the limit. */
static double load_random(int member, double s)
{
	uint64_t state = ((uint64_t)(s * 2) * MEMBERS + member + 1) << 32;

	random_next(&state);
	return random_under(&state, 3) ? 0 : (double)random_under(&state, 256) / 128;
}

/* ---- checks */

struct result {
	uint64_t passes[PASSES_MAX]; /* when */
	size_t count;
};

/* The most packets that any stretch of time had beyond what the rate gives for it. */
static double excess(const struct result *r, double per_ns)
{
	double least = 0, most = 0;

	for (size_t i = 0; i < r->count; i++) {
		double level = (double)i - per_ns * (double)(r->passes[i] - BEGIN_NS);

		least = !i || level < least ? level : least;
		most = level + 1 - least > most ? level + 1 - least : most;
	}
	return most;
}

/* Packets a second. */
static double mean(const struct result *r, double from, double to)
{
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++) {
		double s = (double)(r->passes[i] - BEGIN_NS) / NS_PER_SECOND;

		count += s >= from && s < to;
	}
	return (double)count / (to - from);
}

/* Most in a window that begins with a packet and lasts so long, one after the other. */
static size_t window_most(const struct result *r, uint64_t period_ns)
{
	size_t most = 0, begin = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (r->passes[i] - r->passes[begin] >= period_ns)
			begin = i;
		most = i - begin + 1 > most ? i - begin + 1 : most;
	}
	return most;
}

/* ---- runs */

struct run {
	const char *name, *rule;
	double (*load)(int member, double s);
	double from, to, least, most; /* the mean in that time, of the rate */
	double extra;                 /* share of the rate by which the bound may be exceeded */
	double death_s;               /* when the agent of member 0 dies, if it does */
	double gone_s, back_s;        /* when Redis is gone, if it is */
	uint64_t interval_ms;         /* 0: 50 */
	double late_s;                /* until the last member has noted that Redis is gone */
	double set_s;                 /* when Redis' clock goes back by an hour, if it does */
	int shards;                   /* 0: 1 */
	uint32_t claims;              /* by member 0, which is wrong, as Redis comes back */
};

#define BUCKET "rule any limit 1000/second burst 100 fleet"
#define OCTETS "rule any limit 512kbit burst 60kbyte fleet"
#define LEAKY  "rule any limit leaky-bucket 1000/second queue 100 fleet"
#define FIXED  "rule any limit fixed-window 2000/2s fleet"
#define SLIDE  "rule any limit sliding-window 1000/second fleet"
#define LOG    "rule any limit sliding-log 1000/second fleet"
#define WARM   "rule any limit warm-up 1000/second ramp 1s fleet"

/* NAME, LIMIT, LOAD, the mean from one second TO another is AT LEAST and AT MOST that part of it.
 */
#define RUN(text, line, sent, a, b, low, high, ...)                                                \
	{                                                                                          \
		.name = text, .rule = line, .load = load_##sent, .from = a, .to = b, .least = low, \
		.most = high, ##__VA_ARGS__                                                        \
	}

static const struct run runs[] = {
	RUN("token bucket, all loaded", BUCKET, even, 1, 8, .98, 1.02),
	RUN("token bucket, one loaded", BUCKET, alone, 1, 8, .98, 1.02),
	RUN("token bucket, the load moves", BUCKET, moved, 5, 8, .98, 1.02),
	RUN("token bucket, loads at random", BUCKET, random, 0, 8, .6, 1.02),
	RUN("token bucket, long interval", BUCKET, even, 2, 8, .98, 1.02, .interval_ms = 500),
	RUN("token bucket, short interval", BUCKET, even, 1, 8, .98, 1.02, .interval_ms = 10),
	RUN("token bucket, 7 shards", BUCKET, even, 1, 8, .98, 1.02, .shards = 7),
	RUN("token bucket, 7 shards, loads at random", BUCKET, random, 0, 8, .6, 1.02, .shards = 7),
	RUN("fixed window, 7 shards", FIXED, alone, 0, 8, .98, 1.02, .shards = 7),
	RUN("bytes, all loaded", OCTETS, even, 1, 8, .98, 1.02),
	RUN("bytes, loads at random", OCTETS, random, 0, 8, .6, 1.02),
	RUN("leaky bucket, all loaded", LEAKY, even, 1, 8, .98, 1.02),
	RUN("leaky bucket, one loaded", LEAKY, alone, 1, 8, .98, 1.02),
	RUN("leaky bucket, the load moves", LEAKY, moved, 5, 8, .98, 1.02),
	RUN("leaky bucket, loads at random", LEAKY, random, 0, 8, .6, 1.02),
	RUN("fixed window, all loaded", FIXED, even, 0, 8, .98, 1.02),
	RUN("fixed window, one loaded", FIXED, alone, 0, 8, .98, 1.02),
	RUN("fixed window, loads at random", FIXED, random, 0, 8, .6, 1.02),
	RUN("sliding window, all loaded", SLIDE, even, 1, 8, .98, 1.02),
	RUN("sliding window, loads at random", SLIDE, random, 0, 8, .6, 1.1),
	RUN("sliding log, all loaded", LOG, even, 1, 8, .98, 1.02),
	RUN("sliding log, loads at random", LOG, random, 0, 8, .6, 1.1),
	RUN("warm-up, all loaded", WARM, even, 1, 8, .98, 1.02),
	RUN("warm-up, loads at random", WARM, random, 0, 8, .6, 1.1),
	RUN("an agent dies: its kernel keeps its part, the others have it as well after 3 s",
	    BUCKET, even, 5, 9, 1.1, 1.02 + 1. / MEMBERS, .extra = 1. / MEMBERS, .death_s = 2),
	RUN("a machine dies: its share is back after 3 s", BUCKET, dying, 5, 9, .95, 1.02,
	    .death_s = 2),
	RUN("Redis is gone and back, loads at random", BUCKET, random, 0, 8, .5, 1.02, .gone_s = 2,
	    .back_s = 4),
	RUN("Redis is gone", BUCKET, even, 3, 5, .95, 1.02, .gone_s = 2, .back_s = 99),
	RUN("Redis is gone and back", BUCKET, even, 2, 8, .8, 1.02, .gone_s = 2, .back_s = 4),
	RUN("members note one after the other that Redis is gone", BUCKET, spread, 3, 8, .95, 1.02,
	    .gone_s = 2, .back_s = 99, .late_s = .2),
	RUN("Redis' clock goes back, all loaded", BUCKET, even, 3, 5, .95, 1.02, .set_s = 3),
	RUN("Redis' clock goes back, one loaded", BUCKET, alone, 3, 5, .95, 1.02, .set_s = 3),
	RUN("a member counts wrong as Redis is back", BUCKET, even, 4.5, 6, .8, 1.02, .gone_s = 2,
	    .back_s = 4, .claims = 900),
};

static void member_connect(struct member *m)
{
	fleet_redis_connect(&m->agent.cluster.nodes[0]);
	m->agent.cluster.url = &m->options.url;
	m->agent.cluster.count = 1;
}

static void member_begin(const struct run *run, struct member *m, int number, uint64_t interval_ns)
{
	struct agent *a = &m->agent;

	snprintf(m->instance.device, sizeof(m->instance.device), "m%d", number);
	snprintf(m->node, sizeof(m->node), "m%d", number);
	m->options = (struct fleet_options){
		.fleet = "f", .node = m->node, .url.shards = run->shards ?: 1};
	m->tick_ns = BEGIN_NS + interval_ns * number / MEMBERS;
	*a = (struct agent){
		.instance = &m->instance,
		.options = &m->options,
		.maps.instance = &m->instance,
		.limits = &m->limit,
		.limit_count = 1,
		.due = m->due,
		.ask = {{m->asked, 0}, {m->asked + 1, 0}},
		.keys_per_tick = 1,
		.random = number + 1,
		.pace = {.interval_ns = interval_ns,
			 .check_ns = 250 * NS_PER_MS,
			 .retry_ns = 100 * NS_PER_MS,
			 .patience_ns = 60 * NS_PER_SECOND,
			 .members = 1},
	};

	snprintf(a->token, sizeof(a->token), "%d", number);
	member_connect(m);
}

static void members_end(void)
{
	for (int i = 0; i < MEMBERS; i++) {
		fleet_keys_clear(&members[i].agent.keys);
		cluster_close(&members[i].agent.cluster);
	}
}

static void members_make(const struct run *run)
{
	static const struct policy_context context = {.mtu = 1500};
	struct rule rule = must_parse(run->rule, &context);
	uint64_t interval_ns = (run->interval_ms ? run->interval_ms : 50) * NS_PER_MS;

	memset(members, 0, sizeof(members));
	packet_amount = rule.limit.unit == RL_PACKETS ? 1 : BYTES;
	rule_numbers = (struct rl_rule){.limit = rule.limit,
					.flags = rule.limit.unit == RL_PACKETS ? 0 : RL_RULE_BYTES};
	if (rule.limit.algorithm == RL_FIXED_WINDOW)
		window_compile(&rule.limit, &rule_numbers.window);
	rule.limit_id = rule_numbers.limit_id = the_key.limit_id;
	for (int i = 0; i < MEMBERS; i++) {
		struct member *m = &members[i];

		fleet_limit_make(&rule, 1500, false, &m->limit);
		m->packets.limit = &m->limit.record;
		member_begin(run, m, i, interval_ns);
	}
	/* Each hears of all: in the second round all are there. */
	for (int i = 0; i < 2 * MEMBERS; i++) {
		members[i % MEMBERS].agent.heartbeat_ns = 0;
		agent_exchange(&members[i % MEMBERS].agent, now_ns);
	}
	for (int i = 0; i < MEMBERS; i++) {
		assert_int_equal(members[i].agent.pace.members, MEMBERS);
		agent_shared_begin(&members[i].agent);
	}
}

/* Redis is gone, or is back. */
static void member_share(struct member *m, bool shared)
{
	if (shared == !!m->agent.session.shared)
		return;
	if (shared) {
		member_connect(m);
		agent_shared_begin(&m->agent);
	} else {
		agent_shared_end(&m->agent, now_ns, "gone");
	}
}

/* Redis' clock is set back by an hour, and an agent starts anew in that moment. */
static void clock_set(const struct run *run, double s)
{
	if (redis_back_ns || run->set_s <= 0 || s < run->set_s)
		return;
	redis_back_ns = NS_PER_HOUR;
	snprintf(members[0].agent.token, sizeof(members[0].agent.token), "anew");
}

/* Runs the events of this time. */
static void run_events(const struct run *run, double s)
{
	bool gone = run->gone_s > 0 && s >= run->gone_s && s < run->back_s;

	clock_set(run, s);
	if (gone && run->claims)
		members[0].agent.pace.members = run->claims;
	members[0].dead = run->death_s > 0 && s >= run->death_s;
	for (int i = 0; i < MEMBERS; i++)
		member_share(&members[i],
			     !gone || s < run->gone_s + run->late_s * i / (MEMBERS - 1));
}

static void run_step(const struct run *run, struct result *result)
{
	double s = (double)(now_ns - BEGIN_NS) / NS_PER_SECOND;

	run_events(run, s);
	for (int i = 0; i < MEMBERS; i++) {
		struct member *m = &members[i];

		for (m->offered += run->load(i, s) * RATE * (double)STEP_NS / NS_PER_SECOND;
		     m->offered >= 1; m->offered--)
			if (fleet_packet_passes(&m->packets, &rule_numbers, packet_amount,
						now_ns) &&
			    result->count < PASSES_MAX)
				result->passes[result->count++] = now_ns;
		if (m->dead || now_ns < m->tick_ns)
			continue;
		member_tick(m);
		m->tick_ns += m->agent.pace.interval_ns;
	}
}

static void judge(const struct run *run, const struct result *r)
{
	const struct fleet_limit *limit = &members[1].limit;
	double amount = (double)packet_amount, over;
	double bound = (double)(limit->burst + fleet_limit_overshoot(limit, MEMBERS)) / amount + 1;
	double got = mean(r, run->from, run->to) / RATE;

	/* as the manual says */
	if (run->late_s > 0)
		bound += RATE * run->late_s + (double)limit->burst / 2;

	if (limit->window) {
		bound = (double)limit->rule.limit.amount;
		over = (double)window_most(r, limit->rule.limit.period_ns);
	} else {
		over = excess(r, limit->per_ns / amount * (1 + run->extra));
	}
	print_message("# %5.3f of the limit; %g beyond the rate, bound %g\n", got, over, bound);
	if (got < run->least || got > run->most)
		fail_msg("%s: %.3f of the limit, wanted %.3f to %.3f", run->name, got, run->least,
			 run->most);
	if (over > bound)
		fail_msg("%s: %g beyond the rate, the bound is %g", run->name, over, bound);
}

ROWS(fleet_run_test, runs, run)
{
	static struct result result;

	now_ns = BEGIN_NS;
	redis_back_ns = 0;
	result.count = 0;
	fleet_redis_clear();
	fleet_redis_time(now_ns);
	members_make(run);
	for (; now_ns < BEGIN_NS + 9 * NS_PER_SECOND; now_ns += STEP_NS)
		run_step(run, &result);
	members_end();
	judge(run, &result);
}

FIXTURE(fleet_redis_start, fleet_redis_stop)
