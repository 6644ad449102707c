"""A result is built for a signal only when a receiver or a log handler of the project will look."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from django.utils.log import RequireDebugFalse, RequireDebugTrue

from echomq_app.backend import hearing, running
from echomq_app.backend.hearing import is_written, listened
from echomq_app.compat import task_finished, task_started

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings as DjangoSettings


class Kept(logging.Handler):
    """Keeps what it is handed."""

    def __init__(self, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self.lines: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> logging.Logger:
    """A logger at INFO in the place of Django's, handed to nobody but the handlers of the test."""
    logger = logging.Logger(hearing._OWN, logging.INFO)
    monkeypatch.setattr(hearing, "_log", logger)
    monkeypatch.setattr(f"{hearing._OWN}.signals.logger", logger)
    return logger


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The jobs whose result a worker built."""
    jobs: list[str] = []
    begun = running.begun

    def noting(place: Any, lease: Any, *rest: Any) -> Any:
        jobs.append(lease.job_id)
        return begun(place, lease, *rest)

    monkeypatch.setattr(running, "begun", noting)
    return jobs


def test_without_a_handler_only_what_python_prints_by_itself_is_written(
    log: logging.Logger,
) -> None:
    assert not is_written(logging.INFO)
    assert is_written(logging.WARNING)


def test_a_level_that_is_switched_off_is_not_written(log: logging.Logger) -> None:
    log.addHandler(Kept())
    log.setLevel(logging.WARNING)

    assert not is_written(logging.INFO)
    assert is_written(logging.WARNING)


def test_a_handler_of_a_higher_level_does_not_take_a_line(log: logging.Logger) -> None:
    log.addHandler(Kept(logging.ERROR))

    assert not is_written(logging.INFO)
    assert is_written(logging.ERROR)


@pytest.mark.parametrize("debug", [True, False])
def test_django_s_own_filters_are_asked_what_debug_is(
    log: logging.Logger, settings: DjangoSettings, debug: bool
) -> None:
    settings.DEBUG = debug
    handler = Kept()
    log.addHandler(handler)

    handler.filters = [RequireDebugTrue()]
    assert is_written(logging.INFO) is debug
    handler.filters = [RequireDebugFalse()]
    assert is_written(logging.INFO) is not debug


def test_a_filter_that_is_not_known_may_let_a_line_through(log: logging.Logger) -> None:
    handler = Kept()
    handler.addFilter(lambda _: False)
    log.addHandler(handler)

    assert is_written(logging.INFO)


def test_a_filter_of_the_logger_may_be_somebody_who_reads(
    log: logging.Logger,
) -> None:
    log.addFilter(lambda _: False)

    assert is_written(logging.INFO)


def test_a_handler_further_up_is_found_while_lines_go_up(
    log: logging.Logger,
) -> None:
    log.parent = logging.Logger("above")
    log.parent.addHandler(Kept())
    assert is_written(logging.INFO)

    log.propagate = False
    assert not is_written(logging.INFO)


def test_an_agent_that_reads_every_line_is_a_reader(
    log: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.Logger, "callHandlers", lambda *_: None)

    assert is_written(logging.INFO)


def test_a_receiver_of_the_project_listens(log: logging.Logger) -> None:
    def hear(**_: Any) -> None:
        raise AssertionError("nothing is sent here")

    assert not listened(task_started)
    task_started.connect(hear)
    try:
        assert listened(task_started)
        assert not listened(task_finished)
    finally:
        task_started.disconnect(hear)


def test_a_success_that_nobody_hears_of_builds_no_result(
    site: Any, run: Any, log: logging.Logger, built: list[str]
) -> None:
    assert run(site.add.enqueue(1)).return_value == 2
    assert built == []

    handler = Kept()
    log.addHandler(handler)
    heard = run(site.add.enqueue(1))

    assert built == [heard.id]
    assert [line.levelname for line in handler.lines] == ["INFO", "INFO"]


def test_a_failure_is_told_to_those_who_hear_only_of_failures(
    site: Any, run: Any, log: logging.Logger, settings: DjangoSettings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "MAX_ATTEMPTS": 1}
    handler = Kept(logging.ERROR)
    log.addHandler(handler)

    run(site.add.enqueue(1))
    failed = run(site.fail.enqueue("why"))

    assert [line.levelname for line in handler.lines] == ["ERROR"]
    assert failed.id in handler.lines[0].getMessage()
