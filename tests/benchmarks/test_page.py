from __future__ import annotations

import pytest

from benchmarks.aims import AIMS, judged
from benchmarks.page import PAGE, page
from benchmarks.questions import QUESTIONS, chosen
from benchmarks.results import Results, latest, read


def _results() -> Results:
    found = Results(machine={"begun": "2026-01-01"})
    found.add("drain-8", "echomq", {"rate": [900.0, 1100.0, 1000.0]})
    found.add("drain-8", "huey", {"rate": [400.0, 500.0, 600.0]})
    return found


def test_the_page_is_what_the_newest_whole_run_gives() -> None:
    assert PAGE.read_text() == page(read(latest()))


def test_an_aim_is_judged_by_medians_and_only_where_there_are_numbers() -> None:
    ((aim, value),) = judged(_results())

    assert aim.question == "drain-8"
    assert value == 2.0
    assert not aim.met(value)


def test_every_aim_names_a_row_of_a_question() -> None:
    rows = {(question.name, row.name) for question in QUESTIONS for row in question.rows}

    assert {(aim.question, aim.row) for aim in AIMS} <= rows


def test_questions_are_chosen_by_name_or_family() -> None:
    assert [one.name for one in chosen(["drain"])] == ["drain-1", "drain-8", "drain-two"]
    assert [one.name for one in chosen(["drain-8"])] == ["drain-8"]
    assert chosen([]) == list(QUESTIONS)
    with pytest.raises(ValueError, match="no question \\['drian'\\]; there are"):
        chosen(["drian"])
