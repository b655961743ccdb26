// SPDX-License-Identifier: GPL-2.0-only
/* The sets of a policy in the maps: their groups and words come and go with the policy, and their
 * members stay as long as a policy in force has a set of that name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/sets/sets.h"

/* ---- reading */

int set_groups_read(const struct instance *instance, struct compiled *out)
{
	uint32_t zero = 0;
	int fd, ret;

	if (!(out->header.uses & RL_USE_SETS))
		return 0;
	fd = inner_open(instance, instance->fd.set_groups, out->header.half);
	if (fd < 0)
		return fd;
	out->groups = calloc(1, sizeof(*out->groups));
	ret = out->groups ? 0 : -ENOMEM;
	if (!ret && bpf_map_lookup_elem(fd, &zero, out->groups))
		ret = -errno;
	close(fd);
	return ret;
}

/* ---- writing */

/* Pages for twice what the sets may hold, because a swap holds the old members and the new ones. */
static uint32_t pages_wanted(const struct rl_set_groups *groups, const struct rl_set *sets)
{
	uint64_t members = 0;
	uint32_t pages = 1;

	for (uint32_t i = 0; i < RL_SETS_MAX; i++)
		members += groups->words[i].name[0] ? groups->words[i].max : sets[i].max;
	while (pages < 2 * member_table_pages(members))
		pages *= 2;
	return pages;
}

static int pages_copy(int from, int to)
{
	union rl_member_page *page = malloc(sizeof(*page));
	struct rl_member_key key, *last = NULL;
	int ret = page ? 0 : -ENOMEM;

	while (!ret && !bpf_map_get_next_key(from, last, &key)) {
		if (bpf_map_lookup_elem(from, &key, page) ||
		    bpf_map_update_elem(to, &key, page, BPF_ANY))
			ret = -errno;
		last = &key;
	}
	free(page);
	return ret;
}

/* Makes the map of members, or a larger one in its place. */
static int pages_make(const struct instance *instance, uint32_t pages)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int old = inner_open(instance, instance->fd.members, 0), new, ret = 0;
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);

	if (old >= 0 && !bpf_obj_get_info_by_fd(old, &info, &size) && info.max_entries >= pages) {
		close(old);
		return 0;
	}
	if (old < 0 && old != -ENOENT)
		return old;
	new = bpf_map_create(BPF_MAP_TYPE_HASH, "rlctl_members", sizeof(struct rl_member_key),
			     sizeof(union rl_member_page), pages, &opts);
	if (new < 0)
		ret = -errno;
	if (!ret && old >= 0)
		ret = pages_copy(old, new);
	if (!ret)
		ret = inner_put(instance, instance->fd.members, 0, new);
	if (new >= 0)
		close(new);
	if (old >= 0)
		close(old);
	return ret;
}

/* The elements whose names or capacities differ from the policy's. */
static int sets_note(const struct instance *instance, const struct rl_set_groups *groups,
		     struct rl_set *sets, bool in_force)
{
	int fd = policy_map_open(instance, POLICY_MAP_sets), ret = fd < 0 ? fd : 0;

	for (uint32_t i = 0; !ret && i < RL_SETS_MAX; i++) {
		const struct rl_set_words *words = &groups->words[i];

		if (!words->name[0] ||
		    (sets[i].name[0] && (!in_force || sets[i].max == words->max)))
			continue;
		memcpy(sets[i].name, words->name, sizeof(sets[i].name));
		sets[i].max = words->max;
		ret = bpf_map_update_elem(fd, &i, &sets[i], BPF_ANY) ? -errno : 0;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

static int groups_write(const struct instance *instance, const struct compiled *compiled)
{
	uint32_t zero = 0;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_setgroups", sizeof(zero),
				sizeof(*compiled->groups), 1, NULL);
	int ret = fd < 0 ? -errno : 0;

	if (!ret && bpf_map_update_elem(fd, &zero, compiled->groups, BPF_ANY))
		ret = -errno;
	if (!ret)
		ret = inner_put(instance, instance->fd.set_groups, compiled->header.half, fd);
	if (fd >= 0)
		close(fd);
	return ret;
}

int sets_write(const struct instance *instance, const struct compiled *compiled)
{
	struct rl_set sets[RL_SETS_MAX];
	int ret;

	if (!compiled->groups)
		return 0;
	ret = sets_read(instance, sets);
	if (!ret)
		ret = pages_make(instance, pages_wanted(compiled->groups, sets));
	if (!ret)
		ret = sets_note(instance, compiled->groups, sets, false);
	return ret ? ret : groups_write(instance, compiled);
}

/* ---- when a policy is in force */

/* Forgets a set with its members, packets that it matched included. */
static int set_forget(struct set_session *session, uint32_t number)
{
	int ret = member_table_flush(&session->table, number);

	if (!ret)
		session->sets[number] = (struct rl_set){0};
	return ret ? ret : set_matched_clear(session->instance, number);
}

static int sets_forget(const struct instance *instance, const struct rl_set_groups *in_force)
{
	struct set_session session;
	int ret = set_session_open(instance, true, &session), closed;

	if (ret)
		return ret;
	for (uint32_t i = 0; !ret && i < RL_SETS_MAX; i++)
		if (session.sets[i].name[0] && !in_force->words[i].name[0])
			ret = set_forget(&session, i);
	closed = set_session_close(&session);
	return ret ? ret : closed;
}

static bool has_others(const struct rl_set *sets, const struct rl_set_groups *in_force)
{
	for (uint32_t i = 0; i < RL_SETS_MAX; i++)
		if (sets[i].name[0] && !in_force->words[i].name[0])
			return true;
	return false;
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
	if (!ret && has_others(sets, in_force))
		ret = sets_forget(instance, in_force);
	return ret;
}
