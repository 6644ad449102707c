"""Holds the documentation to the tree: links, reachable pages, commands, words.

``python -m checks.docs`` prints one line a fault and exits 1 if there is any.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from checks.tree import ROOT, files, texts

FENCE = re.compile(r"^ *(```|~~~).*?^ *\1\s*$", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
MAKE_COMMAND = re.compile(r"\bmake ([a-z][a-z-]*)")
MANAGE_COMMAND = re.compile(r"manage\.py ([a-z_]+)")
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
DJANGO_COMMANDS = {
    "check",
    "createsuperuser",
    "makemigrations",
    "migrate",
    "runserver",
    "shell",
    "startapp",
}
REFUSED_WORDS = {
    "the promise is at least once, with a fence": re.compile(r"\bexactly[\s-]+" + r"once\b", re.I),
    "a path of one machine": re.compile(r"(?<![\w.])/(?:home|Users)/\w|(?<![\w.])/root" + r"/"),
    "unfinished": re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b"),
}


def faults(root: Path = ROOT) -> Iterator[str]:
    """Yield one sentence for each fault in the documentation under ``root``."""
    pages = {path: path.read_text() for path in files(root) if path.suffix == ".md"}
    for page, text in pages.items():
        yield from broken_links(root, page, text)
        yield from unknown_commands(root, page, text)
    yield from lost_pages(root, pages)
    for path, text in texts(root).items():
        yield from refused_words(root, path, text)


def prose(text: str) -> str:
    """A page without its code: what a link may stand in."""
    return INLINE_CODE.sub("", FENCE.sub("", text))


def targets(page: Path, text: str) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor ("" for none) of every link that stays in the project."""
    for target in LINK.findall(prose(text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        yield ((page.parent / name).resolve() if name else page, anchor)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        kept = [
            letter
            for letter in heading.lower()
            if letter in " -_" or unicodedata.category(letter)[0] in "LN"
        ]
        found.add("".join(kept).replace(" ", "-"))
    return found


def broken_links(root: Path, page: Path, text: str) -> Iterator[str]:
    """Yield a sentence for each link that leads nowhere."""
    for target, anchor in targets(page, text):
        where = page.relative_to(root)
        if not target.exists() or not target.is_relative_to(root):
            yield f"{where}: the link to {target.name!r} leads nowhere"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
            yield f"{where}: {target.name!r} has no heading for #{anchor}"


def lost_pages(root: Path, pages: dict[Path, str]) -> Iterator[str]:
    """Yield a sentence for each page under docs/ that no chain of links from its index reaches."""
    index = root / "docs" / "README.md"
    reached: set[Path] = set()
    ahead = [index]
    while ahead:
        page = ahead.pop()
        if page in reached or page not in pages:
            continue
        reached.add(page)
        ahead.extend(target for target, _ in targets(page, pages[page]))
    for page in pages:
        if page.is_relative_to(root / "docs") and page not in reached:
            yield f"{page.relative_to(root)}: no link from docs/README.md leads here"


def unknown_commands(root: Path, page: Path, text: str) -> Iterator[str]:
    """Yield a sentence for each make target or management command in code that does not exist."""
    code = "\n".join(match.group() for match in FENCE.finditer(text))
    code += "\n".join(INLINE_CODE.findall(FENCE.sub("", text)))
    known_targets = set(TARGET.findall((root / "Makefile").read_text()))
    known_commands = DJANGO_COMMANDS | {
        path.stem for path in files(root) if path.match("management/commands/*.py")
    }
    where = page.relative_to(root)
    for target in sorted(set(MAKE_COMMAND.findall(code)) - known_targets):
        yield f"{where}: the Makefile has no target {target!r}"
    for command in sorted(set(MANAGE_COMMAND.findall(code)) - known_commands):
        yield f"{where}: there is no management command {command!r}"


def refused_words(root: Path, path: Path, text: str) -> Iterator[str]:
    """Yield a sentence for each word that the project does not use."""
    for number, line in enumerate(text.splitlines(), start=1):
        for reason, pattern in REFUSED_WORDS.items():
            if pattern.search(line):
                yield f"{path.relative_to(root)}:{number}: {reason}: {line.strip()[:80]}"


def main() -> int:
    """Print the faults; 1 if there is any."""
    found = list(faults())
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
