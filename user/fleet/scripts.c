// SPDX-License-Identifier: GPL-2.0-only
/* The scripts that a fleet runs in Redis. Each is atomic and uses Redis' clock. Shares are in
 * millionths of a limit.
 *
 * HEARTBEAT
 *   keys: members, outage, capacity.
 *   arguments: node, its token, number of members it last knew, 1 if it leaves.
 *   answer: now, number of members that share the limits, number of those present, their names; or
 *   -1 if another living member has the name.
 *
 *   After an outage for all (no heartbeat for 1.5 s), members that were known and are not back yet
 *   still enforce their part alone: for 2.5 s the capacity excludes that part.
 *
 * RATE
 *   keys: capacity, then one per limit and address.
 *   arguments, for each key: share held, share reserved, share wanted, share wanted before, second
 *   in which the reservation ends.
 *   answer: now, then for each key the share granted and its part of the capacity.
 *
 *   A key is granted what it wants or, if all want more than the capacity, its part of it. What it
 *   holds stays reserved until it reports that it holds less. A value is the present second, and
 *   the sums of reservations and of wishes by the second in which they end (this one, the next
 *   two): its size does not depend on the number of members.
 *
 * WINDOW
 *   keys: as RATE.
 *   arguments, for each key: amount, period in ms, wanted, returned, start of the window that the
 *   returned amount is of, smallest lease.
 *   answer, for each key: leased, remaining time of the window, start of the window.
 *
 *   A lease is at most a quarter of what is left.
 */

#include "scripts.h"

#define NOW                             \
	"local t = redis.call('TIME') " \
	"local now = t[1] * 1000 + math.floor(t[2] / 1000) "

#define CAPACITY "local capacity = tonumber(redis.call('GET', KEYS[1]) or 1000000) "

static const char heartbeat[] =
	NOW "local node, token, claimed = ARGV[1], ARGV[2], tonumber(ARGV[3]) "
	    "local all, last, known, since = redis.call('HGETALL', KEYS[1]), 0, 0, 0 "
	    "local seen = {} "
	    "for i = 1, #all, 2 do "
	    "  local at, owner = all[i + 1]:match('^(%d+) (.*)$') "
	    "  at = tonumber(at or 0) "
	    "  if all[i] == node and owner ~= token and now - at < 2500 then return {-1} end "
	    "  seen[all[i]] = at "
	    "  last = math.max(last, at) "
	    "end "
	    "local outage = redis.call('GET', KEYS[2]) "
	    "if outage then "
	    "  known, since = outage:match('^(%d+) (%d+)$') "
	    "  known, since = tonumber(known), tonumber(since) "
	    "elseif claimed > 1 and now - last > 1500 then "
	    "  known, since = claimed, now "
	    "  redis.call('SET', KEYS[2], known .. ' ' .. string.format('%.0f', now), 'PX', 2500) "
	    "end "
	    "local names = {} "
	    "for name, at in pairs(seen) do "
	    "  if name ~= node and now - at < 2500 and at >= since then names[#names + 1] = name "
	    "  elseif now - at >= 2500 then redis.call('HDEL', KEYS[1], name) end "
	    "end "
	    "if ARGV[4] == '1' then redis.call('HDEL', KEYS[1], node) "
	    "else "
	    "  names[#names + 1] = node "
	    "  redis.call('HSET', KEYS[1], node, string.format('%.0f', now) .. ' ' .. token) "
	    "end "
	    "local count = math.max(known, #names, 1) "
	    "if #names > 0 and count > #names then "
	    "  redis.call('SET', KEYS[3], math.floor(1000000 * #names / count), 'PX', 2500) "
	    "else redis.call('DEL', KEYS[3]) end "
	    "table.sort(names) "
	    "return {now, count, #names, unpack(names, 1, math.min(#names, 1000))} ";

static const char rate[] = NOW CAPACITY
	"capacity = math.floor(0.95 * capacity) "
	"local floor, max, min = math.floor, math.max, math.min "
	"local pack, unpack, call = struct.pack, struct.unpack, redis.call "
	"local second, answer, a = floor(now / 1000), {now}, 1 "
	"for i = 2, #KEYS do "
	"  local held, reserved, want, wanted, ends = unpack('<I4I4I4I4I4', ARGV[1], a) "
	"  ends = ends - second "
	"  local r0, r1, r2, w0, w1, w2 = 0, 0, 0, 0, 0, 0 "
	"  local value = call('GET', KEYS[i]) "
	"  a = a + 20 "
	"  if value and #value == 28 then "
	"    local base, v0, v1, v2, x0, x1, x2 = unpack('<I4I4I4I4I4I4I4', value) "
	"    local past = second - base "
	"    if past <= 0 then r0, r1, r2, w0, w1, w2 = v0, v1, v2, x0, x1, x2 "
	"    elseif past == 1 then r0, r1, w0, w1 = v1, v2, x1, x2 "
	"    elseif past == 2 then r0, w0 = v2, x2 end "
	"  end "
	"  if ends == 0 then r0, w0 = max(0, r0 - reserved), max(0, w0 - wanted) "
	"  elseif ends == 1 then r1, w1 = max(0, r1 - reserved), max(0, w1 - wanted) "
	"  elseif ends == 2 then r2, w2 = max(0, r2 - reserved), max(0, w2 - wanted) end "
	"  local others, wishes = r0 + r1 + r2, w0 + w1 + w2 + want "
	"  local part = want "
	"  if wishes > capacity then part = floor(capacity * want / wishes) end "
	"  local granted = max(0, min(part, capacity - others)) "
	"  r2, w2 = r2 + max(granted, held), w2 + want "
	"  if r0 + r1 + r2 + w0 + w1 + w2 == 0 then call('DEL', KEYS[i]) "
	"  else "
	"    call('SET', KEYS[i], pack('<I4I4I4I4I4I4I4', second, r0, r1, r2, w0, w1, w2), "
	"      'PX', 3000) "
	"  end "
	"  answer[i] = granted + part * 1048576 "
	"end "
	"return answer ";

static const char window[] = NOW CAPACITY
	"local answer, a = {now}, 0 "
	"for i = 2, #KEYS do "
	"  local amount, period = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]) "
	"  local want, back = tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4]) "
	"  local of, least = tonumber(ARGV[a + 5]), tonumber(ARGV[a + 6]) "
	"  local value, start, sum = redis.call('GET', KEYS[i]), 0, 0 "
	"  a = a + 6 "
	"  if value and #value == 16 then start, sum = struct.unpack('<I8I8', value) end "
	"  if now - start >= period or now < start then start, sum = now, 0 end "
	"  if of == start then sum = math.max(0, sum - back) end "
	"  local left = math.floor(amount * capacity / 1000000) - sum "
	"  local lease = math.max(0, math.min(want, left, math.max(math.ceil(left / 4), least))) "
	"  local lasts = period - (now - start) "
	"  sum = sum + lease "
	"  if sum > 0 then "
	"    redis.call('SET', KEYS[i], struct.pack('<I8I8', start, sum), 'PX', lasts) "
	"  else redis.call('DEL', KEYS[i]) end "
	"  answer[#answer + 1] = lease "
	"  answer[#answer + 1] = lasts "
	"  answer[#answer + 1] = start "
	"end "
	"return answer ";

const char *const fleet_scripts[SCRIPT_COUNT] = {
	[SCRIPT_HEARTBEAT] = heartbeat,
	[SCRIPT_RATE] = rate,
	[SCRIPT_WINDOW] = window,
};
