// SPDX-License-Identifier: GPL-2.0-only
/* The objects that the command carries are those that were compiled: a row each. Run from the top
 * of the tree.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"
#include "kernel/attach/object_bytes.h"

static const struct row {
	const char *file;
	enum object_kind kind;
} rows[] = {
	{"build/rlctl.bpf.o", OBJECT_PLAIN},
	{"build/rlctl_extended.bpf.o", OBJECT_EXTENDED},
	{"build/rlctl_answers.bpf.o", OBJECT_ANSWERS},
	{"build/rlctl_conntrack.bpf.o", OBJECT_CONNTRACK},
	{"build/rlctl_conntrack_answers.bpf.o", OBJECT_CONNTRACK_ANSWERS},
};
_Static_assert(ARRAY_SIZE(rows) == OBJECT_COUNT, "a row for each");

ROWS(same_bytes, rows, row)
{
	FILE *file = fopen(row->file, "re");
	size_t size = 0;
	unsigned char *unpacked = object_unpack(row->kind, &size), *there = malloc(size + 1);

	assert_non_null(file);
	assert_non_null(unpacked);
	assert_non_null(there);
	assert_int_equal(fread(there, 1, size + 1, file), size);
	assert_memory_equal(unpacked, there, size);
	fclose(file);
	free(unpacked);
	free(there);
}
