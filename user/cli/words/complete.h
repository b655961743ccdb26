/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of `rlctl complete`. */
#pragma once

#include "cli/cmd.h"

#define OFFERED_MAX 32768 /* bytes of words: a longer list is useless */
#define WORD_MAX    256

/* An incomplete command line. */
struct completion {
	struct command command; /* the words before: the verb and its words */
	const char *before;     /* "--hook=" if the word follows it, else "" */
	int before_len;
	const char *word; /* the word to complete */
	char *line;       /* the words before as a statement, and its context */
	struct policy_context ctx;
	char offered[OFFERED_MAX]; /* one line per word, after an empty line */
	size_t offered_len;
	int instances; /* offered by device */
};

/* Prints a candidate once, if the word is a prefix of it and it is printable. */
void offer(struct completion *c, const char *text, const char *meaning);

/* The same, if the parser accepts it after c->line, and `sample` after it (NULL: nothing): the
 * statement is complete, or the error is after the words. */
void offer_with_sample(struct completion *c, const char *word, const char *sample);
void offer_if_parsed(struct completion *c, const char *word);

/* ---- arguments that are no words of the language */

void offer_files(struct completion *c);
/* Names of policies, and where a file may stand, files: the shells look for these by themselves. */
void offer_policies(struct completion *c);
void offer_namespaces(struct completion *c);
void offer_users(struct completion *c);
/* For attach, all devices; otherwise those with an instance, if these can be listed. */
void offer_devices(struct completion *c);
void offer_sets(struct completion *c);

/* The names that may stand after the match; in a list of flags, after what is typed of it. False:
 * it is no match that has names. */
bool match_names(struct completion *c, const char *match);
/* An argument that the match may have; NULL: it has none, or needs no sample. */
const char *match_sample(const char *match);
