"""A line for each guard that the machine saw missing."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.stats.get("passed", [])
    told = [str(value) for one in reports for name, value in one.user_properties if name == "tooth"]
    if told:
        terminalreporter.section("guards taken out, and seen missing")
        for line in told:
            terminalreporter.write_line(line)
