// SPDX-License-Identifier: GPL-2.0-only
/* A member of a fleet. Every tick: which keys ask, what became of those that hold a lease, one
 * batch to Redis, its answers to the kernel. Where Redis does not answer in time all leases are
 * taken back and the limits are held alone, to the part of a member, until it does again.
 */
#include <endian.h>
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

#include "fleet_internal.h"
#include "output.h"
#include "units.h"

#define RETRY_LEAST_NS (100 * NS_PER_MS)
#define RETRY_MOST_NS  (2 * NS_PER_SECOND)
#define CONNECT_NS     (300 * NS_PER_MS)
#define POLICY_NS      NS_PER_SECOND
#define LIMITS_NS      (100 * NS_PER_MS)
#define SHED_SAY_NS    (10 * NS_PER_SECOND)
#define CHECK_NS       (250 * NS_PER_MS)
#define RETRY_NS       (100 * NS_PER_MS)
#define CHECK_KEY_NS   (100 * NS_PER_US)  /* of many keys each is looked at more seldom */
#define CHECK_MOST_NS  (1100 * NS_PER_MS) /* twice that is longer than a lease: it is renewed */
#define KEYS_USUAL     1000 /* a tick, until Redis has shown that it can answer more */
#define KEYS_LEAST     125
#define BATCH          100 /* keys of one call */
#define ARGUMENTS      6
#define NUMBER_MAX     24
#define SHARE_BITS     20
#define SHARE_MASK     ((1u << SHARE_BITS) - 1)

/* What is asked in one tick. */
struct asking {
	struct fleet_entry **entries; /* KEYS_PER_TICK of them */
	size_t count;
};

struct agent {
	const struct instance *instance;
	const struct fleet_options *options;
	struct fleet_maps maps;
	struct fleet_link link;
	struct fleet_table table;
	struct fleet_limit *limits;
	size_t limit_count;
	struct fleet_entry **due; /* KEYS_MAX of them */
	struct asking ask[2];     /* shares, windows */
	size_t most;              /* keys of the next tick */
	struct fleet_pace pace;
	struct rl_fleet_session session;
	char token[17];
	uint64_t beat_ns, policy_ns, limits_ns, retry_ns, backoff_ns, shed_ns;
	bool was_shared; /* once */
	bool ending;
	char keys[3][RL_FLEET_NAME + 40]; /* of the beat */
};

/* ---- the instance's limits */

static struct fleet_limit *limit_find(struct agent *a, uint32_t id)
{
	for (size_t i = 0; i < a->limit_count; i++)
		if (a->limits[i].rule.limit_id == id)
			return &a->limits[i];
	return NULL;
}

static void limits_write(struct agent *a, uint64_t now_ns)
{
	a->limits_ns = now_ns;
	for (size_t i = 0; i < a->limit_count; i++) {
		fleet_limit_next(&a->limits[i], a->pace.members, a->session.shared, now_ns);
		fleet_limit_write(a->instance, a->limits[i].rule.limit_id, &a->limits[i].record);
	}
}

static int limits_make(struct agent *a, const struct policy *policy)
{
	a->limits = calloc(policy->count + 1, sizeof(*a->limits));
	a->limit_count = 0;
	if (!a->limits)
		return -ENOMEM;
	policy_for_each (policy, rule) {
		struct fleet_limit *limit = &a->limits[a->limit_count];

		if (rule->action != RL_ACTION_LIMIT || !rule->limit.fleet)
			continue;
		fleet_limit_make(rule, a->instance->info.mtu, a->instance->info.by_dest, limit);
		fleet_limit_read(a->instance, rule->limit_id, &limit->record);
		a->limit_count++;
	}
	if (!a->limit_count && !a->session.shared)
		note("%s: its policy has no limit with the word fleet yet", a->instance->device);
	return 0;
}

/* Records of limits that are no more. */
static void limits_forget(struct agent *a, const struct fleet_limit *before, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!limit_find(a, before[i].rule.limit_id))
			fleet_limit_remove(a->instance, before[i].rule.limit_id);
}

