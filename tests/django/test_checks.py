from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from echomq_app.checks import NUMBERS
from echomq_app.connections import embedded_server
from tests.django.conftest import BACKEND

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

ALIAS = {
    "BACKEND": "django_redis.cache.RedisCache",
    "LOCATION": "redis://queue.example:6379/0",
}


def told() -> list[CheckMessage]:
    """What the checks of Django say of EchoMQ."""
    return [one for one in run_checks() if str(one.id).startswith("echomq.")]


def the_one(number: str) -> CheckMessage:
    """The only message, which has this number, a sentence and a hint."""
    (message,) = told()
    assert message.id == f"echomq.{number}"
    assert message.id in NUMBERS
    assert message.msg.endswith(".")
    assert message.hint
    return message


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port of this machine on which somebody would hear a client."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        yield listening


def test_a_named_connection_has_nothing_to_say(settings: Settings) -> None:
    settings.ECHOMQ = {"CONNECTION": "redis://queue.example:6379/0"}

    assert told() == []


def test_echomq_that_is_no_dict_is_e001(settings: Settings) -> None:
    settings.ECHOMQ = "embedded"

    assert the_one("E001").hint == "Write ECHOMQ = {...}."


def test_an_unknown_key_is_e002(settings: Settings) -> None:
    settings.ECHOMQ = {"CONNECTION": "redis://q", "LEESE": 60}

    message = the_one("E002")

    assert message.msg == "ECHOMQ has an unknown key 'LEESE'."
    assert message.hint == "Did you mean 'LEASE'?"


def test_a_wrong_value_is_e003(settings: Settings) -> None:
    settings.ECHOMQ = {"CONNECTION": "redis://q", "MAX_ATTEMPTS": "many"}

    message = the_one("E003")

    assert message.msg == "ECHOMQ[\"MAX_ATTEMPTS\"] is a whole number from 1; got 'many'."
    assert message.hint == "Set it to a whole number from 1."


@pytest.mark.usefixtures("in_production")
def test_no_connection_and_no_debug_is_e004(settings: Settings) -> None:
    settings.ECHOMQ = {}

    assert "embedded" in str(the_one("E004").hint)


def test_a_project_under_test_runs_its_embedded_server_without_a_word(settings: Settings) -> None:
    settings.DEBUG = False
    settings.ECHOMQ = {}

    assert told() == []
    settings.ECHOMQ = {"CONNECTION": "embedded"}
    assert told() == []


def test_no_connection_while_debugging_is_the_embedded_server(settings: Settings) -> None:
    settings.ECHOMQ = {}
    settings.DEBUG = True

    assert told() == []


@pytest.mark.parametrize(
    ("connection", "sentence"),
    [
        (
            "queue",
            "neither a URL (scheme://...) nor an alias in CACHES; its django-redis aliases: none",
        ),
        ("http://host", "has the scheme 'http'; use one of redis, rediss, unix, redis+cluster"),
        ("redis://host:port/0", "cannot be read: a port is no whole number"),
        ("redis://:pass/word@host/0", "cannot be read: a port is no whole number; in a password"),
        ("redis://host/0?db=first", "cannot be read: Invalid value for 'db'"),
        ("redis://[::1/0", "cannot be read: Invalid IPv6 URL"),
        ("redis+cluster://", "cannot be read: it names no host"),
        ("redis+cluster://one:7000,:7001", "cannot be read: it names no host"),
        ("redis+cluster://one:7000,two:x", "cannot be read: a port is no whole number"),
        ("redis+sentinel://host:26379", "is a sentinel URL without a service"),
        ("redis+sentinel://host:26379/main/one", "the database 'one' is not a whole number"),
    ],
)
def test_a_connection_that_cannot_be_read_is_e005(
    settings: Settings, connection: str, sentence: str
) -> None:
    settings.ECHOMQ = {"CONNECTION": connection}

    message = the_one("E005")

    assert sentence in message.msg
    assert "word" not in message.msg.replace("password", "")
    assert message.hint == (
        "Name a django-redis alias, 'embedded', or a URL: redis, rediss, unix, redis+cluster, "
        "rediss+cluster, redis+sentinel, rediss+sentinel."
    )


def test_an_alias_of_another_backend_is_e005_and_names_those_there_are(settings: Settings) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
        "core": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://c"},
        "queue": ALIAS,
    }
    settings.ECHOMQ = {"CONNECTION": "core"}

    assert the_one("E005").msg.endswith(
        "and CACHES['core'] is a django.core.cache.backends.redis.RedisCache; the queues need a "
        "django_redis.cache.RedisCache."
    )


def test_an_alias_whose_location_cannot_be_read_is_e005(settings: Settings) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
        "queue": {**ALIAS, "LOCATION": "redis://host:port/0"},
    }
    settings.ECHOMQ = {"CONNECTION": "queue"}

    assert the_one("E005").msg.startswith("CACHES['queue']: ")


