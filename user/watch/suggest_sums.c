// SPDX-License-Identifier: GPL-2.0-only
#include "watch/suggest_sums.h"

#include <errno.h>
#include <stdlib.h>

static int by_second(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return (x->second > y->second) - (x->second < y->second);
}

void sums_make(const struct class_input *input, struct sums *sums)
{
	size_t kept = 0, count = 0;

	for (size_t i = 0; i < input->count; i++)
		if (input->cells[i].packets)
			sums->list[count++] = (struct sum){.second = input->cells[i].second,
							   .samples = input->cells[i].samples,
							   .packets = input->cells[i].packets,
							   .bytes = input->cells[i].bytes};
	if (count)
		qsort(sums->list, count, sizeof(*sums->list), by_second);
	for (size_t i = 0; i < count; i++) {
		if (!kept || sums->list[kept - 1].second != sums->list[i].second) {
			sums->list[kept++] = sums->list[i];
			continue;
		}
		sums->list[kept - 1].packets += sums->list[i].packets;
		sums->list[kept - 1].bytes += sums->list[i].bytes;
		sums->list[kept - 1].samples += sums->list[i].samples;
	}
	sums->count = kept;
}

size_t windows_sum(struct sums *sums, uint32_t window)
{
	size_t count = 0;

	for (size_t i = 0; i < sums->count; i++) {
		bool goes_on =
			i && sums->list[i].second / window == sums->list[i - 1].second / window;

		count += !goes_on;
		sums->values[count - 1] =
			sums->list[i].packets + (goes_on ? sums->values[count - 1] : 0);
	}
	return count;
}

void sources_each(const struct class_input *input, source_fn *each, void *arg)
{
	size_t i = 0, end;

	for (; i < input->count && input->cells[i].source != SOURCE_FORGOTTEN; i = end) {
		for (end = i; end < input->count; end++)
			if (input->cells[end].source != input->cells[i].source)
				break;
		each(input->cells + i, end - i, arg);
	}
}

uint64_t cells_highest(const struct class_cell *cells, size_t count, uint32_t window)
{
	uint64_t highest = 0, sum = 0;

	for (size_t i = 0; i < count; i++) {
		bool goes_on = i && cells[i].second / window == cells[i - 1].second / window;

		sum = cells[i].packets + (goes_on ? sum : 0);
		highest = sum > highest ? sum : highest;
	}
	return highest;
}

uint64_t cells_sum(const struct class_cell *cells, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += cells[i].packets;
	return sum;
}

int sums_alloc(const struct class_input *input, struct sums *sums)
{
	size_t count = input->count + 1;

	*sums = (struct sums){
		.list = malloc(count * sizeof(*sums->list)),
		.values = malloc(count * sizeof(*sums->values)),
		.seconds = malloc(count * sizeof(*sums->seconds)),
	};
	return sums->list && sums->values && sums->seconds ? 0 : -ENOMEM;
}

void sums_free(struct sums *sums)
{
	free(sums->list);
	free(sums->values);
	free(sums->seconds);
}
