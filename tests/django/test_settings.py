from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from echomq_app.conf import Settings, echomq_settings, read_settings
from echomq_app.connections import embedded_server, minter
from tests.django.conftest import BACKEND

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings as DjangoSettings

WRONG: list[tuple[str, Any, str]] = [
    ("CONNECTION", 5, "text that is not empty"),
    ("CONNECTION", "", "text that is not empty"),
    ("CONNECTION", None, "text that is not empty"),
    ("QUEUES", "mail", "a list of names"),
    ("QUEUES", 5, "a list of names"),
    ("QUEUES", ["emq"], "a list of queue names (the queue name 'emq' is the protocol's own"),
    ("QUEUES", ["a{b"], "a list of queue names (a queue name holds no"),
    ("QUEUES", [5], "a list of queue names (a queue name is text; got int 5)"),
    ("NODE_ID", -1, "a whole number from 0 to 1023"),
    ("NODE_ID", 1024, "a whole number from 0 to 1023"),
    ("NODE_ID", True, "a whole number from 0 to 1023"),
    ("NODE_ID", "7", "a whole number from 0 to 1023"),
    ("LEASE", 0.5, "seconds or a timedelta, at least 1 s and at most 24 days"),
    ("LEASE", timedelta(days=25), "seconds or a timedelta, at least 1 s and at most 24 days"),
    ("LEASE", "60s", "seconds or a timedelta, at least 1 s and at most 24 days"),
    ("LEASE", float("nan"), "seconds or a timedelta, at least 1 s and at most 24 days"),
    ("LEASE", float("inf"), "seconds or a timedelta, at least 1 s and at most 24 days"),
    ("LEASE", 10**30, "seconds or a timedelta, at least 1 s and at most 24 days"),
    ("LEASE", True, "seconds or a timedelta, at least 1 s and at most 24 days"),
    ("MAX_ATTEMPTS", 0, "a whole number from 1"),
    ("MAX_LAPSES", 1.5, "a whole number from 1"),
    (
        "SOFT_TIME_LIMIT",
        0,
        "seconds or a timedelta, at least 0.001 s and at most 3650 days, or None",
    ),
    (
        "HARD_TIME_LIMIT",
        "1h",
        "seconds or a timedelta, at least 0.001 s and at most 3650 days, or None",
    ),
    ("BACKOFF_BASE", 0, "seconds or a timedelta, at least 0.001 s and at most 3650 days"),
    (
        "BACKOFF_CAP",
        timedelta.max,
        "seconds or a timedelta, at least 0.001 s and at most 3650 days",
    ),
    ("RECEIPT_TTL", 0, "seconds or a timedelta, at least 1 s and at most 3650 days"),
    ("RESULT_TTL", -1, "seconds or a timedelta, at least 0 s and at most 3650 days"),
    ("MAX_RESULTS", 0, "a whole number from 1"),
    ("MAX_PAYLOAD_BYTES", 63, "a whole number from 64"),
    ("ENQUEUE_ON_COMMIT", 1, "True or False"),
    ("EVENTS", "yes", "True or False"),
    ("PATIENCE", 0, "seconds or a timedelta, at least 0.01 s and at most 3650 days"),
    ("EMBEDDED", "here", "a dict"),
    ("FENCE", ["echomq:4.0.0"], "a dict"),
]


@pytest.mark.parametrize(("key", "value", "expected"), WRONG)
def test_a_wrong_value_is_told_with_what_it_can_be(key: str, value: Any, expected: str) -> None:
    found, (problem,) = read_settings({key: value})

    assert problem.number == "E003"
    assert problem.message.startswith(f'ECHOMQ["{key}"] is {expected}')
    assert problem.message.endswith(f"got {value!r:.80}.")
    assert problem.hint.startswith(f"Set it to {expected}")
    assert getattr(found, key.lower()) == getattr(Settings(), key.lower())


def test_every_setting_refuses_what_it_cannot_be() -> None:
    tried = {key for key, _, _ in WRONG}

    assert tried == {one.name.upper() for one in fields(Settings)}


@pytest.mark.parametrize(
    ("raw", "where", "expected"),
    [
        ({"EMBEDDED": {"FOLDER": 5}}, 'ECHOMQ["EMBEDDED"]["FOLDER"]', "a path"),
        ({"EMBEDDED": {"BINARY": ""}}, 'ECHOMQ["EMBEDDED"]["BINARY"]', "a path"),
        ({"FENCE": {"CLAIM": "4.0.0"}}, 'ECHOMQ["FENCE"]["CLAIM"]', "a version such as"),
        ({"FENCE": {"ACCEPT": []}}, 'ECHOMQ["FENCE"]["ACCEPT"]', "a list of versions such as"),
        ({"FENCE": {"ACCEPT": "echomq:4.0.0"}}, 'ECHOMQ["FENCE"]["ACCEPT"]', "a list of versions"),
        ({"FENCE": {"ACCEPT": ["echomq:4"]}}, 'ECHOMQ["FENCE"]["ACCEPT"]', "a version such as"),
    ],
)
def test_a_wrong_nested_value_is_told_with_its_place(raw: Any, where: str, expected: str) -> None:
    _, (problem,) = read_settings(raw)

    assert problem.number == "E003"
    assert problem.message.startswith(f"{where} is {expected}")


