"""One case for each answer that a script can give, to be watched while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from echomq_app.protocol.calls import Call
from tests.protocol.scene import Scene

Build = Callable[[Scene], Call[Any]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scene to set, the call to make in it, and the answer as the script's header names it."""

    verb: str
    answer: str
    build: Build

    @property
    def title(self) -> str:
        return f"{self.verb}-{self.build.__name__}"


CASES: list[Case] = []


def case(verb: str, answer: str) -> Callable[[Build], Build]:
    """Register a builder: it sets the scene and returns the call."""

    def register(build: Build) -> Build:
        CASES.append(Case(verb=verb, answer=answer, build=build))
        return build

    return register


def is_answer(shape: str, reply: Any) -> bool:
    """Whether a reply has the shape that a header's REPLY line gives it."""
    if isinstance(reply, int):
        return shape == str(reply) or shape == "n"
    if isinstance(reply, bytes):
        return shape == reply.decode()
    if not isinstance(reply, list) or not shape.startswith("["):
        return False
    if shape == "[]":
        return reply == []
    if shape == "[1, 0, -1]":
        return bool(reply) and set(reply) <= {1, 0, -1}
    if shape == "[[id, payload, token, excused, lapses]]":
        return all(len(item) == 5 for item in reply)
    if shape == "[[id, payload, token, excused, lapses, group]]":
        return all(len(item) == 6 for item in reply)
    if shape == "[[name, id]]":
        return all(len(item) == 2 for item in reply)
    if shape == "[id]":
        return all(isinstance(item, bytes) for item in reply)
    if shape in ("[numbers]", "[rows]"):
        return bool(reply)
    return len(reply) == len(shape.strip("[]").split(","))
