// SPDX-License-Identifier: GPL-2.0-only
/* Reads an answer by its RFCs alone. */
#include "answer.h"

#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "cases.h"

static uint32_t be16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static uint32_t be32(const uint8_t *at)
{
	return be16(at) << 16 | be16(at + 2);
}

static uint32_t sum_of(const uint8_t *at, uint32_t bytes)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < bytes; i += 2)
		sum += be16(at + i);
	return sum;
}

static uint32_t folded(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static uint32_t network_at(const struct frame *frame)
{
	uint32_t at = 2 * ETH_ALEN;

	while (be16(frame->bytes + at) == ETH_P_8021Q || be16(frame->bytes + at) == ETH_P_8021AD)
		at += 4;
	return at + 2;
}

static void link_is_turned(const struct frame *in, const struct frame *out, uint32_t network)
{
	assert_memory_equal(out->bytes, in->bytes + ETH_ALEN, ETH_ALEN);
	assert_memory_equal(out->bytes + ETH_ALEN, in->bytes, ETH_ALEN);
	assert_memory_equal(out->bytes + 2 * ETH_ALEN, in->bytes + 2 * ETH_ALEN,
			    network - 2 * ETH_ALEN);
}

/* Sum of the pseudo header. */
static uint32_t ipv4_is_turned(const uint8_t *in, const uint8_t *out)
{
	static const uint8_t fixed[] = {0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, IPPROTO_TCP};

	assert_memory_equal(out, fixed, sizeof(fixed));
	assert_int_equal(folded(sum_of(out, 20)), 0xffff);
	assert_memory_equal(out + 12, in + 16, 4);
	assert_memory_equal(out + 16, in + 12, 4);
	return sum_of(out + 12, 8) + IPPROTO_TCP + 24;
}

static uint32_t ipv6_is_turned(const uint8_t *in, const uint8_t *out)
{
	static const uint8_t fixed[] = {0x60, 0, 0, 0, 0, 24, IPPROTO_TCP, 64};

	assert_memory_equal(out, fixed, sizeof(fixed));
	assert_memory_equal(out + 8, in + 24, 16);
	assert_memory_equal(out + 24, in + 8, 16);
	return sum_of(out + 8, 32) + IPPROTO_TCP + 24;
}

static void tcp_is_answer(const uint8_t *in, const uint8_t *out, uint32_t pseudo, uint16_t mss)
{
	static const uint8_t fixed[] = {0x60, 0x12, 64240 >> 8, 64240 & 0xff};

	assert_int_equal(be16(out), be16(in + 2));
	assert_int_equal(be16(out + 2), be16(in));
	assert_int_equal(be32(out + 8), be32(in + 4) + 1);
	assert_memory_equal(out + 12, fixed, sizeof(fixed));
	assert_int_equal(folded(pseudo + sum_of(out, 24)), 0xffff);
	assert_int_equal(be16(out + 18), 0);
	assert_int_equal(be16(out + 20), 0x0204);
	assert_int_equal(be16(out + 22), mss);
}

void answer_check(const struct frame *in, const struct frame *out, uint16_t mss)
{
	uint32_t network = network_at(in), pseudo;
	bool ipv4 = in->bytes[network] >> 4 == 4;
	uint32_t end = network + (ipv4 ? 20 : 40) + 24;

	link_is_turned(in, out, network);
	pseudo = ipv4 ? ipv4_is_turned(in->bytes + network, out->bytes + network)
		      : ipv6_is_turned(in->bytes + network, out->bytes + network);
	tcp_is_answer(in->bytes + in->tcp_at, out->bytes + end - 24, pseudo, mss);
	assert_true(out->size <= in->size + 4);
	assert_true(out->size == end || (out->size <= ETH_ZLEN && out->size > end));
}
