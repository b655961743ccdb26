/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel_*.c files share; nobody else includes it. Failures are reported where noted. */
#ifndef RLCTL_KERNEL_INTERNAL_H
#define RLCTL_KERNEL_INTERNAL_H

#include <dirent.h>
#include <errno.h>

#include "kernel.h"
#include "refusal.h"

/* ---- kernel_bpffs.c */

/* 0 where a bpffs is mounted; with `make` mounts one where there is none and the mount would
 * outlast this command. Without, no bpffs is no error where none is hidden: nothing is attached.
 * Reports. */
int bpffs_ensure(const char *bpffs, bool make);

/* ---- kernel_pins.c: folders, locks, pinned maps */

/* <bpffs>/rlctl/<netns inode>, of a bpffs that is ensured. Pins of a device that was renamed follow
 * it. Reports. */
int pins_root(const char *bpffs, bool make, char out[INSTANCE_PATH_MAX]);
int pins_path(const char *root, const char *device, enum rl_hook hook, char out[INSTANCE_PATH_MAX]);

/* What to do about that error with a path; empty where nothing is known. */
const char *pins_remedy(int error);

#define PINS_FOREIGN                                                                \
	EKEYREJECTED /* the folder of all pins is not root's, nor this user's alone \
		      */

/* The folder's descriptor. Here and below nothing is reached by way of a symbolic link: -ELOOP. */
int pins_folder_open(const char *path);
/* The same, to list it. */
int pins_dir_open(const char *path, DIR **out);

/* The map, or what else is pinned there; read-only but for `write`. */
int pin_open(int folder, const char *name, bool write);
int pin_open_at(const char *path, const char *name, bool write);

/* Makes the folder if `create`, and locks it; returns its descriptor. -ENOENT without report when
 * there is none. Two writers wait for one another. */
int pins_lock(const char *path, bool create);

/* Opens every map below path, read-only but for `write`. -ENOENT without report when one is
 * missing.
 */
int pins_open(const char *path, bool write, struct instance_maps *out);

/* The id of the policy's map, by which an instance of any version is known. -ENOENT without report
 * when it is not there. */
int pins_policy_id(const char *path, uint32_t *out);
void maps_close(struct instance_maps *maps);

/* Unlinks the pins and leaves the folder; what is not there is no error. Silent. */
int pins_clear(const char *path);

/* Removes the folder, which is locked, and the namespace's if they are empty. Silent. */
int folders_leave(const char *path);

/* Unlinks the pins and the folder, and the namespace's folder if it is empty then. Silent. */
int pins_remove(const char *path);

/* Takes "<device>-<hook>" apart. */
bool pins_name_split(const char *name, char device[IF_NAMESIZE], enum rl_hook *hook);

/* ---- kernel_map.c. Silent. */

int map_id(int map_fd, uint32_t *out);
/* -EPROTO where the map's values have another size. */
int map_value_check(int map_fd, size_t size);
/* Adds what the kernel accounts for the map. */
int map_memory_add(int map_fd, uint64_t *sum);

/* ---- kernel_bans.c. Silent. */

/* The maps of bans, if they are not there. */
int bans_make(const struct instance *instance);
/* Puts larger ones in their place, if they are there, with all that is in force. Meanwhile, for
 * some milliseconds, no ban begins. */
int bans_grow(const struct instance *instance, uint32_t count);
/* When the key's ban ends; 0: it has none. */
uint64_t ban_until(const struct instance *instance, const struct rl_state_key *key);
int ban_forget(const struct instance *instance, const struct rl_state_key *key);

/* ---- kernel_cpus.c. Silent. */

/* At least 1, or a negative errno. */
int cpus_possible(void);
int cpus_online(void);
/* What each possible CPU takes of a map; 0 where the map is not per CPU. */
uint64_t map_cpu_bytes(uint32_t type, uint32_t value_size, uint32_t entries);

/* ---- kernel_inner.c: maps in the slots of maps, and their pins. Silent. */

/* The map in a slot of an array of maps, or -ENOENT; -ESTALE: the instance was detached. */
int inner_open(const struct instance *instance, int outer_fd, uint32_t slot);
/* Puts a map into a slot in place of the one that is there, or leaves that one there. */
int inner_put(const struct instance *instance, int outer_fd, uint32_t slot, int fd);
/* Puts maps into slots that are empty, from `first` on. */
#define INNER_ADD_MAX 64
int inner_add(const struct instance *instance, int outer_fd, uint32_t first, const int *fds,
	      uint32_t count);
void inner_drop(const struct instance *instance, int outer_fd, uint32_t slot);
/* Unpins what the slots do not name: a writer was killed. For writers. */
void inner_tidy(const struct instance *instance);

/* ---- kernel_note.c: which program is ours, for who may not ask the kernel. Silent. */