/* Keys are known by their limit's id; where its numbers are new they begin anew. */
static void table_restart(struct agent *a)
{
	for (size_t i = 0; i < a->table.count;) {
		struct fleet_entry *entry = &a->table.entries[i];

		entry->limit = limit_find(a, entry->key.limit_id);
		if (entry->limit) {
			fleet_entry_reset(entry);
			i++;
		} else {
			fleet_table_remove(&a->table, entry);
		}
	}
}

static int key_wanted(void *arg, void *data, size_t size)
{
	struct agent *a = arg;
	const struct rl_state_key *key = data;
	struct fleet_entry *entry;
	struct fleet_limit *limit;

	if (size != sizeof(*key))
		return 0;
	entry = fleet_table_find(&a->table, key);
	limit = entry ? NULL : limit_find(a, key->limit_id);
	if (!entry && limit && !fleet_table_add(&a->table, key, limit))
		a->session.shed++;
	if (entry && !entry->backoff_ns && !entry->limit->window)
		entry->next_ns = 0; /* wants more than it asked for last */
	return 0;
}

/* Maps and limits of the policy that is in force now. */
static int policy_take(struct agent *a)
{
	struct fleet_limit *before = a->limits;
	size_t before_count = a->limit_count;
	struct policy policy = {0};
	int ret;

	fleet_maps_close(&a->maps);
	ret = fleet_maps_open(a->instance, key_wanted, a, &a->maps);
	if (!ret)
		ret = instance_policy_read(a->instance, &policy);
	if (ret)
		return ret;
	fleet_clear(a->instance, false);
	ret = limits_make(a, &policy);
	policy_clear(&policy);
	if (!ret) {
		limits_forget(a, before, before_count);
		table_restart(a);
	}
	free(before);
	if (ret)
		return ret;
	limits_write(a, fleet_now_ns());
	return 0;
}

/* 0, or -1 when the instance is gone. */
static int policy_watch(struct agent *a, uint64_t now_ns)
{
	if (now_ns - a->policy_ns < POLICY_NS)
		return 0;
	a->policy_ns = now_ns;
	if (!instance_is_there(a->instance))
		return fail("%s: detached: `rlctl attach %s`, then join again", a->instance->device,
			    a->instance->device);
	if (instance_generation(a->instance) == a->maps.generation)
		return 0;
	return policy_take(a) ? -1 : 0;
}

/* ---- together and alone */

static void shared_begin(struct agent *a)
{
	a->backoff_ns = 0;
	if (a->session.shared)
		return;
	a->session.shared = 1;
	a->was_shared = true;
	snprintf(a->session.server, sizeof(a->session.server), "%.63s", a->link.server);
	note("%s: fleet %s at %s, as %s: %u member%s", a->instance->device, a->options->fleet,
	     a->link.server, a->options->node, a->pace.members, a->pace.members == 1 ? "" : "s");
	limits_write(a, fleet_now_ns());
}

/* Nothing that was leased is spent any more. */
static void shared_end(struct agent *a, uint64_t now_ns, const char *why)
{
	link_close(&a->link);
	a->backoff_ns = a->backoff_ns ? 2 * a->backoff_ns : RETRY_LEAST_NS;
	if (a->backoff_ns > RETRY_MOST_NS)
		a->backoff_ns = RETRY_MOST_NS;
	a->retry_ns = now_ns + a->backoff_ns;
	if (a->session.shared) {
		a->session.lost++;
		fail("%s: fleet %s: %s; limits are held alone, to 1/%u of each, until Redis is "
		     "back",
		     a->instance->device, a->options->fleet, why, a->pace.members);
	} else if (!a->was_shared && a->backoff_ns == 2 * RETRY_LEAST_NS) {
		fail("%s: fleet %s: %s; trying again", a->instance->device, a->options->fleet, why);
	}
	a->session.shared = 0;
	fleet_clear(a->instance, false);
	for (size_t i = 0; i < a->table.count; i++)
		fleet_entry_reset(&a->table.entries[i]);
	limits_write(a, fleet_now_ns());
}

