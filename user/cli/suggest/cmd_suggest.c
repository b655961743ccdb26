// SPDX-License-Identifier: GPL-2.0-only
/* rlctl suggest: a policy from what was seen. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/output/output.h"
#include "cli/suggest/suggest.h"

#define HEADROOM_USUAL 200 /* per cent */
#define HEADROOM_MAX   100

/* N or N.N or N.NN, times 100. */
static bool hundredths_parse(const char *word, unsigned int *out)
{
	const char *dot = strchrnul(word, '.');
	char whole[8] = "", part[3] = "00";
	uint64_t n, hundredths = 0;
	size_t digits = *dot ? strlen(dot + 1) : 0;

	if ((size_t)(dot - word) >= sizeof(whole) || digits > 2 || (*dot && !digits))
		return false;
	memcpy(whole, word, (size_t)(dot - word));
	if (digits)
		memcpy(part, dot + 1, digits);
	if (number_parse(whole, 1, HEADROOM_MAX, &n) ||
	    (digits && number_parse(part, 0, 99, &hundredths)))
		return false;
	*out = (unsigned int)(n * 100 + hundredths);
	return *out <= HEADROOM_MAX * 100;
}

static int options_check(const struct command *command)
{
	bool captures = command->arguments[OPTION_CAPTURE];

	if (!captures && command->word_count)
		return wrong(
			"suggest: unexpected argument '%s': write --capture %s, or -i %s for a "
			"device",
			command->words[0], command->words[0], command->words[0]);
	if (captures && command->target.device)
		return wrong("suggest: --capture and -i exclude each other: leave one out");
	if (!captures && option_given(command, OPTION_LOCAL))
		return wrong("suggest: --local applies only to --capture: leave it out");
	if (captures && option_given(command, OPTION_FOR))
		return wrong("suggest: --for applies only to a device: leave it out");
	if (captures && option_given(command, OPTION_RATE))
		return wrong("suggest: --rate applies only to a device: leave it out");
	return 0;
}

static int conclude(struct suggest *s)
{
	const struct suggest_options options = {
		.headroom = s->headroom,
		.seconds = (uint32_t)(s->watched_ns / NS_PER_SECOND),
	};

	if (s->seen.packets < SUGGEST_PACKETS_MIN)
		return fail("suggest: %" PRIu64
			    " packets are too few to learn from: %s until there are %u, better for "
			    "ten minutes on a busy day",
			    s->seen.packets, s->rate ? "watch" : "capture", SUGGEST_PACKETS_MIN);
	if (suggest_make(&s->seen, &options, &s->suggestion))
		return fail("out of memory");
	s->pattern = pattern_bands_find(&s->patterns, s->suggestion.flood.border);
	return 0;
}

int cmd_suggest(const struct command *command)
{
	const char *headroom = command->arguments[OPTION_HEADROOM];
	struct suggest s = {
		.command = command,
		.headroom = HEADROOM_USUAL,
		.enforce = option_given(command, OPTION_ENFORCE),
	};
	int ret;

	if (headroom && !hundredths_parse(headroom, &s.headroom))
		return wrong("invalid --headroom '%s': use a factor from 1 to %d, such as 1.5",
			     headroom, HEADROOM_MAX);
	ret = options_check(command);
	if (ret)
		return ret;
	ret = seen_init(&s.seen) ? fail("out of memory") : 0;
	if (!ret)
		ret = command->arguments[OPTION_CAPTURE] ? suggest_from_captures(&s)
							 : suggest_from_device(&s);
	ret = ret ? ret : conclude(&s);
	if (!ret && output_json)
		suggest_print_json(&s);
	else if (!ret)
		suggest_print_text(&s);
	seen_clear(&s.seen);
	free(s.stretches);
	return ret;
}
