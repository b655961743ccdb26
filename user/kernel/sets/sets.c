// SPDX-License-Identifier: GPL-2.0-only
/* A session with the members of an instance's sets: the table's pages are elements of the map
 * `members`, its layout is mapped, and what is known of each set is read first and written at the
 * end.
 */

#include "kernel/sets/sets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "algorithm/member_hash.h"
#include "base/message.h"
#include "kernel/device/cpus.h"
#include "kernel/instance/change.h"
#include "kernel/maps/map.h"
#include "kernel/maps/map_in_map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/header_in_force.h"
#include "kernel/scope.h"
#include "policy/sets/member.h"

int sets_read(const struct instance *instance, struct rl_set out[RL_SETS_MAX])
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_sets);

	memset(out, 0, RL_SETS_MAX * sizeof(*out));
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	return array_read(fd, 0, out, sizeof(*out), RL_SETS_MAX);
}

/* ---- pages */

/* The kernel keeps some free elements for each CPU, and refills them in the background. */
#define WRITE_RETRIES 50
#define RETRY_NS      200000

static int page_read(void *arg, const struct rl_member_key *key, union rl_member_page *page)
{
	const struct set_session *session = arg;

	return bpf_map_lookup_elem(session->members_fd, key, page);
}

static int page_write(void *arg, const struct rl_member_key *key, const union rl_member_page *page)
{
	const struct set_session *session = arg;
	const struct timespec pause = {.tv_nsec = RETRY_NS};
	int ret = -ENOMEM;

	for (int i = 0; (ret == -ENOMEM || ret == -EBUSY) && i < WRITE_RETRIES; i++) {
		if (i)
			nanosleep(&pause, NULL);
		ret = bpf_map_update_elem(session->members_fd, key, page, BPF_ANY);
	}
	return ret;
}

static int page_remove(void *arg, const struct rl_member_key *key)
{
	const struct set_session *session = arg;

	return bpf_map_delete_elem(session->members_fd, key);
}

/* ---- sessions */

static void layout_refresh(void *arg)
{
	const struct set_session *session = arg;

	map_get(session->layout_fd, session->table.layout);
}

static int session_open(struct set_session *session)
{
	const struct instance *instance = session->instance;
	struct rl_member_layout *layout;
	int ret = sets_read(instance, session->sets);

	if (ret)
		return ret;
	session->sets_fd = policy_map_open(instance, POLICY_MAP_sets);
	if (session->sets_fd < 0)
		return session->sets_fd;
	session->members_fd = inner_open(instance, instance->fd.members, 0);
	if (session->members_fd < 0)
		return session->members_fd;
	session->layout_fd = policy_map_open(instance, POLICY_MAP_member_layout);
	if (session->layout_fd < 0)
		return session->layout_fd;
	/* The kernel maps nothing for descriptors that are for reading only. */
	layout = session->writes
			 ? map_whole(session->layout_fd, sizeof(*layout), PROT_READ | PROT_WRITE)
			 : calloc(1, sizeof(*layout));
	if (!layout)
		return -errno;
	session->table.layout = layout;
	session->table.store.refresh = session->writes ? NULL : layout_refresh;
	if (!session->writes)
		return map_get(session->layout_fd, layout);
	/* A writer that was killed may have changed members without making packets ask anew. */
	session->published = layout->changes - layout->writing;
	return member_table_begin(&session->table);
}

static void session_free(struct set_session *session)
{
	if (session->table.layout && session->writes)
		munmap(session->table.layout, sizeof(*session->table.layout));
	else
		free(session->table.layout);
	scope_fd(&session->layout_fd);
	scope_fd(&session->members_fd);
	scope_fd(&session->sets_fd);
}

static int report_error(const struct instance *instance, int error)
{
	const char *why = strerror(-error);

	if (error == -E2BIG)
		why = "the table of members is full";
	else if (error == -ESTALE)
		why = "it was detached meanwhile";
	fail("%s: the members of its sets could not be reached: %s", instance->device, why);
	return error;
}

int set_session_open(const struct instance *instance, bool writes, struct set_session *out)
{
	int ret;

	*out = (struct set_session){
		.instance = instance,
		.table = {.store = {.read = page_read,
				    .write = page_write,
				    .remove = page_remove,
				    .arg = out},
			  .sets = out->sets,
			  .seed = {instance->info.hot_seed[0], instance->info.hot_seed[1]},
			  .now = member_time(instance_now(instance))},
		.members_fd = -1,
		.sets_fd = -1,
		.layout_fd = -1,
		.writes = writes,
	};
	ret = session_open(out);
	memcpy(out->opened, out->sets, sizeof(out->opened));
	if (!ret)
		return 0;
	session_free(out);
	return ret == -ENOENT ? ret : report_error(instance, ret);
}

static int sets_keep(struct set_session *session)
{
	struct rl_set before[RL_SETS_MAX];
	int ret = sets_read(session->instance, before);

	for (uint32_t i = 0; !ret && i < RL_SETS_MAX; i++)
		if (memcmp(&before[i], &session->sets[i], sizeof(before[i])))
			ret = bpf_map_update_elem(session->sets_fd, &i, &session->sets[i], BPF_ANY);
	return ret;
}

