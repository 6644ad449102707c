from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, version

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from checks.tree import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
PROMISED = [Requirement(line) for line in PROJECT["dependencies"] + EXTRAS]
INSTALLED = [
    Requirement(line)
    for line in (ROOT / "requirements.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def _names(requirements: list[Requirement]) -> set[str]:
    return {canonicalize_name(requirement.name) for requirement in requirements}


def test_each_library_has_its_reason_and_each_reason_its_library() -> None:
    page = (ROOT / "docs/explanation/dependencies.md").read_text()
    rows = re.findall(r"^\| (?!Library|---)(\S+) \| (.+?) \|$", page, re.MULTILINE)

    assert {canonicalize_name(name) for name, reason in rows if reason} == _names(
        PROMISED + INSTALLED
    )


def test_what_users_get_is_what_is_tested() -> None:
    assert _names(PROMISED) <= _names(INSTALLED)


def test_this_environment_is_inside_every_range() -> None:
    outside = {}
    for requirement in PROMISED + INSTALLED:
        if requirement.marker and not requirement.marker.evaluate():
            continue
        found = _version(requirement.name)
        if found is not None and not requirement.specifier.contains(found):
            outside[str(requirement)] = found

    assert outside == {}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
