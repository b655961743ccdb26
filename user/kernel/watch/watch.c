// SPDX-License-Identifier: GPL-2.0-only
/* Watches claim entries on a board shared by all processes and the data path. The board is mapped,
 * so an entry is claimed by one compare-and-swap and renewed by another. */

#include "kernel/watch/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/units.h"
#include "kernel/attach/program.h"
#include "kernel/device/cpus.h"
#include "kernel/instance/find.h"
#include "kernel/maps/map.h"
#include "kernel/scope.h"
#include "policy/names.h"

#define LEASE_NS    (3 * NS_PER_SECOND)
#define RENEW_NS    NS_PER_SECOND
#define RING_MIN    (256u << 10)
#define RING_MAX    (16u << 20)
#define RING_FACTOR 4                /* packets in the ring for each sample of a second */
#define WAIT_MS     100              /* a watch is to be polled at least once a second */
#define CLOSE_NS    (20 * NS_PER_MS) /* after a slot; its packets go by a clock that is late */

struct watch {
	const struct instance *instance;
	struct rl_board *board;
	struct rl_watcher *entry;
	struct ring_buffer *ring;
	uint64_t until_ns; /* as last written by this process */
	int64_t realtime_offset_ns;
	int cpus;
	struct sampler samplers[2]; /* as the streams */
	struct sampled_list sampled;
	struct rl_watch_count *counts; /* of each CPU */
	int failed;                    /* of this poll */
	bool quiet;
};

static uint32_t entry_index(const struct watch *watch)
{
	return watch->entry - watch->board->watcher;
}

uint64_t watch_realtime(const struct watch *watch, uint64_t monotonic_ns)
{
	return monotonic_ns + (uint64_t)watch->realtime_offset_ns;
}

static void offset_measure(struct watch *watch)
{
	if (!watch->instance->clock_injected)
		watch->realtime_offset_ns =
			(int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC));
}

/* ---- claiming an entry */

/* The board is shared with other processes and the data path. */
static bool until_swap(struct rl_watcher *entry, uint64_t from, uint64_t to)
{
	return __sync_bool_compare_and_swap(&entry->until_ns, from, to);
}

static int entry_claim(struct watch *watch)
{
	uint64_t now_ns = instance_now(watch->instance);

	for (int i = 0; i < RL_WATCHERS; i++) {
		struct rl_watcher *entry = &watch->board->watcher[i];
		uint64_t until_ns = __atomic_load_n(&entry->until_ns, __ATOMIC_ACQUIRE);

		if (until_ns > now_ns || !until_swap(entry, until_ns, now_ns + LEASE_NS))
			continue;
		watch->until_ns = now_ns + LEASE_NS;
		watch->entry = entry;
		__atomic_store_n(&entry->reasons, 0, __ATOMIC_RELEASE); /* left by another watch */
		return 0;
	}
	if (!watch->quiet)
		fail("%s: %d watches are already running (monitor, top): end one of them",
		     watch->instance->device, RL_WATCHERS);
	return -EBUSY;
}

static int on_sample(void *arg, void *data, size_t size)
{
	struct watch *watch = arg;
	const struct rl_sample *sample = data;

	if (size < sizeof(*sample) || watch->failed)
		return 0;
	watch->failed = sampler_add(&watch->samplers[sample->reason < RL_REASON_COUNT &&
						     reason_rows[sample->reason].passes],
				    sample, &watch->sampled);
	return 0;
}

/* Creates the ring of the entry. Updating the slot waits for every packet that may still use the
 * previous ring. */
static int ring_make(struct watch *watch, uint32_t rate)
{
	uint64_t wanted = (uint64_t)rate * sizeof(struct rl_sample) * RING_FACTOR;
	uint32_t index = entry_index(watch), bytes = RING_MIN;
	int ret;

	while (bytes < wanted && bytes < RING_MAX)
		bytes *= 2;
	CLOSED int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "rlctl_ring", 0, 0, bytes, NULL);
	ret = fd < 0 ? fd : bpf_map_update_elem(watch->instance->fd.rings, &index, &fd, BPF_ANY);
	if (ret)
		return ret;
	watch->ring = ring_buffer__new(fd, on_sample, watch, NULL);
	return watch->ring ? 0 : -errno;
}

static int counts_reset(struct watch *watch)
{
	int ret = 0;

	watch->counts = calloc((size_t)watch->cpus, sizeof(*watch->counts));
	if (!watch->counts)
		return -ENOMEM;
	for (uint32_t i = 0; !ret && i < 2; i++) {
		uint32_t stream = 2 * entry_index(watch) + i;

		ret = bpf_map_update_elem(watch->instance->fd.watch_counts, &stream, watch->counts,
					  BPF_ANY);
	}
	return ret;
}

