// SPDX-License-Identifier: GPL-2.0-only
/* Each instance that needs the filter has a pin of each link by which it is fed: the programs stay
 * as long as one of them needs them, wherever a process is killed.
 *
 * The filter is fed when the programs are attached, every instance that shares it has their links,
 * and the sockets that were there before are noted; then `fed` is set, last of all. Whoever finds
 * that something of it is missing takes `fed` back first, and makes all anew. All that was counted
 * before stays counted. A question is noted whether the filter is fed or not.
 *
 * Sockets that were there before are listed after the programs are attached, so that none is
 * missed in between, and twice, because a list may miss a socket while others leave its chain. A
 * UDP socket is missed if its connect() began before the programs were attached and stood still
 * until after the second list.
 */

#include "kernel/proof/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "algorithm/peers.h"
#include "base/privilege.h"
#include "kernel/device/netns.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/map.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/maps/readers.h"
#include "kernel/proof/tcp_sockets.h"
#include "kernel/scope.h"
#include "peers.skel.h"

static const struct shared_table peers = SHARED_TABLE(peers, struct rl_peers);

/* The filter of an instance, mapped. */
struct filter {
	struct rl_peers *table;
	int fd;
	uint32_t id;
};

static int filter_open(const struct instance *instance, struct filter *out)
{
	int ret;

	out->fd = policy_map_open(instance, POLICY_MAP_peers);
	ret = out->fd < 0 ? out->fd : map_id(out->fd, &out->id);
	out->table = ret ? NULL : map_whole(out->fd, sizeof(*out->table), PROT_READ | PROT_WRITE);
	if (out->table)
		return 0;
	ret = ret ? ret : -errno;
	scope_fd(&out->fd);
	return ret;
}

static void fed_set(const struct filter *filter, uint32_t fed)
{
	if (filter->table->fed != fed)
		__atomic_store_n(&filter->table->fed, fed, __ATOMIC_SEQ_CST);
}

/* ---- links */

/* In this order: a hook that takes away is there before those that note. */
#define LINKS(X)        X(udp_close) X(udp4) X(udp6) X(tcp)

#define LINK_NAME(name) "peers-" #name,
static const char *const link_names[] = {LINKS(LINK_NAME)};
#undef LINK_NAME
#define LINK_COUNT (sizeof(link_names) / sizeof(link_names[0]))

static void links_close(const int links[LINK_COUNT])
{
	for (size_t i = 0; i < LINK_COUNT; i++)
		scope_fd(&links[i]);
}

/* Those pinned among the pins of an instance. -ENOENT: one is missing, or detached. */
static int links_open(const char *path, int links[LINK_COUNT])
{
	bool whole = true;

	for (size_t i = 0; i < LINK_COUNT; i++) {
		struct bpf_link_info info = {0};
		uint32_t size = sizeof(info);

		links[i] = whole ? pin_open_at(path, link_names[i], true) : -1;
		whole = whole && links[i] >= 0 && !bpf_obj_get_info_by_fd(links[i], &info, &size) &&
			info.type == BPF_LINK_TYPE_CGROUP && info.cgroup.cgroup_id;
	}
	if (whole)
		return 0;
	links_close(links);
	return -ENOENT;
}

static bool links_are_there(const char *path)
{
	int links[LINK_COUNT] = {0};

	if (links_open(path, links))
		return false;
	links_close(links);
	return true;
}

static void links_unpin(const char *path)
{
	for (size_t i = 0; i < LINK_COUNT; i++)
		pin_remove(path, link_names[i]);
}

/* In the place of those that are there. */
static int links_pin(const char *path, const int links[LINK_COUNT])
{
	int ret = 0;

	links_unpin(path);
	for (size_t i = 0; !ret && i < LINK_COUNT; i++)
		ret = pin_make(path, link_names[i], links[i]);
	return ret;
}

/* ---- others that share it */

struct sharing {
	const struct filter *filter;
	int *links;
};

static bool shares(const char *path, const char *device, const struct filter *filter)
{
	CLOSED int fd = shared_table_open_at(path, device, &peers);
	uint32_t id;

	return fd >= 0 && !map_id(fd, &id) && id == filter->id;
}

static int others_links(const char *path, const char *device, void *arg)
{
	const struct sharing *sharing = arg;

	return shares(path, device, sharing->filter) ? links_open(path, sharing->links) : -ENOENT;
}

static int others_pin(const char *path, const char *device, void *arg)
{
	const struct sharing *sharing = arg;
	int ret = shares(path, device, sharing->filter) ? links_pin(path, sharing->links) : 0;

	return ret ? ret : -ENOENT; /* and on to the next */
}

/* ---- sockets that were there before */

static void seed_put(const struct tcp_socket *socket, void *arg)
{
	const struct filter *filter = arg;
	struct timespec now;
	struct peers_key key;
	__u64 address[2];

	memcpy(address, socket->flow.src, sizeof(address));
	key = peers_key_of(filter->table->seed, address_is_mapped(address), address);
	clock_gettime(CLOCK_MONOTONIC, &now);
	peers_note(filter->table, key, peers_time(now.tv_sec * 1000000000ull + now.tv_nsec),
		   PEERS_STICK);
}

