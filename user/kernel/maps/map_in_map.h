/* SPDX-License-Identifier: GPL-2.0-only */
/* Opens, replaces and pins the inner maps of array-of-maps. */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"

/* The inner map of a slot, or -ENOENT; -ESTALE: the instance was detached. */
int inner_open(const struct instance *instance, int outer_fd, uint32_t slot);
/* Replaces the inner map of a slot. On failure the old one stays. When it returns, no program reads
 * the old one; where instance->writes is set, not before these have ended. */
int inner_put(const struct instance *instance, int outer_fd, uint32_t slot, int fd);
void inner_writes_end(struct slot_writes *writes);
/* The same with a new array of one element, which has this value; NULL: zeros. */
struct inner_map {
	const char *name;
	size_t size;    /* of the element */
	uint32_t flags; /* BPF_F_*: those that the outer map takes */
};
int inner_make(const struct instance *instance, int outer_fd, uint32_t slot,
	       const struct inner_map *map, const void *value);
/* This one of two slots gets the inner map of the other as well; its pin stays until both are
 * without it. */
int inner_share(const struct instance *instance, int outer_fd, uint32_t slot);
/* Fills empty slots from `first` on. */
#define INNER_ADD_MAX 64
int inner_add(const struct instance *instance, int outer_fd, uint32_t first, const int *fds,
	      uint32_t count);
void inner_drop(const struct instance *instance, int outer_fd, uint32_t slot);
/* Removes pins that no slot names, left by a killed writer. Call with the writers' lock. */
void inner_tidy(const struct instance *instance);

/* ---- chunks: inner maps that hold the counters and shared states beyond the arrays of an
 * instance. */

/* Number of consecutive chunks that exist, starting at *first. */
uint32_t chunks_count(const struct instance *instance, int chunks, uint32_t *first);

bool has_chunk(int chunks, uint32_t chunk);
