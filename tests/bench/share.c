// SPDX-License-Identifier: GPL-2.0-only
/*
 * share: a limit that classes of senders share, packet by packet beside floods. The arithmetic is
 * that of the data path (tests/share_sim.h), what it should give is computed from what was sent.
 */
#include <stdio.h>
#include <unistd.h>

#include "share_scenarios.h"
#include "share_sim.h"
#include "tool.h"

enum { GOOD_MAX = 64, CLIENTS_MAX = 64, SLOT_MS = 20, SLOTS_MAX = 60000 / SLOT_MS };

static const char *const usage =
	"usage: share [-s SEEDS] [-t SECONDS] [-c TICK_MS] [-r RATE] [-b] [NAME]\n"
	"  prints a line for each group of senders of the scenarios whose name has NAME in it;\n"
	"  RATE: packets a second, or bytes with -b, of packets of 64..1500 bytes\n";

/* ---- a run */

struct client {
	uint64_t next_ns, began_ns, source;
	uint32_t stage, tries, ttl;
};

struct run {
	struct sim sim;
	const struct scenario *scenario;
	double limit, seconds;
	bool bytes;
	struct stream streams[STREAMS_MAX];
	uint64_t next_ns[STREAMS_MAX];
	uint32_t turn[STREAMS_MAX], bases[STREAMS_MAX];
	double sent[STREAMS_MAX][GOOD_MAX], got[STREAMS_MAX][GOOD_MAX];
	double slot_sent[SLOTS_MAX], slot_got[SLOTS_MAX]; /* of the first good ones */
	double exact[STREAMS_MAX], weighed[STREAMS_MAX];
	struct client clients[CLIENTS_MAX];
	int client, count; /* whose packet is the next */
	uint32_t began, ended;
	bool full[SLOTS_MAX]; /* more is sent than the limit gives */
	double filled, full_s;
};

static bool stream_is_on(const struct stream *s, double t)
{
	if (!s->rate || t < s->begin_s || (s->end_s && t >= s->end_s))
		return false;
	return !s->on_s || fmod(t - s->begin_s, s->on_s + s->off_s) < s->on_s;
}

static uint64_t pattern(uint32_t port, uint32_t length, uint32_t ttl, uint32_t flags)
{
	return (uint64_t)port << 32 | length / 32 << 16 | ttl << 8 | flags;
}

/* Half of the 32 networks of clients are among the 16 of a flood. */
static uint32_t client_network(uint64_t source)
{
	return 100000 + sim_hash(source) % 32;
}

static uint32_t client_ttl(uint64_t source)
{
	return 48 + sim_hash(source + 7) % 16;
}

static uint32_t shape_length(struct run *r)
{
	return r->bytes ? 64 + (uint32_t)(sim_random(&r->sim) % 1437) : 64;
}

static void packet_shape(struct run *r, struct sim_packet *p, enum shape shape, uint64_t t)
{
	uint64_t random = sim_random(&r->sim);
	uint32_t ttl = 48 + random % 16, length = shape_length(r);

	p->port = 443;
	p->amount = r->bytes ? length : 1;
	switch (shape) {
	case SHAPE_CLIENT:
		p->amount = r->bytes ? 64 : 1;
		p->pattern = pattern(443, 64, ttl, 2);
		return;
	case SHAPE_ONE:
		p->port = 80;
		p->pattern = pattern(80, 64, 50, 2);
		return;
	case SHAPE_ONE_THERE:
		p->pattern = pattern(443, 64, 99, 2);
		return;
	case SHAPE_SECOND:
		p->pattern = pattern(443, 64, 100 + (t / NS_PER_SECOND) % 100, 2);
		return;
	case SHAPE_PORT:
		p->port = 53;
		/* fallthrough */
	case SHAPE_PORT_THERE:
		p->pattern =
			pattern(p->port, random >> 8 & 2047, random >> 20 & 255, random >> 30 & 63);
		return;
	case SHAPE_ANY:
		p->port = random >> 40 & 65535;
		p->pattern =
			pattern(p->port, random >> 8 & 2047, random >> 20 & 255, random >> 30 & 63);
		return;
	case SHAPE_PLAYER:
		p->port = 27015;
		p->pattern = pattern(p->port, 100, client_ttl(p->source), 0);
		return;
	}
}

