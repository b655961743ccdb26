// SPDX-License-Identifier: GPL-2.0-only
/* rlctl suggest: a policy from what was seen. */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/units.h"
#include "cli/cmd.h"
#include "cli/output/output.h"
#include "cli/suggest/suggest.h"

#define HEADROOM_USUAL 200 /* per cent */
#define HEADROOM_MAX   100
#define HOLD_OUT_USUAL 33 /* per cent */
#define HOLD_OUT_MAX   90

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

static int headroom_option(const struct command *command, unsigned int *out)
{
	const char *word = command->arguments[OPTION_HEADROOM];

	*out = HEADROOM_USUAL;
	if (word && !hundredths_parse(word, out))
		return wrong("invalid --headroom '%s': use a factor from 1 to %d, such as 1.5",
			     word, HEADROOM_MAX);
	return 0;
}

static int hold_out_option(const struct command *command, unsigned int *out)
{
	const char *word = command->arguments[OPTION_HOLD_OUT];
	uint64_t percent = HOLD_OUT_USUAL;

	if (word && number_parse(word, 0, HOLD_OUT_MAX, &percent))
		return wrong("invalid --hold-out '%s': use a percentage from 0 to %d", word,
			     HOLD_OUT_MAX);
	*out = (unsigned int)percent;
	return 0;
}

/* The captures: the argument of --capture, and all words. */
static int captures_option(const struct command *command, struct suggest *s)
{
	const char *first = command->arguments[OPTION_CAPTURE];

	if (!first && command->word_count)
		return wrong(
			"suggest: unexpected argument '%s': write --capture %s, or -i %s for a "
			"device",
			command->words[0], command->words[0], command->words[0]);
	if (!first)
		return 0;
	s->capture_count = 1 + (size_t)command->word_count;
	s->captures = calloc(s->capture_count, sizeof(*s->captures));
	if (!s->captures)
		out_of_memory();
	s->captures[0].path = first;
	for (int i = 0; i < command->word_count; i++)
		s->captures[i + 1].path = command->words[i];
	return 0;
}

static int options_check(const struct command *command, const struct suggest *s)
{
	if (s->capture_count && command->target.device)
		return wrong("suggest: --capture and -i exclude each other: leave one out");
	if (!s->capture_count && option_given(command, OPTION_LOCAL))
		return wrong("suggest: --local applies only to --capture: leave it out");
	if (s->capture_count && option_given(command, OPTION_FOR))
		return wrong("suggest: --for applies only to a device: leave it out");
	if (s->capture_count && option_given(command, OPTION_RATE))
		return wrong("suggest: --rate applies only to a device: leave it out");
	return 0;
}

static int options_read(const struct command *command, struct suggest *s)
{
	int ret = headroom_option(command, &s->headroom);

	s->command = command;
	s->enforce = option_given(command, OPTION_ENFORCE);
	s->attack_path = command->arguments[OPTION_ATTACK];
	ret = ret ? ret : hold_out_option(command, &s->hold_out);
	ret = ret ? ret : captures_option(command, s);
	ret = ret ? ret : options_check(command, s);
	return ret ? ret : simulate_local_open(command, &s->local);
}

static int suggest(struct suggest *s)
{
	int ret = seen_init(&s->seen) ? fail("out of memory") : 0;

	if (!ret && s->attack_path)
		ret = suggest_attack_check(s);
	if (!ret)
		ret = s->capture_count ? suggest_from_captures(s) : suggest_from_device(s);
	if (!ret && s->attack_path)
		ret = suggest_attack(s);
	if (!ret && output_json)
		suggest_print_json(s);
	else if (!ret)
		suggest_print_text(s);
	seen_clear(&s->seen);
	return ret;
}

int cmd_suggest(const struct command *command)
{
	struct suggest s = {0};
	int ret = options_read(command, &s);

	ret = ret ? ret : suggest(&s);
	simulate_local_close(&s.local);
	suggest_captures_clear(&s);
	return ret;
}
