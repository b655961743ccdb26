// SPDX-License-Identifier: GPL-2.0
/*
 * flood: sends frames into a veth as fast as a core can make them, so that they arrive at its peer
 * as from a wire, and says exactly how many the peer got. It sends into veth devices only.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <sys/mman.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "flood_options.h"
#include "veth.h"
#include "flood.skel.h"

enum { CHUNK_FRAMES = 16384 }; /* for one system call, 2 to 5 ms at full speed */
enum { LOOPBACK_IFINDEX = 1 };
#define PACE_NS    UINT64_C(250000)
#define NAP_MAX_NS UINT64_C(50000000)
#define SETTLE_NS  UINT64_C(1000000000)
#define POLL_NS    UINT64_C(5000000)
#define NS_PER_S   UINT64_C(1000000000)
#define GRAIN_NS   UINT32_C(8192)
#define GRAINS     (UINT32_C(1) << 20) /* 8.6 s */

struct worker {
	struct flood_bpf *skel;
	const struct options *o;
	const struct frame *frame;
	pthread_t thread;
	uint64_t index, quota, rate; /* quota 0: until the time is up */
	uint64_t start_ns, timeline_ns;
	int scratch_netns, scratch_link; /* see scratch_attach() */
	int err;
};

/* The driver's counters of one device: frames its peer's ring took, and frames it refused. */
struct counters {
	uint64_t taken, refused, consumed;
};

struct result {
	uint64_t sent, failed, ns;
	bool exact;
};

static volatile sig_atomic_t stop;

static int failed(const char *dev, const char *what, int err)
{
	fprintf(stderr, "flood: %s: %s: %s\n", dev, what, strerror(-err));
	return err;
}

static void stop_on_signal(int signal_number)
{
	(void)signal_number;
	stop = 1;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};

	nanosleep(&t, NULL);
}

static int counters_read(const struct options *o, struct counters *out)
{
	struct veth_link link;
	struct counters c;
	int err;

	err = veth_counter_sum(o->dev, "tx_queue_", "_xdp_xmit", &c.taken) ?:
	      veth_counter_sum(o->dev, "tx_queue_", "_xdp_xmit_errors", &c.refused) ?:
	      veth_link_get((int)if_nametoindex(o->dev), -1, &link);
	if (err)
		return failed(o->dev, "cannot read its counters", err);
	c.consumed = link.tx_packets;
	*out = c;
	return 0;
}

/* Fills in the MAC addresses that were not given, after making sure that DEV can be sent into. */
static int device_check(struct options *o)
{
	int ifindex = (int)if_nametoindex(o->dev);
	struct veth_link link, peer;
	int err;

	if (!ifindex)
		return failed(o->dev, "cannot send", -ENODEV);
	if (!veth_is(o->dev))
		return failed(o->dev, "flood only sends into veth devices", -EOPNOTSUPP);
	err = veth_link_get(ifindex, -1, &link);
	if (err)
		return failed(o->dev, "cannot ask about it", err);
	if (!(link.flags & IFF_UP) || !(link.flags & IFF_RUNNING))
		return failed(o->dev, "set it and its peer up first", -ENETDOWN);
	err = veth_link_get(link.peer, link.peer_netnsid, &peer);
	if (err && !o->dmac)
		return failed(o->dev, "cannot find out its peer's address; give --dmac", err);
	if (o->spec.size > link.mtu + ETH_HLEN || (!err && o->spec.size > peer.mtu + ETH_HLEN))
		return failed(o->dev, "--size is more than its MTU or its peer's", -EMSGSIZE);
	if (!o->smac)
		memcpy(o->spec.smac, link.mac, ETH_ALEN);
	if (!o->dmac)
		memcpy(o->spec.dmac, peer.mac, ETH_ALEN);
	return 0;
}

static uint64_t number_be(const uint8_t *bytes, unsigned int n)
{
	uint64_t number = 0;

	while (n--)
		number = number << 8 | *bytes++;
	return number;
}

/* Mask of the host part: the bits that a prefix of LENGTH leaves of a number of BITS. */
static uint64_t host_mask(unsigned int bits, unsigned int length)
{
	if (length >= bits)
		return 0;
	return UINT64_MAX >> (64 - bits + length);
}