/* Bits of the reasons that pass, or that drop. */
static uint32_t reasons_of(bool passes)
{
	uint32_t bits = 0;

	for (int i = 0; i < RL_REASON_COUNT; i++)
		bits |= (uint32_t)(reason_rows[i].passes == passes) << i;
	return bits;
}

/* Fills in what packets read; `reasons` last, which enables the entry. */
static void entry_fill(struct watch *watch, const struct watch_options *options)
{
	bool both = options->reasons & reasons_of(true) && options->reasons & reasons_of(false);
	uint32_t half = both && options->rate > 1 ? options->rate / 2 : options->rate;
	struct rl_watcher *entry = watch->entry;
	uint64_t now_ns = instance_now(watch->instance);
	uint8_t ones[16];

	sampler_init(&watch->samplers[0], both ? options->rate - options->rate / 2 : options->rate,
		     now_ns, watch->cpus);
	sampler_init(&watch->samplers[1], half, now_ns, watch->cpus);
	entry->family = 0;
	if (options->has_prefix) {
		memset(ones, 0xff, sizeof(ones));
		memcpy(entry->addr, options->addr, sizeof(entry->addr));
		prefix_mask((uint8_t *)entry->mask, ones, options->len);
		entry->family = prefix_is_ipv4(options->addr, options->len) ? 4 : 6;
	}
	entry->counter_id = options->counter_id;
	for (int i = 0; i < 2; i++)
		entry->stream[i] = watch->samplers[i].stream;
	__atomic_store_n(&entry->reasons, options->reasons, __ATOMIC_RELEASE);
	__atomic_store_n(&watch->board->on, 1, __ATOMIC_RELEASE);
}

int watch_open(const struct instance *instance, const struct watch_options *options,
	       struct watch **out)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int ret;

	if (!watch) {
		fail("out of memory");
		return -ENOMEM;
	}
	watch->instance = instance;
	watch->quiet = options->quiet;
	watch->cpus = cpus_possible();
	watch->board =
		map_whole(instance->fd.data_watch, sizeof(*watch->board), PROT_READ | PROT_WRITE);
	ret = watch->cpus < 0 ? watch->cpus : watch->board ? 0 : -errno;
	if (!ret) {
		ret = entry_claim(watch);
		if (ret) {
			watch_close(watch);
			return ret;
		}
		ret = ring_make(watch, options->rate);
	}
	if (!ret)
		ret = counts_reset(watch);
	if (ret) {
		if (!watch->quiet)
			fail("%s: watching failed: %s", instance->device, strerror(-ret));
		watch_close(watch);
		return ret;
	}
	offset_measure(watch);
	entry_fill(watch, options);
	*out = watch;
	return 0;
}

void watch_close(struct watch *watch)
{
	if (!watch)
		return;
	/* Releases the entry last, so that the next watch finds it empty. An entry that was lost
	 * belongs to another watch. */
	if (watch->entry &&
	    __atomic_load_n(&watch->entry->until_ns, __ATOMIC_ACQUIRE) == watch->until_ns) {
		__atomic_store_n(&watch->entry->reasons, 0, __ATOMIC_RELEASE);
		bpf_map_delete_elem(watch->instance->fd.rings, &(uint32_t){entry_index(watch)});
		until_swap(watch->entry, watch->until_ns, 0);
	}
	ring_buffer__free(watch->ring);
	for (int i = 0; i < 2; i++)
		sampler_clear(&watch->samplers[i]);
	sampled_clear(&watch->sampled);
	free(watch->counts);
	if (watch->board)
		munmap(watch->board, sizeof(*watch->board));
	free(watch);
}

/* ---- polling */

int watch_fd(const struct watch *watch)
{
	return ring_buffer__epoll_fd(watch->ring);
}

/* Renews the entry every second. If this process was stalled for longer than the lease, samples are
 * lost, and so may be the entry. */
