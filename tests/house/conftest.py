from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from checks.tree import ROOT


def pip(*arguments: str) -> None:
    """Run this environment's pip, in silence unless it fails."""
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--quiet", *arguments], check=True)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip builds from the tree, without fetching anything."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    [built] = folder.glob("echomq_django-*.whl")
    return built


@pytest.fixture(scope="session")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed wheel in it, for a Python path."""
    folder = tmp_path_factory.mktemp("unpacked")
    pip("install", "--no-deps", "--target", str(folder), str(wheel))
    return folder
