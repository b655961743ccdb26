// SPDX-License-Identifier: GPL-2.0-only
/* Opens the BPF object and sizes its maps; creates the maps that only some policies need. */

#include "kernel/attach/object.h"

#include <errno.h>
#include <sys/param.h>

#include <bpf/libbpf.h>

#include "algorithm/key_parts.h"
#include "algorithm/known_filter.h"
#include "base/message.h"
#include "compile/compiled.h"
#include "kernel/attach/object_bytes.h"
#include "kernel/instance/pins.h"
#include "kernel/maps/hot_table.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/maps/slot_maps.h"
#include "kernel/policy/filters.h"
#include "kernel/proof/answers.h"
#include "kernel/proof/asked_table.h"
#include "kernel/proof/connections.h"
#include "kernel/proof/peers.h"
#include "kernel/scope.h"
#include "kernel/state/accounts.h"
#include "kernel/state/alarm_maps.h"
#include "kernel/state/bans.h"
#include "rlctl.skel.h"
#include "rlctl_answers.skel.h"
#include "rlctl_conntrack.skel.h"
#include "rlctl_conntrack_answers.skel.h"
#include "rlctl_extended.skel.h"

#define SETS_MIN    2u    /* one set means that there is no hot table */
#define ONE_PIECE   2048u /* bytes of MTU that fit one buffer with every driver */
#define SLOTS_ARRAY 8192u /* further slots are in chunks */
#define SPILLED_MIN 4096u

void instance_sizes(struct rl_instance *info)
{
	_Static_assert(2 * RULES_MAX <= 1 << 24, "an index fits bpf/match/prefix_cache.h");
	if (!info->rules)
		info->rules = RULES_DEFAULT;
	info->rules = MIN(info->rules, MIN(info->prefixes, RULES_MAX));
	info->slots = MIN(2 * info->prefixes, SLOTS_ARRAY);
	info->slots = (info->slots + RL_COUNTERS_SLOTS - 1) & -RL_COUNTERS_SLOTS;
	for (info->cache_sets = SETS_MIN; info->cache_sets * RL_HOT_WAYS < info->sources;)
		info->cache_sets *= 2;
	info->hot_sets = info->table == RL_TABLE_HOT ? info->cache_sets : 1;
	if (!info->bans)
		info->bans = BANS_DEFAULT;
}

bool instance_asks(const struct rl_instance *info, uint64_t uses)
{
	return policy_map_is_used(info, uses, POLICY_MAP_asked);
}

static enum bpf_map_type lru_type(const struct rl_instance *info)
{
	return info->table == RL_TABLE_CPU ? BPF_MAP_TYPE_LRU_PERCPU_HASH : BPF_MAP_TYPE_LRU_HASH;
}

uint32_t object_headers_reach(const struct rl_instance *info)
{
	return info->mtu > ONE_PIECE ? RL_HEADERS_REACH : RL_HEADERS_REACH_SMALL;
}

/* Only with XDP and on GRE devices can headers lie outside the directly readable part. */
static void headers_size(struct rlctl_bpf *skel, const struct rl_instance *info)
{
	bpf_map__set_value_size(skel->maps.headers, RL_HEADERS_SIZE(object_headers_reach(info)));
	bpf_map__set_autocreate(skel->maps.headers, info->mode != RL_MODE_TC || info->outer_ip);
}