static void members_take(struct agent *a, const redisReply *reply)
{
	uint32_t count = reply_number(reply, 1, 1, FLEET_SIZE_MAX);
	uint32_t listed = 0;

	memset(a->session.member, 0, sizeof(a->session.member));
	for (size_t i = 3; i < reply->elements && listed < RL_FLEET_MEMBERS; i++)
		if (reply->element[i]->type == REDIS_REPLY_STRING)
			snprintf(a->session.member[listed++], RL_FLEET_NAME, "%.63s",
				 reply->element[i]->str);
	if (count == a->pace.members)
		return;
	a->pace.members = count;
	a->session.members = count;
	limits_write(a, fleet_now_ns());
}

static int beat(struct agent *a, bool leave, char wrong[LINK_WRONG_MAX])
{
	const struct fleet_options *o = a->options;
	char claimed[NUMBER_MAX];
	const char *words[10] = {NULL,       NULL,    "3",      a->keys[0], a->keys[1],
				 a->keys[2], o->node, a->token, claimed,    leave ? "1" : "0"};
	size_t lengths[10];
	redisReply *reply;
	int ret = 0;

	snprintf(claimed, sizeof(claimed), "%u", a->was_shared ? a->pace.members : 0);
	for (int i = 2; i < 10; i++)
		lengths[i] = strlen(words[i]);
	if (link_call(&a->link, SCRIPT_BEAT, 10, words, lengths))
		return -1;
	reply = link_answer(&a->link, wrong);
	if (!reply)
		return -1;
	if (reply_number(reply, 0, -1, INT64_MAX) < 0) {
		snprintf(wrong, LINK_WRONG_MAX,
			 "another member has the name %.63s: choose one by --node", o->node);
		ret = -1;
	} else if (!leave) {
		members_take(a, reply);
	}
	freeReplyObject(reply);
	return ret;
}

static void redis_connect(struct agent *a, uint64_t now_ns)
{
	char wrong[LINK_WRONG_MAX];

	if (a->link.redis || now_ns < a->retry_ns)
		return;
	if (link_open(&a->options->url, CONNECT_NS, &a->link, wrong) || beat(a, false, wrong)) {
		shared_end(a, fleet_now_ns(), wrong);
		return;
	}
	redisSetTimeout(
		a->link.redis,
		(struct timeval){.tv_sec = 2 * a->pace.interval_ns / NS_PER_SECOND,
				 .tv_usec = 2 * a->pace.interval_ns % NS_PER_SECOND / NS_PER_US});
	a->beat_ns = fleet_now_ns();
	shared_begin(a);
}

/* ---- keys */

static int by_demand(const void *a, const void *b)
{
	const struct fleet_entry *x = *(struct fleet_entry *const *)a,
				 *y = *(struct fleet_entry *const *)b;
	double dx = x->demand / x->limit->per_ns, dy = y->demand / y->limit->per_ns;

	return dx < dy ? 1 : dx > dy ? -1 : 0;
}

/* Those that are to be looked at: the heaviest of them, where there are too many. */
static size_t due_choose(struct agent *a, uint64_t now_ns)
{
	size_t count = 0;

	for (size_t i = 0; i < a->table.count; i++)
		if (a->table.entries[i].next_ns <= now_ns)
			a->due[count++] = &a->table.entries[i];
	if (count <= a->most)
		return count;
	qsort(a->due, count, sizeof(struct fleet_entry *), by_demand);
	a->session.shed += count - a->most;
	if (now_ns - a->shed_ns > SHED_SAY_NS && a->most != KEYS_USUAL) {
		a->shed_ns = now_ns;
		note("%s: %zu keys want a lease at once: %zu have to wait for the next tick",
		     a->instance->device, count, count - a->most);
	}
	return a->most;
}