static void source_set(struct flood_bpf__rodata *ro, struct flood_bpf__bss *state,
		       const struct worker *w)
{
	const struct options *o = w->o;
	unsigned int length = o->src_length;
	uint64_t hi = 0, lo;

	if (o->spec.ipv6) {
		hi = number_be(o->src, 8);
		lo = number_be(o->src + 8, 8);
		ro->mask_hi = host_mask(64, length);
		ro->mask_lo = host_mask(64, length > 64 ? length - 64 : 0);
		if (o->sequential && ro->mask_hi)
			ro->mask_lo = 0;
	} else {
		lo = number_be(o->src, 4);
		ro->mask_lo = host_mask(32, length);
	}
	ro->base_hi = hi & ~ro->mask_hi;
	ro->base_lo = lo & ~ro->mask_lo;
	ro->sequential = o->sequential;
	ro->stride = o->threads;
	state->position = (ro->mask_hi ? hi & ro->mask_hi : lo & ro->mask_lo) + w->index;
	/* far apart on the one cycle that all splitmix64 streams share */
	state->random_state = (o->seed * THREADS_MAX + w->index) * UINT64_C(0xd1342543de82ef95);
}

static void frame_set(struct flood_bpf__rodata *ro, const struct worker *w)
{
	const struct frame *f = w->frame;

	ro->target_ifindex = if_nametoindex(w->o->dev);
	memcpy((void *)ro->head, f->bytes, sizeof(ro->head));
	memcpy((void *)&ro->head_tail, f->bytes + f->head_bytes - sizeof(ro->head_tail),
	       sizeof(ro->head_tail));
	ro->head_bytes = f->head_bytes;
	ro->ipv6 = w->o->spec.ipv6;
	ro->random_port = w->o->spec.proto != FRAME_ICMP && !w->o->spec.sport;
	ro->source_at = f->source_at;
	ro->port_at = f->port_at;
	ro->ip_check_at = f->ip_check_at;
	ro->l4_check_at = f->l4_check_at;
	ro->ip_sum = f->ip_sum;
	ro->l4_sum = f->l4_sum;
}

/* ---- when frames were made */

static int timeline_set(struct worker *w)
{
	if (!w->o->timeline)
		return 0;
	w->skel->rodata->grain_ns = GRAIN_NS;
	w->skel->rodata->timeline_begin_ns = w->timeline_ns = now_ns();
	return bpf_map__set_max_entries(w->skel->maps.timeline, GRAINS);
}

static void grains_print(FILE *to, const uint64_t *frames, uint64_t from_ns)
{
	for (uint32_t i = 0; i < GRAINS; i++, from_ns += GRAIN_NS)
		if (frames[i])
			fprintf(to, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", from_ns,
				from_ns + GRAIN_NS, frames[i]);
}

static int timeline_write(const struct worker *w)
{
	const char *path = w->o->timeline;
	const uint64_t *frames;
	FILE *to;
	int err;

	if (!path)
		return 0;
	if (w->skel->bss->untimed)
		return failed(path, "it took longer than a timeline holds", -EOVERFLOW);
	frames = mmap(NULL, GRAINS * sizeof(*frames), PROT_READ, MAP_SHARED,
		      bpf_map__fd(w->skel->maps.timeline), 0);
	if (frames == MAP_FAILED)
		return failed(path, "cannot read the timeline", -errno);
	to = fopen(path, "we");
	if (!to)
		return failed(path, "cannot write it", -errno);
	grains_print(to, frames, w->timeline_ns);
	err = ferror(to) ? -EIO : 0;
	if (fclose(to) && !err)
		err = -errno;
	return err ? failed(path, "cannot write it", err) : 0;
}

/* ---- workers */

/*
 * A test run puts its program into the XDP dispatcher and takes it out again, and both times the
 * kernel waits for a grace period, some 15 ms in all. A program that is in use elsewhere stays in.
 * So ours hangs on the loopback of a namespace of its own, where nothing arrives.
 */
