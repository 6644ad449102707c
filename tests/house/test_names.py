from __future__ import annotations

import ast
from collections.abc import Iterator

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
SKIPPING = {"skip", "skipif", "xfail", "importorskip", "skipTest", "skipIf", "skipUnless"}
SLEEPING = {"time.sleep", "asyncio.sleep", "sleep"}


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
    skipping = [
        f"{where}: {name}"
        for where, node in _nodes()
        if isinstance(node, (ast.Attribute, ast.Name))
        and (name := _dotted(node)).rpartition(".")[2] in SKIPPING
    ]

    assert skipping == []


def test_no_test_waits_for_time_instead_of_facts() -> None:
    sleeping = [
        f"{where}: {ast.unparse(node)}"
        for where, node in _nodes()
        if isinstance(node, ast.Call)
        and _dotted(node.func) in SLEEPING
        and ast.unparse(node.args[0]) != "0"
        and not where.startswith("tests/eventually.py")
    ]

    assert sleeping == []


def _nodes() -> Iterator[tuple[str, ast.AST]]:
    """Yield every node of the tests' code and its file and line; code in a string is none."""
    for path, text in texts().items():
        if path.suffix == ".py" and path.is_relative_to(ROOT / "tests"):
            for node in ast.walk(ast.parse(text)):
                yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", node


def _dotted(node: ast.AST) -> str:
    return ast.unparse(node) if isinstance(node, (ast.Attribute, ast.Name)) else ""
