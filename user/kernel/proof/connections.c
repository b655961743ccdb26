// SPDX-License-Identifier: GPL-2.0-only
/* Each instance has programs of its own, pinned as links among its pins: where these are gone, so
 * are the programs. Whatever is missing of them is made anew, with counts that begin at none; the
 * epoch keeps programs out that the kernel has not taken away yet.
 *
 * A limit has a place in the table from before its policy comes into force. A walk
 * through all sockets counts those that are open then, twice, because sockets that leave a chain
 * may hide others from it. A socket is counted once under a limit, however often the walk meets it.
 * A limit that ends stops counting, then a walk takes its counts away, then its place is free.
 * Where a process is killed in between, the next one goes on.
 */

#include "kernel/proof/connections.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "algorithm/connections.h"
#include "base/message.h"
#include "base/privilege.h"
#include "compile/compiled.h"
#include "connections.skel.h"
#include "kernel/device/netns.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/policy_read.h"
#include "kernel/scope.h"

#define SETS_MIN 2u
#define SETS_MAX (1u << CONNECTION_COUNT_BITS) /* the rest of a hash is the tag */

uint32_t connection_sets(const struct rl_instance *info)
{
	uint32_t sets = SETS_MIN;

	while (sets * RL_CONNECTION_WAYS < info->sources && sets < SETS_MAX)
		sets *= 2;
	return sets;
}

/* The table of an instance, mapped, or a copy. */
struct counts {
	struct rl_connections *all;
	size_t size;
	int fd;
	bool copied;
};

/* A reader may not map it, and gets a copy. */
static int counts_open(const struct instance *instance, bool copy, struct counts *out)
{
	out->copied = copy;
	out->size = RL_CONNECTIONS_SIZE(connection_sets(&instance->info));
	out->fd = policy_map_open(instance, POLICY_MAP_connections);
	if (out->fd < 0)
		return out->fd;
	out->all = copy ? malloc(out->size) : map_whole(out->fd, out->size, PROT_READ | PROT_WRITE);
	if (out->all && !(copy && map_get(out->fd, out->all)))
		return 0;
	if (copy)
		free(out->all);
	close(out->fd);
	return -ENOMEM;
}

static void counts_close(struct counts *counts)
{
	if (counts->copied)
		free(counts->all);
	else
		munmap(counts->all, counts->size);
	close(counts->fd);
}

