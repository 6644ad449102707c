"""Hides secrets in what a page shows. What is stored stays as it is."""

from __future__ import annotations

import re
from typing import Any, Final

from django.utils.translation import gettext

PARTS: Final = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "authorization",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "cookie",
)
"""A name that holds one of these, case and punctuation aside, names a secret."""
WHOLE: Final = frozenset({"pwd", "auth", "jwt", "pin", "cvv", "cvc"})
_PUNCTUATION: Final = re.compile(r"[\W_]+")


def is_secret(name: str) -> bool:
    """Whether a value under ``name`` is hidden."""
    plain = _PUNCTUATION.sub("", name).casefold()
    return plain in WHOLE or any(part in plain for part in PARTS)


def redacted(value: Any) -> Any:
    """A copy of JSON data in which each value under a secret's name is hidden, at any depth."""
    if isinstance(value, dict):
        return {
            name: gettext("(hidden)") if is_secret(name) and held is not None else redacted(held)
            for name, held in value.items()
        }
    if isinstance(value, list):
        return [redacted(item) for item in value]
    return value
