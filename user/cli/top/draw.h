/* SPDX-License-Identifier: GPL-2.0-only */
/* The live display of `rlctl top`, with ncurses: draw.c draws it, screen.c has the loop and the
 * keys.
 */
#pragma once

#include "base/units.h"
#include "cli/top/top.h"

enum mode { MODE_KEYS, MODE_FILTER, MODE_CONFIRM, MODE_DENY };
enum pair { PAIR_DROPPED = 1, PAIR_BANNED, PAIR_MESSAGE };

struct screen {
	struct top *top;
	enum mode mode;
	bool paused;
	bool ends;
	int failed; /* < 0: another view could not be read */
	bool utf8;
	bool colours;
	size_t selected; /* row */
	size_t first;    /* row at the top */
	struct top_widths widths;
	int width;    /* of the screen, when they were made */
	bool next;    /* ends, to show the next device */
	bool offered; /* the input is a default */
	char input[PREFIX_TEXT_MAX];
	char chosen[PREFIX_TEXT_MAX]; /* the source to deny: rows may move before the answer */
	char message[RULE_TEXT_MAX + 1024];
};

void screen_draw(struct screen *s);
size_t rows_shown(const struct screen *s);
