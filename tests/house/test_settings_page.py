from __future__ import annotations

from tests.house.settings_page import COMMAND, PAGE, page


def test_the_settings_page_is_what_the_code_says() -> None:
    assert PAGE.read_text() == page(), f"run: {COMMAND}"
