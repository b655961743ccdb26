// SPDX-License-Identifier: GPL-2.0-only
/* Constants of the answers that the program sends itself, and the device's addresses in the map
 * that holds their rate. */

#include "kernel/proof/answers.h"

#include <string.h>
#include <sys/param.h>

#include <bpf/bpf.h>

#include "base/message.h"
#include "base/units.h"
#include "compile/numbers.h"
#include "kernel/device/device_stack.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/scope.h"

/* Answers at once: of a second's. The batches of all CPUs are half of that. */
#define BURST_PART 200
#define BATCH_MAX  64u

/* SYNs of connections that exist, a second and at once: a client that reuses its port sends one. */
#define EXISTING_RATE 100u

#define MSS_MAX       0xffffu

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

/* The largest segment that the device receives. A smaller one than every host accepts is not asked
 * for; on the loopback device it fits the option. */
static uint16_t mss_of(uint32_t mtu, uint32_t headers, uint32_t least)
{
	uint32_t mss = mtu > headers ? mtu - headers : 0;

	if (mss < least)
		return least;
	return mss < MSS_MAX ? mss : MSS_MAX;
}

void answers_configure(struct rl_config *out, const struct rl_instance *info)
{
	uint32_t rate = info->challenge_rate ? info->challenge_rate : RL_CHALLENGE_RATE;
	uint32_t burst = MAX(rate / BURST_PART, 1);
	uint32_t batch = burst / 2 / MAX(info->possible_cpus, 1);

	out->answers_rate = gcra_of(rate, burst);
	out->existing_rate = gcra_of(EXISTING_RATE, EXISTING_RATE);
	out->answers_batch = MAX(MIN(batch, BATCH_MAX), 1);
	out->challenges = info->mode != RL_MODE_TC && info->program_uses & RL_USE_CHALLENGE;
	out->challenge_mss4 = mss_of(info->mtu, 40, 536);
	out->challenge_mss6 = mss_of(info->mtu, 60, 1220);
}

/* ---- the device's addresses */

/* Does it need no place? A device without Ethernet has none, 0. */
static bool addresses_have(const struct rl_answers *own, __u64 address)
{
	if (!address)
		return true;
	for (int i = 0; i < RL_ANSWER_ADDRESS_MAX; i++)
		if (own->address[i] == address)
			return true;
	return false;
}

static __u64 address_of(const struct device_stack *stack, int i)
{
	__u16 words[3];

	memcpy(words, stack->address[i], sizeof(words));
	return rl_answer_address(words);
}

/* Those of the device and of what is on top of it, as far as there is room; how many there is none
 * for. A device that says none answers nothing: no frame that is answered is sent to a group's. The
 * loopback device, whose address is 0, answers frames to any. */
static int addresses_read(const struct instance *instance, struct rl_answers *out)
{
	int count = 0, left = 0;
	struct device_stack stack;

	*out = (struct rl_answers){0};
	if (!instance->info.ifindex) /* it runs on no device */
		return 0;
	if (device_stack_read((int)instance->info.ifindex, &stack)) {
		out->address[0] = ~0ull;
		return 0;
	}
	for (int i = 0; i < stack.count; i++) {
		__u64 address = address_of(&stack, i);

		if (addresses_have(out, address))
			continue;
		if (count < RL_ANSWER_ADDRESS_MAX)
			out->address[count++] = address;
		else
			left++;
	}
	return left;
}

bool answers_miss(const struct instance *instance, uint8_t address[ETH_ALEN])
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_answers);
	uint32_t index = RL_ANSWERS_ADDRESSES;
	struct device_stack stack;
	struct rl_answers own;

	if (fd < 0 || bpf_map_lookup_elem(fd, &index, &own) || !own.address[0] ||
	    device_stack_read((int)instance->info.ifindex, &stack))
		return false;
	for (int i = 0; i < stack.count; i++)
		if (!addresses_have(&own, address_of(&stack, i))) {
			memcpy(address, stack.address[i], ETH_ALEN);
			return true;
		}
	return false;
}

int answers_make(const struct instance *instance)
{
	CLOSED int fd = policy_map_open(instance, POLICY_MAP_answers);
	uint32_t index = RL_ANSWERS_ADDRESSES;
	struct rl_answers own;
	int left;

	if (fd < 0)
		return fd;
	left = addresses_read(instance, &own);
	if (left)
		note("%s: the devices on top of it have %d addresses of Ethernet more than the %d "
		     "that over challenge and over truncate answer: SYNs and queries to those are "
		     "dropped over the limit: attach to these devices instead",
		     instance->device, left, RL_ANSWER_ADDRESS_MAX);
	return bpf_map_update_elem(fd, &index, &own, BPF_ANY);
}
