// SPDX-License-Identifier: GPL-2.0-only
/* Options that divide the one bucket of a limit: `share` among classes of senders, or among
 * sources, and `keep` for a class.
 */
#include <ctype.h>
#include <string.h>

#include "policy/names.h"
#include "policy/parser.h"

#define PART_MAX      98
#define PARTS_EXAMPLE "for example 60/30/10"

/* ---- options that stand beside them */

static int refuse_beside(struct parser *p, struct span at, const char *word, const char *remedy)
{
	return refuse(p, at, "cannot be combined with %s: %s", word, remedy);
}

static int consequences_check(struct parser *p, const char *word)
{
	const struct rl_limit *limit = &p->rule->limit;
	struct span over;

	if (limit->fleet)
		return refuse_beside(p, p->clause_at[CLAUSE_FLEET], word, "remove one of the two");
	if (limit->over == RL_OVER_DROP || limit->over == RL_OVER_SHADOW)
		return 0;
	over = span_after(p, p->clause_at[CLAUSE_OVER]);
	if (limit->over == RL_OVER_UNLESS)
		return refuse_beside(p, span_after(p, over), word,
				     limit->share[0] ? "a part is for the established already, so "
						       "write over drop"
						     : "write over drop");
	return refuse_beside(p, over, word, "write over drop or over count");
}

/* Options that are read already, or all of them. */
static int keep_beside(struct parser *p)
{
	if (clause_given(p, CLAUSE_SHARE))
		return refuse_beside(p, p->clause_at[CLAUSE_KEEP], "share", "write one of them");
	if (clause_given(p, CLAUSE_PER) && p->rule->limit.key != RL_KEY_RULE)
		return refuse_beside(p, span_after(p, p->clause_at[CLAUSE_PER]), "keep",
				     "keep divides one bucket that all packets share, so leave out "
				     "per");
	return consequences_check(p, "keep");
}

/* ---- reading */

/* W/W/W: what is for the established, the known and strangers; modifies the word. */
static int parts_parse(struct parser *p)
{
	uint64_t part[RL_SHARE_CLASSES], sum = 0;
	char *rest = p->word;

	for (int i = 0; i < RL_SHARE_CLASSES; i++) {
		const char *word = strsep(&rest, "/");
		int rc = word ? number_parse(word, 1, PART_MAX, &part[i]) : WORD_FORM;

		if (rc == WORD_RANGE)
			return refuse(p, p->span,
				      "has a part that is out of range: write three from 1 to %d "
				      "that sum to 100, " PARTS_EXAMPLE,
				      PART_MAX);
		if (rc || !rest != (i == RL_SHARE_CLASSES - 1))
			return refuse(p, p->span,
				      "is not three parts: write percentages for the established, "
				      "the known and strangers, " PARTS_EXAMPLE);
		sum += part[i];
	}
	if (sum != 100)
		return refuse(p, p->span, "sums to %d: write parts that sum to 100, " PARTS_EXAMPLE,
			      (int)sum);
	p->rule->limit.share[0] = part[RL_SHARE_ESTABLISHED];
	p->rule->limit.share[1] = part[RL_SHARE_KNOWN];
	word_next(p);
	return 0;
}

int parse_share(struct parser *p)
{
	p->rule->limit.share[0] = SHARE_ESTABLISHED;
	p->rule->limit.share[1] = SHARE_KNOWN;
	return isdigit((unsigned char)p->word[0]) ? parts_parse(p) : 0;
}

/* For whom: a class of senders, or the members of a set. */
static int parse_kept(struct parser *p)
{
	struct rule *rule = p->rule;
	int class = word_find(p, keep_words, RL_KEEP_SET - 1);

	if (p->word[0] == '@') {
		rule->limit.keep_for = RL_KEEP_SET;
		rule->set_column.keep = p->span.at - p->line + 1;
		return parse_set_name(p, rule->keep_set);
	}
	if (class < 0)
		return expected(p, "a class of senders: write established, known or a set such as "
				   "@friends");
	rule->limit.keep_for = RL_KEEP_NONE + 1 + class;
	word_next(p);
	return 0;
}

int parse_keep(struct parser *p)
{
	const struct rl_limit *limit = &p->rule->limit;
	struct quantity q;
	int rc = keep_beside(p) ?: parse_quantity(p, QUANTITY_AMOUNT, &q) ?:
		 size_convert(p, &q, &p->keep);

	if (rc)
		return rc;
	p->keep_at = q.at;
	if (limit->unit == RL_BYTES && q.unit == RL_BITS && q.n % 8)
		return refuse(p, q.at,
			      "is not a whole number of bytes, which this limit counts: write a "
			      "multiple of 8 bits");
	if (!word_is(p, "for"))
		return expected(p, "\"for\" and a class of senders: write for example keep 20 for "
				   "established, keep 20 for known or keep 20 for @friends");
	word_next(p);
	return parse_kept(p);
}

/* ---- when all options are read */

static int share_check(struct parser *p)
{
	const struct rl_limit *limit = &p->rule->limit;
	struct span parts = span_after(p, p->clause_at[CLAUSE_SHARE]);

	if (limit->key == RL_KEY_RULE && (p->ctx->by_dest || p->ctx->leaving))
		return refuse(p, p->clause_at[CLAUSE_SHARE],
			      "divides the limit among classes of sources, and this instance goes "
			      "by destination: attach at hook xdp or ingress without --by dest, or "
			      "write share per dest");
	if (limit->key == RL_KEY_RULE)
		return 0;
	if (limit->key != RL_KEY_SOURCE && limit->key != RL_KEY_DEST)
		return refuse_beside(p, span_after(p, p->clause_at[CLAUSE_PER]), "share",
				     "write share per source or share per dest, or leave out per "
				     "to share among classes of senders");
	if (parts.len && isdigit((unsigned char)parts.at[0]))
		return refuse(p, parts,
			      "names parts of classes of senders, but with per %s each address has "
			      "the same part: write share per %s, or leave out per",
			      key_words[limit->key], key_words[limit->key]);
	return 0;
}

static int keep_check(struct parser *p)
{
	struct rl_limit *limit = &p->rule->limit;
	uint64_t most = limit->size - packet_size(limit, p->ctx, ETHERNET_BYTES);

	if (!p->keep)
		return refuse(p, p->keep_at, "keeps nothing: write at least 1, or remove keep");
	if (!most)
		return refuse(p, p->keep_at,
			      "leaves no room for others in a burst of one packet: write a larger "
			      "burst");
	if (p->keep > UINT32_MAX)
		return refuse_size(p, p->keep_at, "is out of range: write at most", UINT32_MAX);
	if (p->keep > most)
		return refuse_size(p, p->keep_at,
				   "leaves no room in the burst for a packet of others: write at "
				   "most",
				   most);
	limit->keep = p->keep;
	return 0;
}

int division_check(struct parser *p)
{
	if (clause_given(p, CLAUSE_KEEP))
		return keep_beside(p) ?: keep_check(p);
	if (!clause_given(p, CLAUSE_SHARE))
		return 0;
	return share_check(p) ?: consequences_check(p, "share");
}
