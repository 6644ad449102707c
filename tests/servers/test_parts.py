"""A part that cannot run is named, and fails the session only under CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
import pytest
from tests.servers.parts import Parts

def pytest_configure(config):
    config.pluginmanager.register(Parts())
"""
TESTS = """
import pytest

def test_plain():
    pass

@pytest.mark.part("valkey-9")
def test_here():
    pass

@pytest.mark.part("browser")
def test_missing():
    pass
"""
LINE = "browser: did not run: no chromium with chromedriver on PATH (1 tests)"


def session(folder: Path, *arguments: str, tests: str = TESTS, ci: str = "") -> tuple[int, str]:
    """Exit code and output of a pytest session that finds no program on PATH."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p xdist\n")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    root = Path(__file__).resolve().parents[2]
    facts = {
        "CI": ci,
        "PATH": str(folder),
        "PYTHONPATH": str(root),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, str(folder)],
        env=inherited | facts,
        capture_output=True,
        check=False,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_missing_part_is_deselected_and_named(tmp_path: Path, workers: str) -> None:
    code, output = session(tmp_path, "-n", workers)

    assert code == 0, output
    assert LINE in output
    assert "valkey-9: ran 1 tests" in output
    assert "2 passed" in output


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_missing_part_fails_under_ci(tmp_path: Path, workers: str) -> None:
    code, output = session(tmp_path, "-n", workers, ci="1")

    assert code == 1, output
    assert LINE in output
    assert "failed, as CI is set: browser" in output


def test_a_selection_without_the_missing_part_passes_under_ci(tmp_path: Path) -> None:
    code, output = session(tmp_path, "-k", "plain or here", ci="1")

    assert code == 0, output
    assert "browser: did not run: no chromium with chromedriver on PATH\n" in output


def test_a_part_whose_tests_all_skip_did_not_run(tmp_path: Path) -> None:
    tests = TESTS.replace("def test_here():\n    pass", 'def test_here():\n    pytest.skip("no")')

    code, output = session(tmp_path, "-k", "here", tests=tests, ci="1")

    assert code == 1, output
    assert "failed, as CI is set: valkey-9" in output


def test_an_unknown_part_is_an_error(tmp_path: Path) -> None:
    code, output = session(tmp_path, tests=TESTS.replace("browser", "bowser"))

    assert code == pytest.ExitCode.USAGE_ERROR, output
    assert "no such part: bowser" in output
