"""The server executed a verb and its answer never came: each verb, by the table of cases."""

from __future__ import annotations

import pytest

from echomq_app.protocol.script import every_verb, script
from tests.faults.cases import CASES, came_to, script_of
from tests.faults.scene import Scene
from tests.servers.proxy import CuttingProxy
from tests.wire.links import Gap, is_run, runs

each_case = pytest.mark.parametrize("name", CASES)


def sendings(proxy: CuttingProxy, verb: str) -> int:
    sha = script(verb).sha.encode()
    return sum(is_run(words, sha) for words in proxy.commands)


def test_every_script_has_a_case_of_a_lost_reply() -> None:
    assert {script_of(name) for name in CASES} == set(every_verb())


@each_case
def test_undisturbed_a_verb_answers_as_its_case_says(name: str, scene: Scene) -> None:
    case = CASES[name]
    arranged = case.arrange(scene)

    assert case.act(scene, arranged) == case.result


@each_case
def test_a_resent_verb_changes_nothing_that_its_lost_sending_has_not(
    name: str, scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    case, verb = CASES[name], script_of(name)
    arranged = case.arrange(scene)
    ignored = (scene.keys.active,) if case.moves_deadlines else ()
    first: list[dict[str, object]] = []
    gap.meanwhile = lambda: first.append(scene.snapshot(*ignored))
    cut = proxy.cut_before_reply(runs(verb))

    assert came_to(case, scene, arranged, case.resent) == case.resent

    assert cut.fired == 1
    never = isinstance(case.resent, type)
    assert sendings(proxy, verb) == (1 if never else 2)
    assert len(first) == (0 if never else 1)
    assert all(scene.snapshot(*ignored) == then for then in first)


@each_case
def test_a_fast_worker_between_loss_and_resend_runs_no_job_twice(
    name: str, scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    case = CASES[name]
    arranged = case.arrange(scene)
    gap.meanwhile = scene.hand.clear
    proxy.cut_before_reply(runs(script_of(name)))

    assert came_to(case, scene, arranged, case.raced) == case.raced
    scene.hand.clear()

    assert set(scene.hand.ran.values()) == ({case.runs} if case.runs else set())
    assert all(len(scene.holders(job_id)) <= 1 for job_id in scene.payloads)


@each_case
def test_a_verb_whose_request_was_lost_happens_once_or_says_that_it_may_not_have(
    name: str, scene: Scene, proxy: CuttingProxy
) -> None:
    case, verb = CASES[name], script_of(name)
    arranged = case.arrange(scene)
    before = scene.snapshot()
    cut = proxy.cut_before_request(runs(verb))
    expected = case.resent if isinstance(case.resent, type) else case.result

    assert came_to(case, scene, arranged, expected) == expected

    assert cut.fired == 1
    if isinstance(expected, type):
        assert sendings(proxy, verb) == 1
        assert {k: v for k, v in scene.snapshot().items() if k in before} == before