static int entry_renew(struct watch *watch)
{
	const struct instance *instance = watch->instance;
	uint64_t now_ns = instance_now(instance), next_ns = now_ns + LEASE_NS;
	struct device_program program;

	if (watch->until_ns - LEASE_NS + RENEW_NS > now_ns)
		return 0;
	if (!instance->clock_injected && instance_program_find(instance, &program) == -ENOENT) {
		if (!watch->quiet)
			note("%s: no longer attached", instance->device);
		return -ENODEV;
	}
	if (!until_swap(watch->entry, watch->until_ns, next_ns)) {
		fail("%s: stalled for so long that another process took over this watch: start it "
		     "again",
		     instance->device);
		return -ESTALE;
	}
	if (now_ns > watch->until_ns)
		note("%s: stalled for %u s, so samples of that time are lost", instance->device,
		     (unsigned int)((now_ns - watch->until_ns) / NS_PER_SECOND + 1));
	watch->until_ns = next_ns;
	__atomic_store_n(&watch->board->on, 1, __ATOMIC_RELEASE);
	offset_measure(watch);
	return 0;
}

/* The packets that each CPU had in its last two slots. */
static int counts_learn(struct watch *watch)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < 2; i++) {
		uint32_t stream = 2 * entry_index(watch) + i;

		ret = bpf_map_lookup_elem(watch->instance->fd.watch_counts, &stream, watch->counts);
		for (int cpu = 0; !ret && cpu < watch->cpus; cpu++) {
			const struct rl_watch_count *count = &watch->counts[cpu];

			ret = sampler_learn(&watch->samplers[i], (uint32_t)cpu, count->before,
					    &watch->sampled);
			if (!ret)
				ret = sampler_learn(&watch->samplers[i], (uint32_t)cpu, count->now,
						    &watch->sampled);
		}
	}
	return ret;
}

/* Takes what has come, closes the slots before `slot_ns`, and hands over the samples that were
 * drawn. Counts are read first: a packet that is counted before they are, and of a slot that is
 * over, is in the ring. */
static int slots_close(struct watch *watch, uint64_t slot_ns, uint32_t more,
		       watch_sample_fn *sample, void *arg)
{
	bool enough = false, ours;
	int ret = counts_learn(watch), read;

	watch->failed = 0;
	read = ring_buffer__consume(watch->ring);
	if (!ret)
		ret = read < 0 ? read : watch->failed;
	for (int i = 0; !ret && i < 2; i++) {
		struct sampler *sampler = &watch->samplers[i];

		ret = sampler_close(sampler, sampler_slot_of(sampler, slot_ns) + more,
				    &watch->sampled);
	}
	ours = __atomic_load_n(&watch->entry->until_ns, __ATOMIC_ACQUIRE) == watch->until_ns;
	for (int i = 0; ours && i < 2; i++) /* else another watch has the entry */
		__atomic_store_n(&watch->entry->stream[i].ceiling,
				 watch->samplers[i].stream.ceiling, __ATOMIC_RELAXED);
	if (ret) {
		fail("%s: reading the samples failed: %s", watch->instance->device, strerror(-ret));
		return ret;
	}
	sampled_sort(&watch->sampled);
	for (size_t i = 0; !enough && i < watch->sampled.count; i++)
		enough = sample(arg, &watch->sampled.items[i]);
	watch->sampled.count = 0;
	return 0;
}

int watch_poll(struct watch *watch, watch_sample_fn *sample, void *arg)
{
	int ret = slots_close(watch, instance_now(watch->instance) - CLOSE_NS, 0, sample, arg);

	return ret ? ret : entry_renew(watch);
}

int watch_finish(struct watch *watch, uint64_t until_ns, watch_sample_fn *sample, void *arg)
{
	uint64_t now_ns = instance_now(watch->instance);

	return slots_close(watch, now_ns < until_ns ? now_ns : until_ns - 1, 1, sample, arg);
}

int watch_until(struct watch *watch, uint64_t end_ns, watch_sample_fn *sample, void *arg)
{
	struct pollfd fd = {.fd = watch_fd(watch), .events = POLLIN};
	int ret = 0;

	while (!ret && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		poll(&fd, 1, WAIT_MS);
		ret = watch_poll(watch, sample, arg);
	}
	return ret ? ret : watch_finish(watch, end_ns, sample, arg);
}

int watch_figures(const struct watch *watch, struct watch_figures *out)
{
	struct watch_figures figures = {0};

	for (uint32_t i = 0; i < 2; i++) {
		struct rl_watch_count sum;
		int ret = percpu_sum(watch->instance->fd.watch_counts, 2 * entry_index(watch) + i,
				     (uint64_t *)&sum, sizeof(sum) / 8);

		if (ret) {
			fail("%s: reading the counters failed: %s", watch->instance->device,
			     strerror(-ret));
			return ret;
		}
		figures.packets[i] = sum.packets;
		figures.lost += sum.lost + watch->samplers[i].late;
	}
	*out = figures;
	return 0;
}
