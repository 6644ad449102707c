-- The number in `text` when it is whole and at least `low`, else nil.
local function whole(text, low)
  local number = tonumber(text)
  if number and number >= low and number == math.floor(number) and number < 9007199254740992 then
    return number
  end
end
