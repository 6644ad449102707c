"""What can be read off a script without running it: slots, answers, and the order of its acts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from echomq_app.protocol.script import Header, fragment

COMMAND = re.compile(r"redis\.p?call\(\s*'(\w+)'")
REFUSAL = re.compile(r"error_reply\(|\brefuse\(|return nil\b")
CODE = re.compile(r"'(ERR|EMQ[A-Z]+)\b")
FUNCTION = re.compile(r"^local function (\w+)\(.*?^end$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"\b[a-z_]\w+\b")
RETURN = re.compile(r"\breturn (?P<value>[^\n]*?)(?: end)?$", re.MULTILINE)
WRITES = frozenset(
    [
        "DECR",
        "DEL",
        "HDEL",
        "HINCRBY",
        "HSET",
        "HSETNX",
        "LPUSH",
        "LREM",
        "LTRIM",
        "PEXPIRE",
        "RPUSH",
        "SADD",
        "SET",
        "SREM",
        "UNLINK",
        "ZADD",
        "ZPOPMIN",
        "ZREM",
    ]
)
READS = frozenset(
    [
        "EXISTS",
        "GET",
        "GETRANGE",
        "HGET",
        "HEXISTS",
        "HKEYS",
        "HRANDFIELD",
        "SRANDMEMBER",
        "HLEN",
        "LINDEX",
        "HMGET",
        "LLEN",
        "LPOS",
        "LRANGE",
        "PUBLISH",
        "SISMEMBER",
        "SMEMBERS",
        "TIME",
        "ZCARD",
        "ZRANGE",
        "ZRANGEBYSCORE",
        "ZSCORE",
    ]
)


def code_of(body: str) -> str:
    """A body without its comments."""
    return "\n".join(line for line in body.splitlines() if not line.lstrip().startswith("--"))


@cache
def functions(uses: tuple[str, ...]) -> dict[str, str]:
    """The functions that fragments give a script, by name."""
    found = {}
    for name in uses:
        for function in FUNCTION.finditer(code_of(fragment(name))):
            found[function[1]] = function[0]
    return found


def called(text: str, known: dict[str, str]) -> set[str]:
    """The fragments' functions that a text calls, those that they call among them."""
    todo = [name for name in NAME.findall(text) if name in known]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            inner = known[name].split("\n", 1)[1]
            todo += [other for other in NAME.findall(inner) if other in known]
    return seen


def codes(body: str, uses: tuple[str, ...]) -> set[str]:
    """The first words of every refusal that a script can give."""
    known = functions(uses)
    reached = called(body, known)
    text = code_of(body) + "".join(known[name] for name in reached)
    return set(CODE.findall(text))


def writes(text: str, known: dict[str, str]) -> bool:
    """Whether a text writes, itself or by a function that it calls."""
    whole = text + "".join(known[name] for name in called(text, known))
    return any(command in WRITES for command in COMMAND.findall(whole))


def refuses(text: str, known: dict[str, str]) -> bool:
    """Whether a text, or a function that it calls, can refuse."""
    return any(REFUSAL.search(known[name]) for name in called(text, known))


def late_refusals(body: str, uses: tuple[str, ...]) -> list[str]:
    """The lines that refuse although a line above them has written.

    A function that checks and then writes may be called when the lines right below it do no more
    than hand its refusal on; it is judged by its own lines.
    """
    known = functions(uses)
    units = [code_of(body)] + [known[name].split("\n", 1)[1] for name in called(body, known)]
    return [line for unit in units for line in _late(unit, known)]


def _late(unit: str, known: dict[str, str]) -> Iterator[str]:
    written = handing_on = False
    for line in unit.splitlines():
        if handing_on and not REFUSAL.search(line) and "return" not in line:
            written, handing_on = True, False
        if REFUSAL.search(line) and written:
            yield line.strip()
        if writes(line, known):
            if refuses(line, known):
                handing_on = True
            else:
                written = True


def numbers_returned(body: str) -> set[str]:
    """The literal numbers and words that a body returns."""
    found = set()
    for value in RETURN.findall(top_level(code_of(body))):
        if re.fullmatch(r"-?\d+|'\w+'", value):
            found.add(value.strip("'"))
        elif value == "{}":
            found.add("[]")
    return found


def top_level(code: str) -> str:
    """A body without the functions that it defines for itself."""
    return FUNCTION.sub("", code)


def slot_is_read(header: Header, body: str, table: str, index: int, many: bool) -> bool:
    """Whether the body names a slot of a header; a slot of many is the whole table."""
    code = code_of(body)
    if many:
        return re.search(rf"\b{table}\b(?!\[)", code) is not None
    return f"{table}[{index}]" in code