int program_note_make(const char *path, const struct rl_instance *info);
/* -EPROTO: an instance of another version, which noted nothing. */
int program_note_check(const char *path);
/* A program's number, 0 where it cannot be asked for. */
uint32_t program_id(int fd);
int program_note_write(const char *path, const struct rl_instance *info, uint32_t program);

struct device_program;
/* As device_program_find, as far as netlink and the note tell. */
int program_noted(const char *path, const char *device, enum rl_hook hook,
		  struct device_program *out);

/* ---- kernel_group.c */

/* The folder and all in it may be read by the group. Reports. */
int group_give(const char *path, const char *device, gid_t group);
/* A new pin or folder in it is given what the folder says. Silent. */
int group_take(const char *path, const char *name);

/* ---- kernel_object.c: the BPF object and its maps */

struct rlctl_bpf;

/* The object sized for this instance, open and not yet loaded; NULL with errno. */
struct rlctl_bpf *object_open(const struct rl_instance *info);
int object_pin_paths(struct rlctl_bpf *skel, const char *path);

/* The program of the instance's hook in the kernel, with the maps that are pinned below path. */
int object_load_pinned(const char *path, const struct rl_instance *info, struct rlctl_bpf **out);

/* How large what an instance does not say itself becomes. */
void instance_sizes(struct rl_instance *info);

/* Makes the maps that a policy uses and that are not there yet. enum rl_policy_use. */
int policy_maps_make(const struct instance *instance, uint32_t uses);

/* ---- kernel_lru.c: the LRUs of newcomers' states */

/* How many states it has room for. */
uint32_t lru_states(const struct rl_instance *info, enum rl_lru lru);

/* From the making of one state there to the next, on each CPU. */
uint64_t lru_creation_ns(const struct rl_instance *info, enum rl_lru lru);

/* Says which rule of the next policy, or of a prefix in it, has to remember for longer than its LRU
 * does in a flood, where no rule of the current one has to for as long. */
void lru_notes(const struct instance *instance, const struct policy *current,
	       const struct policy *next);

/* ---- kernel_attach.c: programs on devices, whatever the hook */

/* Detach in two steps, with the writers' lock held: takes the program off the device, then what it
 * needed there and the pins. Report. */
int place_program_detach(const char *path, const char *device, enum rl_hook hook);
int place_vacate(const char *path, const char *device, enum rl_hook hook);

struct device_program {
	uint32_t id;
	enum rl_mode mode;
	uint32_t link;             /* tcx; 0: a filter of clsact, or xdp */
	uint32_t priority, handle; /* of the filter */
};

/* Does the program behind fd use the map? 1 where it does, and *id is the program's; 0 where it
 * does not, or fd is -ENOENT; another negative errno, also that in place of fd, where nobody knows.
 */
int program_uses(int fd, uint32_t wanted, uint32_t *id);

/* The number of the device, -ENODEV where there is none of that name, another error where it could
 * not be asked for. */
int device_index(const char *device);

/* The hook at which the instance's program stands when it is tc's. */
static inline enum rl_hook tc_hook(const struct rl_instance *info)
{
	return info->hook == RL_HOOK_EGRESS ? RL_HOOK_EGRESS : RL_HOOK_INGRESS;
}

/* The program of the hook, in whatever mode, that uses the map; -ENOENT when there is none, another
 * error where the device could not be asked. Silent. */
int device_program_find(const char *device, enum rl_hook hook, uint32_t map_id,
			struct device_program *out);
/* The same for the instance, of whatever version, whose pins are below path; by what attach noted
 * where the kernel may not be asked. */
int pins_program_find(const char *path, const char *device, enum rl_hook hook,
		      struct device_program *out);
/* -ENOENT also where another one has taken the place of this one. */
int instance_program_find(const struct instance *instance, struct device_program *out);

/* Takes the qdiscs of an instance without a program off the device and then clears its pins, whose
 * lock is held. Silent. */
int instance_leave(const char *root, const char *path, const char *device);

/* fail(): the kernel did not take the instance's maps, or its program; and why, as far as it can be
 * found out. Returns the error. */
int report_refused(const char *device, const struct rl_instance *info, enum refused what,
		   int error);

/* ---- kernel_hooks.c: which hooks of a device have an instance */

/* Are there pins, and is their program on the device, as far as can be told? */
bool instance_lives(const char *root, const char *device, enum rl_hook hook);

/* The hook that is named, or the only one that lives; where none does, any that has pins. Reports.
 */
int hook_choose(const char *root, const struct target *target, enum rl_hook *out);

/* Clears pins at the device's hooks, but for one, whose program is gone. With no lock held, for an
 * attach or a detach may be under way there. Silent. */
void hooks_clear(const char *root, const char *device, enum rl_hook except);

