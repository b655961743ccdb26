/* SPDX-License-Identifier: GPL-2.0-only */
/* Networks of a database of countries or autonomous systems, in MaxMind's format. */
#pragma once

#include <stddef.h>

#include "policy/member_list.h"

/* Appends the networks that fit `pick`: "country DE,FR" or "asn 64496"; neighbours that fill a
 * network are that network. The database is the `size` bytes at `text`, which was read from a file.
 * NULL, or why not. */
const char *mmdb_read(const char *text, size_t size, const char *pick, struct member_list *list);
