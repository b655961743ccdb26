/* SPDX-License-Identifier: GPL-2.0-only */
/* uthash's tables. If HASH_ADD runs out of memory, the item is not added and its hh.tbl is NULL. */
#pragma once

#define HASH_NONFATAL_OOM 1
/* The default, Jenkins', is one large expression: gcc's analyzer does not come to its end. */
#define HASH_FUNCTION HASH_FNV
#include <uthash.h>

/* clang's analyzer does not see that the item is in the table. */
#define hash_remove(head, item) HASH_DELETE(hh, head, item) /* NOLINT(clang-analyzer-*) */
