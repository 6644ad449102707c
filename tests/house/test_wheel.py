from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from checks.tree import ROOT, files

pytestmark = pytest.mark.xdist_group("wheel")

WITHOUT_DJANGO = """
import importlib, pkgutil, sys
sys.modules["django"] = None
for part in ("protocol", "wire", "service", "runtime"):
    package = importlib.import_module(f"echomq_app.{part}")
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
print(package.__file__)
"""


def test_the_wheel_carries_every_file_of_the_app_and_nothing_else(wheel: Path) -> None:
    app = ROOT / "echomq_app"
    expected = {str(path.relative_to(ROOT)) for path in files() if path.is_relative_to(app)}
    carried = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert "echomq_app/py.typed" in carried
    assert "echomq_app/protocol/scripts/claim.lua" in carried
    assert carried == expected


def test_the_lower_half_imports_from_the_wheel_without_django(unpacked: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_DJANGO],
        cwd=unpacked,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(str(unpacked))


def test_the_wheel_says_its_version_and_licence(wheel: Path) -> None:
    from echomq_app import __version__

    archive = ZipFile(wheel)
    [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    lines = archive.read(metadata).decode().splitlines()

    assert f"Version: {__version__}" in lines
    assert "License-Expression: MIT" in lines
    assert any(name.endswith("/licenses/LICENSE") for name in archive.namelist())
