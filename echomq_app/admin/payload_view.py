"""A payload or an outcome, pretty, with its secrets hidden."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from echomq_app.admin.redaction import redacted
from echomq_app.admin.text import cut, visible, visible_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A labelled piece of text; ``more``: it goes on after what is shown."""

    label: str
    text: str
    more: bool = False


def parsed(raw: bytes) -> Any:
    """JSON data, numbers of any size as they are; ``None`` when ``raw`` is not JSON."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def payload_blocks(raw: bytes) -> list[Block]:
    """The payload of a task by its parts; any other payload as it stands."""
    body = parsed(raw)
    if not isinstance(body, dict):
        return [as_stored(_("Payload, as stored"), raw)]
    parts = {_("Arguments"): "args", _("Keyword arguments"): "kwargs"}
    blocks = [pretty(label, body[name], raw) for label, name in parts.items() if name in body]
    told = ("task", "args", "kwargs") if task_of(body) else ("args", "kwargs")
    rest = {name: held for name, held in body.items() if name not in told}
    if rest or not blocks:
        blocks.append(pretty(_("Other keys") if blocks else _("Payload"), rest, raw))
    return blocks


def pretty(label: str, value: Any, raw: bytes) -> Block:
    """JSON data over several lines; ``raw`` stands in where it is too deep to print."""
    try:
        shown = json.dumps(redacted(value), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return as_stored(label, raw)
    text, more = cut(shown)
    return Block(label=label, text=visible(text), more=more)


def as_stored(label: str, raw: bytes) -> Block:
    """Bytes as they stand, those that are no text escaped."""
    text, more = cut(visible_bytes(raw))
    return Block(label=label, text=text, more=more)


def task_of(body: Mapping[str, Any] | None) -> str:
    """The task's dotted path, empty when the payload names none."""
    task = (body or {}).get("task")
    return visible(task) if isinstance(task, str) else ""