def test_a_shared_database_is_e006(settings: Settings) -> None:
    settings.CACHES = {"default": {**ALIAS}}
    settings.ECHOMQ = {"CONNECTION": "redis://queue.example"}

    message = the_one("E006")

    assert message.msg == (
        "The queues share server and database with the cache 'default': its clear() would delete "
        "every job."
    )


def test_a_cache_on_the_embedded_server_is_e006(settings: Settings, tmp_path: Path) -> None:
    settings.DEBUG = True
    settings.ECHOMQ = {"CONNECTION": "embedded", "EMBEDDED": {"FOLDER": tmp_path}}
    settings.CACHES = {"default": {**ALIAS, "LOCATION": embedded_server().url}}

    assert "the cache 'default'" in the_one("E006").msg


@pytest.mark.parametrize("name", ["emq", "a{b}", "", "x" * 129])
def test_a_queue_that_cannot_be_is_e007(settings: Settings, name: str) -> None:
    settings.ECHOMQ = {"CONNECTION": "redis://queue.example"}
    settings.TASKS = {"ours": {"BACKEND": BACKEND, "QUEUES": [name]}}

    assert the_one("E007").msg.startswith("TASKS['ours'][\"QUEUES\"]: ")


def test_an_embedded_server_without_its_program_is_e008(settings: Settings, tmp_path: Path) -> None:
    settings.DEBUG = True
    settings.ECHOMQ = {"CONNECTION": "embedded", "EMBEDDED": {"BINARY": tmp_path / "none"}}

    assert f"{tmp_path / 'none'} does not exist" in the_one("E008").msg


def test_an_embedded_server_whose_socket_others_can_reach_is_e008(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    settings.DEBUG = True
    settings.ECHOMQ = {"CONNECTION": "embedded", "EMBEDDED": {"FOLDER": tmp_path / ("x" * 100)}}
    socket_path = Path(embedded_server().url.removeprefix("unix://"))
    socket_path.parent.mkdir(mode=0o777, parents=True)

    assert "others may enter it" in the_one("E008").msg


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"on_commit": False, 5: 5}, "has unknown keys: 5, on_commit."),
        ({"enqueue_on_commit": "no"}, "\"enqueue_on_commit\"] is True or False; got 'no'."),
    ],
)
def test_wrong_options_are_e009(settings: Settings, options: dict[Any, Any], sentence: str) -> None:
    settings.ECHOMQ = {"CONNECTION": "redis://queue.example"}
    settings.TASKS = {"ours": {"BACKEND": BACKEND, "OPTIONS": options}}

    message = the_one("E009")

    assert message.msg.startswith("TASKS['ours'][\"OPTIONS\"]")
    assert sentence in message.msg


@pytest.mark.usefixtures("in_production")
def test_the_embedded_server_without_debug_is_w001(settings: Settings) -> None:
    settings.ECHOMQ = {"CONNECTION": "embedded"}

    assert the_one("W001").msg == "The queues live in the embedded server and DEBUG is False."


@pytest.mark.usefixtures("in_production")
def test_the_command_fails_for_an_error(settings: Settings) -> None:
    settings.ECHOMQ = {}

    with pytest.raises(SystemCheckError, match=r"echomq\.E004"):
        call_command("check")


@pytest.mark.parametrize("scheme", ["redis", "rediss", "redis+cluster", "redis+sentinel"])
def test_checking_connects_to_nothing(
    settings: Settings, listener: socket.socket, scheme: str
) -> None:
    place = f"127.0.0.1:{listener.getsockname()[1]}"
    settings.ECHOMQ = {"CONNECTION": f"{scheme}://{place}/0"}
    settings.CACHES = {"default": {**ALIAS, "LOCATION": f"redis://{place}/1"}}
    settings.TASKS = {"default": {"BACKEND": BACKEND}}

    call_command("check")

    with pytest.raises(BlockingIOError):
        listener.accept()


def test_checking_an_alias_connects_to_nothing(settings: Settings, listener: socket.socket) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
        "queue": {**ALIAS, "LOCATION": f"redis://127.0.0.1:{listener.getsockname()[1]}/0"},
    }
    settings.ECHOMQ = {"CONNECTION": "queue"}

    call_command("check")

    with pytest.raises(BlockingIOError):
        listener.accept()


def test_checking_starts_no_embedded_server(settings: Settings, tmp_path: Path) -> None:
    settings.DEBUG = True
    settings.ECHOMQ = {"CONNECTION": "embedded", "EMBEDDED": {"FOLDER": tmp_path / "none"}}

    call_command("check")

    assert not embedded_server().status().running
    assert not (tmp_path / "none").exists()
