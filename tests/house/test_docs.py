from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from checks.docs import anchors, faults

WRITTEN = {
    "README.md": "[docs](docs/README.md)\n\n```sh\nmake demo\n```\n",
    "Makefile": "demo: .venv\n\t@run\n",
    "docs/README.md": "# Index\n\n[a page](page.md#a-heading-with-code)\n",
    "docs/page.md": "## A heading, with `code`\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small project whose documentation has no fault."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    for name, text in WRITTEN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_documentation_has_no_fault() -> None:
    assert list(faults()) == []


def test_a_sound_tree_has_no_fault(tree: Path) -> None:
    assert list(faults(tree)) == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("README.md", "[gone](docs/gone.md)", "README.md: the link to 'gone.md' leads nowhere"),
        ("README.md", "[out](../other.md)", "README.md: the link to 'other.md' leads nowhere"),
        ("README.md", "[to](docs/page.md#b)", "README.md: 'page.md' has no heading for #b"),
        ("README.md", "`make tea`", "README.md: the Makefile has no target 'tea'"),
        ("README.md", "1. do\n\n   ```sh\n   make tea\n   ```", "the Makefile has no target 'tea'"),
        (
            "docs/page.md",
            "`python manage.py emq_tea`",
            "docs/page.md: there is no management command 'emq_tea'",
        ),
        ("docs/lost.md", "# Lost", "docs/lost.md: no link from docs/README.md leads here"),
        ("a.py", "# exactly" + "-once", "a.py:1: the promise is at least once, with a fence"),
        ("a.py", "open('/home" + "/me/x')", "a.py:1: a path of one machine"),
        ("a.py", "# TO" + "DO", "a.py:1: unfinished"),
    ],
)
def test_each_fault_is_named(tree: Path, name: str, text: str, fault: str) -> None:
    with (tree / name).open("a") as page:
        page.write(f"\n{text}\n".lstrip("\n") if name == "a.py" else f"\n{text}\n")

    found = list(faults(tree))

    assert len(found) == 1
    assert fault in found[0]


def test_code_is_no_link_and_no_heading(tree: Path) -> None:
    (tree / "docs/page.md").write_text(
        "## A heading, with `code`\n\n`[x](nowhere.md)`\n\n```\n[x](nowhere.md)\n# not one\n```\n"
    )

    assert list(faults(tree)) == []
    assert anchors((tree / "docs/page.md").read_text()) == {"a-heading-with-code"}
