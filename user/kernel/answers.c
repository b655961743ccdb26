// SPDX-License-Identifier: GPL-2.0-only
/* Constants of the answers that the program sends itself, and the map that holds their rate,
 * created when a policy first uses `over challenge` or `over truncate`. */

#include "answers.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "device_netlink.h"
#include "map_in_map.h"
#include "numbers.h"
#include "rlctl.skel.h"
#include "units.h"

/* Answers at once: of a second's. The batches of all CPUs are half of that. */
#define BURST_PART 200
#define BATCH_MAX  64u

/* SYNs of connections that exist, a second and at once: a client that reuses its port sends one. */
#define EXISTING_RATE 100u

#define MSS_MAX       0xffffu

static uint32_t at_least_one(uint32_t n)
{
	return n ? n : 1;
}

static struct rl_gcra gcra_of(uint32_t rate, uint32_t burst)
{
	struct rl_limit limit = {
		.amount = rate,
		.period_ns = NS_PER_SECOND,
		.size = burst,
		.algorithm = RL_TOKEN_BUCKET,
		.unit = RL_PACKETS,
	};
	struct rl_gcra gcra;

	gcra_compile(&limit, &gcra);
	return gcra;
}

static void rate_constants(struct rlctl_bpf *skel, const struct rl_instance *info)
{
	uint32_t rate = info->challenge_rate ? info->challenge_rate : RL_CHALLENGE_RATE;
	uint32_t burst = at_least_one(rate / BURST_PART);
	uint32_t batch = burst / 2 / at_least_one(info->possible_cpus);
	struct rl_gcra all = gcra_of(rate, burst), existing = gcra_of(EXISTING_RATE, EXISTING_RATE);

	memcpy((void *)&skel->rodata->answers_rate, &all, sizeof(all));
	memcpy((void *)&skel->rodata->existing_rate, &existing, sizeof(existing));
	skel->rodata->answers_batch = at_least_one(batch < BATCH_MAX ? batch : BATCH_MAX);
}

/* The largest segment that the device receives. A smaller one than every host accepts is not asked
 * for; on the loopback device it fits the option. */
static uint16_t mss_of(uint32_t mtu, uint32_t headers, uint32_t least)
{
	uint32_t mss = mtu > headers ? mtu - headers : 0;

	if (mss < least)
		return least;
	return mss < MSS_MAX ? mss : MSS_MAX;
}

/* A device that does not tell its address answers nothing: no frame that is answered is sent to a
 * group's. */
static void address_constant(struct rlctl_bpf *skel, const struct rl_instance *info)
{
	struct device_facts facts = {.ifindex = (int)info->ifindex};

	if (!info->ifindex) /* it runs on no device */
		return;
	if (device_link_read(&facts))
		memset(facts.address, 0xff, sizeof(facts.address));
	memcpy((void *)skel->rodata->device_address, facts.address, sizeof(facts.address));
}

void answers_constants(struct rlctl_bpf *skel, const struct rl_instance *info)
{
	rate_constants(skel, info);
	if (info->program_uses & RL_USE_ANSWERS)
		address_constant(skel, info);
	skel->rodata->challenges =
		info->mode != RL_MODE_TC && info->program_uses & RL_USE_CHALLENGE;
	skel->rodata->challenge_mss4 = mss_of(info->mtu, 40, 536);
	skel->rodata->challenge_mss6 = mss_of(info->mtu, 60, 1220);
}

static int answers_create(const struct instance *instance)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP);
	int ret, fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rlctl_answers", sizeof(uint32_t),
				     sizeof(struct rl_answers), 1 + instance->info.possible_cpus,
				     &opts);

	if (fd < 0)
		return -errno;
	ret = inner_put(instance, instance->fd.answers, 0, fd);
	close(fd);
	return ret;
}

int answers_make(const struct instance *instance)
{
	int fd = inner_open(instance, instance->fd.answers, 0);

	if (fd >= 0)
		close(fd);
	if (fd == -ENOENT)
		return answers_create(instance);
	return fd < 0 ? fd : 0;
}
