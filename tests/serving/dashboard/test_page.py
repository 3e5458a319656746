"""The page in a real browser: no error, no other address, keys, actions, restarts, phones."""

from __future__ import annotations

import hashlib
import socket
from contextlib import contextmanager

import pytest
from benchmarks.chromium import BROWSER, DRIVER, chromium, prefer, requests_of, resize

from rankloop.serving.journal.action_entries import Promoted
from rankloop.serving.server import background
from tests.serving.tools import Clock

from .shop import live, look, start

pytest.importorskip("selenium")
pytestmark = [
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@contextmanager
def opened(browser, service, port=0):
    with background(service, port=port) as address:
        resize(browser, 1440, 900)
        requests_of(browser), browser.get_log("browser")  # of the test before
        browser.get(address)
        yield address


@pytest.fixture
def shop(tmp_path, browser):
    """The page of a service with some past."""
    clock = Clock()
    service = start(tmp_path, clock=clock)
    look(service, clock)
    with opened(browser, service) as address:
        yield service, address
        browser.get("about:blank")
    service.stop()


def until(browser, script, *arguments):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 30, 0.05).until(
        lambda one: one.execute_script(f"return {script}", *arguments)
    )


def text(browser, selector):
    return browser.execute_script(f"return document.querySelector('{selector}').innerText")


def press(browser, *keys):
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def complaints(browser):
    return [one["message"] for one in browser.get_log("browser") if one["level"] != "INFO"]


def test_it_shows_the_loop_and_asks_nobody_else(shop, browser):
    service, address = shop
    until(browser, "document.querySelectorAll('#quality path.line').length === 3")
    assert text(browser, "#word") == "Ready"
    assert "perceptron" in text(browser, "#models")
    assert "180" in text(browser, "#tiles")
    assert "price" in text(browser, "#changes")
    until(browser, "document.querySelectorAll('#inspector .link').length === 50")
    live(service, 5, first=9000)
    until(browser, "document.querySelector('#tiles').innerText.includes('185')")
    asked = [one["url"] for one in requests_of(browser)]
    assert f"{address}/v1/shop/events" in asked
    assert all(url.startswith(address) for url in asked)
    assert complaints(browser) == []


def test_keys_alone_lead_to_a_promotion_in_the_journal(shop, browser):
    from selenium.webdriver.common.keys import Keys

    service, _ = shop
    until(browser, "document.querySelectorAll('#models button').length === 2")
    browser.execute_script("document.querySelector('.skip').focus()")
    press(browser, Keys.ENTER)
    focus = "document.activeElement"
    for _ in range(20):
        press(browser, Keys.TAB)
        label = browser.execute_script(f"return {focus}.getAttribute('aria-label')")
        if label == "Promote solar-i":
            break
    press(browser, Keys.ENTER)
    until(browser, "document.querySelector('dialog[open]') !== null")
    words = text(browser, "dialog")
    assert "People see the order of solar-i" in words
    press(browser, Keys.ESCAPE)
    until(browser, "document.querySelector('dialog') === null")
    assert service.loops["shop"].published.champion == "perceptron"
    browser.execute_script(f"{focus}.blur()")
    browser.execute_script("document.querySelector('[aria-label=\"Promote solar-i\"]').focus()")
    press(browser, Keys.ENTER)
    until(browser, f"{focus}.name === 'reason'")
    press(browser, "it is better", Keys.ENTER)
    until(browser, "document.querySelector('dialog') === null")
    until(browser, "document.getElementById('say').textContent.includes('solar-i is promoted')")
    loop = service.loops["shop"]
    loop.settle()
    with loop.reader() as journal:
        last = [one.entry for one in journal.scan() if isinstance(one.entry, Promoted)][-1]
    assert (last.model, last.reason, last.by) == ("solar-i", "it is better", "anyone")
    until(browser, "document.querySelector('#marks').innerText.includes('solar-i promoted')")
    until(browser, "document.querySelector('[aria-label=\"Promote perceptron\"]') !== null")
    assert complaints(browser) == []


def test_experiments_start_and_end_from_the_page(shop, browser):
    service, _ = shop
    click = "document.querySelector('[data-key={}]').click()"
    until(browser, "document.querySelector('[data-key=start]') !== null")
    browser.execute_script(click.format("start"))
    browser.execute_script("document.querySelector('dialog form').requestSubmit()")
    until(browser, "document.querySelector('[data-key=end]') !== null")
    assert service.loops["shop"].published.experiment.names == ("perceptron", "solar-i")
    assert "solar-i against perceptron" in text(browser, "#experiment")
    browser.execute_script(click.format("end"))
    browser.execute_script("document.querySelector('dialog form').requestSubmit()")
    until(browser, "document.querySelector('[data-key=start]') !== null")
    assert service.loops["shop"].published.experiment is None
    browser.execute_script(click.format("rollback"))
    browser.execute_script("document.querySelector('dialog input[name=position]').value = 1")
    browser.execute_script("document.querySelector('dialog form').requestSubmit()")
    until(browser, "document.querySelector('#marks').innerText.includes('rolled back')")
    assert complaints(browser) == []


