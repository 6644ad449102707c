from __future__ import annotations

import re

from checks.tree import ROOT, files, texts

VAGUE = {
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "manager",
    "managers",
    "misc",
    "base_utils",
}
MEASURED = {".py", ".lua", ".html", ".c", ".h", ".js", ".css", ".sh"}
LONGEST = 400
SKIPPING = re.compile(r"pytest\.(?:mark\.)?(?:skip|xfail|importor" + r"skip)|unittest\.skip")
SLEEPING = re.compile(r"\b(?:time|asyncio)\.sle" + r"ep\(")


def test_no_file_has_a_name_that_says_nothing() -> None:
    vague = [path for path in files() if VAGUE & set(path.relative_to(ROOT).with_suffix("").parts)]

    assert vague == []


def test_no_file_is_longer_than_one_thing_needs() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path, text in texts().items()
        if path.suffix in MEASURED and (lines := text.count("\n")) > LONGEST
    }

    assert long == {}


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    assert _lines_with(SKIPPING) == []


def test_no_test_waits_for_time_instead_of_facts() -> None:
    sleeping = [
        line for line in _lines_with(SLEEPING) if not line.startswith("tests/eventually.py")
    ]

    assert sleeping == []


def _lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path, text in texts().items()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "tests")
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]
