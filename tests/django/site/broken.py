"""A module of an installed app that cannot be imported."""

from __future__ import annotations

raise RuntimeError("the module is broken")
