"""Writes the reference pages that come from the scripts: ``python -m tests.docs.reference``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from checks.tree import ROOT
from echomq_app.protocol import errors
from echomq_app.protocol.script import Header, Script, every_verb, script
from tests.docs.keys import BESIDE, FIELDS, KEYS, RESERVE, Key

FOLDER = ROOT / "docs" / "reference"
CONTINUED = re.compile(r"^--\s{8,}(\S.*)$")
BUILT = re.compile(
    r"(?:base|lane\.base) \.\. '([\w:]+)'(?: \.\. \w[\w.\[\]]*(?: \.\. '([\w:]+)')?)?"
)
LISTED = re.compile(r"ipairs\(\{ (':[^}]*)\}\)")
FULL_SERVER: dict[tuple[str, ...] | None, str] = {
    None: "is refused before its first write",
    (): "is refused whole",
    ("allow-oom",): "runs all the same",
    ("no-writes",): "reads only",
}
COMMAND = "python -m tests.docs.reference"


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    return {"scripts.md": scripts_page(), "keys.md": keys_page()}


def scripts_page() -> str:
    """Every script: what it takes and every answer that it can give."""
    lines = [
        "# Scripts",
        "",
        f"Written by `{COMMAND}` from the headers of `echomq_app/protocol/scripts/`; edit those. Each",
        "script is one transition. `?` marks what may be left out, `..` what may come many times.",
        "",
        "An error reply becomes the exception beside it. Besides those named, a key of another type",
        "answers `WRONGTYPE` (`WrongType`), and a full server answers `OOM` (`ServerFull`) where it",
        "refuses.",
        "",
        *(f"- [{verb}](#{verb})" for verb in every_verb()),
    ]
    for verb in every_verb():
        lines += ["", *script_section(script(verb))]
    return "\n".join(lines) + "\n"


def script_section(found: Script) -> Iterator[str]:
    header = found.header
    yield f"## {found.verb}"
    yield ""
    yield header.sentence[0].upper() + header.sentence[1:]
    yield f"On a full server it {FULL_SERVER[header.flags]}."
    yield ""
    yield "| Takes | Name | Type | Meaning |"
    yield "|---|---|---|---|"
    for slot in header.slots:
        place = f"{slot.table}[{slot.index}{'..' if slot.many else ''}]"
        optional = "?" if slot.optional else ""
        yield f"| `{place}`{optional} | {slot.name} | {slot.kind} | {cell(slot.meaning)} |"
    yield ""
    yield "| Answers | Meaning |"
    yield "|---|---|"
    for shape, meaning in whole_replies(found):
        yield f"| `{shape}` | {cell(meaning)} |"
    for code, meaning in header.errors:
        yield f"| `{code}` `{exception(code)}` | {cell(meaning)} |"


def exception(code: str) -> str:
    """The one class that a code becomes."""
    named = {
        kind.code: name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.ServerRefusal)
    }
    return named.get(code, "ServerFault")


def whole_replies(found: Script) -> list[tuple[str, str]]:
    """Shape and meaning of each reply, with the lines that go on below it."""
    lines = found.body.splitlines()
    replies = []
    for shape, meaning in found.header.replies:
        at = next(n for n, line in enumerate(lines) if line.startswith(f"-- REPLY  {shape} "))
        words = [meaning]
        for line in lines[at + 1 :]:
            more = CONTINUED.match(line)
            if not more:
                break
            words.append(more[1])
        replies.append((shape, " ".join(words)))
    return replies


def cell(text: str) -> str:
    """Text that may stand in a table: keys as code, no bar."""
    return re.sub(r"(?<!`)\b(emq:\{q\}:[\w:<>]*)", r"`\1`", text.replace("|", r"\|"))


def keys_page() -> str:
    """Every key, and every field of a row."""
    lines = [
        "# Keys",
        "",
        f"Written by `{COMMAND}`: the scripts say which keys they declare and build, and",
        "`tests/docs/keys.py` says what each is for.",
        "",
        "All keys of a queue `q` start with `emq:{q}:` and share its cluster slot. What the protocol",
        "names and no script of ours touches is not listed. The verbs are those of the",
        "[scripts](scripts.md).",
        "",
        "| Key | Type | Holds | Bounded by | Touched by |",
        "|---|---|---|---|---|",
        *(key_row(f"emq:{{q}}:{key.name}", key, touched_by(key.name)) for key in KEYS),
        "",
        "## Streams",
        "",
        "Beside a queue, in its slot; no transition of a job touches them. See",
        "[Keep an event log](../how-to/streams.md).",
        "",
        "| Key | Type | Holds | Bounded by |",
        "|---|---|---|---|",
        *(f"| `emq:{{q}}:{key.name}` | {key.type} | {key.holds} | {key.bound} |" for key in BESIDE),
        "",
        "## The reserve",
        "",
        "Shared by all queues of a server, in one slot of their own.",
        "",
        "| Key | Type | Holds | Bounded by |",
        "|---|---|---|---|",
        *(f"| `{key.name}` | {key.type} | {key.holds} | {key.bound} |" for key in RESERVE),
        "",
        "## The fields of a row",
        "",
        "Right after admission a row has the first three and no other. Readers ignore what they do",
        "not know; a field that is not there counts as none, or as 0.",
        "",
        "| Field | Written by | Says |",
        "|---|---|---|",
        *(f"| `{field.name}` | {field.writers} | {field.says} |" for field in FIELDS),
    ]
    return "\n".join(lines) + "\n"


def key_row(name: str, key: Key, verbs: list[str]) -> str:
    return f"| `{name}` | {key.type} | {key.holds} | {key.bound} | {', '.join(verbs)} |"


def touched_by(name: str) -> list[str]:
    """The verbs whose scripts declare or build a key."""
    return [verb for verb in every_verb() if name in keys_of(script(verb))]


def keys_of(found: Script) -> set[str]:
    """The names of the keys that a script declares or builds, as the key reference spells them."""
    text = found.text
    built = {spelled(*match.groups()) for match in BUILT.finditer(text)}
    built |= {f"job:<id>:{subkey}" for subkey in re.findall(r"row \.\. ':(\w+)'", text)}
    for listed in LISTED.findall(text):
        built |= {f"job:<id>:{subkey}" for subkey in re.findall(r"':(\w+)'", listed)}
    built |= {word for word in ("high", "low") if f"'{word}'" in text}
    return built | declared_by(found.header)


def spelled(start: str, end: str | None) -> str:
    """``job:`` and what follows an id as the reference spells it."""
    if start == "g:":
        return "g:<group>:pending"
    holes = {
        "job:": "<id>",
        "result:": "<id>",
        "de:": "<did>",
        "repeat:": "<name>",
        "slot:": "<name>",
    }
    return start + holes.get(start, "") + (end or "")


def declared_by(header: Header) -> set[str]:
    """The keys among a header's slots, and the base."""
    patterns = (slot.meaning for slot in header.slots if slot.table == "KEYS")
    found = (re.match(r"emq:\{q\}:([\w:<>]*)", pattern) for pattern in patterns)
    return {match[1] for match in found if match}


def main() -> int:
    """Write the pages; 0."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
