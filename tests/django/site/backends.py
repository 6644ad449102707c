"""A backend of the project's own."""

from __future__ import annotations

from echomq_app.backend import EchoMQBackend


class OwnBackend(EchoMQBackend):
    """Ours under another name."""