static void stream_send(struct run *r, int i)
{
	const struct stream *s = &r->streams[i];
	uint64_t t = r->next_ns[i], random = sim_random(&r->sim);
	uint32_t sender = !s->senders            ? 0
			  : s->good && !s->burst ? random % s->senders
						 : r->turn[i]++ % s->senders;
	struct sim_packet p = {.class = s->class, .source = r->bases[i] + sender};

	if (!s->senders)
		p.source = (1ull << 40) + random % (16 << 20);
	if (s->network == NETWORK_ANY)
		p.network = sim_hash(p.source) % 65536;
	else if (s->network == NETWORK_16)
		p.network = 100000 + random % 16;
	else
		p.network = s->network == NETWORK_ONE ? 99999 : client_network(p.source);
	packet_shape(r, &p, s->shape, t);
	for (uint32_t k = 0; k < (s->burst ? s->burst : 1); k++) {
		bool passes = sim_offer(&r->sim, &p, t);

		r->filled += r->full[t / (SLOT_MS * NS_PER_MS)] && passes ? p.amount : 0;
		if (!s->good || t < NS_PER_SECOND)
			continue;
		r->sent[i][sender] += p.amount;
		r->got[i][sender] += passes * p.amount;
		r->slot_sent[t / (SLOT_MS * NS_PER_MS)] += !i * p.amount;
		r->slot_got[t / (SLOT_MS * NS_PER_MS)] += (!i && passes) * p.amount;
	}
}

/* The next packet of a stream: floods send evenly, good ones as Poisson. */
static void stream_next(struct run *r, int i)
{
	const struct stream *s = &r->streams[i];
	double mean = 1e9 * (s->burst ? s->burst : 1) / s->rate, wait = mean;

	if (s->good && !s->burst)
		wait *= -log(1 - sim_unit(&r->sim));
	else if (!s->burst)
		wait *= 0.5 + sim_unit(&r->sim);
	r->next_ns[i] += (uint64_t)wait + 1;
	if (s->end_s && r->next_ns[i] >= s->end_s * 1e9) {
		r->next_ns[i] = ~0ull;
		return;
	}
	if (!stream_is_on(s, r->next_ns[i] / 1e9)) {
		double period = s->on_s + s->off_s, t = r->next_ns[i] / 1e9 - s->begin_s;

		r->next_ns[i] = (uint64_t)((s->begin_s + ceil(t / period) * period) * 1e9) + 1;
	}
}

static void client_begin(struct run *r, struct client *c, uint64_t now)
{
	*c = (struct client){
		.began_ns = now + sim_random(&r->sim) % NS_PER_SECOND,
		.source = (1ull << 41) + sim_random(&r->sim) % (1ull << 32),
	};
	c->next_ns = c->began_ns;
}

static void client_choose(struct run *r)
{
	r->client = 0;
	for (int i = 1; i < r->count; i++)
		if (r->clients[i].next_ns < r->clients[r->client].next_ns)
			r->client = i;
}

static void client_done(struct run *r, struct client *c, uint64_t now, bool ends)
{
	if (c->began_ns > NS_PER_SECOND && c->began_ns + 10.1e9 < r->seconds * 1e9) {
		r->began++;
		r->ended += ends;
	}
	client_begin(r, c, now);
}

/* SYN, ACK and the first data, each sent again after 1, 2, 4 s. */
static void client_send(struct run *r)
{
	static const struct {
		uint32_t length, flags;
	} stages[] = {{64, 2}, {52, 16}, {600, 24}};
	struct client *c = &r->clients[r->client];
	uint64_t now = c->next_ns;
	struct sim_packet p = {
		.class = RL_SHARE_STRANGER,
		.source = c->source,
		.network = client_network(c->source),
		.port = 443,
		.pattern = pattern(443, stages[c->stage].length, client_ttl(c->source),
				   stages[c->stage].flags),
		.amount = r->bytes ? stages[c->stage].length : 1,
	};
	bool passes;

	passes = sim_offer(&r->sim, &p, now);
	r->filled += r->full[now / (SLOT_MS * NS_PER_MS)] && passes ? p.amount : 0;
	if (!passes) {
		c->next_ns += NS_PER_SECOND << c->tries;
		if (c->tries++ == 3 || c->next_ns > c->began_ns + 10 * NS_PER_SECOND)
			client_done(r, c, now, false);
	} else {
		c->tries = 0;
		c->next_ns += 50 * NS_PER_MS;
		if (++c->stage == 3)
			client_done(r, c, now, true);
	}
	client_choose(r);
}

/* ---- what it should give */

static double stream_amount(const struct run *r, int i)
{
	return r->streams[i].rate * (r->bytes ? 800 : 1);
}

