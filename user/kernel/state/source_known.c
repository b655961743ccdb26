// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/state/source_known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "algorithm/gcra.h"
#include "algorithm/known_filter.h"
#include "base/units.h"
#include "kernel/maps/hot_table.h"
#include "kernel/maps/policy_maps.h"
#include "kernel/policy/policy_read.h"
#include "kernel/state/source_search.h"

/* As bpf/match/known_source.h says. */
static bool is_ripe(const struct instance *instance, uint64_t word)
{
	struct rl_policy_header header;

	return word & KNOWN_RIPE || policy_header_read(instance, &header) || !header.ripens_ms;
}

static int known_found(void *arg, const struct rl_state_key *key, const struct rl_hot_slot *slot)
{
	const struct source_search *s = arg;

	(void)key;
	if ((int64_t)(slot->word - gcra_now(s->ctx.now_ns)) <= 0)
		return 0;
	return is_ripe(s->instance, slot->word);
}

static int hot_source_is_known(struct source_search *s, const struct rl_state_key *key)
{
	const struct rl_rule numbers = {.flags = RL_RULE_LOOKUP_ADDRESS | RL_RULE_SIMPLE};
	struct hot_table table;
	int ret = hot_open(s->instance, &table);

	if (ret)
		return ret;
	ret = hot_lookup(&table, &numbers, key, known_found, s);
	hot_close(&table);
	return ret;
}

int instance_source_is_known(const struct instance *instance, const uint8_t source[16], bool *known)
{
	struct source_search s = {.instance = instance};
	struct rl_state_key key = {0};
	struct rl_state *states;
	int fd, ret;

	*known = false;
	search_begin(&s);
	if (s.ctx.hot) {
		memcpy(key.addr, source, sizeof(key.addr));
		ret = hot_source_is_known(&s, &key);
		*known = ret > 0;
		return ret < 0 ? ret : 0;
	}
	prefix_mask(key.addr, source, key_bits(source, 32, 64));
	fd = policy_map_open(instance, POLICY_MAP_sources);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	states = calloc(search_parts(&s), sizeof(*states));
	ret = !states ? -ENOMEM : bpf_map_lookup_elem(fd, &key, states) ? -errno : 0;
	close(fd);
	for (int i = 0; !ret && i < search_parts(&s); i++)
		*known |= is_ripe(instance, states[i].word);
	free(states);
	return ret == -ENOENT ? 0 : ret;
}
