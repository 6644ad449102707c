"""The shell around the suite, run with stand-ins for the programs it calls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checks.tree import ROOT
from tests.eventually import eventually

OWN = "{}.{}".format(*sys.version_info[:2])


def _program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def _run(*command: str, bin: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{bin}:/usr/bin:/bin", **variables}
    environment.pop("PYTEST_ARGS", None)
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def _runs(pid: str) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_find_python_passes_over_a_name_that_does_not_run(tmp_path: Path) -> None:
    _program(tmp_path / f"python{OWN}", "echo no such version >&2; exit 127")
    version = tmp_path / "pyenv" / "versions" / f"{OWN}.9" / "bin" / "python3"
    _program(version, f'exec "{sys.executable}" "$@"')

    run = _run("sh", "checks/find-python", OWN, bin=tmp_path, PYENV_ROOT=str(tmp_path / "pyenv"))

    assert run.returncode == 0
    assert Path(run.stdout.strip()).exists()


def test_find_python_prints_nothing_where_there_is_none(tmp_path: Path) -> None:
    _program(tmp_path / "python3.99", f'exec "{sys.executable}" "$@"')

    run = _run("sh", "checks/find-python", "3.99", bin=tmp_path, PYENV_ROOT=str(tmp_path))

    assert (run.returncode, run.stdout) == (1, "")


@pytest.mark.parametrize("code", [0, 1, 5])
def test_the_suite_fails_when_pytest_does_and_names_what_it_ran(tmp_path: Path, code: int) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for venv, name, exit_code in ((old, "Django 5.2.1", code), (new, "Django 6.1.1", 0)):
        body = f'[ "$1" = -c ] && echo "Python 3 with {name}" && exit 0\nexit {exit_code}'
        _program(venv / "bin" / "python", body)

    run = _run("sh", "checks/suite", str(old), str(new), bin=tmp_path)

    outcome = f"FAILED (pytest exit {code})" if code else "passed"
    assert run.stdout.splitlines()[-2:] == [
        f"Python 3 with Django 5.2.1: {outcome}",
        "Python 3 with Django 6.1.1: passed",
    ]
    assert run.returncode == (1 if code else 0)


def test_the_suite_says_which_django_it_did_not_run(tmp_path: Path) -> None:
    body = '[ "$1" = -c ] && echo "Python 3 with Django 5.2.1"\nexit 0'
    _program(tmp_path / "old" / "bin" / "python", body)

    run = _run("sh", "checks/suite", str(tmp_path / "old"), bin=tmp_path)

    assert run.stdout.splitlines()[-1].startswith("Django 6.1: not run, no Python 3.12 or later")


@pytest.mark.parametrize(("make_exit", "expected"), [(0, 0), (2, 1)])
def test_ci_ends_what_was_left_running_and_fails_when_make_does(
    tmp_path: Path, make_exit: int, expected: int
) -> None:
    for name in ("redis-server", "chromium", "chromedriver", "gcc", "apt-get", "sudo"):
        _program(tmp_path / name, "exit 0")
    left = tmp_path / "pid"
    _program(
        tmp_path / "make",
        f'[ "$1" = test ] && {{ setsid sleep 600 >/dev/null 2>&1 & echo $! >"{left}"; }}\n'
        f'[ "$1" = test ] || exit 0\nexit {make_exit}',
    )

    run = _run("bash", ".ci/run", bin=tmp_path)

    assert run.returncode == expected, run.stdout + run.stderr
    assert f"left running, stopped: {left.read_text().strip()} sleep 600" in run.stdout
    eventually(lambda: not _runs(left.read_text().strip()))


def test_every_target_of_the_makefile_is_told_by_help() -> None:
    told = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout

    for target in ("demo", "test", "check", "tidy"):
        assert f"make {target} " in told
