/* SPDX-License-Identifier: GPL-2.0-only */
/* The root of cgroup v2, wherever it is mounted. */
#pragma once

/* A descriptor of the root of cgroup v2, where every socket of the machine is. -ENOENT: it is not
 * mounted here. -EXDEV: what is mounted is not the root, but that of a cgroup namespace. */
int cgroup_root_open(void);
