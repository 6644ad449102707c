"""Parts of the suite that need something of the machine: run them, or say why not.

A test names what it needs by ``@pytest.mark.part("browser")``, or by a fixture that does. Where
the part is missing the test is deselected and the last lines name it; under ``CI`` the session
then fails, except for ``shared``, which no clone of a user has.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.servers import postgresql
from tests.servers.engines import DEFAULT, ENGINE_NAMES, any_engine, engine

PARTS = (*ENGINE_NAMES, "cluster", "sentinel", "postgresql", "browser", "compiler", "shared")
ALLOWED_TO_MISS = frozenset({"shared"})
FIXTURE_PARTS: Mapping[str, str] = {
    "engine_server": DEFAULT,
    "fresh_server": DEFAULT,
    "cluster": "cluster",
    "sentinel": "sentinel",
    "postgresql": "postgresql",
}
SHARED = Path(__file__).resolve().parents[2].parent / "shared"
CLUSTER_ENGINES = ("redis-7", "valkey-9", "redis-8")


@cache
def why_missing(part: str) -> str:
    """Why this machine cannot run ``part``; empty when it can. KeyError for an unknown name."""
    if part in ENGINE_NAMES:
        return engine(part).why_not
    if part in ("cluster", "sentinel"):
        return "" if any_engine(*CLUSTER_ENGINES) else "no engine is installed"
    return {
        "postgresql": _unless(
            bool(postgresql.programs()), "no initdb with postgres on PATH or where Debian puts it"
        ),
        "browser": _unless(
            _on_path("chromium", "chromium-browser", "google-chrome") and _on_path("chromedriver"),
            "no chromium with chromedriver on PATH",
        ),
        "compiler": _unless(_on_path("cc", "gcc"), "neither cc nor gcc is on PATH"),
        "shared": _unless(SHARED.is_dir(), "there is no folder ../shared beside the repository"),
    }[part]


def _unless(there: bool, why: str) -> str:
    return "" if there else why


def _on_path(*programs: str) -> bool:
    return any(shutil.which(program) for program in programs)


class Parts:
    """The pytest plugin; under xdist each worker deselects and the controller adds up."""

    def __init__(self) -> None:
        self.needed: Counter[str] = Counter()
        self.ran: dict[str, set[str]] = {part: set() for part in PARTS}

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", "part(name): needs a part, see tests/servers/parts.py")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        kept: list[pytest.Item] = []
        deselected: list[pytest.Item] = []
        for item in items:
            parts = parts_of(item)
            self.needed.update(parts)
            item.user_properties += [("part", part) for part in sorted(parts)]
            (deselected if any(map(why_missing, parts)) else kept).append(item)
        if deselected:
            config.hook.pytest_deselected(items=deselected)
            items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and not report.skipped:
            for name, part in report.user_properties:
                if name == "part":
                    self.ran[str(part)].add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        sent = getattr(node, "workeroutput", {}).get("parts_needed", {})
        self.needed |= Counter(sent)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        sent = getattr(session.config, "workeroutput", None)
        if sent is not None:
            sent["parts_needed"] = dict(self.needed)
        elif self.failing() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("parts")
        for part in PARTS:
            terminalreporter.write_line(f"{part}: {self.told(part)}")
        if self.failing():
            terminalreporter.write_line(f"failed, as CI is set: {', '.join(self.failing())}")

    def told(self, part: str) -> str:
        """What became of a part, in words."""
        if self.ran[part]:
            return f"ran {len(self.ran[part])} tests"
        if not self.needed[part]:
            return f"did not run: {why_missing(part) or 'no selected test needs it'}"
        why = why_missing(part) or "none of its tests came to its own lines"
        return f"did not run: {why} ({self.needed[part]} tests)"

    def failing(self) -> list[str]:
        """The parts that tests needed and that did not run though CI is set."""
        if not os.environ.get("CI"):
            return []
        idle = (part for part in PARTS if self.needed[part] and not self.ran[part])
        return [part for part in idle if part not in ALLOWED_TO_MISS]


def parts_of(item: pytest.Item) -> set[str]:
    """The parts that a test needs, by its marks and its fixtures."""
    parts = {str(mark.args[0]) for mark in item.iter_markers("part")}
    fixtures: Iterable[str] = getattr(item, "fixturenames", ())
    parts |= {FIXTURE_PARTS[name] for name in fixtures if name in FIXTURE_PARTS}
    unknown = parts - set(PARTS)
    if unknown:
        raise pytest.UsageError(f"{item.nodeid}: no such part: {', '.join(sorted(unknown))}")
    return parts
