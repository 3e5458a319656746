"""Pictures of the dashboard for the documentation, and what the page costs to load.

`python -m benchmarks.dashboard docs/images` simulates a week of a shop in about half a minute,
takes the pictures with a headless Chromium, and prints figures.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.chromium import chromium, prefer, requests_of, resize
from rankloop import Feedback
from rankloop.clicks.users import make_user
from rankloop.client import Client
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

FEATURES = ("text match", "title match", "clicks", "rating", "price", "margin", "age", "stock")
RANKERS = ("perceptron", "newton", "online-xendcg:rate=0.1")
DAYS, PER_DAY, DOCUMENTS = 7, 240, 12
DRIFT = 4.0


class Clock:
    """The week's own time, in seconds."""

    now = 1_770_000_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def simulate(client: Client, service: Service, clock: Clock) -> None:
    """Let a week pass: people search and click, and change their taste on the fourth day."""
    rng = np.random.default_rng(3)
    user = make_user("informational", grades=3)
    tastes = rng.normal(size=(2, len(FEATURES)))
    tastes[:, 0] = 1.5
    loop = service.loops["shop"]
    for n in range(DAYS * PER_DAY):
        day = n / PER_DAY
        clock.now += 86_400 / PER_DAY
        if n % (PER_DAY // 2) == PER_DAY // 4 and loop.published.experiment is None:
            others = [name for name in RANKERS if name != loop.published.champion]
            body = {"challengers": [others[int(2 * day) % 2]], "promote": "auto", "watch": 0}
            client.send("POST", "experiments", body)
        X = rng.normal(size=(DOCUMENTS, len(FEATURES))).astype(np.float32)
        X[:, 4] += 1.2 * (day > DRIFT + 1)
        worth = X @ tastes[int(day >= DRIFT)] + 0.5 * rng.normal(size=DOCUMENTS)
        grades = np.zeros(DOCUMENTS)
        grades[np.argsort(-worth)[:3]] = [2, 2, 1]
        names = [f"item-{number}" for number in rng.choice(10_000, DOCUMENTS, replace=False)]
        shown = client.rank(dict(zip(names, X.tolist(), strict=True)), k=10)
        rows = [names.index(item) for item in shown.ids]
        clicked = np.flatnonzero(user.sample(rng, grades[rows]))
        if len(clicked):
            client.feedback([Feedback(shown.ranking_id, shown.ids[place]) for place in clicked])
        if n % 4 == 0:
            loop.settle()
            service.boards.look()


def wait_for(browser: Chrome, selector: str) -> None:
    """Wait until the page has such an element."""
    there = "return document.querySelector(arguments[0]) !== null"
    WebDriverWait(browser, 20).until(lambda one: one.execute_script(there, selector))


def picture(browser: Chrome, path: Path, ranking: str, most: float = 4000) -> None:
    """Take a picture of the page, at most so high, with a ranking opened."""
    browser.execute_script(
        "document.querySelector('#inspector input').value = arguments[0];"
        "document.querySelector('#inspector form').requestSubmit(); scrollTo(0, 0)",
        ranking,
    )
    wait_for(browser, "#inspector h3")
    size = browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    height = min(size["height"], most)
    clip = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
    options = {"captureBeyondViewport": True, "clip": clip}
    found = browser.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
    with Image.open(BytesIO(base64.b64decode(found))) as image:
        image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


FIRST_CHART = """
const done = arguments[0];
const look = () => document.querySelector('#quality path.line') ? done(performance.now())
  : requestAnimationFrame(look);
look();
"""


def main(folder: Path) -> None:
    """Simulate, take pictures, print figures."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as temporary:
        loop = {
            "features": list(FEATURES),
            "rankers": list(RANKERS),
            "journal": str(Path(temporary) / "shop.journal"),
        }
        service = Service.start(as_settings({"loops": {"shop": loop}}), clock=clock)
        with background(service) as address, Client(address, "shop", timeout=60) as client:
            simulate(client, service, clock)
            newest = list(service.boards.loops["shop"].watch.newest.values())
            ranking = next(one.id for one in reversed(newest) if one.events)
            with chromium() as browser:
                resize(browser, 1440, 900)
                prefer(browser, "light")
                browser.get(address)
                first = browser.execute_async_script(FIRST_CHART)
                asked = requests_of(browser)
                own = (f"{address}/dashboard/static/", f"{address}/?")
                files = [one for one in asked if f"{one['url']}?".startswith(own)]
                print(f"files of the page: {len(files)}, {sum(f['bytes'] for f in files):,} bytes")
                print(
                    f"all requests until the first chart: {len(asked)}, "
                    f"{sum(one['bytes'] for one in asked):,} bytes"
                )
                print(f"first chart after {first:.0f} ms")
                picture(browser, folder / "dashboard.png", ranking)
                prefer(browser, "dark")
                picture(browser, folder / "dashboard-dark.png", ranking)
                prefer(browser, "light")
                resize(browser, 390, 844, 1.5)
                picture(browser, folder / "dashboard-phone.png", ranking, most=1700)
                errors = [one["message"] for one in browser.get_log("browser")]
                outside = [one["url"] for one in asked if not one["url"].startswith(address)]
                print(f"console messages: {errors or 'none'}; other addresses: {outside or 'none'}")
        service.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
