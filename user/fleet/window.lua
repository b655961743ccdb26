-- SPDX-License-Identifier: GPL-2.0-only
-- keys: as in rate.lua.
-- arguments, for each key: amount, period in ms, wanted, returned, start of the window that the
-- returned amount is of, smallest lease.
-- answer, for each key: leased, remaining time of the window, start of the window.
--
-- A lease is at most a quarter of what is left.

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local capacity = tonumber(redis.call('GET', KEYS[1]) or 1000000)
local answer, a = {now}, 0
for i = 2, #KEYS do
  local amount, period = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local want, back = tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4])
  local of, least = tonumber(ARGV[a + 5]), tonumber(ARGV[a + 6])
  local value, start, sum = redis.call('GET', KEYS[i]), 0, 0
  a = a + 6
  if value and #value == 16 then start, sum = struct.unpack('<I8I8', value) end
  if now - start >= period or now < start then start, sum = now, 0 end
  if of == start then sum = math.max(0, sum - back) end
  local left = math.floor(amount * capacity / 1000000) - sum
  local lease = math.max(0, math.min(want, left, math.max(math.ceil(left / 4), least)))
  local lasts = period - (now - start)
  sum = sum + lease
  if sum > 0 then
    redis.call('SET', KEYS[i], struct.pack('<I8I8', start, sum), 'PX', lasts)
  else redis.call('DEL', KEYS[i]) end
  answer[#answer + 1] = lease
  answer[#answer + 1] = lasts
  answer[#answer + 1] = start
end
return answer
