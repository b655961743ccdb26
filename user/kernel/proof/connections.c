// SPDX-License-Identifier: GPL-2.0-only
/* Each instance has programs of its own, pinned among its pins: where these are gone, so are the
 * programs. Whatever is missing of them is made anew, with counts that begin at none; the epoch
 * keeps programs out that the kernel has not taken away yet.
 *
 * A limit has a place in the table from before its policy comes into force. A recount of all
 * sockets counts those that are open then, at least twice: a list may miss a socket while others
 * leave its chain, and one that is seen for the first time is counted by the next. A socket is
 * counted once under a limit, however often it is met. A limit that ends stops counting, then a
 * recount takes its counts away, then its place is free. Where a process is killed in between, the
 * next one goes on.
 */

#include "kernel/proof/connections.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
#include "kernel/maps/readers.h"
#include "kernel/policy/header_in_force.h"
#include "kernel/policy/policy_read.h"
#include "kernel/proof/recount.h"
#include "kernel/proof/tcp_sockets.h"
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

/* ---- programs */

enum program { PROGRAM_STATE, PROGRAM_STATE_AGAIN, PROGRAM_RECOUNT, PROGRAM_COUNT };

static const char *const pin_names[PROGRAM_COUNT] = {"connections-state", "connections-state_again",
						     "connections-recount"};

/* A former rlctl pins it, and its other programs are not these. */
static const char iterator_pin[] = "connections-walk";

static bool programs_are_there(const struct instance *instance)
{
	CLOSED int iterator = pin_open_at(instance->path, iterator_pin, true);

	if (iterator >= 0)
		return false;
	for (size_t i = 0; i < PROGRAM_COUNT; i++) {
		CLOSED int fd = pin_open_at(instance->path, pin_names[i], true);

		if (fd < 0)
			return false;
	}
	return true;
}

static void programs_unpin(const struct instance *instance)
{
	for (size_t i = 0; i < PROGRAM_COUNT; i++)
		pin_remove(instance->path, pin_names[i]);
	pin_remove(instance->path, iterator_pin);
}

/* The link stays when it is closed, as the program does. */
static int program_attach(const struct instance *instance, enum program program,
			  const struct bpf_program *loaded)
{
	struct bpf_link *link = bpf_program__attach_trace(loaded);
	int ret = link ? pin_make(instance->path, pin_names[program], bpf_link__fd(link)) : -errno;

	bpf_link__destroy(link);
	return ret;
}