/* The maps of the policies, as they are created where one needs them. */
static void policy_maps_size(struct rlctl_bpf *skel, const struct rl_instance *info)
{
	uint32_t log_size = RL_LOG_SIZE(info->log_depth);

	bpf_map__set_type(skel->maps.sources, lru_type(info));
	bpf_map__set_max_entries(skel->maps.sources, info->sources);
	bpf_map__set_max_entries(skel->maps.hot, info->hot_sets);
	bpf_map__set_max_entries(skel->maps.spilled, MAX(info->sources / 4, SPILLED_MIN));
	bpf_map__set_max_entries(skel->maps.refusals, refusal_sets(info));
	bpf_map__set_max_entries(skel->maps.prefix_cache, info->cache_sets);
	bpf_map__set_max_entries(skel->maps.fleet_limits, RL_FLEET_LIMITS);
	bpf_map__set_max_entries(skel->maps.fleet_grants, RL_FLEET_GRANTS);
	bpf_map__set_value_size(skel->maps.known_filter,
				known_sets(info->hot_sets) * sizeof(struct rl_known_set));
	bpf_map__set_max_entries(skel->maps.answers, RL_ANSWERS_CPUS + info->possible_cpus);
	bpf_map__set_value_size(skel->maps.share_counts,
				info->possible_cpus * sizeof(struct rl_share_counts));
	bpf_map__set_value_size(skel->maps.connections, RL_CONNECTIONS_SIZE(connection_sets(info)));
	bpf_map__set_max_entries(skel->maps.fleet_keys, info->sources);
	bpf_map__set_type(skel->maps.flows, lru_type(info));
	bpf_map__set_max_entries(skel->maps.flows, info->sources);
	bpf_map__set_type(skel->maps.windows, lru_type(info));
	bpf_map__set_max_entries(skel->maps.windows, info->sources);
	bpf_map__set_type(skel->maps.logs, lru_type(info));
	bpf_map__set_value_size(skel->maps.logs, log_size);
	bpf_map__set_max_entries(skel->maps.logs, lru_states(info, RL_LRU_LOGS));
	bpf_map__set_value_size(skel->maps.fresh, MAX(log_size, sizeof(struct rl_slots)));
}

/* Those that are missing are not made; of the tables, which the program refers to all the same, one
 * element is. */
