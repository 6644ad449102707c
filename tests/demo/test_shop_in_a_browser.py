"""The shop's pages in a real browser: they refresh themselves, fit and can be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from tests.chromium import chromium, hard_to_read
from tests.demo.running import Customer, RunningDemo
from tests.eventually import eventually

pytestmark = pytest.mark.part("browser")

BROKEN_WORDS = """
const lines = e => {
  const range = document.createRange();
  range.selectNodeContents(e);
  return new Set([...range.getClientRects()].map(line => Math.round(line.top))).size;
};
return [...document.querySelectorAll("body *")]
  .filter(e => e.children.length === 0 && e.textContent.trim().match(/^[\\w#]{1,20}$/))
  .filter(e => lines(e) > 1)
  .map(e => e.outerHTML);
"""


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chrome]:
    with chromium(tmp_path) as chrome:
        yield chrome


def show(browser: Chrome, width: int, scheme: str) -> None:
    """Give the page a width in CSS pixels and the colours of a dark or light system."""
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


@contextmanager
def paused(demo: RunningDemo, *queues: str) -> Iterator[None]:
    """Keep the workers from claiming, so that a page is loaded before its jobs are done."""
    with demo.client() as client:
        for queue in queues:
            client.hset(f"emq:{{{queue}}}:meta", "paused", "1")
        try:
            yield
        finally:
            for queue in queues:
                client.hdel(f"emq:{{{queue}}}:meta", "paused")


def test_an_order_page_follows_its_jobs_without_a_reload(
    demo: RunningDemo, browser: Chrome
) -> None:
    with paused(demo, "default", "mail"):
        browser.get(f"http://127.0.0.1:{demo.port}/")
        Select(browser.find_element(By.NAME, "product")).select_by_index(1)
        browser.find_element(By.NAME, "email").send_keys("eve@example.com")
        browser.find_element(By.CSS_SELECTOR, "form button").click()
        eventually(lambda: "/orders/" in browser.current_url, within=30)
        assert len(browser.find_elements(By.CSS_SELECTOR, ".state.waiting")) >= 2
        browser.execute_script("window.sameVisit = true")

    eventually(
        lambda: len(browser.find_elements(By.CSS_SELECTOR, ".state.done")) >= 2,
        within=30,
        message="two jobs that are shown as done",
    )

    assert browser.execute_script("return window.sameVisit")
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1100])
def test_pages_fit_and_can_be_read(
    demo: RunningDemo, browser: Chrome, width: int, scheme: str
) -> None:
    page = Customer(demo.port).order(1, "a.rather.long.name.of.a.customer@mail.example.com")
    show(browser, width, scheme)

    for path in ("/", page):
        browser.get(f"http://127.0.0.1:{demo.port}{path}")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script(BROKEN_WORDS) == []
        assert hard_to_read(browser, "body *") == []