/* How many the next tick may take on: so many that Redis answers in half of a tick. */
static void most_set(struct agent *a, size_t count, uint64_t took_ns)
{
	if (took_ns > a->pace.interval_ns && a->most > KEYS_LEAST)
		a->most /= 2;
	else if (count == a->most && took_ns < a->pace.interval_ns / 2 &&
		 a->most < KEYS_PER_TICK / 2)
		a->most *= 2;
	else if (count == a->most && took_ns < a->pace.interval_ns / 2)
		a->most = KEYS_PER_TICK;
}

/* Those of them that Redis is to be asked about, by what they lease. */
static void due_check(struct agent *a, size_t count)
{
	for (int window = 0; window < 2; window++)
		a->ask[window].count = 0;
	for (size_t i = 0; i < count; i++) {
		struct asking *ask = &a->ask[a->due[i]->limit->window];

		if (fleet_entry_check(a->due[i], &a->maps, &a->pace, fleet_now_ns()))
			ask->entries[ask->count++] = a->due[i];
	}
}

static void idle_remove(struct agent *a, uint64_t now_ns)
{
	for (size_t i = 0; i < a->table.count;) {
		struct fleet_entry *entry = &a->table.entries[i];

		if (!fleet_entry_is_idle(entry, now_ns)) {
			i++;
			continue;
		}
		if (entry->granted)
			fleet_grant_remove(a->instance, &entry->key);
		fleet_table_remove(&a->table, entry);
	}
}

/* ---- one batch */

/* The words of a call; numbers stand in `text`. */
struct call {
	const char *words[5 + BATCH + ARGUMENTS * BATCH];
	size_t lengths[5 + BATCH + ARGUMENTS * BATCH];
	int count;
	char keys[BATCH][2 * RL_FLEET_NAME + 128];
	char numbers[ARGUMENTS * BATCH][NUMBER_MAX];
	int number_count;
	char packed[20 * BATCH];
	size_t packed_size;
};

static void call_word(struct call *call, const char *word)
{
	call->words[call->count] = word;
	call->lengths[call->count++] = strlen(word);
}

static void call_number(struct call *call, int64_t n)
{
	char *text = call->numbers[call->number_count++];

	snprintf(text, NUMBER_MAX, "%lld", (long long)n);
	call_word(call, text);
}

static void call_packed(struct call *call)
{
	call->words[call->count] = call->packed;
	call->lengths[call->count++] = call->packed_size;
}

static void call_begin(struct agent *a, struct call *call, struct fleet_entry *const *entries,
		       size_t count)
{
	call->count = 2;
	call->number_count = 0;
	call->packed_size = 0;
	call_number(call, (int64_t)count + 1);
	call_word(call, a->keys[2]);
	for (size_t i = 0; i < count; i++) {
		snprintf(call->keys[i], sizeof(call->keys[i]), "rlctl:{%s}:%s", a->options->fleet,
			 entries[i]->name);
		call_word(call, call->keys[i]);
	}
}

static void share_ask(struct call *call, const struct fleet_entry *e)
{
	const uint32_t shares[] = {htole32(e->held), htole32(e->reserved), htole32(e->want),
				   htole32(e->wanted), htole32(e->ends)};

	memcpy(call->packed + call->packed_size, shares, sizeof(shares));
	call->packed_size += sizeof(shares);
}

static void window_ask(struct call *call, const struct fleet_entry *e)
{
	call_number(call, (int64_t)fleet_limit_leased(e->limit));
	call_number(call, (int64_t)(e->limit->rule.limit.period_ns / NS_PER_MS));
	call_number(call, (int64_t)e->ask);
	call_number(call, (int64_t)e->back);
	call_number(call, e->window);
	call_number(call, (int64_t)e->limit->packet);
}

