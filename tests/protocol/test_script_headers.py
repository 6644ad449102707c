from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from echomq_app.protocol import calls, errors
from echomq_app.protocol.errors import EchoMQError, ServerRefusal
from echomq_app.protocol.script import every_verb, fragment, parse_header, script
from tests.protocol.lua import (
    COMMAND,
    READS,
    WRITES,
    code_of,
    codes,
    functions,
    late_refusals,
    numbers_returned,
    slot_is_read,
    writes,
)
from tests.protocol.scene import Scene

VERBS = every_verb()
FOLDER = files("echomq_app.protocol") / "scripts"
SEEN_ONLY_BY_RUNNING = {
    "state": {"pending", "active", "scheduled", "dead"},
    "requeue": {"1", "-1"},
    "pause": {"1", "0"},
    "resume": {"1", "0"},
    "lane_pause": {"1", "0"},
    "lane_resume": {"1", "0"},
}
BUILT_BY_ANOTHER_CALL = {"complete_keep", "schedule", "delay"}
SERVERS_OWN = {"WRONGTYPE", "OOM", "BUSYGROUP", "NOGROUP"}


@pytest.mark.parametrize("verb", VERBS)
def test_a_header_names_its_verb_and_says_what_it_does(verb: str) -> None:
    header = script(verb).header

    assert header.verb == verb
    assert header.sentence.endswith(".")
    assert header.replies


@pytest.mark.parametrize("verb", VERBS)
def test_a_header_numbers_its_slots_from_one_and_ends_with_what_may_be_left_out(verb: str) -> None:
    header = script(verb).header

    for table in ("KEYS", "ARGV"):
        slots = [slot for slot in header.slots if slot.table == table]
        assert [slot.index for slot in slots] == list(range(1, len(slots) + 1))
        optional = [slot.optional for slot in slots]
        assert optional == sorted(optional)
        assert [slot.many for slot in slots[:-1]] == [False] * len(slots[:-1])


@pytest.mark.parametrize("verb", VERBS)
def test_a_script_that_builds_keys_takes_the_base_as_the_last_key_that_must_be_there(
    verb: str,
) -> None:
    found = script(verb)
    must = [
        slot
        for slot in found.header.slots
        if slot.table == "KEYS" and not slot.optional and not slot.many
    ]
    builds = re.search(r"\bbase \.\.", code_of(found.text)) is not None

    assert [slot.kind for slot in must].count("prefix") == int(builds)
    assert not builds or must[-1].kind == "prefix"


@pytest.mark.parametrize("verb", VERBS)
def test_the_body_reads_each_slot_that_its_header_names_and_no_other(verb: str) -> None:
    found = script(verb)
    code = code_of(found.body)

    for slot in found.header.slots:
        assert slot_is_read(found.header, found.body, slot.table, slot.index, slot.many), slot
    named = {(slot.table, slot.index) for slot in found.header.slots}
    read = {(table, int(index)) for table, index in re.findall(r"(KEYS|ARGV)\[(\d+)\]", code)}
    assert read <= named


@pytest.mark.parametrize("verb", VERBS)
def test_the_body_gives_keys_and_arguments_a_name_at_once(verb: str) -> None:
    code = code_of(script(verb).body).strip()
    uses = [number for number, line in enumerate(code.splitlines()) if re.search(r"\bKEYS\b", line)]

    assert uses[0] == 0
    assert uses == list(range(len(uses))) or verb == "state"


@pytest.mark.parametrize("verb", VERBS)
def test_the_header_names_each_error_that_the_script_can_give(verb: str) -> None:
    found = script(verb)
    named = {code for code, _ in found.header.errors}

    assert codes(found.body, found.header.uses) - ({"EMQSTALE"} - named) >= named
    assert codes(found.body, found.header.uses) - named <= tolerated(verb)


def tolerated(verb: str) -> set[str]:
    """Codes that a script's own lines turn into verdicts."""
    return {"EMQSTALE", "EMQSTATE"} if verb == "requeue_many" else set()


@pytest.mark.parametrize("verb", VERBS)
def test_the_header_names_each_plain_reply_that_the_body_returns(verb: str) -> None:
    found = script(verb)
    plain = {
        shape for shape, _ in found.header.replies if re.fullmatch(r"-?\d+|\w{2,}|\[\]", shape)
    }

    assert plain == numbers_returned(found.body) | SEEN_ONLY_BY_RUNNING.get(verb, set())


