"""The operator's pages in a real browser: they work, keep to the policy, fit and can be read."""

from __future__ import annotations

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from echomq_app.protocol.states import State
from echomq_app.service.queue import Queue
from tests.browser.conftest import PASSWORD
from tests.browser.scene import play
from tests.chromium import hard_to_read
from tests.django.admin.jobs import address, failed
from tests.eventually import eventually

pytestmark = [pytest.mark.part("browser"), pytest.mark.django_db(transaction=True)]


def log_in(browser: Chrome, site: str, path: str) -> None:
    """Open ``path`` as a superuser, by way of the login page."""
    browser.get(site + path)
    browser.find_element(By.NAME, "username").send_keys("olga")
    browser.find_element(By.NAME, "password").send_keys(PASSWORD)
    browser.find_element(By.CSS_SELECTOR, "input[type=submit]").click()
    arrived(browser, path)


def arrived(browser: Chrome, path: str) -> None:
    """Wait until the browser shows ``path`` whole."""
    state = "return [location.pathname, document.readyState]"
    eventually(lambda: browser.execute_script(state) == [path, "complete"], within=30)


def press(browser: Chrome, words: str) -> None:
    browser.find_element(By.XPATH, f"//main//*[@class and normalize-space()='{words}']").click()


def told(browser: Chrome, words: str) -> None:
    """Wait until a whole page is there whose message is ``words``."""
    seen = "return [document.querySelector('.messagelist')?.innerText, document.readyState]"
    eventually(lambda: browser.execute_script(seen) == [words, "complete"], within=30)


def complaints(browser: Chrome) -> list[str]:
    """What the console says, but for the icon that no test site has."""
    said = [str(entry["message"]) for entry in browser.get_log("browser")]
    return [line for line in said if "/favicon.ico" not in line]


def test_an_operator_pauses_and_resumes_a_queue(site: str, queue: Queue, browser: Chrome) -> None:
    log_in(browser, site, address("changelist"))

    browser.find_element(By.CSS_SELECTOR, "[aria-label='Pause default']").click()
    told(browser, "Queue default is paused: running jobs go on, no worker takes another.")
    assert queue.is_paused()

    browser.find_element(By.CSS_SELECTOR, "[aria-label='Resume default']").click()
    told(browser, "Queue default is served again.")
    assert not queue.is_paused()
    assert complaints(browser) == []


def test_an_operator_requeues_a_dead_job_and_removes_it(
    site: str, queue: Queue, browser: Chrome
) -> None:
    dead = failed(queue)
    log_in(browser, site, address("set", "default", "dead"))
    browser.find_element(By.LINK_TEXT, dead).click()
    arrived(browser, address("job", "default", dead))

    press(browser, "Requeue")
    told(browser, f"Job {dead} waits again.")
    assert queue.state(dead) is State.PENDING

    press(browser, "Remove…")
    press(browser, "Remove this job")
    told(browser, f"Job {dead} was removed.")
    assert queue.state(dead) is State.DONE
    assert complaints(browser) == []


def test_an_operator_requeues_all_dead_jobs_of_a_page(
    site: str, queue: Queue, browser: Chrome
) -> None:
    dead = [failed(queue) for _ in range(3)]
    log_in(browser, site, address("set", "default", "dead"))

    browser.find_element(By.CSS_SELECTOR, ".emq-all").click()
    press(browser, "Requeue selected")

    told(browser, "3 jobs wait again.")
    assert {queue.state(job_id) for job_id in dead} == {State.PENDING}
    assert complaints(browser) == []


def show(browser: Chrome, width: int, scheme: str) -> None:
    """Give the page a width in CSS pixels and the colours of a dark or light system."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1400])
def test_pages_fit_can_be_read_and_keep_to_the_policy(
    site: str, browser: Chrome, width: int, scheme: str
) -> None:
    scene = play()
    log_in(browser, site, address("changelist"))
    show(browser, width, scheme)

    for path in scene.pages().values():
        browser.get(site + path)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, path
        assert hard_to_read(browser, "#content-main *") == [], path
    assert complaints(browser) == []


def test_tables_have_a_caption_and_headers_with_scope(site: str, browser: Chrome) -> None:
    scene = play()
    log_in(browser, site, address("changelist"))

    for path in scene.pages().values():
        browser.get(site + path)
        for table in browser.find_elements(By.CSS_SELECTOR, "#content table"):
            assert table.find_elements(By.CSS_SELECTOR, "caption"), path
            assert table.find_elements(By.CSS_SELECTOR, "th[scope]"), path
            assert not table.find_elements(By.CSS_SELECTOR, "th:not([scope])"), path
    assert not browser.find_elements(By.CSS_SELECTOR, "#content [style]")


def test_the_console_tells_of_an_inline_style(site: str, browser: Chrome) -> None:
    log_in(browser, site, address("changelist"))

    browser.execute_script("document.body.setAttribute('style', 'top: 0');")

    assert complaints(browser) != []
