// SPDX-License-Identifier: GPL-2.0-only
/* Estimates from samples. Doubles: their rounding is far below every error here. */

#include "watch/traffic/estimate.h"

#include <math.h>

void estimate_add(struct estimate *to, uint64_t weight, uint64_t size)
{
	double w = (double)weight, b = (double)size;

	to->samples++;
	to->sum += weight * size;
	to->spread += w * (w - 1) * b * b;
}

void estimate_merge(struct estimate *to, const struct estimate *from)
{
	to->samples += from->samples;
	to->sum += from->sum;
	to->spread += from->spread;
}

/* With k samples of one weight w the interval is w * (k + 2 +- 2 * sqrt(k + 1)), for two standard
 * deviations. With several weights, w is the mean that a packet meets. */
uint64_t estimate_error(const struct estimate *part, const struct estimate *all)
{
	double w = all->sum ? all->spread / (double)all->sum : 0;

	return (uint64_t)ceil(2 * w + 2 * sqrt(part->spread + w * w));
}

bool estimate_is_borne(const struct estimate *part, const struct estimate *all)
{
	return part->sum && estimate_error(part, all) <= part->sum;
}

/* n of N packets are samples, f1 sources were seen once, f2 twice. */
static double sources_unseen(double n, double N, double f1, double f2)
{
	double twice = (n > 1 ? n / (n - 1) : 1) * 2 * f2;
	double unseen;

	if (N <= n || f1 <= 0)
		return 0;
	unseen = f1 * f1 / (twice + n / (N - n) * f1);
	return unseen < N - n ? unseen : N - n; /* one packet each */
}

struct rare_sources rare_count(const struct rare *rare, const struct estimate *all)
{
	/* All packets are known, so their error is that of the others. */
	const struct estimate others = {
		.samples = all->samples - rare->packets.samples,
		.sum = all->sum - rare->packets.sum,
		.spread = fmax(all->spread - rare->packets.spread, 0),
	};
	double error = others.samples ? (double)estimate_error(&others, all) : 0;
	double n = (double)rare->packets.samples, N = (double)rare->packets.sum;
	double seen = (double)rare->sources, f1 = (double)rare->once, f2 = (double)rare->twice;
	double apart = n > 0 ? 2 * sqrt(f1 * (1 - f1 / n)) : 0;
	double again = 2 * sqrt(f2 + 1), fewer = f2 > again ? f2 - again : 0;
	double about = seen + sources_unseen(n, N, f1, f2);

	return (struct rare_sources){
		.about = (uint64_t)llround(about),
		.least = (uint64_t)llround(
			seen + sources_unseen(n, N - error, fmax(f1 - apart, 0), f2 + 2 + again)),
		.most = (uint64_t)llround(seen +
					  sources_unseen(n, N + error, fmin(f1 + apart, n), fewer)),
		.once = N < 2 * about,
	};
}