/* ---- kernel_mode.c */

struct device_facts;
/* As device_link_facts; reports. */
int device_link_ask(const char *device, struct device_facts *out);

/* The mode that is tried for it. */
enum rl_mode attach_mode_program(enum attach_mode mode);

/* Where the policy marks packets, which only tc's program can: reports. */
int marks_check(const char *device, const struct rl_instance *info, const struct policy *policy);

/* ---- kernel_xdp.c, kernel_tc.c: the same for one kind of hook. Attaching is the last step, and
 * reports; detaching where nothing of ours is does nothing. */

int xdp_program_find(const char *device, uint32_t map_id, struct device_program *out);
/* ATTACH_FALLS_BACK as instance_attach. */
int xdp_program_attach(const char *path, const struct rl_instance *info, const char *device,
		       enum attach_mode mode);
int xdp_program_detach(const char *device, uint32_t map_id);

/* The program on the hook, which uses the map, is replaced by that of this build, and at no moment
 * is neither there. Reports. */
int xdp_program_replace(const struct instance *instance, uint32_t map_id);
int tc_program_replace(const struct instance *instance, uint32_t map_id);

/* fail(): why attaching failed. Returns the error. */
int xdp_report(const char *device, int error);
int tc_report(const char *device, int error);

/* Sets info->made_clsact, in the map too, where that is so. */
int tc_program_attach(const char *root, const char *path, struct rl_instance *info,
		      const char *device);
int tc_program_find(const char *device, enum rl_hook hook, uint32_t map_id,
		    struct device_program *out);
/* How many of ours are there: two where replacing one was interrupted. */
uint32_t tc_program_count(const char *device, enum rl_hook hook, uint32_t map_id);
int tc_program_detach(const char *device, enum rl_hook hook, uint32_t map_id);
/* The program on the link among the pins, or the filter that has the program of that number; 0, not
 * known: one that is called like ours. */
int tc_program_noted(const char *path, const char *device, enum rl_hook hook, uint32_t program,
		     struct device_program *out);

/* How many there are, ours or of others. Silent. */
int tc_filters_on(int ifindex, enum rl_hook hook);

/* ---- kernel_qdisc.c */

struct qdiscs {
	int ifindex;
	bool clsact, ingress;
	uint32_t children, fq_children; /* of the root */
	uint32_t root_handle;           /* its major number 0: the kernel's default */
	uint32_t root_size;
	bool root_fits; /* all options are here */
	char root_kind[16];
	uint8_t root_options[RL_ROOT_OPTIONS_MAX];
};

/* Silent. */
int qdiscs_read(int ifindex, struct qdiscs *out);
bool qdiscs_have_fq(const struct qdiscs *qdiscs);

/* --fq: remembers in *info what is there. Reports. */
int fq_prepare(const char *device, struct rl_instance *info);
/* Puts it there if fq_prepare found that it should. Reports. */
int fq_put(const char *device, const struct rl_instance *info);
/* Says so where the policy wants fq and there is none. */
void fq_miss(const struct instance *instance, const struct policy *policy);

/* With the lock of `root` held, here and below. Reports only what is no plain errno. */
int clsact_make(const char *device, struct rl_instance *info, int info_fd);
/* Takes away what the instance made and nobody else uses; another device of that name is left
 * alone. An error where trying again may help. */
int qdiscs_restore(const char *root, const char *device, const struct rl_instance *info);

/* ---- kernel_liveness.c: is it still held? Silent; whatever cannot be asked lives. */

struct liveness { /* all zero at first */
	struct liveness_bpf *skel;
	bool asked;
};
void liveness_close(struct liveness *liveness);

/* No network namespace has that inode number. */
bool netns_is_gone(struct liveness *liveness, uint32_t inode);
/* Has the program more references than those that are known? */
bool program_is_held(struct liveness *liveness, uint32_t program, uint32_t known);

/* ---- kernel_remains.c: libxdp's pins of dispatchers that nothing else holds. Silent. */

/* How many dispatchers have the instance's program behind them; with `clear` their pins go, and the
 * programs some time later. */
int xdp_remains(struct liveness *liveness, const char *path, bool clear);
void xdp_remains_clear(const char *path);

/* ---- kernel_sweep.c */

/* Clears the pins of namespaces that are gone; `root` is this namespace's folder. Silent. */
void pins_sweep(const char *root);

/* ---- kernel_hot.c: the hot table. Silent. */

/* Refusals that stand: one for two sources. */
static inline uint32_t refusal_sets(const struct rl_instance *info)
{
	return info->hot_sets > 1 ? info->hot_sets / 2 : 1;
}

struct hot_table {
	const struct instance *instance;
	struct rl_hot_set *sets; /* NULL where the map is open for reading alone */
	size_t size;
};