static int batch_send(struct agent *a, bool window)
{
	static struct call call;
	const struct asking *ask = &a->ask[window];

	for (size_t done = 0; done < ask->count; done += BATCH) {
		size_t count = ask->count - done < BATCH ? ask->count - done : BATCH;

		call_begin(a, &call, ask->entries + done, count);
		for (size_t i = 0; i < count; i++)
			(window ? window_ask : share_ask)(&call, ask->entries[done + i]);
		if (!window)
			call_packed(&call);
		if (link_call(&a->link, window ? SCRIPT_WINDOW : SCRIPT_RATE, call.count,
			      call.words, call.lengths))
			return -1;
	}
	return 0;
}

static void shares_take(struct agent *a, const redisReply *reply, struct fleet_entry **entries,
			size_t count, uint64_t sent_ns)
{
	uint32_t second = reply_number(reply, 0, 0, UINT32_MAX * 1000ll) / 1000;

	for (size_t i = 0; i < count; i++) {
		uint64_t answer = reply_number(reply, i + 1, 0, INT64_MAX);

		fleet_entry_grant(entries[i], &a->maps, &a->pace, answer & SHARE_MASK,
				  answer >> SHARE_BITS, second, sent_ns);
	}
}

static void windows_take(struct agent *a, const redisReply *reply, struct fleet_entry **entries,
			 size_t count, uint64_t sent_ns)
{
	for (size_t i = 0; i < count; i++) {
		int64_t period_ms = entries[i]->limit->rule.limit.period_ns / NS_PER_MS;
		int64_t lease = reply_number(reply, 3 * i + 1, 0, INT64_MAX);
		int64_t lasts_ms = reply_number(reply, 3 * i + 2, 0, period_ms);
		int64_t start = reply_number(reply, 3 * i + 3, 0, INT64_MAX);

		fleet_entry_window(entries[i], &a->maps, &a->pace, lease, lasts_ms * NS_PER_MS,
				   start, sent_ns);
	}
}

static int batch_receive(struct agent *a, bool window, uint64_t sent_ns, char wrong[LINK_WRONG_MAX])
{
	const struct asking *ask = &a->ask[window];

	for (size_t done = 0; done < ask->count; done += BATCH) {
		size_t count = ask->count - done < BATCH ? ask->count - done : BATCH;
		redisReply *reply = link_answer(&a->link, wrong);

		if (!reply)
			return -1;
		(window ? windows_take : shares_take)(a, reply, ask->entries + done, count,
						      sent_ns);
		freeReplyObject(reply);
	}
	return 0;
}

static void redis_exchange(struct agent *a, uint64_t now_ns)
{
	char wrong[LINK_WRONG_MAX] = "out of memory";
	size_t count = due_choose(a, now_ns);
	uint64_t sent_ns = fleet_now_ns();
	int ret = 0;

	due_check(a, count);
	for (int window = 0; !ret && window < 2; window++)
		ret = batch_send(a, window);
	for (int window = 0; !ret && window < 2; window++)
		ret = batch_receive(a, window, sent_ns, wrong);
	if (!ret && now_ns - a->beat_ns >= BEAT_NS) {
		a->beat_ns = now_ns;
		ret = beat(a, false, wrong);
	}
	if (ret)
		shared_end(a, fleet_now_ns(), wrong);
	else if (a->ask[0].count || a->ask[1].count || a->beat_ns == now_ns)
		a->session.lag_ns = fleet_now_ns() - sent_ns;
	most_set(a, count, fleet_now_ns() - sent_ns);
}

/* ---- the loop */

/* What the maps tell others of it, and what they tell it. */
static void session_exchange(struct agent *a, uint64_t now_ns)
{
	struct rl_fleet_session other;

	if (now_ns - a->session.updated_ns < LIMITS_NS)
		return;
	if (!fleet_session_read(a->instance, &other) && other.leave) {
		a->session.leave = 1;
		a->ending = true;
	}
	a->session.updated_ns = now_ns;
	a->session.leases = 0;
	for (size_t i = 0; i < a->table.count; i++)
		a->session.leases += a->table.entries[i].held > 0 ||
				     (a->table.entries[i].limit->window &&
				      a->table.entries[i].grant.until_ns > now_ns);
	fleet_session_write(a->instance, &a->session);
	idle_remove(a, now_ns);
}