/* ---- feeding */

/* Those that are made are to be closed, whatever is returned. */
static int links_make(const struct filter *filter, int cgroup, int links[LINK_COUNT])
{
	struct peers_bpf *skel = peers_bpf__open();
	const struct bpf_program *program;
	__u64 cookie = 0;
	size_t made = 0;
	int ret;

	if (!skel)
		return -errno;
	ret = netns_cookie_read(&cookie);
	skel->rodata->netns_cookie = cookie;
	if (!ret)
		ret = bpf_map__reuse_fd(skel->maps.filter, filter->fd);
	if (!ret)
		ret = peers_bpf__load(skel);
#define LINK_MAKE(name)                                                                          \
	program = skel->progs.rlctl_##name;                                                      \
	if (!ret) {                                                                              \
		links[made] = bpf_link_create(bpf_program__fd(program), cgroup,                  \
					      bpf_program__expected_attach_type(program), NULL); \
		ret = links[made] < 0 ? links[made] : 0;                                         \
		made++;                                                                          \
	}
	LINKS(LINK_MAKE)
#undef LINK_MAKE
	peers_bpf__destroy(skel);
	return ret;
}

/* In between, a connect() that is under way gets the time to come to its end. */
static int feed_anew(const struct instance *instance, struct filter *filter)
{
	CLOSED int cgroup = cgroup_root_open();
	int links[LINK_COUNT], ret;
	struct sharing sharing = {filter, links};

	memset(links, 0xff, sizeof(links)); /* -1 */
	ret = cgroup < 0 ? cgroup : links_make(filter, cgroup, links);
	/* All that share it get the links, so that it is fed as long as any of them is there. */
	if (!ret)
		ret = links_pin(instance->path, links);
	if (!ret) {
		ret = shared_others(instance, others_pin, &sharing);
		ret = ret == -ENOENT ? 0 : ret;
	}
	if (!ret)
		ret = peer_sockets_read(seed_put, filter);
	if (!ret)
		ret = readers_wait();
	if (!ret)
		ret = peer_sockets_read(seed_put, filter);
	links_close(links);
	return ret;
}

static bool is_whole(const struct instance *instance, const struct filter *filter)
{
	return filter->table->fed && links_are_there(instance->path);
}

/* Call with the lock of all. Links that are left from an attempt that failed feed it no less, but
 * nobody needs them. */
static void feed(const struct instance *instance, struct filter *filter)
{
	int links[LINK_COUNT] = {0}, ret = -ENOENT;
	struct sharing sharing = {filter, links};
	uint32_t raised;
	bool may;

	if (is_whole(instance, filter))
		return;
	may = privileges_raise(PRIVILEGES_PROGRAM, &raised);
	if (filter->table->fed && !shared_others(instance, others_links, &sharing)) {
		ret = links_pin(instance->path, links);
		links_close(links);
	}
	if (ret) {
		fed_set(filter, 0);
		if (may && !feed_anew(instance, filter))
			fed_set(filter, 1);
		else
			links_unpin(instance->path);
	}
	privileges_lower(raised);
}

int peers_make(const struct instance *instance)
{
	struct filter filter;
	int lock, ret = shared_table_make(instance, &peers);

	if (ret || !has_pins(instance))
		return ret;
	ret = filter_open(instance, &filter);
	if (ret)
		return ret;
	if (!is_whole(instance, &filter)) {
		lock = pins_lock_all(instance->path, LOCK_WAIT_MS);
		if (lock >= 0)
			feed(instance, &filter);
		pins_unlock(lock);
		ret = lock < 0 ? lock : 0;
	}
	munmap(filter.table, sizeof(*filter.table));
	close(filter.fd);
	return ret;
}

/* The links go first: those of another filter must not be taken for those of the next. */
void peers_unfeed(const struct instance *instance)
{
	if (has_pins(instance))
		links_unpin(instance->path);
}

int peers_fed(const struct instance *instance)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_peers);
	int ret;

	if (fd < 0)
		return fd;
	FREED struct rl_peers *table = malloc(sizeof(*table));
	ret = table ? map_get(fd, table) : -ENOMEM;
	return ret ? ret : table->fed != 0;
}

#define ROOT_INODE 1 /* of the hierarchy; the root of a namespace is another directory of it */

static int root_open_at(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;
	struct statfs system;
	struct stat root;

	ret = fd < 0 || fstatfs(fd, &system) || fstat(fd, &root) ? -errno : 0;
	if (!ret && (system.f_type != CGROUP2_SUPER_MAGIC || root.st_ino != ROOT_INODE))
		ret = -EXDEV;
	if (!ret)
		return fd;
	scope_fd(&fd);
	return ret;
}

int cgroup_root_open(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *mount;
	int fd = mounts ? -ENOENT : -errno;

	while (fd < 0 && mounts && (mount = getmntent(mounts)))
		if (!strcmp(mount->mnt_type, "cgroup2"))
			fd = root_open_at(mount->mnt_dir);
	if (mounts)
		endmntent(mounts);
	return fd;
}
