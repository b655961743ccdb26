-- SPDX-License-Identifier: GPL-2.0-only
-- keys: capacity, then one per limit and address.
-- arguments, for each key: share held, share reserved, share wanted, share wanted before, second
-- in which the reservation ends.
-- answer: now, then for each key the share granted and its part of the capacity.
--
-- A key is granted what it wants or, if all want more than the capacity, its part of it. The part that it
-- holds stays reserved until it reports that it holds less. A value is the present second, and
-- the sums of reservations and of wishes by the second in which they end (this one, the next
-- two): its size does not depend on the number of members. After the clock was set back, all of them
-- count as ending last.

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local capacity = tonumber(redis.call('GET', KEYS[1]) or 1000000)
capacity = math.floor(0.99 * capacity)
local floor, max, min = math.floor, math.max, math.min
local pack, unpack, call = struct.pack, struct.unpack, redis.call
local second, answer, a = floor(now / 1000), {now}, 1
for i = 2, #KEYS do
  local held, reserved, want, wanted, ends = unpack('<I4I4I4I4I4', ARGV[1], a)
  ends = ends - second
  local r0, r1, r2, w0, w1, w2 = 0, 0, 0, 0, 0, 0
  local value = call('GET', KEYS[i])
  a = a + 20
  if value and #value == 28 then
    local base, v0, v1, v2, x0, x1, x2 = unpack('<I4I4I4I4I4I4I4', value)
    local past = second - base
    if past < 0 then r2, w2 = v0 + v1 + v2, x0 + x1 + x2
    elseif past == 0 then r0, r1, r2, w0, w1, w2 = v0, v1, v2, x0, x1, x2
    elseif past == 1 then r0, r1, w0, w1 = v1, v2, x1, x2
    elseif past == 2 then r0, w0 = v2, x2 end
  end
  if ends == 0 then r0, w0 = max(0, r0 - reserved), max(0, w0 - wanted)
  elseif ends == 1 then r1, w1 = max(0, r1 - reserved), max(0, w1 - wanted)
  elseif ends >= 2 then r2, w2 = max(0, r2 - reserved), max(0, w2 - wanted) end
  local others, wishes = r0 + r1 + r2, w0 + w1 + w2 + want
  local part = want
  if wishes > capacity then part = floor(capacity * want / wishes) end
  local granted = max(0, min(part, capacity - others))
  r2, w2 = r2 + max(granted, held), w2 + want
  if r0 + r1 + r2 + w0 + w1 + w2 == 0 then call('DEL', KEYS[i])
  else
    call('SET', KEYS[i], pack('<I4I4I4I4I4I4I4', second, r0, r1, r2, w0, w1, w2),
      'PX', 3000)
  end
  answer[i] = granted + part * 1048576
end
return answer