static int scratch_attach(struct worker *w)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_SKB_MODE);
	int program = bpf_program__fd(w->skel->progs.flood_frame);
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), err = 0;

	if (home < 0)
		return -errno;
	if (unshare(CLONE_NEWNET)) {
		err = -errno;
		close(home);
		return err;
	}
	w->scratch_netns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	w->scratch_link = bpf_link_create(program, LOOPBACK_IFINDEX, BPF_XDP, &opts);
	if (w->scratch_netns < 0 || w->scratch_link < 0)
		err = -errno;
	if (setns(home, CLONE_NEWNET))
		err = err ?: -errno;
	close(home);
	return err;
}

static int worker_load(struct worker *w)
{
	int err;

	w->skel = flood_bpf__open();
	if (!w->skel)
		return failed(w->o->dev, "cannot open the frame maker", -errno);
	frame_set(w->skel->rodata, w);
	source_set(w->skel->rodata, w->skel->bss, w);
	err = timeline_set(w) ?: flood_bpf__load(w->skel) ?: scratch_attach(w);
	return err ? failed(w->o->dev, "cannot load the frame maker", err) : 0;
}

static int worker_send(struct worker *w, uint64_t frames)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = w->frame->bytes,
		    .data_size_in = w->frame->size, .repeat = (int)frames,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = (uint32_t)w->o->batch);
	int err = bpf_prog_test_run_opts(bpf_program__fd(w->skel->progs.flood_frame), &opts);

	return !err || errno == EINTR ? 0 : failed(w->o->dev, "cannot send", -errno);
}

/* Long enough to be worth a system call, short enough to notice a signal. */
static void nap(uint64_t ns)
{
	sleep_ns(ns < PACE_NS ? PACE_NS : ns > NAP_MAX_NS ? NAP_MAX_NS : ns);
}

/* How many frames are due now; 0 after a nap if none is, or if it is over. */
static uint64_t worker_due(const struct worker *w, uint64_t made)
{
	uint64_t now = now_ns() - w->start_ns, due = CHUNK_FRAMES;

	if (w->rate) {
		uint64_t next = (uint64_t)((unsigned __int128)made * NS_PER_S / w->rate);

		due = (uint64_t)((unsigned __int128)now * w->rate / NS_PER_S) + 1;
		due = due > made ? due - made : 0;
		if (!due)
			nap(next - now);
	}
	if (w->quota && due > w->quota - made)
		due = w->quota - made;
	return due < CHUNK_FRAMES ? due : CHUNK_FRAMES;
}

static bool worker_done(const struct worker *w, uint64_t made)
{
	if (stop)
		return true;
	if (w->quota)
		return made >= w->quota;
	return now_ns() - w->start_ns >= w->o->seconds * NS_PER_S;
}

/*
 * Stays on one CPU, if need be the one it woke on. The peer's NAPI runs where frames are sent, so a
 * ring is drained before the next batch; a sender that moves on races with it and overruns it.
 */
static int worker_pin(const struct worker *w)
{
	bool given = w->o->cpu >= 0 || w->o->threads > 1;
	int first = w->o->cpu >= 0 ? w->o->cpu : 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(given ? (size_t)first + w->index : (size_t)sched_getcpu(), &set);
	return sched_setaffinity(0, sizeof(set), &set) ? failed(w->o->dev, "no such CPU", -errno)
						       : 0;
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	const volatile uint64_t *made = (const volatile uint64_t *)&w->skel->bss->made;

	w->err = worker_pin(w);
	while (!w->err && !worker_done(w, *made)) {
		uint64_t due = worker_due(w, *made);

		if (due)
			w->err = worker_send(w, due);
	}
	if (w->err)
		stop = 1;
	return NULL;
}

static int worker_start(struct worker *w)
{
	int err = -pthread_create(&w->thread, NULL, worker_run, w);

	return err ? failed(w->o->dev, "cannot start a thread", err) : 0;
}

/* The first frame shows whether the peer accepts any: frames that the core refuses are not counted.
 */
static int first_frame_send(struct worker *w, const struct counters *before)
{
	struct counters after;
	int err = worker_send(w, 1) ?: counters_read(w->o, &after);

	if (err)
		return err;
	if (after.taken != before->taken || after.refused != before->refused)
		return 0;
	fprintf(stderr,
		"flood: %s: its peer takes no frames: give it an XDP program, or run "
		"`ethtool -K PEER gro on` in its namespace\n",
		w->o->dev);
	return -EOPNOTSUPP;
}

