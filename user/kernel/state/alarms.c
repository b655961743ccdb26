// SPDX-License-Identifier: GPL-2.0-only
/* The alarms of an instance, as they stand now. */

#include "kernel/state/alarms.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "algorithm/alarm.h"
#include "base/units.h"
#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/policy/header_in_force.h"
#include "kernel/scope.h"
#include "kernel/state/alarm_maps.h"

#define READ_RETRIES 100

/* The state of an alarm that no packet has met since attach begins with the first. */
static void alarm_tell(struct rl_alarm *alarm, uint64_t now_ns, uint64_t counted,
		       struct alarm_now *out)
{
	const struct rl_alarm_state *s = &alarm->state;
	const struct rl_alarm_phase *phase;

	if (s->tenth_began_ns)
		alarm_advance(&alarm->state, alarm, now_ns, counted);
	/* The rate of the last tenth that has ended: just after a change it was of the other
	 * condition. */
	phase = &alarm->phase[(s->on ^ (s->since_ns && s->since_ns == s->tenth_began_ns)) & 1];
	*out = (struct alarm_now){
		.on = s->on,
		.since_ns = s->since_ns,
		.changes = s->changes,
		.counted = counted,
		.rate = (double)s->last * NS_PER_SECOND / (double)phase->tenth_ns,
		.manual = alarm->manual,
		.unit = alarm->unit,
		.phase = {alarm->phase[0], alarm->phase[1]},
	};
	if (alarm->manual && s->on && alarm->phase[1].tenth_ns != RL_ALARM_NEVER)
		out->ends_ns = alarm_next(s, alarm);
	memcpy(out->name, alarm->name, sizeof(out->name) - 1);
	memcpy(out->comment, alarm->comment, sizeof(out->comment) - 1);
}

static int read_once(const struct instance *instance, struct compiled *read, struct alarms_now *out)
{
	uint64_t sums[RL_ALARMS_MAX];
	/* First: what is counted after a copy is no silence. As packets see it, whose clock is late
	 * by up to a tick: nothing is reported before it is so. */
	uint64_t now_ns =
		instance_now(instance) - (instance->clock_injected ? 0 : instance->info.tick_ns);
	int ret = alarms_get(instance, read);

	if (ret || !read->alarms)
		return ret;
	ret = alarm_counts_sum(instance, read->header.half, sums);
	if (!ret && read->alarms->count > RL_ALARMS_MAX)
		ret = -EBADMSG;
	for (uint32_t i = 0; !ret && i < read->alarms->count; i++)
		alarm_tell(&read->alarms->alarm[i], now_ns, sums[i], &out->alarm[i]);
	if (!ret)
		out->count = read->alarms->count;
	return ret;
}

/* If another process wrote a policy meanwhile, reads again. */
int alarms_read(const struct instance *instance, struct alarms_now *out)
{
	int ret = -EAGAIN;

	for (int i = 0; i < READ_RETRIES; i++) {
		struct compiled read = {0};
		struct rl_policy_header after;
		uint64_t written;

		memset(out, 0, sizeof(*out));
		ret = policy_header_read(instance, &read.header);
		if (ret == -ENOENT) /* none was written yet */
			return 0;
		if (ret)
			return ret;
		written = read.header.written;
		ret = read_once(instance, &read, out);
		compiled_clear(&read);
		if (!policy_header_read(instance, &after) && after.written == written)
			return ret;
	}
	return -EAGAIN;
}

int alarms_restart(const struct instance *instance)
{
	struct compiled fresh = {0};
	int ret = policy_header_read(instance, &fresh.header);

	if (!ret)
		ret = alarms_get(instance, &fresh);
	for (uint32_t i = 0; !ret && fresh.alarms && i < fresh.alarms->count; i++)
		fresh.alarms->alarm[i].state = (struct rl_alarm_state){0};
	if (!ret && fresh.alarms) {
		fresh.alarms->on = 0;
		fresh.alarms->uneasy_ns = 0;
		fresh.alarms->next_ns = 0;
		ret = alarms_go_on(instance, &fresh);
	}
	compiled_clear(&fresh);
	return ret;
}

/* ---- turning a manual alarm on and off
 *
 * A packet changes an alarm only after the end of its tenth, and only the packet that has taken
 * next_ns for ~0 does (bpf/limit/alarm.h). So the tenth is made endless first; when no packet is at
 * the states after that, none will change this one, and it is written. Nothing is held meanwhile: a
 * command that is killed on the way leaves an alarm that is on until somebody turns it off, or one
 * that is off. Two commands exclude each other by the writers' lock.
 *
 * Race: who reads the alarms at that moment may see it turned on or off with the former number of
 * changes, or the reverse; the next reading has both.
 */

