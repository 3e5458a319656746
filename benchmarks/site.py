"""Pictures of the documentation site, and what its pages cost to load.

`make docs` first; then `python -m benchmarks.site build/site docs/images` serves the site, opens it
in a headless Chromium, takes the pictures, and prints figures. The search is tried from a server
and from plain files.
"""

from __future__ import annotations

import base64
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.chromium import chromium, prefer, requests_of, resize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

PAGES = (
    "index.html",
    "tutorial.html",
    "serve.html",
    "which-ranker.html",
    "api/rankloop/rankers/online/slam.html",
)
SEARCH = """
document.querySelector("[for=__search]").click();
const input = document.querySelector(".md-search__input");
input.value = arguments[0];
input.focus();
input.dispatchEvent(new KeyboardEvent("keyup", {key: "k", bubbles: true}));
"""
FOUND = "return [...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder, and yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def found_by_search(browser: Chrome, words: str) -> list[str]:
    """Type into the search of the open page, and return the addresses that it offers."""
    WebDriverWait(browser, 20).until(
        lambda one: one.execute_script("return document.readyState") == "complete"
    )

    def look(one: Chrome) -> list[str]:
        one.execute_script(SEARCH, words)
        return list(one.execute_script(FOUND))

    return WebDriverWait(browser, 20).until(look)


def picture(browser: Chrome, path: Path) -> None:
    """Take a picture of what the window shows."""
    found = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    with Image.open(BytesIO(base64.b64decode(found))) as image:
        image.convert("RGB").quantize(128, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


def version_of(site: Path) -> Path:
    """Return the folder of the newest version of a site."""
    return max(site.glob("*/index.html"), key=lambda path: path.stat().st_mtime).parent


def main(site: Path, images: Path) -> None:
    """Measure, search, take pictures."""
    folder = version_of(site)
    with served(folder) as address, chromium(1280, 860) as browser:
        resize(browser, 1280, 860)
        prefer(browser, "light")
        for page in PAGES:
            browser.get(f"{address}/{page}")
            timing = "return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
            ready = browser.execute_script(timing)
            asked = requests_of(browser)
            outside = [one["url"] for one in asked if not one["url"].startswith((address, "data:"))]
            print(
                f"{page}: {len(asked)} requests, {sum(one['bytes'] for one in asked):,} bytes, "
                f"ready after {ready:.0f} ms, other addresses: {outside or 'none'}"
            )
        browser.get(f"{address}/index.html")
        print("found on the server:", found_by_search(browser, "position bias")[:2])
        time.sleep(1)  # the list of results unfolds
        picture(browser, images / "site-search.png")
        for name, page, scheme, width, height in (
            ("site", "index.html", "light", 1280, 860),
            ("site-api-dark", PAGES[-1], "dark", 1280, 860),
            ("site-phone", "tutorial.html", "light", 390, 844),
        ):
            resize(browser, width, height, 1 if width > 600 else 1.5)
            prefer(browser, scheme)
            browser.get(f"{address}/{page}")
            picture(browser, images / f"{name}.png")
        browser.get((folder / "index.html").resolve().as_uri())
        print("found among files:", found_by_search(browser, "position bias")[:2])
        print("console:", [one["message"] for one in browser.get_log("browser")] or "nothing")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
