"""The demo's operator: one superuser; the random password is in a file for its owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.contrib.auth import get_user_model

NAME = "operator"


def ensure_operator(password_file: Path) -> str:
    """Return the operator's password; make the user, or a new password, where the file has none."""
    user, _ = get_user_model().objects.get_or_create(
        username=NAME, defaults={"is_staff": True, "is_superuser": True}
    )
    if password_file.exists():
        kept = password_file.read_text(encoding="utf-8").strip()
        if kept and user.check_password(kept):
            return kept
    password = secrets.token_urlsafe(12)
    password_file.unlink(missing_ok=True)
    owner_only = os.open(password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(owner_only, "w", encoding="utf-8") as file:
        file.write(password)
    user.set_password(password)
    user.save()
    return password
