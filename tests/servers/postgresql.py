"""A PostgreSQL of the tests' own: a fresh cluster in a private folder, on its Unix socket alone."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

import psycopg

from tests.servers.process import ServerProcess

DATABASES = ("first", "second")
OWNER = "site"
PACKAGED = "/usr/lib/postgresql"
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
WIDE = {"max_connections": "150", "shared_buffers": "16MB", "listen_addresses": ""}


@cache
def programs() -> Path | None:
    """The folder with ``initdb`` and ``postgres``: the newest that Debian installed, or on PATH."""
    debian = sorted(Path(PACKAGED).glob("*/bin/initdb"), key=lambda one: int(one.parts[-3]))
    on_path = [Path(one) for one in (shutil.which("initdb"),) if one]
    whole = (one.parent for one in [*debian[::-1], *on_path] if one.with_name("postgres").is_file())
    return next(whole, None)


class PostgreSQL(ServerProcess):
    """A cluster with the two databases ``DATABASES``. It refuses root, and runs as ``nobody`` then."""

    def __init__(self) -> None:
        super().__init__()
        self._data = self.folder / "data"
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self.account = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)

    def command(self) -> Sequence[str]:
        options = {**FAST, **WIDE, "unix_socket_directories": str(self.folder)}
        chosen = [word for pair in options.items() for word in ("-c", "=".join(pair))]
        return [str(_installed() / "postgres"), "-D", str(self._data), *chosen]

    def start(self) -> Self:
        if not self._data.exists():
            initdb = [str(_installed() / "initdb"), "--pgdata", str(self._data)]
            whose = ["--username", OWNER, "--auth", "trust"]
            how = ["--encoding", "UTF8", "--no-locale", "--no-sync"]
            command = [*initdb, *whose, *how]
            subprocess.run(command, check=True, capture_output=True, cwd="/", **self.account)
        return super().start()

    def answers(self) -> bool:
        """True when this very process serves, and no other."""
        try:
            self.ask("SELECT 1", "postgres")
        except psycopg.OperationalError:
            return False
        return (self._data / "postmaster.pid").read_text().startswith(f"{self.pid}\n")

    def address(self, database: str = DATABASES[0]) -> str:
        """Where the database is, for a client."""
        return f"host={self.folder} user={OWNER} dbname={database}"

    def ask(self, query: str, database: str = DATABASES[0]) -> list[Any]:
        """Rows of one statement on a connection of the harness, which is closed again."""
        address = f"{self.address(database)} application_name=harness"
        with psycopg.connect(address, autocommit=True) as link:
            told = link.execute(query.encode())
            return told.fetchall() if told.description else []

    def empty(self) -> None:
        """Both databases anew; whoever was connected is cut off."""
        for name in DATABASES:
            self.ask(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", "postgres")
            self.ask(f"CREATE DATABASE {name} TEMPLATE template0", "postgres")

    def clients(self) -> int:
        """How many connections there are, without the harness's own."""
        return len(self.ask(f"SELECT pid FROM {_CLIENTS}", "postgres"))

    def cut(self) -> int:
        """End every client's connection on the server; how many there were."""
        return len(self.ask(f"SELECT pg_terminate_backend(pid) FROM {_CLIENTS}", "postgres"))

    def django(self, database: str = DATABASES[0], **settings: Any) -> dict[str, Any]:
        """The database as ``DATABASES`` of a project names it."""
        place = {"NAME": database, "USER": OWNER, "HOST": str(self.folder)}
        return {"ENGINE": "django.db.backends.postgresql", **place, **settings}

    def stop(self) -> None:
        """End it as an operator would who does not wait for clients."""
        self._end(signal.SIGINT)

    def close(self) -> None:
        """End it at once, its processes with it, and remove its folder."""
        self._end(signal.SIGQUIT)
        super().close()


_CLIENTS = (
    "pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> 'harness'"
)


def _installed() -> Path:
    found = programs()
    assert found is not None, "no PostgreSQL is installed"
    return found
