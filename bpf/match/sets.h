/* SPDX-License-Identifier: GPL-2.0-only */
/* The sets that an address is a member of. All sets have one table of members (abi/sets.h), which
 * is asked once for each length that the guide knows at the address, from the longest on. Only with
 * EXTENDED, and there only where a rule names a set. The race with the one writer of the table is
 * described at rl_member_layout.
 */
#pragma once

#include "algorithm/member_hash.h"
#include "algorithm/once.h"
#include "match/group.h"

#if EXTENDED

#define MEMBER_TRIES 8 /* while a writer is at work */

static __always_inline const struct rl_member_layout *members_layout(void)
{
	return config.walks_sets ? only(map_there(&member_layout)) : NULL;
}

/* The bit of the set that the slot belongs to; 0: the member has expired, or is of a former epoch.
 */
static __always_inline __u64 slot_set(const struct member_query *query, __u16 meta, __u32 expires)
{
	__u32 set = meta & RL_MEMBER_SET;

	if ((query->epochs >> set & 1) != !!(meta & RL_MEMBER_EPOCH) ||
	    member_expired(expires, query->now))
		return 0;
	return 1ull << set;
}

/* Is it a member of that length? */
static __always_inline bool slot_has(const struct member_query *query, __u16 meta)
{
	return (meta & ~(RL_MEMBER_SET | RL_MEMBER_EPOCH)) == query->wanted;
}

/* The sets of the line that have the member. Functions of their own, so that the verifier follows
 * their branches once. */
__noinline __u64 line4_sets(const struct rl_member_line4 *line, const struct member_query *query)
{
	__u64 sets = 0;
	__u32 addr;

	if (!line || !query)
		return 0;
	addr = query->addr[0];
#pragma unroll
	for (int i = 0; i < RL_MEMBER_WAYS4; i++)
		if (line->addr[i] == addr && slot_has(query, line->meta[i]))
			sets |= slot_set(query, line->meta[i], line->expires[i]);
	return sets;
}

__noinline __u64 line6_sets(const struct rl_member_line6 *line, const struct member_query *query)
{
	__u64 sets = 0;

	if (!line || !query)
		return 0;
#pragma unroll
	for (int i = 0; i < RL_MEMBER_WAYS6; i++)
		if (line->addr[i][0] == query->addr[0] && line->addr[i][1] == query->addr[1] &&
		    slot_has(query, line->meta[i]))
			sets |= slot_set(query, line->meta[i], line->expires[i]);
	return sets;
}

static __always_inline union rl_member_page *page_find(const struct rl_member_key *key)
{
	void *pages = only(&members);

	return pages ? bpf_map_lookup_elem(pages, key) : NULL;
}

/* Asks twice before it says that there is none: while the kernel puts a page in the place of
 * another, first the new one comes to the front and then the old one goes, and a reader between
 * the two steps misses both. */
static __always_inline union rl_member_page *page_at(__u32 family, __u32 page)
{
	struct rl_member_key key = {.family = family, .page = page};
	union rl_member_page *found = page_find(&key);

	return found ? found : page_find(&key);
}

/* The sets of the page that have the member: from its line on, as long as members may stand in the
 * next. */
__noinline __u64 page4_sets(const struct member_query *query)
{
	const union rl_member_page *page;
	__u64 sets = 0;
	__u32 at;

	if (!query)
		return 0;
	page = page_at(4, query->page);
	at = member_line(query->hash, RL_MEMBER_LINES4);
	for (int i = 0; page && i < RL_MEMBER_PROBES; i++) {
		const struct rl_member_line4 *line;

		if (at >= RL_MEMBER_LINES4)
			at = 0;
		line = &page->line4[at++];
		sets |= line4_sets(line, query);
		if (!(line->page & RL_MEMBER_FULL))
			break;
	}
	return sets;
}

__noinline __u64 page6_sets(const struct member_query *query)
{
	const union rl_member_page *page;
	__u64 sets = 0;
	__u32 at;

	if (!query)
		return 0;
	page = page_at(6, query->page);
	at = member_line(query->hash, RL_MEMBER_LINES6);
	for (int i = 0; page && i < RL_MEMBER_PROBES; i++) {
		const struct rl_member_line6 *line;

		if (at >= RL_MEMBER_LINES6)
			at = 0;
		line = &page->line6[at++];
		sets |= line6_sets(line, query);
		if (!(line->page & RL_MEMBER_FULL))
			break;
	}
	return sets;
}

