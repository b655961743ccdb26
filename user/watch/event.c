// SPDX-License-Identifier: GPL-2.0-only
/* The words of events. */
#include "watch/event.h"

#define WORD(name, text) text,
const char *const event_words[EVENT_KIND_COUNT] = {EVENT_KINDS(WORD)};
