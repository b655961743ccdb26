-- SPDX-License-Identifier: GPL-2.0-only
-- keys: members, outage, capacity.
-- arguments: node, its token, number of members it last knew, 1 if it leaves.
-- answer: now, number of members that share the limits, number of those present, their names; or
-- -1 if another living member has the name, or -2 and the number of shards by the token of another
-- one (TOKEN/SHARDS, TOKEN for one) if its token has another number. All meet in the first shard.
--
-- After an outage for all (no heartbeat for 1.5 s), members that were known and are not back yet
-- still enforce their part alone: for 2.5 s the capacity excludes that part. The least number that
-- any of them knew counts: a member that is wrong takes nothing from the others.
--
-- A time that is far ahead was written before the clock was set back: as if it were not there.

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local node, token, claimed = ARGV[1], ARGV[2], tonumber(ARGV[3])
local all, last, known, since = redis.call('HGETALL', KEYS[1]), 0, 0, 0
local seen = {}
local function near(at) return math.abs(now - at) < 2500 end
local function shards(of) return tonumber(of:match('/(%d+)$') or 1) end
for i = 1, #all, 2 do
  local at, owner = all[i + 1]:match('^(%d+) (.*)$')
  at = tonumber(at or 0)
  if all[i] == node and owner ~= token and near(at) then return {-1} end
  local theirs = shards(owner or '')
  if all[i] ~= node and theirs ~= shards(token) and near(at) then return {-2, theirs} end
  seen[all[i]] = at
  if at < now + 2500 then last = math.max(last, at) end
end
local outage = redis.call('GET', KEYS[2])
if outage then
  known, since = outage:match('^(%d+) (%d+)$')
  known, since = tonumber(known), tonumber(since)
  if not near(since) then known, since = 0, 0 end
end
if claimed > 1 and (since > 0 and claimed < known or since == 0 and now - last > 1500) then
  if since == 0 then since = now end
  known = claimed
  local left = math.min(2500, since + 2500 - now)
  redis.call('SET', KEYS[2], known .. ' ' .. string.format('%.0f', since), 'PX', left)
end
local names = {}
for name, at in pairs(seen) do
  if name ~= node and near(at) and at >= since then names[#names + 1] = name
  elseif not near(at) then redis.call('HDEL', KEYS[1], name) end
end
if ARGV[4] == '1' then redis.call('HDEL', KEYS[1], node)
else
  names[#names + 1] = node
  redis.call('HSET', KEYS[1], node, string.format('%.0f', now) .. ' ' .. token)
end
local count = math.max(known, #names, 1)
if #names > 0 and count > #names then
  redis.call('SET', KEYS[3], math.floor(1000000 * #names / count), 'PX', 2500)
else redis.call('DEL', KEYS[3]) end
table.sort(names)
return {now, count, #names, unpack(names, 1, math.min(#names, 1000))}