def test_each_error_code_has_one_exception_and_each_refusal_one_code() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    refusals = [kind for kind in kinds if issubclass(kind, ServerRefusal) and kind.code]
    raised = {code for verb in VERBS for code, _ in script(verb).header.errors} - {"ERR"}

    assert len({kind.code for kind in refusals}) == len(refusals)
    assert raised | SERVERS_OWN == {kind.code for kind in refusals}
    assert all(issubclass(kind, EchoMQError) for kind in refusals)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_one_name_in_script_call_and_test(verb: str) -> None:
    assert callable(getattr(calls, verb, None)) or verb in BUILT_BY_ANOTHER_CALL
    assert (Path(__file__).parent / f"test_{verb}.py").is_file()


def test_every_file_is_a_verb_or_a_fragment_that_some_script_uses() -> None:
    names = {file.name for file in FOLDER.iterdir()}
    fragments = {file.name[:-4] for file in (FOLDER / "fragments").iterdir()}

    assert names == {f"{verb}.lua" for verb in VERBS} | {"fragments"}
    assert fragments == {name for verb in VERBS for name in script(verb).header.uses}


@pytest.mark.parametrize("verb", VERBS)
def test_a_script_carries_the_fragments_that_it_needs_and_no_other(verb: str) -> None:
    found = script(verb)
    texts = {name: code_of(fragment(name)) for name in found.header.uses}
    for name, text in texts.items():
        defined = functions((name,))
        others = code_of(found.body) + "".join(t for other, t in texts.items() if other != name)
        assert any(re.search(rf"\b{function}\b", others) for function in defined), (name, text[:40])


@pytest.mark.parametrize("verb", VERBS)
def test_no_write_comes_before_the_last_refusal(verb: str) -> None:
    found = script(verb)

    assert late_refusals(found.body, found.header.uses) == []


@pytest.mark.parametrize("verb", [verb for verb in VERBS if script(verb).header.errors])
def test_a_write_at_the_top_of_any_script_would_be_seen(verb: str) -> None:
    found = script(verb)
    spoilt = "redis.call('DEL', KEYS[1])\n" + code_of(found.body)

    assert late_refusals(spoilt, found.header.uses) != []


def test_a_late_refusal_would_be_seen() -> None:
    late = "redis.call('DEL', KEYS[1])\nif x then return redis.error_reply('ERR no') end"

    assert late_refusals(late, ()) == ["if x then return redis.error_reply('ERR no') end"]


def test_every_command_of_a_script_is_known_to_read_or_to_write() -> None:
    used = {
        command
        for verb in VERBS
        for text in (script(verb).text,)
        for command in COMMAND.findall(text)
    }

    assert used == WRITES | READS


@pytest.mark.parametrize("verb", VERBS)
def test_what_settles_runs_on_a_full_server_and_what_admits_does_not(verb: str) -> None:
    found = script(verb)
    admits = {
        *("enqueue", "enqueue_many", "lane_enqueue", "flow_add"),
        *("repeat_fire", "schedule", "slot_fire"),
    }
    grows = {
        *("add_log", "complete_keep", "dedup", "note_stale"),
        *("repeat_register", "slot_write", "update_data"),
    }
    wanted: tuple[str, ...] | None = ("allow-oom",)
    if not writes(code_of(found.body), functions(found.header.uses)):
        wanted = ("no-writes",)
    elif verb in admits:
        wanted = None
    elif verb in grows:
        wanted = ()

    assert found.header.flags == wanted


@pytest.mark.parametrize("verb", VERBS)
def test_the_server_s_clock_is_read_once_a_script(verb: str) -> None:
    found = script(verb)

    assert code_of(found.body).count("server_ms()") <= 1 or verb == "retry"
    assert "'TIME'" not in code_of(found.body)


@pytest.mark.parametrize("verb", VERBS)
def test_a_server_takes_the_script_under_the_sha_that_we_send(scene: Scene, verb: str) -> None:
    found = script(verb)

    assert scene.client.script_load(found.text) in (found.sha, found.sha.encode())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "a script starts with '-- verb: sentence'"),
        ("local x = 1", "a script starts with '-- verb: sentence'"),
        (
            "-- x: y.\n-- KEYS 1 a b c",
            "a header line that cannot be read: '-- KEYS 1 a b c'",
        ),
        ("-- x: y.\n-- REPLY 1", "a header line that cannot be read: '-- REPLY 1'"),
        ("-- x: y.\n-- ERROR emq no", "a header line that cannot be read: '-- ERROR emq no'"),
    ],
)
def test_a_header_that_cannot_be_read_says_which_line(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        parse_header(text)
