/* SPDX-License-Identifier: GPL-2.0-only */
/* Estimates from samples of all packets, and their errors. Pure.
 *
 * Errors are at two standard deviations: of twenty true values, nineteen are within.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Samples of packets (or bytes) that were drawn at random, each with the weight w that it stands
 * for. `sum` estimates how many there were (Horvitz and Thompson, 1952), `spread`, the sum of
 * w * (w - 1), its variance: 0 where each packet is a sample. */
struct estimate {
	uint64_t samples;
	uint64_t sum;
	double spread;
};

/* A sample that stands for `weight` packets of `size` each. */
void estimate_add(struct estimate *to, uint64_t weight, uint64_t size);
void estimate_merge(struct estimate *to, const struct estimate *from);

/* The error of the part of `all`: half the width of a score interval (E. B. Wilson, 1927) of the
 * Poisson distribution, with its upper end, which is the farther one. Not 0 for a part without
 * samples, unless each packet of all is one. */
uint64_t estimate_error(const struct estimate *part, const struct estimate *all);

/* Do the samples of the part bear a number? Yes where its error is not larger than itself: with
 * eight samples of equal weight, or where all packets are samples. */
bool estimate_is_borne(const struct estimate *part, const struct estimate *all);

/* Sources of which the samples bear no number. */
struct rare {
	struct estimate packets;
	uint64_t sources;     /* with samples */
	uint64_t once, twice; /* with so many samples */
};

struct rare_sources {
	uint64_t about, least, most;
	bool once; /* most of them sent one packet */
};

/* How many sources sent the packets, those without a sample included: the estimator for samples
 * drawn without replacement of A. Chao and C.-W. Lin, "Nonparametric lower bounds for species
 * richness and shared species richness under sampling without replacement" (Biometrics 68, 2012).
 * It asks how many sources that were seen once were seen again. A lower bound where some sources
 * send much more than others. */
struct rare_sources rare_count(const struct rare *rare, const struct estimate *all);
