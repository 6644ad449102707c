"""The tutorial, typed word for word into an empty project that has the wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import django
import pytest

from checks.tree import ROOT

BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs/tutorial/first-job.md").read_text()
BLOCKS = [(language, text) for language, text in BLOCK.findall(PAGE)]
SHELL = [text for language, text in BLOCKS if language == "sh"]
PYTHON = [text for language, text in BLOCKS if language == "python"]


class Reader:
    """Somebody who does what the page says, in a folder of their own."""

    def __init__(self, folder: Path, unpacked: Path) -> None:
        self.folder = folder
        programs = folder / "bin"
        programs.mkdir()
        for name, command in (("python", ""), ("django-admin", " -m django")):
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{command} "$@"\n')
            (programs / name).chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{programs}:/usr/bin:/bin",
            "PYTHONPATH": str(unpacked),
        }
        self.environment.pop("DJANGO_SETTINGS_MODULE", None)

    def types(self, block: str) -> str:
        """Run a block in a shell; the test fails with its output unless every line succeeds."""
        run = subprocess.run(
            ["sh", "-e", "-c", block],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert run.returncode == 0, f"{block}\n{run.stdout}"
        return run.stdout


@pytest.fixture
def reader(tmp_path: Path, unpacked: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path, unpacked)
    yield reader
    if (tmp_path / "manage.py").exists():
        reader.types("python manage.py emq_server stop")


@pytest.mark.part("valkey-9")
@pytest.mark.xdist_group("wheel")
def test_the_tutorial_works_word_for_word(reader: Reader) -> None:
    _install, start, check, enqueue, work = SHELL
    settings, task = PYTHON
    if django.VERSION < (6, 0):
        task = task.replace("from django.tasks import task", "from django_tasks import task")

    reader.types(start)
    with (reader.folder / "site1/settings.py").open("a") as end:
        end.write(settings)
    (reader.folder / "shop/tasks.py").write_text(task)
    assert "no issues" in reader.types(check)
    assert re.search(r"^JOB[0-9A-Za-z]{11}$", reader.types(enqueue), re.MULTILINE)
    assert "Hello Ada" in reader.types(work)
