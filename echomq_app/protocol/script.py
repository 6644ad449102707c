"""Lua scripts as values: the header of each file parsed, its text composed, its sha known."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Final

_SLOT: Final = re.compile(
    r"^-- (?P<table>KEYS|ARGV)\[(?P<index>\d+)(?P<many>\.\.)?\](?P<optional>\?)?\s+"
    r"(?P<name>\w+)\s+(?P<kind>\w+)\s+(?P<meaning>.+)$"
)
_REPLY: Final = re.compile(r"^-- REPLY\s+(?P<shape>\[.*\]|\S+)\s{2,}(?P<meaning>.+)$")
_ERROR: Final = re.compile(r"^-- ERROR\s+(?P<code>[A-Z]+)\s+(?P<meaning>.+)$")
_WORDS: Final = re.compile(r"^-- (?P<field>FLAGS|USES)\s+(?P<words>.+)$")
_TITLE: Final = re.compile(r"^-- (?P<verb>\w+): (?P<sentence>.+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One KEYS or ARGV entry of a header."""

    table: str
    index: int
    name: str
    kind: str
    meaning: str
    optional: bool
    many: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a script says of itself: what it takes and every answer it can give."""

    verb: str
    sentence: str
    flags: tuple[str, ...] | None
    """``None``: no ``#!lua`` line, so a full server refuses the first write alone."""
    uses: tuple[str, ...]
    slots: tuple[Slot, ...]
    replies: tuple[tuple[str, str], ...]
    errors: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Script:
    """One transition: ``verb``, its header, and the text the server runs."""

    verb: str
    header: Header
    body: str

    @cached_property
    def text(self) -> str:
        shebang = _shebang(self.header.flags)
        return shebang + "".join(fragment(name) for name in self.header.uses) + self.body

    @cached_property
    def sha(self) -> str:
        return hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


def _shebang(flags: tuple[str, ...] | None) -> str:
    if flags is None:
        return ""
    return "#!lua" + (f" flags={','.join(flags)}" if flags else "") + "\n"


def parse_header(text: str) -> Header:
    """Read the comment block at the top of a script; raise ``ValueError`` at a line it cannot read."""
    lines = text.splitlines()
    title = _TITLE.match(lines[0]) if lines else None
    if title is None:
        raise ValueError("a script starts with '-- verb: sentence'")
    words: dict[str, tuple[str, ...]] = {}
    slots: list[Slot] = []
    replies: list[tuple[str, str]] = []
    errors: list[tuple[str, str]] = []
    for line in lines[1:]:
        if not line.startswith("--"):
            break
        if found := _SLOT.match(line):
            slots.append(_slot(found))
        elif found := _WORDS.match(line):
            words[found["field"]] = tuple(w for w in found["words"].split() if w != "none")
        elif found := _REPLY.match(line):
            replies.append((found["shape"], found["meaning"].strip()))
        elif found := _ERROR.match(line):
            errors.append((found["code"], found["meaning"].strip()))
        elif line.startswith(("-- KEYS", "-- ARGV", "-- REPLY", "-- ERROR")):
            raise ValueError(f"a header line that cannot be read: {line!r}")
    return Header(
        verb=title["verb"],
        sentence=title["sentence"],
        flags=words.get("FLAGS"),
        uses=words.get("USES", ()),
        slots=tuple(slots),
        replies=tuple(replies),
        errors=tuple(errors),
    )


def _slot(found: re.Match[str]) -> Slot:
    return Slot(
        table=found["table"],
        index=int(found["index"]),
        name=found["name"],
        kind=found["kind"],
        meaning=found["meaning"].strip(),
        optional=found["optional"] is not None,
        many=found["many"] is not None,
    )


@cache
def fragment(name: str) -> str:
    """The text of a function that several scripts share."""
    return (files(__package__) / "scripts" / "fragments" / f"{name}.lua").read_text("utf-8")


@cache
def script(verb: str) -> Script:
    """The script of a verb, read once a process."""
    body = (files(__package__) / "scripts" / f"{verb}.lua").read_text("utf-8")
    return Script(verb=verb, header=parse_header(body), body=body)


def every_verb() -> tuple[str, ...]:
    """The verbs that have a script, sorted."""
    folder = files(__package__) / "scripts"
    return tuple(sorted(f.name[:-4] for f in folder.iterdir() if f.name.endswith(".lua")))
