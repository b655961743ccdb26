// SPDX-License-Identifier: GPL-2.0-only
/* The suggestion as a policy, with its evidence in comments. */
#include <inttypes.h>
#include <stdio.h>

#include "base/message.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/suggest/suggest.h"

/* 2, 1.5 */
static void factor_print(unsigned int percent)
{
	printf("%u", percent / 100);
	if (percent % 100)
		printf(percent % 10 ? ".%02u" : ".%u",
		       percent % 10 ? percent % 100 : percent % 100 / 10);
}

/* ---- what all of it was learnt from */

static void seen_print(const struct suggest *s)
{
	printf("# Learnt from %s packets, %s, in %s", number_text(s->seen.packets),
	       size_text(s->seen.bytes), wait_text(s->watched_ns));
	if (s->rate)
		printf(", by %s samples (at most %" PRIu32 " a second; %s lost)",
		       number_text(s->seen.all.samples), s->rate, number_text(s->lost));
	puts(".");
	if (s->seen.all.samples < s->seen.packets)
		printf("# Each sample stands for %s packets in the mean: +- is the error of sampling, "
		       "at two standard deviations.\n",
		       number_text((s->seen.packets + s->seen.all.samples / 2) /
				   s->seen.all.samples));
	if (s->seen.forgotten)
		printf("# %s sources that sent 3 packets at most were forgotten, for want of room; "
		       "of the others, one in %u was kept.\n",
		       number_text(s->seen.forgotten), 1u << s->seen.halvings);
}

/* Also to standard error, as this one is read where the policy goes to a file. */
static void flood_print(const struct suggest *s)
{
	const struct suggest_flood *flood = &s->suggestion.flood;
	char from[NUMBER_TEXT_MAX], to[NUMBER_TEXT_MAX], text[512];

	if (!flood->seconds)
		return;
	time_print(from, suggest_clock(s, flood->first), false);
	time_print(to, suggest_clock(s, flood->last), false);
	snprintf(text, sizeof(text),
		 "looks like a flood: %s packets/s in %s of %s s, between %s and %s, where the "
		 "quiet seconds have %s; the limits would let it pass: %s a calm hour instead",
		 number_text(flood->rate), number_text(flood->seconds),
		 number_text(s->watched_ns / NS_PER_SECOND + 1), from, to,
		 number_text(flood->usual), s->rate ? "watch" : "capture");
	printf("# Warning: this %s.\n", text);
	note("warning: this %s", text);
}

/* As a comment: the rule is for a flood, not for clients. */
static void pattern_print_rule(const struct suggest *s)
{
	const struct pattern_busy *of = &s->pattern;
	char text[PATTERN_TEXT_MAX], network[PREFIX_TEXT_MAX] = "", rule[PATTERN_RULE_MAX];

	if (!of->part.share)
		return;
	pattern_print(text, &of->part.pattern, false);
	if (of->part.pattern.network)
		pattern_network_print(network, sizeof(network), of->part.pattern.network);
	printf("# %.0f%% of the packets in the seconds of a flood: %s%s%s.", 100 * of->part.share,
	       text, *network ? ", from " : "", network);
	if (of->is_usual) {
		printf(" %.0f%% of those in the quiet seconds are like it: a rule would hit both.\n",
		       100 * of->quiet);
		return;
	}
	if (of->quiet > 0)
		printf(" %.1f%% of those in the quiet seconds are like it.", 100 * of->quiet);
	pattern_print(text, &of->part.pattern, true);
	pattern_rule_print(rule, text);
	printf(" Uncomment to limit it:\n#%s\n", rule);
}

static void few_print(const struct suggest *s)
{
	const struct suggestion *suggestion = &s->suggestion;
	size_t listed = suggestion->few_count < SUGGEST_FEW_LISTED ? suggestion->few_count
								   : SUGGEST_FEW_LISTED;
	char match[SUGGEST_RULE_MAX];

	if (!listed)
		return;
	printf("# Seen too rarely for a limit of their own:");
	for (size_t i = 0; i < listed; i++) {
		suggest_match_print(match, suggestion, suggestion->few[i].kind,
				    suggestion->few[i].number);
		printf("%s %s (%s packet%s)", i ? "," : "", match,
		       number_text(suggestion->few[i].packets), plural(suggestion->few[i].packets));
	}
	if (suggestion->few_count > listed)
		printf(", and %s more", number_text(suggestion->few_count - listed));
	puts(".");
}

