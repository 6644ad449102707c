"""A server that does not know our scripts: loaded once, checked, and each call run once."""

from __future__ import annotations

import dataclasses
import threading
from datetime import timedelta
from typing import Any

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from echomq_app.protocol.errors import ServerFault, WrongKind
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.script import Script, script
from echomq_app.protocol.states import Admission, State
from echomq_app.service.queue import Queue
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.servers.traps import named
from tests.wire.conftest import WireTo

KEYS = QueueKeys("q")


def commands_after_the_fence(proxy: CuttingProxy) -> list[bytes]:
    return [words[0] for words in proxy.commands if words[0] not in (b"GET", b"SET")]


@pytest.fixture(autouse=True)
def cold(engine_server: Server) -> None:
    engine_server.ask("SCRIPT", "FLUSH")


def test_a_missing_script_is_loaded_once_and_its_call_sent_again(
    proxy: CuttingProxy, wire_to: WireTo
) -> None:
    queue = Queue(wire_to(proxy), "q")

    assert queue.enqueue(Minter().mint(), b"{}") is Admission.ADMITTED
    assert queue.enqueue(Minter().mint(), b"{}") is Admission.ADMITTED

    assert commands_after_the_fence(proxy) == [b"EVALSHA", b"SCRIPT", b"EVALSHA", b"EVALSHA"]


def test_a_claim_whose_script_was_missing_is_sent_again_and_holds_one_job(
    proxy: CuttingProxy, wire_to: WireTo
) -> None:
    queue = Queue(wire_to(proxy), "q")
    jobs = [(job_id, b"{}") for job_id in Minter().mint_many(2)]
    queue.enqueue_many(jobs)

    held = queue.claim(timedelta(minutes=1))

    assert held is not None
    assert held.job_id == jobs[0][0]
    assert queue.facts().counts.active == 1


def test_scripts_missing_in_a_pipeline_are_each_loaded_once_and_each_reply_is_its_calls_own(
    engine_server: Server, proxy: CuttingProxy, wire_to: WireTo
) -> None:
    wire = wire_to(proxy)
    first, second, wrong = *Minter().mint_many(2), "ORD0KHTOWnGLuC"
    pipeline: list[Call[Any]] = [
        calls.enqueue(KEYS, first, b"1"),
        calls.state(KEYS, first),
        calls.enqueue(KEYS, wrong, b"2"),
        calls.command(KEYS.base, "ECHO", "between", read=bytes),
        calls.enqueue(KEYS, second, b"3"),
        calls.state(KEYS, second),
        calls.pause(KEYS),
    ]

    answers = wire.answer(pipeline)

    assert [answer.call for answer in answers] == pipeline
    assert [answer.value for answer in answers] == [
        Admission.ADMITTED,
        State.PENDING,
        None,
        b"between",
        Admission.ADMITTED,
        State.PENDING,
        True,
    ]
    assert isinstance(answers[2].error, WrongKind)
    assert [words[1] for words in proxy.commands if words[0] == b"SCRIPT"] == [b"LOAD"] * 3
    assert engine_server.ask("HGET", KEYS.row(second), "payload") == b"3"


def test_scripts_flushed_in_the_middle_of_a_pipeline_are_run_once_each(
    proxy: CuttingProxy, wire_to: WireTo
) -> None:
    wire = wire_to(proxy)
    first, second = Minter().mint_many(2)
    wire.answer([calls.enqueue(KEYS, Minter().mint(), b"0"), calls.counts(KEYS)])
    proxy.reset()

    answers = wire.answer(
        [
            calls.enqueue(KEYS, first, b"1"),
            calls.command(KEYS.base, "SCRIPT", "FLUSH", read=bytes),
            calls.enqueue(KEYS, second, b"2"),
            calls.counts(KEYS),
        ]
    )

    assert [answer.value for answer in answers[:3]] == [
        Admission.ADMITTED,
        b"OK",
        Admission.ADMITTED,
    ]
    assert answers[3].value is not None
    assert answers[3].value.pending == 3
    assert not any(answer.resent for answer in answers)
    assert proxy.round_trips == 4


def test_a_script_flushed_between_its_load_and_its_use_is_loaded_again(
    engine_server: Server, proxy: CuttingProxy, wire_to: WireTo
) -> None:
    queue = Queue(wire_to(proxy), "q")
    hold = proxy.hold_reply(named("SCRIPT"))
    admitted: list[Admission] = []
    caller = threading.Thread(target=lambda: admitted.append(queue.enqueue(Minter().mint(), b"{}")))
    caller.start()
    hold.wait()
    engine_server.ask("SCRIPT", "FLUSH")
    hold.release()
    caller.join(10)

    assert admitted == [Admission.ADMITTED]


def test_a_load_whose_reply_was_lost_is_sent_again(proxy: CuttingProxy, wire_to: WireTo) -> None:
    queue = Queue(wire_to(proxy), "q")
    cut = proxy.cut_before_reply(named("SCRIPT"))

    assert queue.enqueue(Minter().mint(), b"{}") is Admission.ADMITTED

    assert cut.fired == 1


def test_a_script_that_the_server_reads_otherwise_is_refused(
    engine_server: Server, wire_to: WireTo
) -> None:
    ours = script("enqueue")
    altered = Script(verb=ours.verb, header=ours.header, body=ours.body + "\n")
    altered.__dict__["sha"] = "0" * 40
    call = dataclasses.replace(calls.enqueue(KEYS, Minter().mint(), b"{}"), script=altered)
    fine = calls.pause(KEYS)

    answers = wire_to(engine_server).answer([call, fine])

    assert isinstance(answers[0].error, ServerFault)
    assert "did not take the script enqueue" in str(answers[0].error)
    assert answers[1].value is True
    assert engine_server.ask("EXISTS", KEYS.pending) == 0
