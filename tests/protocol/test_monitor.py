from __future__ import annotations

from typing import Any

import pytest
import redis

from echomq_app.protocol.calls import Call
from echomq_app.protocol.keyspace import slot
from echomq_app.protocol.script import every_verb, script
from tests.protocol.cases import Case, is_answer
from tests.protocol.every_case import EVERY_CASE
from tests.protocol.scene import Scene
from tests.protocol.watch import watching

BEFORE_ANY_COMMAND = ("EMQKIND", "ERR")


@pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.title)
def test_a_script_touches_declared_keys_alone_and_answers_as_its_header_says(
    scene: Scene, case: Case
) -> None:
    call = case.build(scene)
    assert call.script is not None
    assert call.verb == case.verb
    scene.client.script_load(call.script.text)

    with watching(scene.client) as watched:
        reply = raw_reply(scene, call)

    assert told(case, reply), reply
    assert bool(watched.commands) != (case.answer in BEFORE_ANY_COMMAND)
    if case.answer.isupper():
        assert watched.writes(scene.client) == []
    touched = watched.keys(scene.client)
    assert undeclared(call, touched) == set()
    assert len({slot(key) for key in touched | set(call.keys)}) == 1
    assert fits(call)


def raw_reply(scene: Scene, call: Call[Any]) -> Any:
    """What the server answers; a refusal as its first word."""
    assert call.script is not None
    try:
        return scene.client.evalsha(call.script.sha, len(call.keys), *call.keys, *call.args)
    except redis.ResponseError as refusal:
        return refusal


def told(case: Case, reply: Any) -> bool:
    if isinstance(reply, redis.ResponseError):
        return str(reply).split()[0].lstrip("-") == case.answer or (
            case.answer == "ERR" and f"{case.verb} takes" in str(reply)
        )
    return is_answer(case.answer, reply)


def fits(call: Call[Any]) -> bool:
    """Whether the call gives the script as many keys and arguments as its header takes."""
    assert call.script is not None
    given = {"KEYS": len(call.keys), "ARGV": len(call.args)}
    for table, count in given.items():
        slots = [taken for taken in call.script.header.slots if taken.table == table]
        least = sum(not taken.optional and not taken.many for taken in slots)
        if count < least or (count > len(slots) and not any(taken.many for taken in slots)):
            return False
    return True


def undeclared(call: Call[Any], touched: set[str]) -> set[str]:
    """The keys that the call neither declares nor builds from the base that it declares."""
    assert call.script is not None
    bases = [
        call.keys[taken.index - 1]
        for taken in call.script.header.slots
        if taken.table == "KEYS" and taken.kind == "prefix"
    ]
    declared = set(call.keys) - set(bases)
    return {
        key
        for key in touched - declared
        if not any(key.startswith(base) and key != base for base in bases)
    }


def test_every_script_has_a_case_for_every_answer_that_its_header_names() -> None:
    shown = {
        verb: {case.answer for case in EVERY_CASE if case.verb == verb} for verb in every_verb()
    }
    named = {
        verb: {shape for shape, _ in script(verb).header.replies}
        | {code for code, _ in script(verb).header.errors}
        for verb in every_verb()
    }

    assert shown == named


def test_a_key_outside_the_base_would_be_seen(scene: Scene) -> None:
    text = "redis.call('SET', KEYS[1] .. 'x', '1') redis.call('DEL', 'elsewhere') return 1"

    with watching(scene.client) as watched:
        scene.client.eval(text, 1, scene.keys.base)

    assert watched.keys(scene.client) == {scene.key("x"), "elsewhere"}
