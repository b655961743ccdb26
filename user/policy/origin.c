// SPDX-License-Identifier: GPL-2.0-only
/* Lines of a text and lines of the files that it was made of. */
#include "policy/origin.h"

struct policy_place policy_place(const struct policy_source *source, uint32_t line)
{
	const struct policy_piece *pieces = source->pieces;
	size_t first = 0, last = source->count;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (pieces[middle].first <= line)
			first = middle + 1;
		else
			last = middle;
	}
	if (!first)
		return (struct policy_place){.name = source->name, .line = line};
	return (struct policy_place){.name = pieces[first - 1].name,
				     .line = pieces[first - 1].line + line -
					     pieces[first - 1].first};
}
