/* SPDX-License-Identifier: GPL-2.0-only */
/* Files with the members of sets. */
#pragma once

#include <stddef.h>

#include "policy/sets/member_list.h"
#include "rlctl_abi.h"

/* ---- set_file.c: reads a file as a whole, and says whether it has changed since */

/* A file as it was: rl_set.file_ns, file_size and file_inode. */
struct set_stamp {
	__u64 time_ns, size;
	__u64 inode; /* mixed with what the statement takes from the file */
	__u32 words; /* its path and what is taken of it: another list? */
};

/* 0 or -errno. */
int set_stamp_get(const struct rl_set_words *words, struct set_stamp *out);

/* Text of words->path as it was at one moment, stamp->size bytes. NULL, or why it could not be
 * read, in a buffer that the next call overwrites. *text is freed by the caller. */
const char *set_file_read(const struct rl_set_words *words, char **text, struct set_stamp *stamp);

/* ---- mmdb.c: networks of a database of countries or autonomous systems, in MaxMind's format */

/* Appends the networks that fit `pick`: "country DE,FR" or "asn 64496"; neighbours that fill a
 * network are that network. The database is the `size` bytes at `text`, which was read from a file.
 * NULL, or why not. */
const char *mmdb_read(const char *text, size_t size, const char *pick, struct member_list *list);
