"""A headless Chromium for tests, and what its pages are measured by."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LEAST_CONTRAST = 4.5
"""WCAG 2.2, success criterion 1.4.3, for text of normal size."""

CONTRASTS = """
const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const shares = [0.2126, 0.7152, 0.0722];
const light = rgb => rgb.map(channel).reduce((sum, c, i) => sum + c * shares[i], 0);
const colour = text => text.match(/[\\d.]+/g).map(Number);
const behind = e => {
  for (; e; e = e.parentElement) {
    const found = colour(getComputedStyle(e).backgroundColor);
    if (found[3] !== 0) return found.slice(0, 3);
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll(arguments[0])]
  .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .map(e => {
    const [a, b] = [colour(getComputedStyle(e).color).slice(0, 3), behind(e)].map(light);
    return [e.outerHTML.slice(0, 80), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  });
"""


@contextmanager
def chromium(folder: Path) -> Iterator[Chrome]:
    """A browser with a profile of its own in ``folder``; it keeps what its console is told."""
    options = ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # Both named: Selenium would otherwise ask the network for them.
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)), "")
    chrome = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield chrome
    finally:
        chrome.quit()


def hard_to_read(browser: Chrome, selector: str) -> list[tuple[str, float]]:
    """Elements below ``selector`` whose text has too little contrast, and how much it has."""
    contrasts = browser.execute_script(CONTRASTS, selector)
    assert contrasts, f"the page has no text at {selector}"
    return [(shown, contrast) for shown, contrast in contrasts if contrast < LEAST_CONTRAST]