#define TAKEN      (~0ull) /* of next_ns: a packet is at the states */
#define WAIT_NS    20000
#define WAIT_TRIES 5000 /* a tenth of a second */

static uint64_t load(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void store(__u64 *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* Waits until no packet is at the states. Returns next_ns; TAKEN: in vain. */
static uint64_t packets_leave(const struct rl_alarms *all)
{
	const struct timespec pause = {.tv_nsec = WAIT_NS};
	uint64_t next_ns = load(&all->next_ns);

	for (int i = 0; next_ns == TAKEN && i < WAIT_TRIES; i++) {
		nanosleep(&pause, NULL);
		next_ns = load(&all->next_ns);
	}
	return next_ns;
}

/* The next packet looks at all alarms anew. */
static int packets_look(struct rl_alarms *all)
{
	for (int i = 0; i < WAIT_TRIES; i++) {
		__u64 next_ns = packets_leave(all);

		if (next_ns != TAKEN &&
		    __atomic_compare_exchange_n(&all->next_ns, &next_ns, 0, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return 0;
	}
	return -EBUSY;
}

static void turn(struct rl_alarm_state *s, bool on, uint64_t at_ns)
{
	if (s->on == on)
		return;
	s->since_ns = at_ns;
	s->changes++;
	__atomic_store_n(&s->on, on, __ATOMIC_SEQ_CST);
}

/* No packet changes the alarm from here on, until its tenth may end again. */
static int state_hold(struct rl_alarms *all, struct rl_alarm *alarm, uint64_t now_ns)
{
	struct rl_alarm_state *s = &alarm->state;
	uint64_t tenth_ns = alarm->phase[1].tenth_ns;

	store(&alarm->phase[1].tenth_ns, RL_ALARM_NEVER);
	if (!s->tenth_began_ns) /* else the first packet begins it */
		store(&s->tenth_began_ns, now_ns);
	if (packets_leave(all) == TAKEN) {
		store(&alarm->phase[1].tenth_ns, tenth_ns);
		return -EBUSY;
	}
	if (now_ns - s->tenth_began_ns >= tenth_ns) /* it has ended, without a packet */
		turn(s, false, s->tenth_began_ns + tenth_ns);
	return 0;
}

static int state_write(struct rl_alarms *all, uint32_t number, uint32_t guards, uint64_t now_ns,
		       const struct alarm_pull *pull, bool *was_on)
{
	struct rl_alarm *alarm = &all->alarm[number];
	int ret = state_hold(all, alarm, now_ns);

	if (ret)
		return ret;
	*was_on = alarm->state.on;
	turn(&alarm->state, pull->on, now_ns);
	store(&alarm->state.tenth_began_ns, now_ns);
	alarm->phase[1].for_ns = pull->for_ns;
	if (pull->for_ns)
		store(&alarm->phase[1].tenth_ns, pull->for_ns);
	/* Until when the guards are uneasy is said anew by the next packet. */
	if (guards >> number & 1 && load(&all->uneasy_ns) > now_ns)
		store(&all->uneasy_ns, now_ns);
	return packets_look(all);
}

int alarm_pull(const struct instance *instance, const struct alarm_pull *pull, bool *was_on)
{
	uint64_t now_ns = instance_now(instance);
	struct rl_policy_header header;
	struct rl_alarms *all;
	int ret = policy_header_read(instance, &header);

	if (ret)
		return ret;
	CLOSED int fd = inner_open(instance, instance->fd.alarms, header.half);
	if (fd < 0)
		return fd;
	all = map_whole(fd, sizeof(*all), PROT_READ | PROT_WRITE);
	if (!all)
		return -errno;
	ret = -ENOENT;
	for (uint32_t i = 0; ret == -ENOENT && i < RL_ALARMS_MAX && i < all->count; i++)
		if (all->alarm[i].manual &&
		    !strncmp(all->alarm[i].name, pull->name, RL_ALARM_NAME_MAX))
			ret = state_write(all, i, header.guards, now_ns, pull, was_on);
	munmap(all, sizeof(*all));
	return ret;
}

static enum alarm_is live_state(const char *name, void *arg)
{
	const struct alarms_now *now = arg;

	for (uint32_t i = 0; i < now->count; i++)
		if (!strcmp(now->alarm[i].name, name))
			return now->alarm[i].on ? ALARM_IS_ON : ALARM_IS_OFF;
	return ALARM_IS_UNKNOWN;
}

void alarm_live_read(const struct instance *instance, struct alarm_live *out)
{
	out->states = (struct alarm_states){.of = live_state, .arg = &out->now};
	if (alarms_read(instance, &out->now))
		out->now.count = 0;
}
