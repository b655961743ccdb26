// SPDX-License-Identifier: GPL-2.0-only
/* A packet changes an alarm only after the end of its tenth, and only the packet that has taken
 * next_ns for ~0 does (bpf/limit/alarm.h). So the tenth is made endless first; when no packet is at
 * the states after that, none will change this one, and it is written. Nothing is held meanwhile: a
 * command that is killed on the way leaves an alarm that is on until somebody turns it off, or one
 * that is off. Two commands exclude each other by the writers' lock.
 *
 * Race: who reads the alarms at that moment may see it turned on or off with the former number of
 * changes, or the reverse; the next reading has both.
 */
#include "kernel/state/alarm_pull.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/policy/policy_read.h"
#include "rlctl_abi.h"

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

static int number_find(const struct rl_alarms *all, const char *name)
{
	for (uint32_t i = 0; i < RL_ALARMS_MAX && i < all->count; i++)
		if (all->alarm[i].manual && !strncmp(all->alarm[i].name, name, RL_ALARM_NAME_MAX))
			return (int)i;
	return -ENOENT;
}

int alarm_pull(const struct instance *instance, const struct alarm_pull *pull, bool *was_on)
{
	uint64_t now_ns = instance->clock_injected ? instance->now_ns : clock_ns(CLOCK_MONOTONIC);
	struct rl_policy_header header;
	struct rl_alarms *all = MAP_FAILED;
	int fd, number, ret = policy_header_read(instance, &header);

	if (ret)
		return ret;
	fd = inner_open(instance, instance->fd.alarms, header.half);
	if (fd < 0)
		return fd;
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ret = all == MAP_FAILED ? -errno : 0;
	close(fd);
	if (ret)
		return ret;
	number = number_find(all, pull->name);
	ret = number < 0 ? number
			 : state_write(all, (uint32_t)number, header.guards, now_ns, pull, was_on);
	munmap(all, sizeof(*all));
	return ret;
}