static __always_inline __u64 pages_of(const struct member_query *query,
				      const struct rl_member_layout *layout)
{
	return query->ipv4 ? READ_ONCE(layout->pages4) : READ_ONCE(layout->pages6);
}

static __always_inline __u64 page_sets(const struct member_query *query)
{
	return query->ipv4 ? page4_sets(query) : page6_sets(query);
}

/* The same while a writer is at work: the page and its lines are of one moment. */
__noinline __u64 page_sets_apart(struct member_query *query)
{
	const struct rl_member_layout *layout = members_layout();
	__u64 sets = 0;

	if (!query || !layout)
		return 0;
	for (int i = 0; i < MEMBER_TRIES; i++) {
		__u32 changes = READ_ONCE(layout->changes);

		query->page = member_page(query->hash, pages_of(query, layout));
		sets = page_sets(query);
		if (READ_ONCE(layout->changes) == changes)
			break;
	}
	return sets;
}

static __always_inline __u64 high_bits64(__u32 len)
{
	return len ? bpf_cpu_to_be64(~0ULL << (64 - len)) : 0;
}

/* The sets that have the first `len` bits of the source or destination as a member. */
static __always_inline __u64 prefix_sets(struct decision *d, __u32 dst, __u32 len)
{
	const __u64 *addr = (const __u64 *)(dst ? d->p.dst : d->p.src);
	struct member_query *query = &d->query;

	query->wanted = RL_MEMBER_USED | len << RL_MEMBER_LEN_SHIFT;
	if (query->ipv4) {
		query->addr[0] = addr[1] >> 32 & bpf_htonl((__u32)(~0ULL << (32 - (len & 63))));
		query->hash = member_hash4(config.hot_seed, query->addr[0], len);
	} else {
		query->addr[0] = addr[0] & high_bits64(len > 64 ? 64 : len);
		query->addr[1] = len > 64 ? addr[1] & high_bits64(len - 64) : 0;
		query->hash = member_hash6(config.hot_seed, query->addr, len);
	}
	if (query->apart)
		return page_sets_apart(query);
	query->page = member_page(query->hash, query->pages);
	return page_sets(query);
}

/* Lengths that members around the address may have. */
static __always_inline void lengths_of(struct member_query *query,
				       const struct rl_member_layout *layout, const __u8 *address)
{
	const __u32 *addr = (const __u32 *)address;

	if (query->ipv4) {
		query->lengths[0] = READ_ONCE(layout->guide4[guide4_index(bpf_ntohl(addr[3]))]);
		query->lengths[1] = 0;
		query->zero = READ_ONCE(layout->zero4);
	} else {
		const struct rl_guide6 *guide =
			&layout->guide6[guide6_index(config.hot_seed, addr[0])];
		__u32 short6 = READ_ONCE(layout->short6);

		query->lengths[0] = READ_ONCE(guide->lengths[0]) | short6 >> 1;
		query->lengths[1] = READ_ONCE(guide->lengths[1]);
		query->zero = short6 & 1;
	}
}

/* The number of the highest bit; the word is not 0. Apart, so that the verifier follows its
 * branches once. */
__noinline __u32 highest_bit(__u64 word)
{
	__u32 bit = 0;

#pragma unroll
	for (int step = 32; step; step /= 2)
		if (word >> step) {
			word >>= step;
			bit += step;
		}
	return bit;
}

/* Takes the longest length; 0: there is none but 0. */
static __always_inline __u32 length_take(struct member_query *query)
{
	__u32 high = !!query->lengths[1], bit;
	__u64 word = query->lengths[high];

	if (!word)
		return 0;
	bit = highest_bit(word) & 63;
	query->lengths[high] = word & ~(1ull << bit);
	return high * 64 + bit + 1;
}

/* Notes sets whose rules decide at this length. */
static __always_inline void length_note(struct decision *d, __u64 sets, __u32 len)
{
	__u32 at = d->set_lengths & (RL_SET_PREFIX_MAX - 1);

	if (!sets || d->set_lengths >= RL_SET_PREFIX_MAX)
		return;
	d->set_length[at].sets = sets;
	d->set_length[at].len =
		RL_FAMILY_BITS + (d->p.flags & PACKET_IPV4 ? RL_MAPPED_BITS : 0) + len;
	d->set_lengths++;
}

