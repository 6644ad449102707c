"""How what loops tell is worded: one line an event, whatever is in it."""

from __future__ import annotations

import io
import logging

import pytest

from echomq_app.log import _WORDS, LineReport
from echomq_app.management.arguments import report_for
from echomq_app.runtime.events import Event
from tests.runtime.scene import Clock


@pytest.fixture
def written() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def report(written: io.StringIO) -> LineReport:
    logger = logging.Logger("lines")
    logger.addHandler(logging.StreamHandler(written))
    return LineReport(logger)


def test_every_event_has_its_words_and_no_two_the_same() -> None:
    assert set(_WORDS) == set(Event)
    assert len({words for _, words in _WORDS.values()}) == len(Event)


@pytest.mark.parametrize("event", list(Event))
def test_each_event_is_one_line(event: Event, report: LineReport, written: io.StringIO) -> None:
    report(event, queue="default", job="JOB00000000001", error="two\nlines\r\nand a \u2028 third")

    assert len(written.getvalue().splitlines()) == 1
    assert "queue=default job=JOB00000000001 error=" in written.getvalue()


@pytest.mark.parametrize(
    "text", ["\n", "\r", "\x1b[2J", "\x9b2J", "\x85", "\u2028", "\u2029", "\ud800", "\x00", "\x7f"]
)
def test_no_text_of_a_stranger_reaches_the_log_as_it_is(
    text: str, report: LineReport, written: io.StringIO
) -> None:
    report(Event.RETRIED, error=f"before{text}after")

    line = written.getvalue().removesuffix("\n")
    assert text not in line
    assert line.isprintable()
    assert line.encode("utf-8")


def test_facts_read_as_they_are_in_any_script(report: LineReport, written: io.StringIO) -> None:
    report(Event.RELEASED, queue="почта", seconds=0.25, error='said "no"')

    assert written.getvalue() == 'job given back queue=почта seconds=0.25 error="said \\"no\\""\n'


def test_jobs_that_went_well_are_counted_and_told_together(written: io.StringIO) -> None:
    clock = Clock()
    logger = logging.Logger("tally", logging.INFO)
    logger.addHandler(logging.StreamHandler(written))
    report = LineReport(logger, clock)

    for _ in range(3):
        report(Event.COMPLETED, job="J")
    assert written.getvalue() == ""
    clock.pass_(12)
    report(Event.COMPLETED, job="J")
    report(Event.COMPLETED, job="J")
    report(Event.STOPPED)

    assert written.getvalue().splitlines() == [
        "jobs done count=4 seconds=12.0",
        "jobs done count=1 seconds=0.0",
        "stopped ",
    ]


@pytest.mark.parametrize("text", ["x" * 10_000, "x " * 10_000])
def test_a_long_text_is_cut(text: str, report: LineReport, written: io.StringIO) -> None:
    report(Event.RETRIED, error=text)

    assert len(written.getvalue()) < 600


class _Keeper(logging.Handler):
    def __init__(self, seen: list[logging.LogRecord]) -> None:
        super().__init__()
        self._seen = seen

    def emit(self, record: logging.LogRecord) -> None:
        self._seen.append(record)


def test_facts_ride_along_for_structured_handlers() -> None:
    seen: list[logging.LogRecord] = []
    logger = logging.Logger("records")
    logger.addHandler(_Keeper(seen))

    LineReport(logger)(Event.CLAIMED, queue="q", job="JOB00000000001")

    assert seen[0].__dict__["echomq"] == {
        "event": Event.CLAIMED,
        "queue": "q",
        "job": "JOB00000000001",
    }


def test_a_level_that_is_off_costs_no_words(written: io.StringIO, report: LineReport) -> None:
    report._logger.setLevel(logging.ERROR)

    report(Event.COMPLETED, queue="q")

    assert written.getvalue() == ""


@pytest.mark.parametrize(("verbosity", "level"), [(0, "ERROR"), (1, "INFO"), (2, "DEBUG")])
def test_without_logging_of_the_project_lines_go_to_standard_error(
    verbosity: int, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger(f"echomq.alone{verbosity}")
    monkeypatch.setattr(logger, "propagate", False)

    for _ in range(2):
        report_for(f"alone{verbosity}", verbosity)

    (handler,) = logger.handlers
    assert isinstance(handler, logging.StreamHandler)
    assert logging.getLevelName(logger.level) == level


def test_the_projects_own_logging_keeps_its_handlers_and_its_level_unless_asked() -> None:
    logger = logging.getLogger("echomq.configured")
    assert logger.hasHandlers(), "the test runner has configured the root logger"

    report_for("configured", 1)
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)

    report_for("configured", 2)
    assert (logger.handlers, logger.level) == ([], logging.DEBUG)