static int programs_attach(const struct instance *instance, struct connections_bpf *skel)
{
	int ret = connections_bpf__load(skel);

	if (!ret)
		ret = pin_make(instance->path, pin_names[PROGRAM_RECOUNT],
			       bpf_program__fd(skel->progs.rlctl_recount));
	if (!ret)
		ret = program_attach(instance, PROGRAM_STATE, skel->progs.rlctl_state);
	if (!ret)
		ret = program_attach(instance, PROGRAM_STATE_AGAIN, skel->progs.rlctl_state_again);
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

static int counts_reset(const struct instance *instance, const struct counts *counts)
{
	struct rl_connections *all = counts->all;
	int ret;

	__atomic_store_n(&all->epoch, all->epoch + 1, __ATOMIC_SEQ_CST);
	ret = readers_wait();
	if (ret)
		return ret;
	memset(all->limit, 0, counts->size - offsetof(struct rl_connections, limit));
	memcpy(all->seed, instance->info.hot_seed, sizeof(all->seed));
	return 0;
}

/* All programs and counts anew. */
static int programs_renew(const struct instance *instance, const struct counts *counts)
{
	uint32_t raised;
	int ret = -EPERM;

	programs_unpin(instance);
	if (!privileges_raise(PRIVILEGES_PROGRAM, &raised)) {
		fail("%s: counting open connections needs CAP_SYS_ADMIN, CAP_NET_ADMIN and "
		     "CAP_PERFMON: run it as root (sudo)",
		     instance->device);
	} else {
		ret = counts_reset(instance, counts);
		if (!ret)
			ret = programs_make(instance, counts);
		if (ret) {
			programs_unpin(instance);
			fail("%s: this kernel does not let rlctl count open connections (%s): that "
			     "takes a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_EVENTS: limit "
			     "new connections instead, for example with tcp syn limit 50/second",
			     instance->device, strerror(-ret));
		}
	}
	privileges_lower(raised);
	return ret;
}

static int recount(const struct instance *instance)
{
	CLOSED int fd = pin_open_at(instance->path, pin_names[PROGRAM_RECOUNT], true);

	return fd < 0 ? fd : sockets_recount(fd);
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
#define FREE_STILL    3       /* tries after which nothing was taken away: give up */
#define FREE_PAUSE_NS 5000000 /* between them */

static uint64_t counts_of(const struct rl_connection_limit *limits, const bool which[])
{
	uint64_t open = 0;

	for (int i = 0; i < RL_CONNECTION_PLACES; i++)
		if (which[i])
			open += __atomic_load_n(&limits[i].open, __ATOMIC_SEQ_CST);
	return open;
}

/* Until nothing is counted under them, if that may be: the kernel makes a socket unfindable just
 * before its end is counted. */
static int counts_take(const struct instance *instance, const struct rl_connection_limit *limits,
		       const bool which[])
{
	const struct timespec pause = {.tv_nsec = FREE_PAUSE_NS};
	uint64_t left = UINT64_MAX;

	for (int tries = 0, still = 0; tries < FREE_TRIES && still < FREE_STILL; tries++) {
		int ret = recount(instance);
		uint64_t open = counts_of(limits, which);

		if (ret || !open)
			return ret;
		still = open < left ? 0 : still + 1;
		left = open;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Limits that neither policy has give their places back, once nothing is counted under them. One
 * that stays is looked at again with the next policy. */
static int places_free(const struct instance *instance, const struct counts *counts,
		       const struct policy *a, const struct policy *b)
{
	bool ends[RL_CONNECTION_PLACES] = {0}, any = false;
	struct rl_connection_limit *limit = counts->all->limit;
	int ret;

	for (int i = 0; i < RL_CONNECTION_PLACES; i++) {
		ends[i] = limit[i].limit_id && !policy_has_limit(a, limit[i].limit_id) &&
			  !policy_has_limit(b, limit[i].limit_id);
		any |= ends[i];
		if (ends[i])
			__atomic_store_n(&limit[i].counts, 0, __ATOMIC_SEQ_CST);
	}
	if (!any)
		return 0;
	ret = counts_take(instance, limit, ends);
	for (int i = 0; i < RL_CONNECTION_PLACES; i++)
		if (!ret && ends[i] && !__atomic_load_n(&limit[i].open, __ATOMIC_SEQ_CST))
			__atomic_store_n(&limit[i].limit_id, 0, __ATOMIC_SEQ_CST);
	return ret ? ret : readers_wait();
}

/* Does the place count what the limit counts? Else it is of a policy that never came into force,
 * whose limit had the same id. */
static bool place_is_of(const struct rl_connection_limit *place,
			const struct rl_connection_limit *limit)
{
	struct rl_connection_limit a = *place;

	a.counts = limit->counts;
	a.open = limit->open;
	return !memcmp(&a, limit, sizeof(a));
}

/* -ENOSPC: no place is free, or a limit finds another one in its place. A program sees the id of a
 * limit after what it counts. */
static int limits_place(const struct instance *instance, const struct counts *counts,
			const struct policy *policy)
{
	struct rl_connection_limit *places = counts->all->limit;
	uint32_t ids[RL_CONNECTION_PLACES] = {0};
	bool any = false;
	int ret;

	policy_for_each (policy, rule) {
		struct rl_connection_limit limit, *place;
		int at = 0;

		if (!rule_limits_connections(rule))
			continue;
		place = place_find(counts, rule->limit_id);
		connection_limit_compile(rule, instance->info.by_dest, &limit);
		if (place && !place_is_of(place, &limit))
			return -ENOSPC;
		if (place) {
			__atomic_store_n(&place->counts, 1, __ATOMIC_SEQ_CST);
			continue;
		}
		while (at < RL_CONNECTION_PLACES && (places[at].limit_id || ids[at]))
			at++;
		if (at == RL_CONNECTION_PLACES)
			return -ENOSPC;
		ids[at] = limit.limit_id;
		limit.limit_id = 0;
		places[at] = limit;
		any = true;
	}
	ret = any ? readers_wait() : 0;
	for (int i = 0; !ret && i < RL_CONNECTION_PLACES; i++)
		if (ids[i])
			__atomic_store_n(&places[i].limit_id, ids[i], __ATOMIC_SEQ_CST);
	return ret;
}

/* Those in force go on: after a reset in places anew, else in theirs, and others give theirs back.
 */
static int places_make(const struct instance *instance, const struct counts *counts,
		       const struct policy *next, bool reset)
{
	struct policy in_force = {0};
	int ret = 0;

	if (instance_generation(instance))
		ret = instance_policy_read(instance, &in_force);
	if (!ret)
		ret = reset ? limits_place(instance, counts, &in_force)
			    : places_free(instance, counts, &in_force, next);
	if (!ret)
		ret = limits_place(instance, counts, next);
	policy_clear(&in_force);
	return ret;
}

static int limits_put(const struct instance *instance, const struct counts *counts,
		      const struct policy *next, bool reset)
{
	int ret = reset ? -ENOSPC : limits_place(instance, counts, next);

	if (ret == -ENOSPC)
		ret = places_make(instance, counts, next, reset);
	return ret ? ret : recount(instance);
}

static bool has_limits(const struct policy *policy)
{
	policy_for_each (policy, rule)
		if (rule_limits_connections(rule))
			return true;
	return false;
}

/* Before anything is changed. */
static int sockets_need(const struct instance *instance)
{
	int ret = tcp_sockets_read(TCP_LISTEN, 0, NULL, NULL);

	if (ret)
		fail("%s: the kernel does not list its TCP sockets (%s): modprobe tcp_diag, or limit "
		     "new connections instead, for example with tcp syn limit 50/second",
		     instance->device, strerror(-ret));
	return ret;
}

static int counts_begin(const struct instance *instance, const struct counts *counts,
			const struct policy *next)
{
	int ret;

	if (programs_are_there(instance)) {
		ret = limits_put(instance, counts, next, false);
		if (ret != -ENOSPC) /* places that are never given back: all is counted anew */
			return ret;
	}
	ret = programs_renew(instance, counts);
	return ret ? ret : limits_put(instance, counts, next, true);
}

int connections_begin(const struct instance *instance, const struct policy *next)
{
	struct counts counts = {0};
	int ret;

	if (!has_limits(next) || !has_pins(instance))
		return 0;
	ret = sockets_need(instance);
	if (!ret)
		ret = counts_open(instance, false, &counts);
	if (ret)
		return ret;
	ret = counts_begin(instance, &counts, next);
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
		programs_unpin(instance);
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