/* False: there are no members of the family. */
static __always_inline bool query_begin(struct decision *d, const struct rl_member_layout *layout)
{
	struct member_query *query = &d->query;

	query->ipv4 = !!(d->p.flags & PACKET_IPV4);
	query->now = member_time(clock_tick());
	query->epochs = READ_ONCE(layout->epochs);
	query->pages = pages_of(query, layout);
	return query->pages;
}

/* Asks for the longest length that is left. 0: none is. Apart, and with what is left in memory, so
 * that the verifier follows it once and not for each of 129 lengths. */
__noinline int length_ask(struct decision *d, __u32 dst, __u64 prefixes)
{
	__u64 sets;
	__u32 len;

	if (!d)
		return 0;
	len = length_take(&d->query);
	if (!len && !d->query.zero)
		return 0;
	sets = prefix_sets(d, dst, len) & ~d->query.seen;
	d->query.seen |= sets;
	length_note(d, sets & prefixes, len);
	return len;
}

/* All that the guide knows. */
static __always_inline __u64 lengths_ask(struct decision *d, __u32 dst, __u64 prefixes)
{
	d->query.seen = 0;
	for (int i = 0; i < 129; i++)
		if (!length_ask(d, dst, prefixes))
			break;
	return d->query.seen;
}

/* One try: void if it leaves d->query.again. The guide, the epochs and the lines have to be of one
 * moment: a swap may put a member of another length in the place of one. With d->query.apart each
 * page is of one moment, and all are between two swaps. */
__noinline __u64 address_try(struct decision *d, __u32 dst, __u64 prefixes)
{
	const struct rl_member_layout *layout = members_layout();
	const __u32 *counter;
	__u64 sets = 0;
	__u32 before;

	if (!d)
		return 0;
	d->query.again = 0;
	if (prefixes)
		d->set_lengths = 0;
	if (!layout)
		return 0;
	counter = d->query.apart ? &layout->swaps : &layout->changes;
	before = READ_ONCE(*counter);
	if (query_begin(d, layout)) {
		lengths_of(&d->query, layout, dst ? d->p.dst : d->p.src);
		sets = lengths_ask(d, dst, prefixes);
	}
	d->query.again = READ_ONCE(*counter) != before;
	return sets;
}

/* The sets that the source or the destination is in. The longest member of a set decides, as its
 * rules are the same for all: those of `prefixes` are noted by that. */
static __always_inline __u64 address_sets(struct decision *d, __u32 dst, __u64 prefixes)
{
	__u64 sets = 0;

	for (int i = 0; i < MEMBER_TRIES; i++) {
		d->query.apart = i > 0;
		sets = address_try(d, dst, prefixes);
		if (!d->query.again)
			break;
	}
	return sets;
}

static __always_inline struct rl_set_groups *groups_of(__u32 half)
{
	void *inner = bpf_map_lookup_elem(&set_groups, &half);

	return inner ? only(inner) : NULL;
}

/* Counts the packet for each of the sets. */
__noinline int sets_count(const struct packet *p, __u64 sets)
{
	if (!config.walks_sets || !p)
		return 0;
	for (int i = 0; i < RL_SETS_MAX && sets; i++) {
		__u32 set = highest_bit(sets);
		struct rl_amount *amount = bpf_map_lookup_elem(map_there(&set_counts), &set);

		sets &= ~(1ull << (set & 63));
		if (!amount)
			continue;
		amount->packets += packet_count(p);
		amount->bytes += p->bytes;
	}
	return 0;
}

/* Finds the sets that the policy's rules ask for. No refusal of an address that
 * is in one is cached, as members expire. */
__noinline int sets_find(struct decision *d, const struct rl_policy_header *header)
{
	struct rl_set_groups *groups;
	__u64 by_src, by_dst, src = 0, dst = 0;

	if (!d || !header)
		return 0;
	d->set_lengths = 0;
	groups = groups_of(header->half);
	if (groups) {
		by_src = config.goes_by_dest ? 0 : groups->prefixes;
		by_dst = config.goes_by_dest ? groups->prefixes : 0;
		if (groups->src | by_src)
			src = address_sets(d, 0, by_src) & (groups->src | by_src);
		if (groups->dst | by_dst)
			dst = address_sets(d, 1, by_dst) & (groups->dst | by_dst);
	}
	d->p.facts.src_sets = src;
	d->p.facts.dst_sets = dst;
	if (src | dst)
		sets_count(&d->p, src | dst);
	if (config.goes_by_dest ? dst : src)
		d->p.cacheable = 0;
	return 0;
}

#endif