@pytest.mark.parametrize("raw", [{"ACCEPT": ["echomq:3.0.0"]}, {"CLAIM": "echomq:3.0.0"}])
def test_a_fence_that_we_would_not_accept_ourselves_is_refused(raw: Any) -> None:
    _, (problem,) = read_settings({"FENCE": raw})

    assert problem.number == "E003"
    assert problem.message.startswith('ECHOMQ["FENCE"]["CLAIM"] is one of ACCEPT (echomq:')


@pytest.mark.parametrize(
    ("raw", "message", "hint"),
    [
        ({"CONECTION": "x"}, "ECHOMQ has an unknown key 'CONECTION'.", "'CONNECTION'?"),
        ({"connection": "x"}, "ECHOMQ has an unknown key 'connection'.", "'CONNECTION'?"),
        ({"MAX_ATEMPTS": 3}, "ECHOMQ has an unknown key 'MAX_ATEMPTS'.", "'MAX_ATTEMPTS'?"),
        ({5: 5}, "ECHOMQ has an unknown key 5.", "Known keys: CONNECTION, QUEUES, EMBEDDED,"),
        (
            {"EMBEDDED": {"FOLDR": "x"}},
            "ECHOMQ[\"EMBEDDED\"] has an unknown key 'FOLDR'.",
            "'FOLDER'?",
        ),
        (
            {"FENCE": {"whatever": 1}},
            "ECHOMQ[\"FENCE\"] has an unknown key 'whatever'.",
            "Known keys: CLAIM, ACCEPT.",
        ),
    ],
)
def test_an_unknown_key_is_told_with_the_nearest_one(raw: Any, message: str, hint: str) -> None:
    _, (problem,) = read_settings(raw)

    assert (problem.number, problem.message) == ("E002", message)
    assert hint in problem.hint


@pytest.mark.parametrize("raw", ["embedded", ["CONNECTION"], 5])
def test_echomq_that_is_no_dict_is_told(raw: Any) -> None:
    found, (problem,) = read_settings(raw)

    assert problem.number == "E001"
    assert problem.message == f"ECHOMQ is a dict; got {type(raw).__name__}."
    assert found == Settings()


def test_all_problems_are_told_at_once() -> None:
    _, problems = read_settings({"LEASE": -1, "NOPE": 1, "EMBEDDED": {"FOLDER": 1, "X": 1}})

    assert [one.number for one in problems] == ["E003", "E002", "E003", "E002"]


def test_spans_are_seconds_or_timedeltas() -> None:
    found, problems = read_settings(
        {"LEASE": 90, "PATIENCE": 0.25, "RESULT_TTL": timedelta(days=1)}
    )

    assert problems == []
    assert (found.lease, found.patience) == (timedelta(seconds=90), timedelta(milliseconds=250))
    assert found.result_ttl == timedelta(days=1)


def test_a_wrong_setting_stops_its_first_use(settings: DjangoSettings) -> None:
    settings.ECHOMQ = {"LEASE": 0}

    with pytest.raises(ImproperlyConfigured, match=r'ECHOMQ\["LEASE"\] is seconds .* Set it to'):
        echomq_settings()


def test_a_changed_setting_is_read_anew(settings: DjangoSettings) -> None:
    settings.ECHOMQ = {"CONNECTION": "redis://first", "NODE_ID": 3}
    before = echomq_settings(), minter().node

    settings.ECHOMQ = {"CONNECTION": "redis://second", "NODE_ID": 4}

    assert (before[0].connection, before[1]) == ("redis://first", 3)
    assert (echomq_settings().connection, minter().node) == ("redis://second", 4)


def test_the_queues_are_those_of_the_setting_and_of_our_backends(settings: DjangoSettings) -> None:
    settings.ECHOMQ = {"QUEUES": ["seen", "mail"]}
    settings.TASKS = {
        "default": {"BACKEND": BACKEND, "QUEUES": ["mail", "stock"]},
        "plain": {"BACKEND": BACKEND},
        "other": {"BACKEND": "some.other.Backend", "QUEUES": ["not ours"]},
    }

    assert echomq_settings().queues == ("seen", "mail", "stock", "default")


@pytest.mark.usefixtures("in_production")
def test_the_embedded_folder_is_in_the_project_unless_named(
    settings: DjangoSettings, tmp_path: Path
) -> None:
    settings.BASE_DIR = tmp_path
    settings.ECHOMQ = {"CONNECTION": "embedded"}
    by_default = embedded_server().folder

    settings.ECHOMQ = {"CONNECTION": "embedded", "EMBEDDED": {"FOLDER": str(tmp_path / "here")}}

    assert by_default == tmp_path / ".state" / "valkey"
    assert embedded_server().folder == tmp_path / "here"


def test_a_project_under_test_has_a_server_of_its_own_unless_it_names_one(
    settings: DjangoSettings, tmp_path: Path
) -> None:
    settings.BASE_DIR = tmp_path
    settings.ECHOMQ = {"CONNECTION": "embedded"}
    by_default = embedded_server().folder

    settings.ECHOMQ = {"CONNECTION": "embedded", "EMBEDDED": {"FOLDER": str(tmp_path / "here")}}

    assert by_default == tmp_path / ".state" / "test-valkey"
    assert embedded_server().folder == tmp_path / "here"
