"""The page of commands says what the commands have: every option, default, line and level."""

from __future__ import annotations

import argparse
import logging
import re

import pytest
from django.core.management import load_command_class
from django.core.management.base import DjangoHelpFormatter

from checks.tree import ROOT
from echomq_app.log import _WORDS

PAGE = (ROOT / "docs/reference/commands.md").read_text()


def section(name: str) -> str:
    return PAGE.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]


def options(name: str) -> dict[str, argparse.Action]:
    """The options that the command adds to Django's own."""
    command = load_command_class("echomq_app", name)
    parser = argparse.ArgumentParser(formatter_class=DjangoHelpFormatter)
    command.add_arguments(parser)  # type: ignore[arg-type]  # Django wants its subclass
    ours = (one for one in parser._actions if one.option_strings and one.dest != "help")
    return {one.option_strings[0]: one for one in ours}


@pytest.mark.parametrize("name", ["emq_worker", "emq_reaper", "emq_status", "emq_workers"])
def test_every_option_is_on_the_page_and_no_other(name: str) -> None:
    told = re.findall(r"^\| `(--[a-z-]+)[^`]*` \|", section(name), re.MULTILINE)

    assert told == list(options(name))


@pytest.mark.parametrize(
    ("name", "option", "default"),
    [
        ("emq_worker", "--concurrency", "8"),
        ("emq_worker", "--drain", "30s"),
        ("emq_reaper", "--beat", "1s"),
    ],
)
def test_the_defaults_on_the_page_are_the_commands(name: str, option: str, default: str) -> None:
    action = options(name)[option]
    assert callable(action.type)

    assert re.search(rf"^\| `{option}` \| {default} \|", section(name), re.MULTILINE)
    assert action.type(default) == action.default


def test_every_line_and_its_level_is_on_the_page_in_the_order_of_the_events() -> None:
    told = re.findall(r"^\| `([^`]+)` \| ([A-Z]+) \|", section("Lines"), re.MULTILINE)

    assert told == [(words, logging.getLevelName(level)) for level, words in _WORDS.values()]