/*
 * Waits until the peer has taken off its ring what went in, and no more comes, so that its own
 * counts are final when we end.
 */
static int settle(const struct options *o, const struct counters *before, struct counters *after)
{
	uint64_t until = now_ns() + SETTLE_NS, last = UINT64_MAX;
	int err;

	while (!(err = counters_read(o, after))) {
		uint64_t consumed = after->consumed - before->consumed;

		if (consumed == last && consumed >= after->taken - before->taken)
			break;
		if (now_ns() > until)
			break;
		last = consumed;
		sleep_ns(POLL_NS);
	}
	return err;
}

static int workers_run(struct worker *workers, uint64_t n)
{
	uint64_t started = 0;
	int err = 0;

	for (; started < n && !err; started++) {
		workers[started].start_ns = workers[0].start_ns;
		err = worker_start(&workers[started]);
	}
	if (err) {
		started--;
		stop = 1;
	}
	for (uint64_t i = 0; i < started; i++) {
		pthread_join(workers[i].thread, NULL);
		err = err ?: workers[i].err;
	}
	return err;
}

static void result_count(struct result *r, const struct worker *workers, uint64_t n,
			 const struct counters *before, const struct counters *after)
{
	uint64_t made = 0;

	for (uint64_t i = 0; i < n; i++)
		made += workers[i].skel->bss->made;
	r->sent = after->taken - before->taken;
	r->exact = made == r->sent + after->refused - before->refused;
	/* CPUs that share one queue lose updates of its counters; the counter of frames taken by
	 * NAPI has one writer. */
	if (!r->exact)
		r->sent = after->consumed - before->consumed;
	if (r->sent > made)
		r->sent = made;
	r->failed = made - r->sent;
}

static int flood(struct worker *workers, const struct options *o, struct result *r)
{
	struct counters before, after;
	int err = counters_read(o, &before);

	for (uint64_t i = 0; i < o->threads && !err; i++)
		err = worker_load(&workers[i]);
	if (err)
		return err;
	workers[0].start_ns = now_ns();
	err = first_frame_send(&workers[0], &before) ?: workers_run(workers, o->threads);
	r->ns = now_ns() - workers[0].start_ns;
	if (err)
		return err;
	err = settle(o, &before, &after);
	if (!err)
		result_count(r, workers, o->threads, &before, &after);
	return err;
}

static void result_print(const struct result *r, bool json)
{
	double seconds = (double)r->ns / 1e9, pps = seconds > 0 ? (double)r->sent / seconds : 0;

	if (json)
		printf("{\"sent\":%" PRIu64 ",\"failed\":%" PRIu64
		       ",\"seconds\":%.6f,\"pps\":%.0f,\"exact\":%s}\n",
		       r->sent, r->failed, seconds, pps, r->exact ? "true" : "false");
	else
		printf("sent %" PRIu64 " failed %" PRIu64 " in %.6f s: %.0f packets/s%s\n", r->sent,
		       r->failed, seconds, pps, r->exact ? "" : " (not exact)");
}

static void workers_set(struct worker *workers, const struct options *o, const struct frame *frame)
{
	for (uint64_t i = 0; i < o->threads; i++) {
		workers[i] = (struct worker){.o = o, .frame = frame, .index = i};
		workers[i].quota = o->count / o->threads + (i < o->count % o->threads);
		workers[i].rate = o->rate / o->threads + (i < o->rate % o->threads);
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = stop_on_signal};
	static struct worker workers[THREADS_MAX];
	static struct frame frame;
	struct options o = options_parse(argc, argv);
	struct result result = {};
	int err = device_check(&o);

	if (err)
		return FAILED;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	frame_build(&frame, &o.spec);
	workers_set(workers, &o, &frame);
	err = flood(workers, &o, &result) ?: timeline_write(&workers[0]);
	for (uint64_t i = 0; i < o.threads; i++)
		flood_bpf__destroy(workers[i].skel);
	if (err)
		return FAILED;
	result_print(&result, o.json);
	return 0;
}
