/* SPDX-License-Identifier: GPL-2.0-only */
/* The text of a file of addresses, in the formats in which lists are published and programs write
 * them:
 * - a line each: ADDRESS[/LEN], or FIRST-LAST, with comments after # or ; (netset, Spamhaus DROP),
 *   further columns after a comma, a tab or | (CSV), or `for D` or `until T` (rlctl set list);
 * - `ipset save`, and what `ipset restore` reads;
 * - `nft list set`, `nft list ruleset`, and `add element` of nft's scripts.
 *
 * ipset and nft name sets. If a text has members of one set, these are taken, whatever its name. If
 * it has several, those are taken whose name is that of our set, or it and a word for the family
 * (badguys, badguys4, badguys-v6); a text without such a set is refused, because an exception must
 * not become a ban.
 */
#pragma once

#include "policy/sets/member_list.h"

/* Larger files have something else in them than so many members. */
#define MEMBER_FILE_SIZE(max) ((1ull << 20) + 256ull * (max))

/* Appends to *list, which has its max. `now_ns`: CLOCK_REALTIME, for `until`. Returns NULL, or why
 * the text cannot be used; then *list may hold some members. */
const char *member_file_parse(const char *text, size_t size, const char *set, uint64_t now_ns,
			      struct member_list *list);