static void policy_maps_choose(struct rlctl_bpf *skel, const struct rl_instance *info,
			       uint64_t uses)
{
	policy_maps_size(skel, info);
#define MAP_CHOOSE(name, of) \
	bpf_map__set_autocreate(skel->maps.name, policy_map_is_used(info, uses, POLICY_MAP_##name));
	POLICY_MAPS(MAP_CHOOSE)
#undef MAP_CHOOSE
#define TABLE_CHOOSE(name, of)                                  \
	if (!bpf_map__autocreate(skel->maps.name)) {            \
		bpf_map__set_autocreate(skel->maps.name, true); \
		bpf_map__set_max_entries(skel->maps.name, 1);   \
	}
	TABLE_MAPS(TABLE_CHOOSE)
#undef TABLE_CHOOSE
}

/* All objects come from one source, so that one skeleton serves for all. */
#define ASSERT_SAME(other)                                                                         \
	_Static_assert(sizeof(*((struct rlctl_bpf *)0)->rodata) ==                                 \
			       sizeof(*((struct other *)0)->rodata),                               \
		       "the same constants");                                                      \
	_Static_assert(sizeof(*((struct rlctl_bpf *)0)->bss) == sizeof(*((struct other *)0)->bss), \
		       "the same variables");                                                      \
	_Static_assert(sizeof(struct rlctl_bpf) == sizeof(struct other), "the same maps")
ASSERT_SAME(rlctl_extended_bpf);
ASSERT_SAME(rlctl_answers_bpf);
ASSERT_SAME(rlctl_conntrack_bpf);
ASSERT_SAME(rlctl_conntrack_answers_bpf);

bool object_asks_conntrack(const struct rl_instance *info)
{
	return info->proof == RL_PROOF_CONNTRACK && info->program_uses & RL_USE_PROOF;
}

static enum object_kind object_choose(const struct rl_instance *info)
{
	bool answers = info->program_uses & RL_USE_ANSWERS;

	if (!(info->program_uses & RL_USE_EXTENDED))
		return OBJECT_PLAIN;
	if (object_asks_conntrack(info))
		return answers ? OBJECT_CONNTRACK_ANSWERS : OBJECT_CONNTRACK;
	return answers ? OBJECT_ANSWERS : OBJECT_EXTENDED;
}

/* The instructions of the filters, which the object has room for. */
static int filters_put(const struct rl_instance *info, const struct rl_filters *filters,
		       void *object, size_t size)
{
	FREED struct bpf_insn *code = calloc(RL_FILTER_STEPS, sizeof(*code));
	int count = code ? filters_code(info, filters, code) : -ENOMEM;

	return count < 0 ? count : filter_image_put(object, size, code, count);
}

static int skeleton_read(struct rlctl_bpf *skel, const struct rl_instance *info,
			 const struct rl_filters *filters)
{
	size_t size = 0;
	FREED void *object = object_unpack(object_choose(info), &size);
	int ret = object ? 0 : -errno;

	if (!ret && info->program_uses & RL_USE_EXTENDED)
		ret = filters_put(info, filters, object, size);
	skel->skeleton->data = object;
	skel->skeleton->data_sz = size;
	if (!ret)
		ret = bpf_object__open_skeleton(skel->skeleton, NULL);
	skel->skeleton->data = NULL; /* libbpf has read it */
	return ret;
}

static struct rlctl_bpf *skeleton_open(const struct rl_instance *info,
				       const struct rl_filters *filters)
{
	struct rlctl_bpf *skel = calloc(1, sizeof(*skel));
	int ret = skel ? rlctl_bpf__create_skeleton(skel) : -ENOMEM;

	if (!ret)
		ret = skeleton_read(skel, info, filters);
	if (!ret && skel->rodata)
		return skel;
	rlctl_bpf__destroy(skel);
	errno = ret ? -ret : EINVAL;
	return NULL;
}

struct rlctl_bpf *object_open(const struct rl_instance *info)
{
	return object_open_with(info, NULL);
}

static enum keys_by keys_by(uint64_t uses)
{
	if (!(uses & RL_USE_KEY_PARTS))
		return KEYS_BY_NO_PARTS;
	if (uses & RL_USE_VLANS)
		return KEYS_BY_VLAN;
	return uses & RL_USE_MEMBER_KEYS ? KEYS_BY_MEMBER : KEYS_BY_PARTS;
}

/* The tables have their sizes already. */
static struct rl_config config_of(const struct rlctl_bpf *skel, const struct rl_instance *info)
{
	uint64_t uses = info->program_uses;
	struct rl_config config = {
		.hot_seed = {info->hot_seed[0], info->hot_seed[1]},
		.clock_tick_ns = info->tick_ns,
		.clock_tick_base_ns = info->tick_base_ns,
		.headers_reach = object_headers_reach(info),
		.counters_cpus = info->possible_cpus,
		.log_depth = info->log_depth,
		.hot_mask = bpf_map__max_entries(skel->maps.hot) - 1,
		.refusal_mask = bpf_map__max_entries(skel->maps.refusals) - 1,
		.cache_mask = bpf_map__max_entries(skel->maps.prefix_cache) - 1,
		.known_mask = known_sets(info->hot_sets) - 1,
		.connection_mask = connection_sets(info) - 1,
		.keys_by = keys_by(uses),
		.frames_are_skbs = info->mode == RL_MODE_TC,
		.frames_leave = info->hook == RL_HOOK_EGRESS,
		.frames_in_pieces = info->mtu > ONE_PIECE,
		.frames_have_ethernet = !info->raw_ip,
		.frames_have_outer = info->outer_ip,
		.goes_by_dest = info->by_dest,
		.has_peers = policy_map_is_used(info, uses, POLICY_MAP_peers),
		.keeps_asked = instance_asks(info, uses),
	};

#define CONFIG_USE(name, of) config.name = uses & (of);
	RL_CONFIG_USES(CONFIG_USE)
#undef CONFIG_USE
	for (int lru = 0; lru < RL_LRU_COUNT; lru++)
		config.creation_ns[lru] = lru_creation_ns(info, lru);
	answers_configure(&config, info);
	return config;
}

struct rlctl_bpf *object_open_with(const struct rl_instance *info, const struct rl_filters *filters)
{
	struct rlctl_bpf *skel = skeleton_open(info, filters);
	uint32_t counters = counters_value_size(info);

	if (!skel)
		return NULL;
	headers_size(skel, info);
	bpf_map__set_autocreate(skel->maps.payload, info->program_uses & RL_USE_PAYLOAD);
	/* The program of the hook; simulation.c loads another in its place, and makes its maps. */
	bpf_program__set_autoload(skel->progs.rlctl_xdp, info->mode != RL_MODE_TC);
	bpf_program__set_autoload(skel->progs.rlctl_tc, info->mode == RL_MODE_TC);
	bpf_map__set_autocreate(skel->maps.simulated, false);
	bpf_map__set_autocreate(skel->maps.simulate_again, false);
	bpf_map__set_max_entries(skel->maps.rules, 2 * info->rules);
	bpf_map__set_max_entries(skel->maps.shared, info->slots);
	bpf_map__set_max_entries(skel->maps.batches, info->slots);
	bpf_map__set_max_entries(skel->maps.rule_counters, info->slots >> RL_COUNTERS_SHIFT);
	bpf_map__set_value_size(skel->maps.rule_counters, counters);
	bpf_map__set_value_size(bpf_map__inner_map(skel->maps.counters_chunks), counters);
	bpf_map__set_value_size(bpf_map__inner_map(skel->maps.alarm_counts),
				alarm_counts_size(info));
	policy_maps_choose(skel, info, info->program_uses);
	skel->rodata->config = config_of(skel, info);
	return skel;
}

/* A map of the policy that is there is taken as it is: the logs are as many as fitted the CPUs when
 * they were made. One that is not gets a pin only if it is to stay. */
static int policy_pin_set(const char *path, const char *name, bool stays, struct bpf_map *map)
{
	char pin[INSTANCE_PATH_MAX + 32];
	CLOSED int fd = pin_open_at(path, name, true);

	snprintf(pin, sizeof(pin), "%s/%s", path, name);
	if (fd == -ENOENT)
		return stays ? bpf_map__set_pin_path(map, pin) : 0;
	return fd < 0 ? fd : bpf_map__reuse_fd(map, fd);
}

/* `stay`: the maps that are missing are made and pinned; else those of the policy have no pins. */
static int pin_paths_set(struct rlctl_bpf *skel, const char *path, const struct rl_instance *info,
			 uint64_t uses, bool stay)
{
	char pin[INSTANCE_PATH_MAX + 32];
	int ret = 0;

#define PIN_ONE(name)                                     \
	snprintf(pin, sizeof(pin), "%s/%s", path, #name); \
	ret = ret ? ret : bpf_map__set_pin_path(skel->maps.name, pin);
	INSTANCE_MAPS(PIN_ONE)
#undef PIN_ONE
#define PIN_ONE(name, of)                                              \
	if (!ret && policy_map_is_used(info, uses, POLICY_MAP_##name)) \
		ret = policy_pin_set(path, #name, stay, skel->maps.name);
	POLICY_MAPS(PIN_ONE)
#undef PIN_ONE
	return ret;
}

int object_maps_take(struct rlctl_bpf *skel, struct instance *out)
{
	int ret = 0;

#define TAKE_ONE(name) out->fd.name = bpf_map__fd(skel->maps.name);
	INSTANCE_MAPS(TAKE_ONE)
#undef TAKE_ONE
#define TAKE_ONE(name, of)                                                                     \
	out->policy_maps[POLICY_MAP_##name] = -1;                                              \
	if (!ret && policy_map_is_used(&out->info, out->info.program_uses, POLICY_MAP_##name)) \
		ret = policy_map_put(out, POLICY_MAP_##name, bpf_map__fd(skel->maps.name));
	POLICY_MAPS(TAKE_ONE)
#undef TAKE_ONE
	return ret;
}

int object_maps_make(const char *path, const struct rl_instance *info, uint64_t uses)
{
	struct rl_instance plain = *info;
	struct rlctl_bpf *skel;
	int ret;

	/* All objects have the same maps, and some ask more of the kernel. */
	plain.program_uses = 0;
	skel = object_open(&plain);
	if (!skel)
		return -errno;
	policy_maps_choose(skel, info, uses);
	bpf_map__set_max_entries(skel->maps.rules, 2 * RULES_ROOM_LEAST);
	ret = pin_paths_set(skel, path, info, uses, true);
	bpf_program__set_autoload(skel->progs.rlctl_xdp, false);
	bpf_program__set_autoload(skel->progs.rlctl_tc, false);
	if (!ret)
		ret = rlctl_bpf__load(skel);
	rlctl_bpf__destroy(skel);
	return ret;
}

static int open_pinned(const char *path, const struct rl_instance *info,
		       const struct rl_filters *filters, bool stay, bool load,
		       struct rlctl_bpf **out)
{
	int ret;

	*out = object_open_with(info, filters);
	if (!*out)
		return -(errno ?: ENOMEM);
	ret = pin_paths_set(*out, path, info, info->program_uses, stay);
	if (!ret && load)
		ret = rlctl_bpf__load(*out);
	if (ret)
		rlctl_bpf__destroy(*out);
	return ret;
}

int object_open_pinned(const char *path, const struct rl_instance *info, bool load,
		       struct rlctl_bpf **out)
{
	struct rl_filters filters = {0};
	int ret = info->program_uses & RL_USE_FILTERS ? filters_read_at(path, &filters) : 0;

	return ret ? ret : open_pinned(path, info, &filters, true, load, out);
}

int object_load_check(const char *path, const struct rl_instance *info,
		      const struct rl_filters *filters)
{
	struct rlctl_bpf *skel;
	int ret = open_pinned(path, info, filters, false, true, &skel);

	if (!ret)
		rlctl_bpf__destroy(skel);
	return ret;
}

/* ---- the maps of a policy */

static bool is_missing(const struct instance *instance, enum policy_map map)
{
	CLOSED int fd = policy_map_open(instance, map);

	return fd == -ENOENT;
}

/* Makes those of the policy that are missing, and gives all the group: a writer that was killed may
 * have left one without. */
static int own_maps_make(const struct instance *instance, uint64_t uses)
{
	const struct rl_instance *info = &instance->info;
	bool lack = false, had_logs = !is_missing(instance, POLICY_MAP_logs);
	uint32_t logs = lru_states(info, RL_LRU_LOGS);
	int ret = 0;

	for (int map = 0; map < POLICY_MAP_COUNT; map++)
		lack |= policy_map_is_used(info, uses, map) && is_missing(instance, map);
	if (lack)
		ret = object_maps_make(instance->path, info, uses);
	for (int map = 0; !ret && map < POLICY_MAP_COUNT; map++)
		if (policy_map_is_used(info, uses, map))
			ret = policy_map_share(instance, map);
	if (!ret && !had_logs && uses & RL_USE_LOGS && logs < info->sources &&
	    !instance->clock_injected)
		note("%s: with a log depth of %u there is room for the sliding logs of %u sources: "
		     "attach with a smaller --log-depth for more",
		     instance->device, info->log_depth, logs);
	return ret;
}

int policy_maps_make(const struct instance *instance, uint64_t uses)
{
	const struct rl_instance *info = &instance->info;
	int ret = uses & RL_USE_BANS ? bans_make(instance) : 0;

	if (!ret && policy_map_is_used(info, uses, POLICY_MAP_peers))
		ret = peers_make(instance);
	if (!ret && instance_asks(info, uses))
		ret = asked_make(instance);
	if (!ret && uses & RL_USE_ACCOUNTS)
		ret = accounts_make(instance);
	if (!ret && has_pins(instance))
		ret = own_maps_make(instance, uses);
	if (!ret && uses & RL_USE_ANSWERS)
		ret = answers_make(instance);
	return ret;
}

void policy_maps_trim(const struct instance *instance, uint64_t uses)
{
	const uint64_t stay = uses | RL_USE_FLEET;

	for (int map = 0; map < POLICY_MAP_COUNT; map++) {
		if (policy_map_is_used(&instance->info, stay, map))
			continue;
		if (map == POLICY_MAP_peers)
			peers_unfeed(instance);
		if (map == POLICY_MAP_connections)
			connections_end(instance);
		policy_map_drop(instance, map);
	}
	if (!(uses & RL_USE_BANS))
		bans_drop(instance);
}
