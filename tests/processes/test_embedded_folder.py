"""The embedded server's folder and its socket's place: private, writable, short enough."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from echomq_app.runtime.embedded import EmbeddedFolderRefused, EmbeddedServer
from tests.processes.embedded_folders import client, state_folder

pytestmark = pytest.mark.part("valkey-9")

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    with state_folder() as folder:
        yield folder


@pytest.fixture
def long_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with state_folder("a" * 60, "b" * 60) as folder:
        runtime = folder.parents[2] / "run"
        runtime.mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        yield folder


@contextmanager
def without_root() -> Iterator[None]:
    """Run the block as a user whom file modes bind."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_long_folder_gets_its_socket_in_a_private_short_one(long_folder: Path) -> None:
    server = EmbeddedServer(long_folder)
    before = server.url

    url = server.ensure()

    socket = Path(url.removeprefix("unix://"))
    assert len(os.fsencode(long_folder / "server.sock")) > 108
    assert url == before
    assert socket.parent.parent == long_folder.parents[2] / "run"
    assert mode(socket.parent) == 0o700
    assert mode(socket) == 0o600
    assert client(url).ping()
    assert server.stop() is True


def test_processes_with_another_runtime_folder_find_the_same_socket(
    long_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = EmbeddedServer(long_folder).ensure()
    elsewhere = long_folder.parents[2] / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(elsewhere))

    server = EmbeddedServer(long_folder)

    assert server.ensure() == url
    server.stop()
    assert server.ensure() == url


def test_a_runtime_folder_that_went_away_is_chosen_anew(
    long_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedServer(long_folder)
    client(server.ensure()).set("kept", "yes")
    server.stop()
    before = long_folder.parents[2] / "run"
    for path in before.iterdir():
        path.rmdir()
    before.rmdir()
    now = long_folder.parents[2] / "now"
    now.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(now))

    url = server.ensure()

    assert url.startswith(f"unix://{now}/echomq-")
    assert client(url).get("kept") == "yes"


def test_a_runtime_folder_that_others_may_enter_is_refused(long_folder: Path) -> None:
    server = EmbeddedServer(long_folder)
    runtime = Path(server.url.removeprefix("unix://")).parent
    runtime.mkdir()
    runtime.chmod(0o711)

    with pytest.raises(EmbeddedFolderRefused, match=r"others may enter it \(mode 711\)"):
        server.ensure()
    with pytest.raises(EmbeddedFolderRefused, match="others may enter it"):
        server.status()


def test_a_runtime_folder_that_is_a_link_is_refused(long_folder: Path) -> None:
    server = EmbeddedServer(long_folder)
    elsewhere = long_folder.parents[2] / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    Path(server.url.removeprefix("unix://")).parent.symlink_to(elsewhere)

    with pytest.raises(EmbeddedFolderRefused, match="it is not a folder"):
        server.ensure()


def test_a_runtime_folder_of_another_user_is_refused(
    long_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedServer(long_folder)
    runtime = Path(server.url.removeprefix("unix://")).parent
    runtime.mkdir(mode=0o700)
    owner = os.geteuid()
    name = runtime.name.replace(f"-{owner}-", f"-{owner + 1}-")
    runtime.rename(runtime.with_name(name))
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)

    with pytest.raises(EmbeddedFolderRefused, match=f"it belongs to user {owner}"):
        server.ensure()


def test_two_names_of_one_folder_are_one_server(folder: Path) -> None:
    folder.mkdir()
    name = folder.with_name("link")
    name.symlink_to(folder)

    assert EmbeddedServer(folder).ensure() == EmbeddedServer(name).ensure()


def test_a_folder_with_a_space_has_a_url_that_clients_read_back() -> None:
    with state_folder("my project") as folder:
        url = EmbeddedServer(folder).ensure()

        assert "%20" in url
        assert client(url).ping()


def test_an_empty_folder_that_others_may_enter_is_closed(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)

    EmbeddedServer(folder).ensure()

    assert mode(folder) == 0o700


def test_an_open_folder_with_other_files_is_refused_and_stays_open(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "manage.py").touch()

    with pytest.raises(EmbeddedFolderRefused, match="holds files of something else"):
        EmbeddedServer(folder).ensure()

    assert mode(folder) == 0o755
    assert [path.name for path in folder.iterdir()] == ["manage.py"]


def test_a_folder_that_may_not_be_made_is_refused(folder: Path) -> None:
    folder.parent.chmod(0o555)

    with without_root(), pytest.raises(EmbeddedFolderRefused, match="Permission denied") as caught:
        EmbeddedServer(folder).ensure()

    assert str(folder) in str(caught.value)
    assert 'ECHOMQ["EMBEDDED"]["FOLDER"]' in str(caught.value)


def test_a_folder_that_may_not_be_written_is_refused(folder: Path) -> None:
    server = EmbeddedServer(folder)
    server.ensure()
    server.stop()
    folder.parent.chmod(0o755)
    folder.chmod(0o500)
    # Whoever owns the folder may mend its mode; the lock in it is what stays shut.
    (folder / "server.lock").chmod(0)

    with without_root(), pytest.raises(EmbeddedFolderRefused, match=r"permitted|denied"):
        server.ensure()
    (folder / "server.lock").chmod(0o600)


def test_a_file_in_the_folders_place_is_refused(folder: Path) -> None:
    folder.write_text("not a folder")

    with pytest.raises(EmbeddedFolderRefused, match="File exists"):
        EmbeddedServer(folder).ensure()


def test_a_file_above_the_folders_place_is_refused(folder: Path) -> None:
    folder.write_text("not a folder")

    with pytest.raises(EmbeddedFolderRefused, match="Not a directory"):
        EmbeddedServer(folder / "below").ensure()