/* ---- each limit */

static void left_out_print(const struct suggest *s, const struct suggest_left_out *out)
{
	char from[NUMBER_TEXT_MAX], to[NUMBER_TEXT_MAX], address[PREFIX_TEXT_MAX];

	if (!out->packets)
		return;
	time_print(from, suggest_clock(s, out->first), false);
	time_print(to, suggest_clock(s, out->last), false);
	printf("#   left out as a flood: %s packets between %s and %s", number_text(out->packets),
	       from, to);
	if (out->sources) {
		prefix_print(address, sizeof(address), out->heaviest,
			     key_bits(out->heaviest, 32, 64));
		printf("; of %s source%s, the heaviest %s with %s in a second",
		       number_text(out->sources), plural(out->sources), address,
		       number_text(out->heaviest_packets));
	}
	puts("; if it is yours, give it a rule of its own");
}

static void limit_print(const struct suggest *s, const struct suggest_class *class, bool sum)
{
	const struct suggest_limit *limit = sum ? &class->sum_limit : &class->source_limit;
	const struct suggest_peaks *peaks = sum ? class->sum : class->source;
	char line[SUGGEST_RULE_MAX];

	if (class->packets)
		printf("# %s, packets (median, 99 %%, highest)",
		       sum ? "all sources together" : "each source");
	for (int w = 0; class->packets && w < SUGGEST_WINDOWS; w++) {
		printf("%s in %" PRIu32 " s: %s, %s, %s", w ? ";" : "", suggest_seconds[w],
		       number_text(peaks[w].median), number_text(peaks[w].most99),
		       number_text(peaks[w].highest));
		if (peaks[w].error)
			printf(" +- %s", number_text(peaks[w].error));
	}
	printf("%s#   chosen: %s", class->packets ? "\n" : "",
	       limit->least ? "the least that is suggested" : "");
	if (!limit->least) {
		factor_print(s->headroom);
		printf(" times %s in 10 s; burst: ", number_text(peaks[SUGGEST_10S].highest));
		factor_print(s->headroom);
		printf(" times %s packets above that rate", number_text(limit->depth));
	}
	suggest_rule_print(line, &s->suggestion, class, sum, s->enforce);
	printf("\n%s\n", line);
}

static void class_print(const struct suggest *s, const struct suggest_class *class)
{
	char match[SUGGEST_RULE_MAX];

	suggest_match_print(match, &s->suggestion, class->kind, class->number);
	if (class->kind == SUGGEST_REST_TCP || class->kind == SUGGEST_REST_UDP)
		printf("\n# the rest of %.3s: ", match);
	else
		printf("\n# %s: ", class->kind == SUGGEST_ALL ? "all packets" : match);
	if (class->packets)
		printf("%s packet%s, %s, %s%s source%s, in %s of %s s\n",
		       number_text(class->packets), plural(class->packets), size_text(class->bytes),
		       s->seen.forgotten ? "at most " : "", number_text(class->sources),
		       plural(class->sources), number_text(class->seconds),
		       number_text(s->watched_ns / NS_PER_SECOND + 1));
	else if (class->left_out.packets)
		puts("no packets but a flood");
	else
		puts("no packets, so no limit");
	left_out_print(s, &class->left_out);
	for (int sum = 0; sum < 2; sum++)
		if (suggest_has_rule(class, sum))
			limit_print(s, class, sum);
}

void suggest_print_text(const struct suggest *s)
{
	seen_print(s);
	flood_print(s);
	pattern_print_rule(s);
	few_print(s);
	printf("# Numbers: ");
	factor_print(s->headroom);
	puts(" times (--headroom) the highest that is not a flood; rates over 10 s.");
	if (!s->enforce)
		puts("# The limits only count (over count): `rlctl stats` shows what they would refuse. "
		     "--enforce suggests them in force.");
	for (size_t i = 0; i < s->suggestion.count; i++)
		class_print(s, &s->suggestion.classes[i]);
}
