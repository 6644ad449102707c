"""Text of other people, made fit to look at."""

from __future__ import annotations

from typing import Final

SHOWN: Final = 100_000
"""Characters of one text that a page shows."""
_LAYOUT: Final = frozenset("\n\t")


def visible(text: str) -> str:
    """``text`` with each character that cannot be seen, or that turns the text around, escaped.

    What is left can be sent as UTF-8: lone surrogates are escaped too.
    """
    return "".join(
        letter
        if letter.isprintable() or letter in _LAYOUT
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def visible_bytes(raw: bytes) -> str:
    """``raw`` as text, bytes that are not UTF-8 escaped."""
    return visible(raw.decode("utf-8", "backslashreplace"))


def first_line(text: str, longest: int = 160) -> str:
    """The first line that says something, cut to ``longest`` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return visible(line if len(line) <= longest else line[: longest - 1] + "…")


def cut(text: str) -> tuple[str, bool]:
    """At most ``SHOWN`` characters, and whether more were there."""
    return text[:SHOWN], len(text) > SHOWN