/* How much of what the good ones of stream i send in class rooms is theirs at that time. */
static double exact_of(const struct run *r, int i, const double *rooms, double t)
{
	double rate[STREAMS_MAX], count[STREAMS_MAX], pace;
	int groups = 0;

	for (int k = 0; k < STREAMS_MAX; k++) {
		if (r->streams[k].class != r->streams[i].class || !r->streams[k].senders ||
		    !stream_is_on(&r->streams[k], t))
			continue;
		count[groups] = r->streams[k].senders;
		rate[groups++] = stream_amount(r, k) / r->streams[k].senders;
	}
	pace = exact_pace(rooms[r->streams[i].class], rate, count, groups);
	return fmin(1, pace * r->streams[i].senders / stream_amount(r, i));
}

/* The rooms of the classes while these streams send. Returns what they send. */
static double rooms_at(const struct run *r, double t, double *rooms)
{
	double demand[RL_SHARE_CLASSES] = {0}, sum = 0;

	for (int i = 0; i < STREAMS_MAX; i++)
		if (stream_is_on(&r->streams[i], t))
			demand[r->streams[i].class] += stream_amount(r, i);
	for (int c = 0; c < RL_SHARE_CLASSES; c++)
		sum += demand[c];
	exact_rooms(r->limit, demand, r->sim.n.weight, rooms);
	return sum;
}

/* While the same streams send: their exact shares, for what the good ones send in this time. */
static void exact_add(struct run *r, double t, double length)
{
	double rooms[RL_SHARE_CLASSES];

	if (rooms_at(r, t, rooms) > r->limit) {
		r->full_s += length;
		r->full[(int)(t * 1000) / SLOT_MS] = true;
	}
	for (int i = 0; i < STREAMS_MAX; i++) {
		if (!r->streams[i].good || !stream_is_on(&r->streams[i], t))
			continue;
		r->weighed[i] += length;
		r->exact[i] += length * exact_of(r, i, rooms, t);
	}
}

static void run_exact(struct run *r)
{
	for (int i = 100; i < r->seconds * 100; i++)
		exact_add(r, i / 100.0 + 0.005, 0.01);
	for (int i = 0; i < STREAMS_MAX; i++)
		if (r->weighed[i])
			r->exact[i] /= r->weighed[i];
}

/* After each beginning and end of a flood: until the first good ones have nine tenths of what they
 * have later, or of what is theirs. */
static double run_recovery(const struct run *r)
{
	double worst = 0;
	int slots = (int)(r->seconds * 1000) / SLOT_MS;

	for (int i = 0; i < STREAMS_MAX; i++)
		for (int slot = 1000 / SLOT_MS + 1; slot + 50 < slots; slot++) {
			const struct stream *s = &r->streams[i];
			double t = slot * SLOT_MS / 1e3 + .001, rooms[RL_SHARE_CLASSES];
			double sent = 0, got = 0, later;
			int last = 0;

			if (s->good || stream_is_on(s, t) == stream_is_on(s, t - SLOT_MS / 1e3))
				continue;
			rooms_at(r, t, rooms);
			for (int k = slot + 15; k < slot + 24; k++) {
				sent += r->slot_sent[k];
				got += r->slot_got[k];
			}
			later = fmin(sent ? got / sent : 0, exact_of(r, 0, rooms, t));
			for (int k = slot; k < slot + 20; k++) {
				sent = got = 0;
				for (int j = k; j < k + 3; j++) {
					sent += r->slot_sent[j];
					got += r->slot_got[j];
				}
				if (got + 2 * sqrt(sent) < later * sent * 0.9)
					last = k - slot + 1;
			}
			worst = fmax(worst, last * SLOT_MS);
		}
	return worst;
}

static void run_start(struct run *r, uint64_t tick_ns, uint64_t seed)
{
	static const uint8_t weight[] = {60, 30, 10};
	struct rl_parts n = sim_parts(r->limit, r->bytes ? 1514 : 1, tick_ns, weight);
	double scale = r->bytes ? r->limit / 800 : r->limit;
	uint32_t base = 0;

	sim_start(&r->sim, &n, r->limit, tick_ns, seed);
	for (int i = 0; i < STREAMS_MAX; i++) {
		struct stream *s = &r->streams[i];

		*s = r->scenario->streams[i];
		s->rate = fmin(s->rate * scale, s->good ? 1e12 : fmax(2e6, 2 * scale));
		r->bases[i] = base;
		base += s->senders;
		if (!s->good && s->rate && !s->begin_s)
			s->begin_s = 2;
		r->next_ns[i] = s->rate ? (uint64_t)(s->begin_s * 1e9) : ~0ull;
	}
	r->count = (int)r->scenario->clients;
	for (int i = 0; i < r->count; i++)
		client_begin(r, &r->clients[i], 0);
	if (r->count)
		client_choose(r);
	run_exact(r);
}