/* No packet and no program reads halfway through what is before or after it. */
static void readers_wait(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

/* ---- links */

enum link { LINK_STATE, LINK_STATE_AGAIN, LINK_WALK, LINK_COUNT };

static const char *const link_names[LINK_COUNT] = {"connections-state", "connections-state_again",
						   "connections-walk"};
static bool links_are_there(const struct instance *instance)
{
	for (size_t i = 0; i < LINK_COUNT; i++) {
		CLOSED int fd = pin_open_at(instance->path, link_names[i], true);

		if (fd < 0)
			return false;
	}
	return true;
}

static void links_unpin(const struct instance *instance)
{
	for (size_t i = 0; i < LINK_COUNT; i++)
		pin_remove(instance->path, link_names[i]);
}

/* made: NULL with errno, or a link, whose program stays when it is closed. */
static int link_make(const struct instance *instance, enum link link, struct bpf_link *made)
{
	int ret = made ? pin_make(instance->path, link_names[link], bpf_link__fd(made)) : -errno;

	bpf_link__destroy(made);
	return ret;
}

static int programs_attach(const struct instance *instance, struct connections_bpf *skel)
{
	int ret = connections_bpf__load(skel);

	if (!ret)
		ret = link_make(instance, LINK_WALK,
				bpf_program__attach_iter(skel->progs.rlctl_walk, NULL));
	if (!ret)
		ret = link_make(instance, LINK_STATE,
				bpf_program__attach_trace(skel->progs.rlctl_state));
	if (!ret)
		ret = link_make(instance, LINK_STATE_AGAIN,
				bpf_program__attach_trace(skel->progs.rlctl_state_again));
	return ret;
}

static int programs_make(const struct instance *instance, const struct counts *counts)
{
	struct connections_bpf *skel = connections_bpf__open();
	__u64 cookie = 0;
	int ret;

	if (!skel)
		return -ENOMEM;
	ret = netns_cookie_read(&cookie);
	if (!ret) {
		skel->rodata->netns_cookie = cookie;
		skel->rodata->epoch = counts->all->epoch;
		skel->rodata->set_mask = connection_sets(&instance->info) - 1;
		ret = bpf_map__set_value_size(skel->maps.counts, counts->size);
	}
	if (!ret)
		ret = bpf_map__reuse_fd(skel->maps.counts, counts->fd);
	if (!ret)
		ret = programs_attach(instance, skel);
	connections_bpf__destroy(skel);
	return ret;
}

static void counts_reset(const struct instance *instance, const struct counts *counts)
{
	struct rl_connections *all = counts->all;

	__atomic_store_n(&all->epoch, all->epoch + 1, __ATOMIC_SEQ_CST);
	readers_wait();
	memset(all->limit, 0, counts->size - offsetof(struct rl_connections, limit));
	memcpy(all->seed, instance->info.hot_seed, sizeof(all->seed));
}

static int programs_need(const struct instance *instance, const struct counts *counts)
{
	uint32_t raised;
	int ret = -EPERM;

	if (links_are_there(instance))
		return 0;
	links_unpin(instance);
	counts_reset(instance, counts);
	if (!privileges_raise(PRIVILEGES_PROGRAM, &raised)) {
		fail("%s: counting open connections needs CAP_SYS_ADMIN, CAP_NET_ADMIN and "
		     "CAP_PERFMON: run it as root (sudo)",
		     instance->device);
	} else {
		ret = programs_make(instance, counts);
		if (ret) {
			links_unpin(instance);
			fail("%s: this kernel does not let rlctl count open connections (%s): that "
			     "takes a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_EVENTS: limit "
			     "new connections instead, for example with tcp syn limit 50/second",
			     instance->device, strerror(-ret));
		}
	}
	privileges_lower(raised);
	return ret;
}

/* ---- the walk */

static int walk_once(const struct instance *instance)
{
	CLOSED int link = pin_open_at(instance->path, link_names[LINK_WALK], true);
	CLOSED int fd = link < 0 ? link : bpf_iter_create(link);
	char nothing[64];
	int ret;

	if (fd < 0)
		return fd;
	do
		ret = read(fd, nothing, sizeof(nothing)) < 0 ? -errno : 0;
	while (ret == -EAGAIN); /* it lets others run after a million sockets */
	return ret;
}

static int walk(const struct instance *instance)
{
	int ret = walk_once(instance);

	readers_wait();
	return ret ? ret : walk_once(instance);
}

/* ---- limits */

static struct rl_connection_limit *place_find(const struct counts *counts, uint32_t limit_id)
{
	for (int i = 0; i < RL_CONNECTION_PLACES; i++)
		if (counts->all->limit[i].limit_id == limit_id)
			return &counts->all->limit[i];
	return NULL;
}

static bool policy_has_limit(const struct policy *policy, uint32_t limit_id)
{
	policy_for_each (policy, rule)
		if (rule_limits_connections(rule) && rule->limit_id == limit_id)
			return true;
	return false;
}

#define FREE_TRIES    20
#define FREE_PAUSE_NS 5000000 /* between them */

static bool counts_any(const struct rl_connection_limit *limits, const bool which[])
{
	for (int i = 0; i < RL_CONNECTION_PLACES; i++)
		if (which[i] && __atomic_load_n(&limits[i].open, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

/* Limits that neither policy has give their places back, once nothing is counted under them: the
 * kernel takes a socket from the walk's sight just before its end is counted. One that stays is
 * looked at again with the next policy. */
static int places_free(const struct instance *instance, const struct counts *counts,
		       const struct policy *a, const struct policy *b)
{
	const struct timespec pause = {.tv_nsec = FREE_PAUSE_NS};
	bool ends[RL_CONNECTION_PLACES] = {0}, any = false;
	struct rl_connection_limit *limit = counts->all->limit;
	int ret = 0;

	for (int i = 0; i < RL_CONNECTION_PLACES; i++) {
		ends[i] = limit[i].limit_id && !policy_has_limit(a, limit[i].limit_id) &&
			  !policy_has_limit(b, limit[i].limit_id);
		any |= ends[i];
		if (ends[i])
			__atomic_store_n(&limit[i].counts, 0, __ATOMIC_SEQ_CST);
	}
	if (!any)
		return 0;
	readers_wait();
	for (int tries = 0; !ret && tries < FREE_TRIES; tries++) {
		if (tries)
			nanosleep(&pause, NULL);
		ret = walk(instance);
		if (!counts_any(limit, ends))
			break;
	}
	for (int i = 0; i < RL_CONNECTION_PLACES; i++)
		if (!ret && ends[i] && !__atomic_load_n(&limit[i].open, __ATOMIC_SEQ_CST))
			__atomic_store_n(&limit[i].limit_id, 0, __ATOMIC_SEQ_CST);
	readers_wait();
	return ret;
}

static bool lacks_places(const struct counts *counts, const struct policy *next)
{
	int left = 0;

	for (int i = 0; i < RL_CONNECTION_PLACES; i++)
		left += !counts->all->limit[i].limit_id;
	policy_for_each (next, rule)
		left -= rule_limits_connections(rule) && !place_find(counts, rule->limit_id);
	return left < 0;
}

/* Those of a trial that was confirmed, or of a policy whose process was killed. */
static int places_make(const struct instance *instance, const struct counts *counts,
		       const struct policy *next)
{
	struct policy in_force = {0};
	int ret = lacks_places(counts, next) ? instance_policy_read(instance, &in_force) : 0;

	if (!ret && lacks_places(counts, next))
		ret = places_free(instance, counts, &in_force, next);
	policy_clear(&in_force);
	return ret ? ret : lacks_places(counts, next) ? -ENOSPC : 0;
}

static void limit_put(const struct instance *instance, const struct counts *counts,
		      const struct rule *rule)
{
	struct rl_connection_limit *place = place_find(counts, rule->limit_id), limit;

	if (place) {
		__atomic_store_n(&place->counts, 1, __ATOMIC_SEQ_CST);
		return;
	}
	place = place_find(counts, 0);
	if (!place)
		return;
	connection_limit_compile(rule, instance->info.by_dest, &limit);
	limit.limit_id = 0;
	*place = limit;
	__atomic_store_n(&place->limit_id, rule->limit_id, __ATOMIC_SEQ_CST);
}

static int limits_put(const struct instance *instance, const struct counts *counts,
		      const struct policy *next)
{
	int ret = places_make(instance, counts, next);

	if (ret)
		return ret;
	policy_for_each (next, rule)
		if (rule_limits_connections(rule))
			limit_put(instance, counts, rule);
	readers_wait();
	return walk(instance);
}

static bool has_limits(const struct policy *policy)
{
	policy_for_each (policy, rule)
		if (rule_limits_connections(rule))
			return true;
	return false;
}

int connections_begin(const struct instance *instance, const struct policy *next)
{
	struct counts counts = {0};
	int ret;

	if (!has_limits(next) || !has_pins(instance))
		return 0;
	ret = counts_open(instance, false, &counts);
	if (ret)
		return ret;
	ret = programs_need(instance, &counts);
	if (!ret)
		ret = limits_put(instance, &counts, next);
	if (ret == -ENOSPC) { /* places that are never given back: all is counted anew */
		links_unpin(instance);
		ret = programs_need(instance, &counts);
		if (!ret)
			ret = limits_put(instance, &counts, next);
	}
	counts_close(&counts);
	return ret;
}

void connections_settle(const struct instance *instance, const struct policy *in_force)
{
	struct counts counts = {0};

	if (!has_limits(in_force) || !has_pins(instance) || counts_open(instance, false, &counts))
		return;
	places_free(instance, &counts, in_force, in_force);
	counts_close(&counts);
}

void connections_end(const struct instance *instance)
{
	if (has_pins(instance))
		links_unpin(instance);
}

/* Two keys of one tag in a set are one, and a key to which two CPUs gave two ways is two. */
static uint64_t keys_of(const struct counts *counts, uint32_t sets)
{
	uint64_t keys = 0;

	for (uint32_t i = 0; i < sets; i++)
		for (int way = 0; way < RL_CONNECTION_WAYS; way++)
			keys += (counts->all->set[i].way[way] & CONNECTION_COUNT) > 0;
	return keys;
}

int connections_read(const struct instance *instance, const struct policy *policy,
		     struct connections_now *out)
{
	struct counts counts = {0};
	uint64_t *open;
	int ret;

	*out = (struct connections_now){0};
	if (!has_limits(policy))
		return 0;
	ret = counts_open(instance, true, &counts);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	open = calloc(policy->count, sizeof(*open));
	for (size_t i = 0; open && i < policy->count; i++) {
		const struct rl_connection_limit *place =
			rule_limits_connections(&policy->rules[i])
				? place_find(&counts, policy->rules[i].limit_id)
				: NULL;

		open[i] = place ? __atomic_load_n(&place->open, __ATOMIC_RELAXED) : 0;
	}
	*out = (struct connections_now){open, keys_of(&counts, connection_sets(&instance->info)),
					counts.all->unseen};
	counts_close(&counts);
	return open ? 0 : -ENOMEM;
}

/* The addresses and the port of a key, without what it does not count. */
static struct connection connection_of(const struct rule *rule, const struct rl_state_key *key)
{
	bool dest = parts_begin_with_dest(key_parts(&rule->limit));
	struct connection c = {.dport = key->dport};

	memcpy(dest ? c.dst : c.src, key->addr, sizeof(c.src));
	if (!dest)
		memcpy(c.dst, key->peer, sizeof(c.dst));
	return c;
}

int connections_of_key(const struct instance *instance, const struct rule *rule,
		       const struct rl_state_key *key, uint64_t *out)
{
	uint64_t mask = connection_sets(&instance->info) - 1, hash;
	struct connection c = connection_of(rule, key);
	struct counts counts = {0};
	int ret = counts_open(instance, true, &counts);

	*out = 0;
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	hash = connection_hash(counts.all->seed, rule->limit_id, &rule->limit, &c);
	for (int second = 0; second < 2; second++)
		*out += connection_set_count(
			&counts.all->set[connection_set_of(hash, mask, second)], hash);
	counts_close(&counts);
	return 0;
}
