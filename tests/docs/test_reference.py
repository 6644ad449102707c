from __future__ import annotations

import re
from contextlib import suppress

import pytest
import redis

from echomq_app.protocol.keyspace import (
    NODES,
    QUEUES,
    VERSION,
    WORKERS,
    QueueKeys,
    wish_key,
    worker_key,
)
from echomq_app.protocol.script import every_verb, script
from tests.docs.keys import BESIDE, FIELDS, KEYS, RESERVE
from tests.docs.reference import COMMAND, FOLDER, keys_of, pages
from tests.protocol.cases import Case
from tests.protocol.every_case import EVERY_CASE
from tests.protocol.scene import Scene
from tests.protocol.watch import keys_of as keys_of_command
from tests.protocol.watch import watching
from tests.servers.server import Server

TYPED = {"prefix": "none"}
NAME = re.compile(r"^emq:\{q\}:(.*)$")


@pytest.mark.parametrize("name", pages())
def test_a_page_is_what_its_sources_say(name: str) -> None:
    assert (FOLDER / name).read_text() == pages()[name], f"stale: run {COMMAND}"


def test_each_key_that_a_script_names_is_in_the_reference_and_the_other_way_round() -> None:
    touched = set().union(*(keys_of(script(verb)) for verb in every_verb()))

    assert touched == {key.name for key in KEYS}
    beside = {QueueKeys("q").stream("<name>"), QueueKeys("q").archived("<name>")}
    assert {QueueKeys("q").base + key.name for key in BESIDE} == beside
    ours = {VERSION, NODES, QUEUES, WORKERS, worker_key("<name>"), wish_key("<name>")}
    assert {key.name for key in RESERVE} == ours


def test_each_declared_key_has_the_type_that_the_reference_gives_it() -> None:
    types = {key.name: key.type for key in KEYS}
    wrong = [
        (verb, slot.name)
        for verb in every_verb()
        for slot in script(verb).header.slots
        if slot.table == "KEYS"
        if (found := re.match(r"emq:\{q\}:([\w:<>]*)", slot.meaning))
        and types[found[1]] != TYPED.get(slot.kind, slot.kind)
    ]

    assert wrong == []


@pytest.fixture
def scene(engine_server: Server) -> Scene:
    return Scene(engine_server.client())


@pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.title)
def test_what_a_script_touches_and_writes_is_in_the_reference(scene: Scene, case: Case) -> None:
    call = case.build(scene)
    assert call.script is not None
    with watching(scene.client) as watched, suppress(redis.ResponseError):
        scene.client.eval(call.script.text, len(call.keys), *call.keys, *call.args)

    touched = {
        spelled(key) for words in watched.commands for key in keys_of_command(scene.client, words)
    }
    assert touched <= keys_of(script(case.verb))
    types = {key.name: key.type for key in KEYS}
    for key, (kind, value, _) in scene.snapshot().items():
        if not key.startswith(scene.keys.base):
            continue
        name = spelled(key)
        assert kind == types[name], key
        if name == "job:<id>":
            assert set(value) <= {field.name for field in FIELDS}


def spelled(key: str) -> str:
    """A key of the queue ``q`` as the reference spells it."""
    found = NAME.match(key)
    assert found is not None, key
    name = re.sub(r"^(job|result):\w{14}", r"\1:<id>", found[1])
    name = re.sub(r"^g:\w{14}:", "g:<group>:", name)
    name = re.sub(r"^(repeat|slot):.*", r"\1:<name>", name)
    return re.sub(r"^de:.*", "de:<did>", name)


def test_every_field_of_the_reference_is_written_or_read_by_a_script() -> None:
    texts = "".join(script(verb).text for verb in every_verb())

    assert [field.name for field in FIELDS if f"'{field.name}'" not in texts] == []
