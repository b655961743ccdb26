/* SPDX-License-Identifier: GPL-2.0-only */
/* The checks of `rlctl doctor`. A check is a row of MACHINE_CHECKS or DEVICE_CHECKS and a function
 * check_NAME() in machine_checks.c, device_checks.c, proof.c, sets.c or frames.c,
 * which calls doctor_finds().
 */
#pragma once

#include "cli/guard/surroundings.h"
#include "kernel/attach/features.h"
#include "kernel/device/device.h"
#include "kernel/instance/find.h"
#include "kernel/instance/instance.h"
#include "kernel/state/stats.h"

/* X(name, "name in the output", "why it matters"), and 1: it is unknown without privilege. */
#define MACHINE_CHECKS(X)                                                                          \
	X(privilege, "privilege", "every verb that acts on a device needs these capabilities")     \
	X(kernel, "kernel", "what it can do is found by the checks below, not by its number")      \
	X(features, "features", "the programs use all of them: attach fails if one is missing", 1) \
	X(program, "program", "attach fails if the kernel refuses to load the program", 1)         \
	X(proof, "proof", "policies with established, over challenge or their like need them", 1)  \
	X(jit, "jit", "an interpreted program is several times slower", 1)                         \
	X(btf, "btf", "libxdp needs it to let several XDP programs share a device")                \
	X(cpus, "cpus", "counters are kept for every CPU that the kernel could bring online")      \
	X(memlock, "memlock", "kernels before 5.11 charge maps to the limit of locked memory", 1)  \
	X(files, "files", "each map of an instance is an open file while a verb works on it")      \
	X(bpffs, "bpffs", "state lives in maps that are pinned there")                             \
	X(leftovers, "leftovers", "pins without a program keep their maps in memory", 1)

#define DEVICE_CHECKS(X)                                                                        \
	X(link, "link", "a device that is down receives no packets")                            \
	X(native, "native", "native XDP drops a packet before the kernel allocates it")         \
	X(programs, "programs", "only libxdp can run several XDP programs on one device")       \
	X(mode, "mode", "modes other than native lose most of the speed")                       \
	X(tcx, "tcx", "ours does not see packets that a tcx program before it passes or drops") \
	X(asked, "asked", "an answer is established only if the question was noted at egress")  \
	X(peers, "peers",                                                                       \
	  "a packet from an address without a socket here needs no look-up of one")             \
	X(instances, "instances", "two instances on one device count the same packets twice")   \
	X(shares, "shares", "rates are divided among the CPUs that were online at attach")      \
	X(trial, "trial", "a trial is undone unless it is confirmed")                           \
	X(state, "state", "sockets or connection tracking show what is established")            \
	X(sets, "sets", "what a set has no room for, or an old file lacks, is not in force")    \
	X(mtu, "mtu", "native XDP needs frames that fit the driver's buffers")                  \
	X(queues, "queues", "each queue is served by one CPU: fewer queues leave CPUs idle")    \
	X(gro, "gro", "packets merged before XDP count as one packet")                          \
	X(lro, "lro", "packets merged before XDP count as one, and drivers refuse native XDP")  \
	X(gro_hw, "gro-hw",                                                                     \
	  "packets merged before XDP count as one, and drivers refuse "                         \
	  "native XDP")                                                                         \
	X(carriers, "carriers", "no limit applies to the IP packets in PPPoE and MPLS frames")  \
	X(vlan, "vlan", "XDP does not see a tag that the hardware strips")                      \
	X(cookies, "cookies", "over challenge answers with SYN cookies that the kernel makes")  \
	X(answers, "answers", "over challenge and over truncate send from the device itself")   \
	X(drops, "drops", "no rule applies to packets that the device itself drops")

enum health { HEALTH_OK, HEALTH_WARN, HEALTH_FAIL };

struct check {
	const char *name, *why;
};

/* The state of one run. */
struct doctor {
	const struct target *target;
	bool privileged;
	struct load_result tried; /* by check_features */

	/* The current device. */
	const struct device_facts *facts;
	struct device_programs programs;
	int programs_error;
	const struct instance *instance; /* ours, or NULL */
	struct instance_status status;
	size_t instances; /* ours on this device, all hooks */

	/* Output. */
	char remedy[2 * REMEDY_MAX];
	const struct check *check; /* the running check */
	struct json_object *array; /* with -j */
	size_t failed;
	bool colours;
};

/* The uses of the policy in force (enum rl_policy_use); 0 without one. */
uint64_t doctor_uses(const struct doctor *doctor);

/* Prints a finding of the running check, and the remedy, or NULL. */
void doctor_finds(struct doctor *doctor, enum health health, const char *remedy, const char *format,
		  ...) __attribute__((format(printf, 4, 5)));
#define doctor_ok(doctor, ...)           doctor_finds(doctor, HEALTH_OK, NULL, __VA_ARGS__)
#define doctor_warn(doctor, remedy, ...) doctor_finds(doctor, HEALTH_WARN, remedy, __VA_ARGS__)
#define doctor_fail(doctor, remedy, ...) doctor_finds(doctor, HEALTH_FAIL, remedy, __VA_ARGS__)

/* A remedy with what it is for, for the next finding. */
const char *remedy(struct doctor *doctor, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "rlctl attach DEV --replace". */
const char *remedy_replace(struct doctor *doctor);

/* Whether instances can be listed without changes and without a lack of privilege. */
bool doctor_may_list(const struct doctor *doctor);

#define CHECK_DECLARE(name, ...) void check_##name(struct doctor *doctor);
MACHINE_CHECKS(CHECK_DECLARE)
DEVICE_CHECKS(CHECK_DECLARE)
