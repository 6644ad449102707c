from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checks.tree import ROOT

LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def _lint(tree: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LINT, "--no-logo", "--no-cache"]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what the contracts speak of, to be spoiled."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in ("echomq_app", "project"):
        shutil.copytree(ROOT / package, tmp_path / package)
    return tmp_path


def test_the_import_contracts_hold() -> None:
    run = _lint(ROOT)

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("wire/__init__.py", "import django.conf", "never imports Django"),
        ("protocol/__init__.py", "import redis", "The protocol is pure"),
        ("protocol/__init__.py", "import echomq_app.service", "Imports go down the layers"),
        ("service/__init__.py", "import project", "knows nothing of the demo project"),
        ("admin/acts.py", "import echomq_app.protocol.calls", "act through the service"),
        ("admin/acts.py", "import echomq_app.runtime.loop", "Pages never run loops"),
        ("utils.py", "", "echomq_app.utils"),
    ],
)
def test_an_import_against_the_layers_breaks_a_contract(
    copy: Path, module: str, line: str, broken: str
) -> None:
    with (copy / "echomq_app" / module).open("a") as spoiled:
        spoiled.write(f"\n{line}\n")

    run = _lint(copy)

    assert run.returncode == 1
    assert broken in run.stdout
