"""The page about lost replies says of every verb what its case shows."""

from __future__ import annotations

import re
from pathlib import Path

from echomq_app.protocol.script import every_verb
from tests.faults.cases import CASES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "lost-replies.md"
ROW = re.compile(r"^\| (\w+) \| (yes|never)[^|]* \| [^|]+ \|$", re.MULTILINE)


def test_the_page_has_one_row_for_every_verb() -> None:
    assert sorted(verb for verb, _ in ROW.findall(PAGE.read_text())) == list(every_verb())


def test_the_page_names_the_verbs_that_are_never_sent_again() -> None:
    told = {verb for verb, again in ROW.findall(PAGE.read_text()) if again == "never"}

    assert told == {name for name, case in CASES.items() if isinstance(case.resent, type)}