int hot_open(const struct instance *instance, struct hot_table *out);
void hot_close(struct hot_table *table);

/* Calls `found` for every slot, its flags included, that `key` has under the limit whose numbers
 * these are, whatever its destination port where that counts, until it returns non-zero. */
int hot_visit(const struct hot_table *table, const struct rl_rule *numbers,
	      const struct rl_state_key *key,
	      int (*found)(void *arg, const struct rl_state_key *key,
			   const struct rl_hot_slot *slot),
	      void *arg);

/* As hot_visit, of this key alone, which may be one of two addresses. */
int hot_look(const struct hot_table *table, const struct rl_rule *numbers,
	     const struct rl_state_key *key,
	     int (*found)(void *arg, const struct rl_state_key *key,
			  const struct rl_hot_slot *slot),
	     void *arg);

/* The key's slot is as if it had never been. */
int hot_forget(const struct hot_table *table, const struct rl_rule *numbers,
	       const struct rl_state_key *key);

/* Slots that still owe something. */
int hot_live(const struct hot_table *table, uint64_t now_ns, uint64_t *out);

/* ---- kernel_rename.c */

/* Pins of devices that have another name by now get that name; says so. */
void pins_follow(const char *root);
/* What attach wrote of an instance of this version. Silent. */
bool instance_info_read(const char *path, struct rl_instance *out);

/* ---- kernel_stats.c */

/* Adds up `count` 64-bit numbers of one element over the CPUs. Silent. */
int percpu_sum(int fd, uint32_t index, uint64_t *out, size_t count);

/* ---- kernel_policy.c */

/* The policy's header; -ENOENT where none was written yet. Silent. */
int policy_header_read(const struct instance *instance, struct rl_policy_header *out);

/* Puts a header in force. Returns when no packet is left that saw the one before. Silent. */
int policy_header_swap(const struct instance *instance, const struct rl_policy_header *header);

/* Writes the rules where no packet looks yet, and makes the maps that they need. Silent. */
int compiled_rules_write(const struct instance *instance, const struct compiled *compiled);

/* fail(): why the policy could not be read, written or compiled. */
void report_unread(const struct instance *instance, int error);
int report_unwritten(const struct instance *instance, int error);
void report_compile(const struct instance *instance, const char *file,
		    const struct policy_error *err);

/* What a policy for this instance is compiled with, now. */
void instance_compile_context(const struct instance *instance, const struct policy_context *text,
			      struct compile_context *out);

/* Puts a policy that was in force before in force again: its rules, which have their identities,
 * find the states and counters that they left. */
int instance_policy_restore(const struct instance *instance, const struct policy *before);

/* ---- kernel_slots.c: what rules have by their slots, in arrays and in chunks. Silent. */

/* Makes the chunks that the policy needs and has not, and zeroes its new slots. */
int slots_prepare(const struct instance *instance, const struct compiled *compiled);
/* Once the policy is in force: drops the chunks that neither it nor the one before needs. */
void slots_trim(const struct instance *instance, const struct compiled *compiled);

/* The maps of one kind; a walk through the slots opens each chunk as it comes to it. */
struct slot_maps {
	const struct instance *instance;
	int array, chunks;
	uint32_t chunk; /* that is open */
	int fd;         /* of it, or -1 */
};
struct slot_maps slot_counters(const struct instance *instance);
struct slot_maps slot_states(const struct instance *instance);
/* The map that has the slot, and where in it; -ENOENT where there is none. */
int slot_map_at(struct slot_maps *maps, uint32_t slot, uint32_t *index);
void slot_maps_close(struct slot_maps *maps);
/* The chunks that there are: from *first on, this many. */
uint32_t chunks_count(const struct instance *instance, int chunks, uint32_t *first);

/* ---- kernel_trial.c */

/* 0, or reports that a trial runs that is not this process's and returns -EBUSY. */
int trial_refuse(const struct instance *instance);

/* Does somebody attend to a trial of the instance? 0, -ENOENT where not, or another error. Silent.
 */
int trial_check(const char *path);

/* Removes what a trial keeps among the pins. Silent. */
void trial_clear(const char *path);

/* ---- kernel.c */

/* What is done with an instance: USE_WRITE alone takes the writers' lock. */
enum use { USE_READ, USE_SHARED, USE_WRITE };

/* Opens the instance whose pins are at path; silent -ENOENT when they are not complete. */
int instance_open_path(const char *path, const char *device, bool write, struct instance *out);

/* The same, as instance_open does it, of one that lives. Silent: -ENOENT, -ESTALE where its program
 * is gone, -EPROTO where it is of another version; what report_closed says. */
int instance_open_at(const char *path, const char *device, enum rl_hook hook, enum use use,
		     struct instance *out);
int report_closed(const char *device, enum rl_hook hook, int error);

#endif
