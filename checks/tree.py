"""The files of the project, as git knows them."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def files(root: Path = ROOT) -> list[Path]:
    """Every file that is, or could be, committed: ignored ones are left out, deleted ones too."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
    ).stdout.decode()
    paths = (root / name for name in sorted(set(listing.split("\0"))) if name)
    return [path for path in paths if path.is_file()]


def texts(root: Path = ROOT) -> dict[Path, str]:
    """The text of every file that is text, by path."""
    found = {}
    for path in files(root):
        content = path.read_bytes()
        if b"\0" not in content:
            found[path] = content.decode()
    return found
