// SPDX-License-Identifier: GPL-2.0-only
/* The sets of a policy in the maps: their groups and words come and go with the policy, and their
 * members stay as long as a policy in force has a set of that name.
 */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/scope.h"
#include "kernel/sets/sets.h"

/* ---- reading */

int set_groups_read(const struct instance *instance, struct compiled *out)
{
	if (!(out->header.uses & RL_USE_SETS))
		return 0;
	CLOSED int fd = inner_open(instance, instance->fd.set_groups, out->header.half);
	if (fd < 0)
		return fd;
	out->groups = calloc(1, sizeof(*out->groups));
	return out->groups ? map_get(fd, out->groups) : -ENOMEM;
}

/* ---- writing */

static int pages_copy(int from, int to)
{
	FREED union rl_member_page *page = malloc(sizeof(*page));
	struct rl_member_key key, *last = NULL;
	int ret = page ? 0 : -ENOMEM;

	for (; !ret && !bpf_map_get_next_key(from, last, &key); last = &key) {
		ret = bpf_map_lookup_elem(from, &key, page);
		if (!ret)
			ret = bpf_map_update_elem(to, &key, page, BPF_ANY);
	}
	return ret;
}

/* Makes the map of members, or a larger one in its place. */
static int pages_make(const struct instance *instance, uint32_t pages)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	CLOSED int old = inner_open(instance, instance->fd.members, 0);
	struct bpf_map_info info;
	int ret;

	if (old >= 0 && !map_info(old, &info) && info.max_entries >= pages)
		return 0;
	if (old < 0 && old != -ENOENT)
		return old;
	CLOSED int new =
		bpf_map_create(BPF_MAP_TYPE_HASH, "rlctl_members", sizeof(struct rl_member_key),
			       sizeof(union rl_member_page), pages, &opts);
	ret = new < 0 ? new : old >= 0 ? pages_copy(old, new) : 0;
	return ret ? ret : inner_put(instance, instance->fd.members, 0, new);
}

/* The elements whose names or capacities differ from the policy's. */
static int sets_note(const struct instance *instance, const struct rl_set_groups *groups,
		     struct rl_set *sets, bool in_force)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_sets);
	int ret = fd < 0 ? fd : 0;

	for (uint32_t i = 0; !ret && i < RL_SETS_MAX; i++) {
		const struct rl_set_words *words = &groups->words[i];

		if (!words->name[0] ||
		    (sets[i].name[0] && (!in_force || sets[i].max == words->max)))
			continue;
		memcpy(sets[i].name, words->name, sizeof(sets[i].name));
		sets[i].max = words->max;
		ret = bpf_map_update_elem(fd, &i, &sets[i], BPF_ANY);
	}
	return ret;
}

int sets_write(const struct instance *instance, const struct compiled *compiled)
{
	const struct inner_map map = {"rlctl_setgroups", sizeof(*compiled->groups), 0};
	const struct rl_set_groups *groups = compiled->groups;
	struct rl_set sets[RL_SETS_MAX];
	uint64_t members = 0;
	uint32_t pages = 1;
	int ret;

	if (!groups)
		return 0;
	ret = sets_read(instance, sets);
	if (ret)
		return ret;
	/* Pages for twice what the sets may hold, because a swap holds the old members and the new
	 * ones. */
	for (uint32_t i = 0; i < RL_SETS_MAX; i++)
		members += groups->words[i].name[0] ? groups->words[i].max : sets[i].max;
	while (pages < 2 * member_table_pages(members))
		pages *= 2;
	ret = pages_make(instance, pages);
	if (!ret)
		ret = sets_note(instance, groups, sets, false);
	return ret ? ret
		   : inner_make(instance, instance->fd.set_groups, compiled->header.half, &map,
				groups);
}

/* ---- when a policy is in force */

/* Forgets the sets of no policy with their members, packets that they matched included. */
static int sets_forget(const struct instance *instance, const struct rl_set *sets,
		       const struct rl_set_groups *in_force)
{
	struct set_session session;
	uint64_t others = 0;
	int ret, closed;

	for (uint32_t i = 0; i < RL_SETS_MAX; i++)
		if (sets[i].name[0] && !in_force->words[i].name[0])
			others |= 1ull << i;
	if (!others)
		return 0;
	ret = set_session_open(instance, true, &session);
	if (ret)
		return ret;
	for (uint32_t i = 0; !ret && i < RL_SETS_MAX; i++) {
		if (!(others >> i & 1))
			continue;
		ret = member_table_flush(&session.table, i);
		if (!ret) {
			session.sets[i] = (struct rl_set){0};
			ret = set_matched_clear(instance, i);
		}
	}
	closed = set_session_close(&session);
	return ret ? ret : closed;
}

int sets_settle(const struct instance *instance, const struct rl_set_groups *in_force,
		bool maps_stay)
{
	static const struct rl_set_groups none;
	struct rl_set sets[RL_SETS_MAX];
	int ret;

	if (!in_force && !maps_stay) {
		inner_drop(instance, instance->fd.members, 0);
		return 0;
	}
	in_force = in_force ? in_force : &none;
	ret = sets_read(instance, sets);
	if (!ret)
		ret = sets_note(instance, in_force, sets, true);
	return ret ? ret : sets_forget(instance, sets, in_force);
}
