// SPDX-License-Identifier: GPL-2.0-only
/* The map of bans and the array of their seats, created when a policy first uses bans.
 * bpf/limit/ban.h describes how packets use them. */

#include "kernel/state/bans.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/scope.h"

/* New maps. */
struct ban_maps {
	int bans, seats; /* descriptors */
	uint32_t next;   /* seats in use */
	uint64_t now_ns; /* when they were created */
};

/* Into new maps, if it is in force. */
static int ban_copy(void *arg, const void *key, const void *value)
{
	struct ban_maps *to = arg;
	const struct rl_ban *ban = value;
	struct rl_ban_seat seat = {.until_ns = ban->until_ns,
				   .key = *(const struct rl_state_key *)key};
	struct rl_ban copy = {.until_ns = ban->until_ns, .seat = to->next + 1};
	int ret;

	if (ban->until_ns <= to->now_ns)
		return 0;
	ret = bpf_map_update_elem(to->bans, key, &copy, BPF_ANY);
	if (!ret)
		ret = bpf_map_update_elem(to->seats, &copy.seat, &seat, BPF_ANY);
	to->next += !ret;
	return ret;
}

/* Creates maps for `count` bans and copies those in force. Call while packets find no seats. Seats
 * are put in place last: without them no ban begins, and a writer that finds none creates the maps
 * again. */
static int bans_build(const struct instance *instance, uint32_t count)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP);
	CLOSED int bans =
		bpf_map_create(BPF_MAP_TYPE_HASH, "rlctl_bans", sizeof(struct rl_state_key),
			       sizeof(struct rl_ban), count, NULL);
	CLOSED int seats = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_seats", sizeof(uint32_t),
					  sizeof(struct rl_ban_seat), count + 1, &opts);
	struct ban_maps maps = {.bans = bans, .seats = seats, .now_ns = instance_now(instance)};
	struct rl_ban_seat hand = {.key.limit_id = count};
	int ret = bans < 0 ? bans : seats < 0 ? seats : 0;

	if (!ret)
		ret = map_walk(inner_open(instance, instance->fd.bans, 0), ban_copy, &maps);
	hand.until_ns = maps.next; /* the clock hand continues after the seats in use */
	if (!ret)
		ret = map_put(seats, &hand);
	if (!ret)
		ret = inner_put(instance, instance->fd.bans, 0, bans);
	return ret ? ret : inner_put(instance, instance->fd.ban_seats, 0, seats);
}

int bans_make(const struct instance *instance)
{
	CLOSED int seats = inner_open(instance, instance->fd.ban_seats, 0);

	if (seats != -ENOENT)
		return seats < 0 ? seats : 0;
	return bans_build(instance, instance->info.bans);
}

int bans_grow(const struct instance *instance, uint32_t count)
{
	CLOSED int seats = inner_open(instance, instance->fd.ban_seats, 0);
	int ret;

	if (seats < 0)
		return seats == -ENOENT ? 0 : seats;
	inner_drop(instance, instance->fd.ban_seats, 0);
	ret = bans_build(instance, count);
	if (ret)
		inner_put(instance, instance->fd.ban_seats, 0, seats);
	return ret == -ENOENT ? 0 : ret;
}

static int is_source_ban(void *now_ns, const void *key, const void *value)
{
	const struct rl_state_key *of = key;
	const struct rl_ban *ban = value;

	return !of->limit_id && ban->until_ns > *(uint64_t *)now_ns;
}

void bans_drop(const struct instance *instance)
{
	uint64_t now_ns = instance_now(instance);

	if (map_walk(inner_open(instance, instance->fd.bans, 0), is_source_ban, &now_ns))
		return;
	inner_drop(instance, instance->fd.ban_seats, 0);
	inner_drop(instance, instance->fd.bans, 0);
}

/* ---- single bans */

uint64_t ban_until(const struct instance *instance, const struct rl_state_key *key)
{
	CLOSED int fd = inner_open(instance, instance->fd.bans, 0);
	struct rl_ban ban = {0};

	if (fd >= 0)
		bpf_map_lookup_elem(fd, key, &ban);
	return ban.until_ns;
}

int ban_forget(const struct instance *instance, const struct rl_state_key *key)
{
	CLOSED int fd = inner_open(instance, instance->fd.bans, 0);
	struct rl_ban_seat seat, none = {0};
	struct rl_ban ban;
	int ret;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (bpf_map_lookup_elem(fd, key, &ban))
		return 0;
	ret = bpf_map_delete_elem(fd, key);
	if (ret && ret != -ENOENT)
		return ret;
	CLOSED int seats = inner_open(instance, instance->fd.ban_seats, 0);
	if (seats >= 0 && ban.seat && !bpf_map_lookup_elem(seats, &ban.seat, &seat) &&
	    !memcmp(&seat.key, key, sizeof(*key)))
		bpf_map_update_elem(seats, &ban.seat, &none, BPF_ANY);
	return 0;
}

/* ---- the seats */

int ban_seats_open(const struct instance *instance, struct ban_seats *out)
{
	int fd = inner_open(instance, instance->fd.ban_seats, 0);
	struct rl_ban_seat hand;
	int ret = fd < 0 ? fd : map_get(fd, &hand);

	if (!ret)
		ret = map_id(fd, &out->id);
	if (ret) {
		scope_fd(&fd);
		return ret;
	}
	out->fd = fd;
	out->count = hand.key.limit_id;
	out->hand = hand.until_ns;
	return 0;
}

int ban_seats_read(const struct ban_seats *seats, uint32_t first, uint32_t count,
		   struct rl_ban_seat *out)
{
	uint32_t before = first - 1, next, n = count;
	FREED uint32_t *numbers = calloc(count, sizeof(*numbers)); /* which are known */
	int ret = numbers ? bpf_map_lookup_batch(seats->fd, &before, &next, numbers, out, &n, NULL)
			  : -ENOMEM;

	return ret && ret != -ENOENT ? ret : n == count ? 0 : -ENOENT;
}