static void pace_set(struct agent *a)
{
	uint64_t more = a->table.count * CHECK_KEY_NS, most = CHECK_MOST_NS;

	a->pace.check_ns = CHECK_NS + more < most ? CHECK_NS + more : most;
	a->pace.retry_ns = RETRY_NS + more < most ? RETRY_NS + more : most;
}

static int tick(struct agent *a)
{
	uint64_t now_ns = fleet_now_ns();

	if (policy_watch(a, now_ns))
		return -1;
	fleet_events_take(&a->maps);
	pace_set(a);
	redis_connect(a, now_ns);
	if (a->link.redis)
		redis_exchange(a, now_ns);
	now_ns = fleet_now_ns();
	if (now_ns - a->limits_ns >= LIMITS_NS)
		limits_write(a, now_ns);
	session_exchange(a, now_ns);
	return 0;
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

static int signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Told to leave, the limits hold whole and alone; else to the member's part, until it is back. */
static void agent_end(struct agent *a)
{
	char wrong[LINK_WRONG_MAX];
	bool left = a->session.leave;

	a->session.shared = 0;
	limits_write(a, fleet_now_ns());
	fleet_clear(a->instance, left);
	if (a->link.redis)
		beat(a, true, wrong);
	link_close(&a->link);
	memset(&a->session, 0, sizeof(a->session));
	fleet_session_write(a->instance, &a->session);
}

static int agent_begin(struct agent *a)
{
	uint64_t random;

	a->due = calloc(KEYS_MAX, sizeof(struct fleet_entry *));
	for (int window = 0; window < 2; window++)
		a->ask[window].entries = calloc(KEYS_PER_TICK, sizeof(struct fleet_entry *));
	if (!a->due || !a->ask[0].entries || !a->ask[1].entries || fleet_table_open(&a->table))
		out_of_memory();
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return fail("no random numbers: %s", strerror(errno));
	snprintf(a->token, sizeof(a->token), "%016llx", (unsigned long long)random);
	snprintf(a->keys[0], sizeof(a->keys[0]), "rlctl:{%s}:members", a->options->fleet);
	snprintf(a->keys[1], sizeof(a->keys[1]), "rlctl:{%s}:outage", a->options->fleet);
	snprintf(a->keys[2], sizeof(a->keys[2]), "rlctl:{%s}:capacity", a->options->fleet);
	a->session.pid = getpid();
	a->session.members = a->pace.members;
	snprintf(a->session.fleet, RL_FLEET_NAME, "%s", a->options->fleet);
	snprintf(a->session.node, RL_FLEET_NAME, "%s", a->options->node);
	return policy_take(a) ? -1 : 0;
}

static void agent_free(struct agent *a)
{
	fleet_maps_close(&a->maps);
	fleet_table_close(&a->table);
	free(a->limits);
	free(a->due);
	free(a->ask[0].entries);
	free(a->ask[1].entries);
}

int fleet_run(const struct instance *instance, const struct fleet_options *options)
{
	struct agent agent = {
		.instance = instance,
		.options = options,
		.maps = {.keys = -1, .events = -1},
		.most = KEYS_USUAL,
		.pace = {.interval_ns = options->interval_ns, .members = 1},
	};
	int signals = signals_open(), ret = signals < 0 ? -1 : 0;
	uint64_t next_ns = fleet_now_ns();
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	agent.session.since_ns = now.tv_sec * NS_PER_SECOND + now.tv_nsec;
	if (!ret)
		ret = agent_begin(&agent);
	while (!ret && !agent.ending) {
		ret = tick(&agent);
		next_ns += options->interval_ns;
		if (next_ns < fleet_now_ns())
			next_ns = fleet_now_ns();
		if (!ret && !agent.ending)
			wait_for(&agent, signals, next_ns);
	}
	if (!ret)
		agent_end(&agent);
	agent_free(&agent);
	if (signals >= 0)
		close(signals);
	return ret;
}
