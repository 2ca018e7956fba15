-- wrk -s mix.lua URL -- PERCENT PATH [PERCENT PATH]...: asks for the paths in a random order, each as often as told. The
-- seed is fixed, so that every kind of thread gets the same order. The percentages make 100.
local folder = debug.getinfo(1, "S").source:match("^@(.*/)") or ""
dofile(folder .. "wrk.lua")  -- prints the result

local deck = {}

init = function(words)
  for i = 1, #words, 2 do
    local text = wrk.format(nil, words[i + 1])
    for _ = 1, tonumber(words[i]) do deck[#deck + 1] = text end
  end
  assert(#deck == 100, "the percentages do not make 100")
  math.randomseed(1)
end

request = function()
  return deck[math.random(100)]
end