static void run(struct run *r, uint64_t tick_ns, uint64_t seed)
{
	uint64_t end = (uint64_t)(r->seconds * 1e9);

	run_start(r, tick_ns, seed);
	for (;;) {
		uint64_t next = r->count ? r->clients[r->client].next_ns : ~0ull;
		int which = -1;

		for (int i = 0; i < STREAMS_MAX; i++)
			if (r->next_ns[i] < next) {
				next = r->next_ns[i];
				which = i;
			}
		if (next >= end)
			break;
		if (which < 0) {
			client_send(r);
			continue;
		}
		stream_send(r, which);
		stream_next(r, which);
	}
}

/* ---- the table */

static double median(double *values, uint32_t count)
{
	qsort(values, count, sizeof(*values), figure_order);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct figures {
	double good[STREAMS_MAX], handshakes, filled, highest, recovery;
};

static void run_figures(struct run *r, struct figures *f)
{
	for (int i = 0; i < STREAMS_MAX; i++) {
		double part[GOOD_MAX] = {0};
		uint32_t count = 0;

		for (int k = 0; k < GOOD_MAX; k++)
			if (r->sent[i][k])
				part[count++] = r->got[i][k] / r->sent[i][k];
		f->good[i] = count ? median(part, count) : 0;
	}
	f->handshakes = r->began ? (double)r->ended / r->began : 0;
	f->filled = r->full_s ? r->filled / (r->full_s * r->limit) : 1;
	f->highest = r->sim.highest / (r->limit / 10);
	f->recovery = run_recovery(r);
}

struct setting {
	double limit;
	bool bytes;
	uint64_t tick_ms;
};

static int seeds = 4, bad;
static double seconds = 25;

static void row(const char *name, const char *who, double exact, double goal, double *got,
		const struct figures *last)
{
	double middle = median(got, seeds);
	bool good = middle >= goal * exact && last->filled >= 0.95 && last->highest <= 1.001 &&
		    last->recovery <= 200;

	bad += !good;
	printf("%-36s %-15s %6.1f %6.1f %6.1f   %5.3f %5.3f %5.0f %s\n", name, who, 100 * exact,
	       100 * got[0], 100 * middle, last->filled, last->highest, last->recovery,
	       good ? "" : "BAD");
}

static void scenario_run(const struct scenario *scenario, const struct setting *setting)
{
	static struct run r;
	struct figures f[16], sum = {.filled = 1};
	double got[16] = {0}, recovery[16] = {0};

	for (int i = 0; i < seeds; i++) {
		memset(&r, 0, sizeof(r));
		r.scenario = scenario;
		r.limit = setting->limit;
		r.bytes = setting->bytes;
		r.seconds = seconds;
		run(&r, setting->tick_ms * NS_PER_MS, (uint64_t)i);
		run_figures(&r, &f[i]);
		sum.filled = fmin(sum.filled, f[i].filled);
		sum.highest = fmax(sum.highest, f[i].highest);
		recovery[i] = f[i].recovery;
	}
	sum.recovery = median(recovery, seeds);
	for (int k = 0; k < STREAMS_MAX; k++) {
		if (!scenario->streams[k].good)
			continue;
		for (int i = 0; i < seeds; i++)
			got[i] = f[i].good[k];
		row(scenario->name, scenario->streams[k].good, r.exact[k],
		    scenario->streams[k].goal, got, &sum);
	}
	for (int i = 0; i < seeds; i++)
		got[i] = f[i].handshakes;
	if (scenario->clients)
		row(scenario->name, "handshakes", 1, scenario->handshakes, got, &sum);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct setting setting = {20000, false, 4};
	int option;

	while ((option = getopt(argc, argv, "s:t:c:r:b")) != -1)
		switch (option) {
		case 's':
			seeds = atoi(optarg) < 16 ? atoi(optarg) : 16;
			break;
		case 't':
			seconds = atof(optarg);
			break;
		case 'c':
			setting.tick_ms = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			setting.limit = atof(optarg);
			break;
		case 'b':
			setting.bytes = true;
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	printf("%-36s %-15s %6s %6s %6s   %5s %5s %5s\n", "scenario", "who", "exact", "min",
	       "median", "fill", "burst", "ms");
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		if (optind == argc || strstr(scenarios[i].name, argv[optind]))
			scenario_run(&scenarios[i], &setting);
	return bad != 0;
}