static void changes_report(const struct set_session *session)
{
	struct instance_change change = {.members = session->changed,
					 .member_count = session->changed_count};

	for (int i = 0; i < RL_SETS_MAX; i++) {
		const struct rl_set *set = &session->sets[i], *opened = &session->opened[i];
		const struct {
			enum change_kind kind;
			uint64_t number;
		} kinds[] = {
			{CHANGE_SET_ADD, set->added - opened->added},
			{CHANGE_SET_DEL, set->deleted - opened->deleted},
			{CHANGE_SET_FULL, set->refused - opened->refused},
		};

		if (!*set->name || strcmp(set->name, opened->name) != 0)
			continue;
		change.name = set->name;
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			change.kind = kinds[k].kind;
			change.number = kinds[k].number;
			if ((int64_t)change.number > 0)
				instance_change_tell(session->instance, change);
		}
	}
}

int set_session_close(struct set_session *session)
{
	int ret = session->writes ? sets_keep(session) : 0;

	/* Packets are to ask anew. */
	if (!ret && session->writes && session->published != session->table.layout->changes)
		ret = policy_generation_add(session->instance);
	if (ret) { /* the next writer makes up for what is not kept or published: `writing` says so
		    */
		report_error(session->instance, ret);
	} else if (session->writes) {
		member_table_end(&session->table);
		changes_report(session);
	}
	session_free(session);
	return ret;
}

int set_session_find(const struct set_session *session, const char *name)
{
	for (int i = 0; i < RL_SETS_MAX; i++)
		if (!strcmp(session->sets[i].name, name))
			return i;
	return -ENOENT;
}

/* ---- packets of members */

int set_matched(const struct instance *instance, uint32_t set, struct rl_amount *out)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_set_counts);

	return fd < 0 ? fd : percpu_sum(fd, set, (uint64_t *)out, sizeof(*out) / sizeof(uint64_t));
}

static int set_matched_clear(const struct instance *instance, uint32_t set)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_set_counts);
	int cpus = cpus_possible();
	FREED struct rl_amount *zero = cpus > 0 ? calloc(cpus, sizeof(*zero)) : NULL;

	if (fd < 0 || !zero)
		return fd < 0 ? fd : -ENOMEM;
	return bpf_map_update_elem(fd, &set, zero, BPF_ANY);
}

static int live_len(const char *name, const uint8_t addr[16], void *arg)
{
	struct set_live *live = arg;
	struct member_entry entry;
	int set;

	if (!live->open)
		return SET_UNKNOWN;
	set = set_session_find(&live->session, name);
	if (set < 0 || member_table_find(&live->session.table, set, addr, &entry))
		return SET_NO_MEMBER;
	return entry.member.len;
}

void set_live_open(const struct instance *instance, struct set_live *out)
{
	out->members = (struct set_members){.len = live_len, .arg = out};
	out->open = !set_session_open(instance, false, &out->session);
}

void set_live_close(struct set_live *live)
{
	if (live->open)
		set_session_close(&live->session);
	live->open = false;
}

static int member_count(uint32_t set, const struct member_entry *entry, void *arg)
{
	uint32_t(*members)[2] = arg;

	members[set][!member_is_ipv4(&entry->member)]++;
	return 0;
}

/* Counts the members, if some that the writer has counted may have expired. */
static int members_count(struct set_session *session)
{
	const struct rl_member_layout *layout = session->table.layout;
	uint32_t next = layout->next_expiry;
	int ret;

	if (!layout->stale && (!next || (int32_t)(next - session->table.now) > 0))
		return 0;
	uint32_t members[RL_SETS_MAX][2] = {0};
	ret = member_table_walk(&session->table, ~0ull, member_count, members);
	for (uint32_t i = 0; !ret && i < RL_SETS_MAX; i++)
		memcpy(session->sets[i].members, members[i], sizeof(members[i]));
	return ret;
}

int set_stats_read(const struct instance *instance, const struct policy *policy,
		   struct set_stats **out)
{
	struct set_session session;
	int ret;

	*out = NULL;
	if (!policy->set_count)
		return 0;
	*out = calloc(policy->set_count, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	ret = set_session_open(instance, false, &session);
	if (ret)
		return ret == -ENOENT ? 0 : ret; /* the policy was replaced meanwhile */
	ret = members_count(&session);
	for (size_t i = 0; !ret && i < policy->set_count; i++) {
		uint32_t id = policy->sets[i].id;

		(*out)[i].set = session.sets[id];
		ret = set_matched(instance, id, &(*out)[i].matched);
	}
	set_session_close(&session);
	return ret;
}

/* ---- the sets of a policy in the maps
 *
 * Their groups and words come and go with the policy, and their
 * members stay as long as a policy in force has a set of that name.
 */

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

static int page_copy(void *to, const void *key, const void *page)
{
	return bpf_map_update_elem(*(const int *)to, key, page, BPF_ANY);
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
	ret = new < 0 ? new
		      : map_walk(inner_open(instance, instance->fd.members, 0), page_copy, &new);
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