def test_charts_are_read_with_arrow_keys_and_as_tables(shop, browser):
    from selenium.webdriver.common.keys import Keys

    until(browser, "document.querySelectorAll('#quality path.line').length === 3")
    browser.execute_script("document.querySelector('#quality svg').focus()")
    press(browser, Keys.END)
    reading = text(browser, "#quality .reading")
    assert "what people saw 0." in reading
    press(browser, Keys.ARROW_LEFT)
    assert text(browser, "#quality .reading") != reading
    browser.execute_script("document.querySelector('#quality details').open = true")
    until(browser, "document.querySelectorAll('#quality tbody tr').length === 4")


def test_a_ranking_is_found_by_its_id(shop, browser):
    until(browser, "document.querySelectorAll('#inspector .link').length > 0")
    for ranking_id, words in (("r3000", "by perceptron"), ("nothing", "there is no ranking")):
        browser.execute_script(
            "document.querySelector('#inspector input').value = arguments[0];"
            "document.querySelector('#inspector form').requestSubmit()",
            ranking_id,
        )
        until(
            browser, "document.querySelector('#inspector').innerText.includes(arguments[0])", words
        )
    errors = complaints(browser)
    assert len(errors) == 1  # the browser's own word on the 404
    assert "404" in errors[0]


def test_it_comes_back_when_the_service_does(tmp_path, browser):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    service = start(tmp_path)
    with opened(browser, service, port):
        until(browser, "document.getElementById('word').textContent === 'Ready'")
    service.stop()
    until(browser, "document.getElementById('word').textContent === 'No connection'")
    assert "Trying again" in text(browser, "#sentence")
    service = start(tmp_path)
    with background(service, port=port):
        until(browser, "document.getElementById('word').textContent === 'Ready'")
        until(browser, "!document.body.classList.contains('stale')")
        browser.get("about:blank")
    service.stop()
    browser.get_log("browser")  # refused connections are no fault of the page


def test_loops_are_chosen_from_the_list(tmp_path, browser):
    service = start(tmp_path, more=["news"])
    live(service, 7, name="news")
    with opened(browser, service) as address:
        until(browser, "document.title === 'Ready · shop · Rankloop'")
        browser.execute_script(
            "const list = document.getElementById('loop'); list.value = 'news';"
            "list.dispatchEvent(new Event('change'))"
        )
        until(browser, "document.title === 'Ready · news · Rankloop'")
        until(browser, "document.querySelectorAll('#inspector .link').length === 7")
        assert browser.current_url == f"{address}/#news"
        assert complaints(browser) == []
        browser.get("about:blank")
    service.stop()


def test_a_token_is_asked_for_and_stays_in_the_tab(tmp_path, browser):
    digest = hashlib.sha256(b"secret").hexdigest()
    token = {"name": "eyes", "sha256": digest, "scopes": ["metrics"]}
    service = start(tmp_path, tokens=[token])
    with opened(browser, service):
        until(browser, "document.getElementById('word').textContent === 'Token needed'")
        browser.execute_script("document.querySelector('#trouble button').click()")
        browser.execute_script("document.querySelector('dialog input').value = 'secret'")
        browser.execute_script("document.querySelector('dialog form').requestSubmit()")
        until(browser, "document.getElementById('word').textContent === 'Ready'")
        assert browser.execute_script("return Object.values(localStorage)") == []
        assert browser.execute_script("return Object.values(sessionStorage)") == ["secret"]
        until(browser, "document.querySelector('#models button') !== null")
        browser.execute_script("document.querySelector('#models button').click()")
        browser.execute_script("document.querySelector('dialog form').requestSubmit()")
        until(browser, "document.querySelector('.wrong').innerText.includes('the scope admin')")
        assert service.loops["shop"].head == 1
        browser.get("about:blank")
    service.stop()
    browser.get_log("browser")  # refusals are what this test is about


def test_it_fits_a_phone_and_follows_the_light(shop, browser):
    resize(browser, 390, 844, 2.0)
    until(browser, "document.querySelectorAll('#quality path.line').length === 3")
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.execute_script(wide) <= 0
    for scheme in ("dark", "light"):
        prefer(browser, scheme)
        until(browser, "document.documentElement.dataset.theme === arguments[0]", scheme)
    browser.execute_script("document.getElementById('theme').click()")
    until(browser, "document.documentElement.dataset.theme === 'dark'")
    browser.execute_script("localStorage.clear()")
    assert complaints(browser) == []
